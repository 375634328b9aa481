#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what a user of `lyra exec` and `lyra isa` meets: output, messages, exit codes. Run as a CTest.

usage: cli_exec.py PROGRAM KERNELS KERNELS942 MATRIX908 MATRIX90A MATRIX942

PROGRAM is lyra; KERNELS is kernels.cl of tools/inproc/testdata, compiled for gfx900 and gfx942; the others are matrix.cl.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM, KERNELS, KERNELS942 = sys.argv[1:4]
MATRIX = dict(zip(("gfx908", "gfx90a", "gfx942"), sys.argv[4:7]))
failures = 0


def call(*arguments, stdin=b""):
    return subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=120, check=False)


def expect(name, result, status, out=None, err=None):
    """out is the whole standard output, err a part of standard error."""
    global failures
    wrong = []
    if result.returncode != status:
        wrong.append(f"exit status {result.returncode}, expected {status}")
    if out is not None and result.stdout.decode() != out:
        wrong.append(f"standard output {result.stdout.decode()!r}, expected {out!r}")
    if err is not None and err not in result.stderr.decode():
        wrong.append(f"standard error lacks {err!r}")
    print(("FAILED " if wrong else "passed ") + name)
    if wrong:
        failures += 1
        print("\n".join("    " + line for line in wrong), result.stderr.decode(), sep="\n")


def run(kernel, *arguments, **more):
    return call("exec", KERNELS, "--kernel", kernel, *arguments, **more)


def add_arguments(n, out):
    return [f"--arg=iota:f32:{n}", f"--arg=fill:f32:{n}:0.5", f"--arg={out}", f"--arg=i32:{n}"]


# Right results, in every way out.
expect("text", run("add", "--grid=2", "--block=4", *add_arguments(8, "out:f32:8:-")), 0,
       "".join(f"{i}.5\n" for i in range(8)), "")
expect("partial group", run("add", "--threads=6", "--block=4", *add_arguments(8, "fill:f32:8:9:-")), 0,
       "0.5\n1.5\n2.5\n3.5\n4.5\n5.5\n9\n9\n")
expect("LDS argument", run("reverse", "--grid=1", "--block=4", "--arg=iota:i32:4:-", "--arg=lds:16"), 0, "3\n2\n1\n0\n")

# Generated code, and none: the same result. Whether there is any depends on the host.
def translated(*more):
    result = run("add", "--threads=65536", "--block=64", *add_arguments(65536, "out:f32:65536:-"), "--stats", *more)
    expect(" ".join(("65,536 threads", *more)), result, 0, "".join(f"{i}.5\n" for i in range(65536)))
    counted = [line.split()[-1] for line in result.stderr.decode().splitlines() if "translated_instructions" in line]
    return int(counted[0]) if counted else 0


translated()
if translated("--no-jit") != 0:
    failures += 1
    print("FAILED --no-jit: generated code has run")

# Matrix instructions. iota: elements are their own numbers.
def product(chip, kernel, kind, depth):
    numbers = f"--arg=iota:{kind}:{16 * depth}"
    result = call("exec", MATRIX[chip], f"--chip={chip}", f"--kernel={kernel}", "--grid=1", "--block=64", numbers, numbers,
                  f"--arg=out:{kind}:256:-", f"--arg=i32:{depth}")
    rows = [[sum((i * depth + k) * (k * 16 + j) for k in range(depth)) for j in range(16)] for i in range(16)]
    expect(f"{kernel} on {chip}", result, 0, "".join(f"{element}\n" for row in rows for element in row))


product("gfx908", "product_f32", "f32", 8)
product("gfx90a", "product_f32", "f32", 8)
product("gfx90a", "product_f64", "f64", 12)
product("gfx942", "product_f32", "f32", 8)
product("gfx942", "product_f64", "f64", 12)
with tempfile.TemporaryDirectory() as folder:
    def signed(i):
        return (i * 37 + 11) % 256 - 128
    bytes_a, bytes_b = [signed(i) for i in range(256)], [signed(3 * i + 1) for i in range(256)]
    names = [os.path.join(folder, name) for name in "ab"]
    for name, numbers in zip(names, (bytes_a, bytes_b)):
        with open(name, "wb") as file:
            file.write(struct.pack("<256b", *numbers))
    # Lane l has of row (column) l % 16 elements depth * (l / 16) and on.
    def at(numbers, i, k, depth):
        return numbers[depth * (i + 16 * (k // depth)) + k % depth]

    def rows_of(a, b, depth):
        return "".join(f"{sum(at(a, i, k, depth) * at(b, j, k, depth) for k in range(4 * depth))}\n"
                       for i in range(16) for j in range(16))

    def product_of_files(chip, kernel, kind, result_kind, out, files=None):
        inputs = [f"--arg=in:{kind}:{name}" for name in files or names]
        expect(f"{kernel} on {chip}", call("exec", MATRIX[chip], f"--chip={chip}", f"--kernel={kernel}", "--grid=1",
                                           "--block=64", *inputs, f"--arg=out:{result_kind}:256:-"), 0, out)

    for chip in "gfx908", "gfx90a":
        product_of_files(chip, "product_i8", "i32", "i32", rows_of(bytes_a, bytes_b, 4))

    # gfx942: eight elements a lane; FP8 numbers from 0 to 7; a sparse A.
    bytes_a, bytes_b = [signed(i) for i in range(512)], [signed(3 * i + 1) for i in range(512)]
    for name, numbers in zip(names, (bytes_a, bytes_b)):
        with open(name, "wb") as file:
            file.write(struct.pack("<512b", *numbers))
    product_of_files("gfx942", "product_i8", "i64", "i32", rows_of(bytes_a, bytes_b, 8))
    fp8 = (0x00, 0x40, 0x48, 0x4c, 0x50, 0x52, 0x54, 0x56)
    small_a, small_b = [(5 * i + i // 16) % 8 for i in range(512)], [(3 * i + i // 8) % 8 for i in range(512)]
    for name, numbers in zip(names, (small_a, small_b)):
        with open(name, "wb") as file:
            file.write(bytes(fp8[n] for n in numbers))
    product_of_files("gfx942", "product_fp8", "i64", "f32", rows_of(small_a, small_b, 8))
    chosen = [(n % 3, n % 3 + 1) if n % 2 else (0, 3) for n in range(128)]  # of each pair of a lane's elements
    half_a, half_b = [(7 * i + i // 9) % 11 - 5 for i in range(256)], [(5 * i + i // 7) % 13 - 6 for i in range(512)]
    files = [*names, os.path.join(folder, "index")]
    for name, packed in zip(files, (struct.pack("<256e", *half_a), struct.pack("<512e", *half_b), struct.pack(
            "<64I", *(0xdeadbe00 & ~0xff00 | sum(c << (8 + 4 * q + 2 * s) for q in (0, 1)
                                                 for s, c in enumerate(chosen[2 * lane + q])) for lane in range(64))))):
        with open(name, "wb") as file:
            file.write(packed)

    def sparse(i, j):
        total = 0
        for part in range(4):
            lane = i + 16 * part
            for q in range(2):
                for s in range(2):
                    total += half_a[4 * lane + 2 * q + s] * half_b[8 * (j + 16 * part) + 4 * q + chosen[2 * lane + q][s]]
        return total
    expect("product_sparse", call("exec", MATRIX["gfx942"], "--chip=gfx942", "--kernel=product_sparse", "--grid=1",
                                  "--block=64", f"--arg=in:i64:{files[0]}", f"--arg=in:i64:{files[1]}",
                                  f"--arg=in:i32:{files[2]}", "--arg=out:f32:256:-"),
           0, "".join(f"{sparse(i, j)}\n" for i in range(16) for j in range(16)))

# Private memory, from FLAT_SCRATCH that waves of gfx942 begin with.
expect("scratch on gfx942", call("exec", KERNELS942, "--chip=gfx942", "--kernel=through_scratch", "--grid=2", "--block=64",
                                 "--arg=iota:i32:128:-", "--arg=i32:3"), 0,
       "".join(f"{i % 32 * 3 + i}\n" for i in range(128)))

# Virtual time: equal runs print equal hashes.
def trace_line(*more):
    result = run("add", "--grid=8", "--block=64", *add_arguments(512, "fill:f32:512:0"), "--deterministic", *more)
    expect(" ".join(("deterministic", *more)), result, 0, "", "lyra: trace hash ")
    return result.stderr


lines = [trace_line(), trace_line(), trace_line("--timing=dispatch_ns=1301"), trace_line("--cus=4")]
if lines[0] != lines[1] or len(set(lines)) != 3:
    print("FAILED equal runs, equal hashes", *lines)
    failures += 1
expect("timing parameter", run("add", "--grid=1", *add_arguments(1, "fill:f32:1:0"), "--deterministic", "--timing=speed=3"), 2, "",
       "there is no timing parameter 'speed'")
expect("timing without virtual time", run("add", "--grid=1", "--timing=packet_ns=3"), 2, "", "--deterministic")

with tempfile.TemporaryDirectory() as folder:
    source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
    with open(source, "wb") as file:
        file.write(struct.pack("<4i", 10, 20, 30, 40))
    expect("files", run("reverse", "--grid=1", "--block=4", f"--arg=inout:i32:{source}:{target}", "--arg=lds:16"), 0, "")
    with open(target, "rb") as file:
        if struct.unpack("<4i", file.read()) != (40, 30, 20, 10):
            print("FAILED content of the file")
            failures += 1
    trace = os.path.join(folder, "t.pftrace")
    expect("trace", run("reverse", "--grid=1", "--block=4", "--arg=iota:i32:4", "--arg=lds:16", "--trace", trace), 0, "")
    if not os.path.exists(trace) or os.path.getsize(trace) < 100:
        print("FAILED the trace is missing or empty")
        failures += 1
    expect("odd file", run("reverse", "--grid=1", f"--arg=in:f64:{PROGRAM}x", "--arg=lds:16"), 2, "", "cannot read")
expect("standard input", run("reverse", "--grid=1", "--block=2", "--arg=inout:i32:-:-", "--arg=lds:8",
                             stdin=struct.pack("<2i", 1, 2)), 0, "2\n1\n")
result = run("add", "--grid=1", "--block=2", *add_arguments(2, "out:f32:2:-"), "--json")
expect("JSON", result, 0)
document = json.loads(result.stdout)
if document["buffers"][0]["values"] != [0.5, 1.5] or document["counters"]["dispatches"] != 1:
    print("FAILED content of the JSON document")
    failures += 1

# The user's mistakes: 2, with a message, and nothing on standard output.
expect("no such file", call("exec", "no-such-file", "--grid=1"), 2, "", "no-such-file")
expect("no code object", call("exec", sys.argv[0], "--grid=1"), 2, "", "neither an ELF file nor an offload bundle")
expect("no GPU code", call("exec", PROGRAM, "--grid=1"), 2, "", "no ")
expect("no such kernel", run("nothing", "--grid=1"), 2, "", "there is no kernel nothing")
expect("no grid", run("add", *add_arguments(8, "out:f32:8:-")), 2, "", "--grid")
expect("zero grid", run("add", "--grid=0", *add_arguments(8, "out:f32:8:-")), 2, "", "at least 1")
expect("large block", run("add", "--grid=1", "--block=2048", *add_arguments(8, "out:f32:8:-")), 2, "", "1024")
expect("too few arguments", run("add", "--grid=1"), 2, "", "takes 4 arguments, 0 --arg given")
expect("wrong size", run("add", "--grid=1", *add_arguments(8, "out:f32:8:-")[:3], "--arg=f64:8"), 2, "", "of 4 bytes, not of 8")
expect("bad number", run("add", "--grid=1", *add_arguments(8, "out:f32:8:-")[:3], "--arg=i32:8x"), 2, "", "is not a i32")
expect("bad form", run("add", "--grid=1", "--arg=nonsense", "--arg=i32:1", "--arg=i32:1", "--arg=i32:1"), 2, "", "--arg nonsense")
expect("bad VRAM", run("add", "--grid=1", "--vram=3G", *add_arguments(8, "out:f32:8:-")), 2, "")

# Faults of the kernel, and a kernel without end.
expect("store outside memory", run("store", "--grid=1", "--arg=zero:i32:4:-", "--arg=u64:0x10000000000", "--arg=i32:1"), 3, "",
       "page not present")
expect("illegal instruction", run("illegal", "--grid=1", "--arg=zero:i32:4:-"), 3, "", "IllegalInstruction")
expect("timeout", run("spin", "--grid=1", "--arg=zero:i32:4:-", "--timeout=0.5"), 4, "", "--timeout")

# Readers.
expect("version", call("version"), 0, err="")
coverage = json.loads(call("isa", "--coverage", "--json").stdout)
for chip, operations, missing in (("gfx900", 1083, 0), ("gfx906", 1092, 0), ("gfx908", 1123, 0), ("gfx90a", 1110, 0),
                                   ("gfx942", 1154, 0)):
    part = coverage[chip]
    if (part["done"] + part["todo"] != part["forms"] or part["forms"] < 1500 or part["total"] != operations
            or part["implemented"] + len(part["missing"]) != part["total"] or len(part["missing"]) != missing):
        print(f"FAILED coverage of {chip} does not add up")
        failures += 1
expect("unknown chip", call("isa", "--chip=gfx1"), 2, "", "unknown chip 'gfx1'")


def check(name, good, what=""):
    global failures
    print(("passed " if good else "FAILED ") + name)
    if not good:
        failures += 1
        print("   ", what)


# The disassembler, against LLVM's.
listing = call("disasm", KERNELS)
expect("disassembly", listing, 0, err="")
objdump = shutil.which("llvm-objdump-19")
check("llvm-objdump-19 is there", objdump)
if objdump:
    theirs = subprocess.run([objdump, "-d", KERNELS], capture_output=True, check=True).stdout.decode()
    def text(listing):  # the first lines name the file
        return listing.split("Disassembly of section", 1)[1].rstrip("\n")
    ours, theirs = text(listing.stdout.decode()), text(theirs)
    different = [pair for pair in zip(ours.split("\n"), theirs.split("\n")) if pair[0] != pair[1]]
    check("disassembly is LLVM's", ours == theirs, different[:3])
one = call("disasm", KERNELS, "--kernel", "reverse").stdout.decode()
check("disassembly of one kernel", "<reverse>:" in one and "<add>:" not in one and one.rstrip().count("s_endpgm") == 1, one)
expect("disassembly of no kernel", call("disasm", KERNELS, "--kernel", "nothing"), 2, "", "there is no kernel nothing")
expect("disassembly for another chip", call("disasm", KERNELS, "--chip=gfx906"), 2, "", "the code is for gfx900")
expect("JSON of a listing", call("disasm", KERNELS, "--json"), 2, "", "--histogram")
counts = json.loads(call("disasm", KERNELS, "--kernel=reverse", "--histogram", "--json").stdout)
rows = {(row["name"], row["format"]): row["count"] for row in counts["instructions"]}
check("histogram", rows[("s_endpgm", "SOPP")] == 1 and sum(rows.values()) == counts["total"] == one.count(" // "), rows)

# What was executed.
four = ("--grid=1", "--block=4", "--arg=iota:i32:4:-", "--arg=lds:16")
result = run("reverse", *four, "--json", "--histogram")
counts = json.loads(result.stdout)
rows = {(row["name"], row["format"]): row["count"] for row in counts["histogram"]["instructions"]}
check("histogram of a run", rows[("s_endpgm", "SOPP")] == 1 and sum(rows.values()) == counts["counters"]["instructions"], rows)
with tempfile.TemporaryDirectory() as folder:
    logs = []
    for name in "ab":
        path = os.path.join(folder, name)
        expect("commit log " + name, run("reverse", *four, "--log-commits", path), 0, "3\n2\n1\n0\n", "")
        with open(path, encoding="ascii") as file:
            logs.append(file.read())
    lines = logs[0].splitlines()
    check("commit logs of equal runs are equal", logs[0] == logs[1])
    check("commit log has every instruction", len(lines) == counts["counters"]["instructions"], len(lines))
    stores = [line for line in lines if "global_store_dword" in line]
    values = [part.split("]=")[1] for line in stores for part in line.split(" | ")[1].split()]
    check("commit log has what was stored", values == ["00000003", "00000002", "00000001", "00000000"], stores)
    check("commit log has LDS", any(" lds[" in line for line in lines))
    other = os.path.join(folder, "c")
    run("reverse", "--grid=1", "--block=4", "--arg=fill:i32:4:7:-", "--arg=lds:16", "--log-commits", other)
    with open(other, encoding="ascii") as file:
        check("commit log of other data differs", file.read() != logs[0])
expect("commit log that cannot be written", run("reverse", *four, "--log-commits", "/no/such/folder/log"), 2, "", "/no/such/folder/log")

print(f"{failures} failures")
# The simulator: every example runs, equal seeds give equal results, latency is a straight line of the bytes saved.
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/measure")


def simulate(name, *more):
    result = call("sim", os.path.join(EXAMPLES, name), "--samples=1000", "--json", *more)
    expect(" ".join(("sim", name, *more)), result, 0, None, "")
    return [json.loads(line) for line in result.stdout.decode().splitlines()]


GUEST_ONLY = ["baseline-cu-mask.toml", "baseline-suspend.toml", "firmware-rounds.toml", "firmware-runlist.toml",
              "firmware-unmap.toml"]
for example in sorted(set(os.listdir(EXAMPLES)) - set(GUEST_ONLY)):
    rows = simulate(example)
    check(f"{example}: all samples",
          len(rows) > 0 and all(row["samples"] == 1000 * row["seeds"] or row["deadlocked"] for row in rows))
for example in GUEST_ONLY:
    expect(f"sim {example}", call("sim", os.path.join(EXAMPLES, example)), 2, None, "only lyra measure can do that")
stuck = [row for row in simulate("inversion.toml") if row["deadlocked"]]
check("sim: inversion", len(stuck) == 2 and all(row["configuration"]["detection.runnable_test"] == "false" for row in stuck), stuck)
check("sim: equal seeds", simulate("notify.toml") == simulate("notify.toml"))
check("sim: another seed", simulate("notify.toml", "--seed=9")[0]["trace_hash"] != simulate("notify.toml")[0]["trace_hash"])
line = [(float(row["configuration"]["client.effort.context_bytes"]), row["preemption_latency_us"]["p50"]) for row in simulate("context-bytes.toml")]
(x0, y0), (x1, y1) = line[0], line[-1]
check("sim: latency over bytes", y1 > y0 + 50 and all(abs(y - y0 - (y1 - y0) * (x - x0) / (x1 - x0)) < 0.02 * y1 for x, y in line))
with tempfile.NamedTemporaryFile("w", suffix=".toml") as spec:
    spec.write("samples = 3\n[polic]\nname = 'fixed'\n")
    spec.flush()
    expect("sim: unknown key", call("sim", spec.name), 2, "", "line 2: unknown key 'polic'")
expect("sim: no file", call("sim", "no-such.toml"), 2, "", "cannot read 'no-such.toml'")

sys.exit(1 if failures else 0)
