# SPDX-License-Identifier: MIT
"""lyra.h as ctypes has it is lyra.h as a C compiler has it, and what is not understood is refused."""
import ctypes
import subprocess

import lyra_header
import pytest

WRONG = (
    "LYRA_API long lyra_count(void);",
    "LYRA_API void lyra_reset(lyra_other *device);",
    "LYRA_API void lyra_reset(int);",
    "LYRA_API void lyra_log(const char *format, ...);",
    "void lyra_reset(void);",
    "typedef struct lyra_pair { uint32_t one : 1; } lyra_pair;",
    "typedef struct lyra_pair { uint32_t one[2]; } lyra_pair;",
    "typedef struct lyra_pair { uint32_t one, two; } lyra_pair;",
    "typedef enum lyra_state { LYRA_ON = 4 } lyra_state;",
    "typedef uint32_t lyra_handle;",
    "#define LYRA_TEXT \"text\"\n",
    "#if defined(_WIN32)\n#endif\n",
    "#pragma pack(1)\n",
)
KINDS = """
#define LYRA_BYTES (2u << 20)
typedef struct lyra_device lyra_device; /* comment */
typedef enum lyra_state { LYRA_OFF, /**< off */ LYRA_ON, } lyra_state;
typedef struct lyra_pair { const char *name; bool on; } lyra_pair; // comment
LYRA_API lyra_state lyra_ask(const lyra_device *device, lyra_pair *pairs, size_t count);
"""


@pytest.mark.parametrize("text", WRONG)
def test_refuses_what_it_does_not_understand(text):
    with pytest.raises(lyra_header.HeaderError):
        lyra_header.Header(text)


def test_reads_each_kind_of_declaration():
    header = lyra_header.Header(KINDS)
    assert header.constants == {"LYRA_BYTES": 2 << 20}
    assert header.enums == {"lyra_state": {"LYRA_OFF": 0, "LYRA_ON": 1}}
    pair = header.structs["lyra_pair"]
    assert pair._fields_ == [("name", ctypes.c_char_p), ("on", ctypes.c_bool)]
    arguments = [ctypes.c_void_p, ctypes.POINTER(pair), ctypes.c_size_t]
    assert header.functions == {"lyra_ask": (ctypes.c_int, arguments)}


def claims(header):
    """Of sizes, places and numbers, in C."""
    for name, struct in header.structs.items():
        yield f"sizeof({name}) == {ctypes.sizeof(struct)}"
        for field, _ in struct._fields_:
            yield f"offsetof({name}, {field}) == {getattr(struct, field).offset}"
    for values in (*header.enums.values(), header.constants):
        for name, value in values.items():
            yield f"{name} == {value}"


def test_a_compiler_has_the_same_layout(library, request):
    lines = [f'_Static_assert({claim}, "{claim}");' for claim in claims(library.header)]
    assert len(lines) > 30
    program = "\n".join([f'#include "{request.config.getoption("--header")}"', *lines, ""])
    done = subprocess.run(["cc", "-xc", "-fsyntax-only", "-"], input=program, text=True, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr


def test_the_library_exports_what_the_header_has(request, library):
    done = subprocess.run(["nm", "-D", "--defined-only", request.config.getoption("--library")],
                          stdout=subprocess.PIPE, text=True, check=True)
    symbols = {line.split()[2].split("@")[0] for line in done.stdout.splitlines()}
    exported = {name for name in symbols if name.startswith("lyra_")}
    assert exported == set(library.header.functions)
