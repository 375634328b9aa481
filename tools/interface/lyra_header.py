# SPDX-License-Identifier: MIT
"""Types of ctypes from qemu-hw/include/lyra.h. What is not understood is an error, so that nothing drifts."""
import ctypes
import re

BASE = {
    "bool": ctypes.c_bool,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "unsigned": ctypes.c_uint,
    "void": None,
}
# Nothing else may depend on a condition: what is left of the text would not be what a compiler sees.
DIRECTIVE = re.compile(r"#(?:define \w+|include <\w+\.h>|ifndef LYRA_H$|if defined\(__GNUC__\)$|else$|endif$)")
CPLUSPLUS = re.compile(r"#ifdef __cplusplus\n.*?#endif\n", re.S)
NUMBER = r"(?:0x[0-9a-fA-F]+|\d+)"
NAMED = re.compile(r"(.*[ *])(\w+)$")
CALLBACK = re.compile(r"(\w+)\s*\(\*(\w+)\)\s*\((.*)\)$")
STATEMENTS = (
    ("opaque", re.compile(r"typedef struct (\w+) \1;")),
    ("enum", re.compile(r"typedef enum (\w+) \{([^{}]*)\} \1;")),
    ("struct", re.compile(r"typedef struct (\w+) \{([^{}]*)\} \1;")),
    ("function", re.compile(r"LYRA_API ([\w ]+?\**)(\w+)\(([^;]*)\);")),
)


class HeaderError(Exception):
    pass


def split_arguments(text):
    """At the commas that are in no parenthesis."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


class Header:
    """constants, enums (name: values by name), structs (name: class), functions (name: result and arguments)."""

    def __init__(self, text):
        self.constants, self.enums, self.structs, self.handles, self.functions = {}, {}, {}, set(), {}
        # Comments first: what they hold is not code.
        text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found.group().count("\n"), text, flags=re.S)
        text = CPLUSPLUS.sub(lambda found: "\n" * found.group().count("\n"), text)
        for line in re.findall(r"^#.*$", text, re.M):
            if not DIRECTIVE.match(line):
                raise HeaderError(f"not understood: {line}")
        for line in re.findall(r"^#define +(\w+) +(.*)$", text, re.M):
            self.define(*line)
        code = re.sub(r"^#.*$", "", text, flags=re.M)
        self.read(re.sub(r"\s+", " ", code).strip())
        if len(self.functions) != len(re.findall(r"\bLYRA_API\b", code)):
            raise HeaderError("a function is declared twice, or LYRA_API is not before a function")

    def define(self, name, value):
        if name == "LYRA_API":
            return
        words = re.sub(rf"\b({NUMBER})[uUlL]*\b", r"\1", value).strip()
        if not re.fullmatch(rf"\(?{NUMBER}(?: << {NUMBER})?\)?", words):
            raise HeaderError(f"#define {name} {value}: not understood")
        left, _, right = words.strip("()").partition(" << ")
        self.constants[name] = int(left, 0) << int(right or "0", 0)

    def read(self, code):
        while code:
            for kind, expression in STATEMENTS:
                if found := expression.match(code):
                    getattr(self, kind)(*found.groups())
                    code = code[found.end():].lstrip()
                    break
            else:
                raise HeaderError(f"not understood: {code[:100]}")

    def opaque(self, name):
        self.handles.add(name)

    def enum(self, name, body):
        words = [word.strip() for word in body.split(",") if word.strip()]
        if not words or not all(re.fullmatch(r"LYRA_\w+", word) for word in words):
            raise HeaderError(f"enum {name}: not understood: {body}")
        self.enums[name] = {word: value for value, word in enumerate(words)}

    def struct(self, name, body):
        fields = [self.member(part.strip()) for part in body.split(";") if part.strip()]
        self.structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def function(self, result, name, arguments):
        self.functions[name] = (self.type_of(result.strip()), self.arguments(arguments))

    def member(self, text):
        if found := CALLBACK.match(text):
            return found.group(2), self.callback(found)
        found = NAMED.match(text)
        if not found:
            raise HeaderError(f"not understood: {text}")
        return found.group(2), self.type_of(found.group(1).strip())

    def callback(self, found):
        return ctypes.CFUNCTYPE(self.type_of(found.group(1)), *self.arguments(found.group(3)))

    def arguments(self, text):
        if text == "void":
            return []
        return [self.member(part)[1] for part in split_arguments(text)]

    def type_of(self, text):
        found = re.fullmatch(r"(?:const )?(\w+) ?(\**)", text)
        if not found:
            raise HeaderError(f"type not understood: {text}")
        word, stars = found.group(1), len(found.group(2))
        if stars and (word == "void" or word in self.handles):
            made, stars = ctypes.c_void_p, stars - 1
        elif stars and word == "char":
            made, stars = ctypes.c_char_p, stars - 1
        elif word in self.enums:
            made = ctypes.c_int
        elif word in self.structs or word in BASE:
            made = self.structs.get(word) or BASE[word]
        else:
            raise HeaderError(f"type not understood: {text}")
        for _ in range(stars):
            made = ctypes.POINTER(made)
        return made
