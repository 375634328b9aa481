#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the list of packages by verb, `lyra doctor`, `lyra clean`, and what ./lyra says where something is missing.
Run as a CTest.

usage: setup.py PROGRAM SOURCE_TREE        exit status 1 and a line for each failure
"""
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, TREE = sys.argv[1:3]
failures = 0


def expect(name, right, detail=""):
    global failures
    print(("passed " if right else "FAILED ") + name)
    if not right:
        failures += 1
        print("    " + str(detail).strip().replace("\n", "\n    "))


def call(command, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env={**os.environ, **variables})


def shell(text, **variables):
    return call(["sh", "-c", f"setup={TREE}/tools/setup; . $setup/packages.sh; {text}"], **variables).stdout.split()


def write(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def rows():
    with open(f"{TREE}/tools/setup/packages.tsv", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]


def verbs():
    with open(f"{TREE}/tools/lyra/cli/main.cpp", encoding="utf-8") as file:
        return re.findall(r'^ *\{"(\w+)", "', file.read(), re.M)


def check_lists():
    table = rows()
    wrong = [row for row in table if len(row) not in (3, 4) or not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", row[2])
             or (len(row) == 4 and not re.fullmatch(r"([a-z]+-[0-9.]+=[a-z0-9.+-]+,?)+", row[3]))]
    expect("rows of packages.tsv are whole", table and not wrong, wrong)
    sets = {row[0] for row in table}
    used, unknown = {"optional", "user"}, []  # those that are not of a verb
    for verb in verbs():
        names = shell(f"sets_of {verb} x --kfd lyra")
        used.update(names)
        unknown += [f"{verb}: {name}" for name in names if name not in sets]
        if not names and verb not in ("doctor", "clean"):
            unknown.append(f"{verb} needs nothing")
    expect("verbs need sets that the table has", not unknown, unknown)
    expect("each set is needed by a verb", used == sets, used ^ sets)
    names = {"debian-12": "rocm-device-libs", "debian-13": "rocm-device-libs-17", "ubuntu-24.04": "rocm-device-libs"}
    for release, name in names.items():
        identity, version = release.split("-")
        with tempfile.TemporaryDirectory() as folder:
            write(f"{folder}/os-release", f'ID={identity}\nVERSION_ID="{version}"\n')
            found = shell("rows_of opencl", LYRA_OS_RELEASE=f"{folder}/os-release")
        expect(f"{release} has its own names", name in found, found)
    run, test = shell("rows_of $(sets_of run)"), shell("rows_of $(sets_of test)")
    tests_alone = {"csmith", "clang-19"}
    expect("run does not install what only tests use", set(run) < set(test) and tests_alone <= set(test) - set(run), run)
    expect("a driver asks for its packages", "rsync" in shell("rows_of $(sets_of run --kfd=lyra x.hip)") and "rsync" not in run)
    check_names(table)


def check_names(table):
    """On Debian: apt knows each name. Without its lists it knows those that are installed."""
    if not shutil.which("apt-cache") or not shell("host_release")[0].startswith("debian"):
        return
    here = dict(zip(*[iter(reversed(shell("rows_of " + " ".join({row[0] for row in table}))))] * 2))  # package: check
    known = set(call(["apt-cache", "pkgnames"]).stdout.split())
    missing = shell("missing_packages " + " ".join({row[0] for row in table}))
    wanted = here if len(known) > 20000 else [name for name in here if name not in missing]
    expect(f"apt knows the names of {len(wanted)} packages", wanted and known.issuperset(wanted), set(wanted) - known)


def hide(folder, hidden):
    """A PATH without some commands."""
    os.makedirs(folder)
    for place in "/usr/local/bin", "/usr/bin", "/bin":
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if name not in hidden and not os.path.lexists(f"{folder}/{name}"):
                os.symlink(f"{place}/{name}", f"{folder}/{name}")
    return folder


def doctor(**variables):
    """In an empty cache: asking a full one costs time."""
    result = call([f"{TREE}/lyra", "doctor", "--json"], **{"LYRA_CACHE": f"{scratch}/none", **variables})
    try:
        return result.returncode, json.loads(result.stdout)
    except ValueError:
        return result.returncode, {"ok": None, "checks": [], "missing": {}, "output": result.stdout + result.stderr}


def row(report, name):
    found = [each for each in report["checks"] if each["name"] == name]
    return found[0] if found else {"state": "no row", "text": str(report), "remedy": ""}


def check_doctor(folder):
    none = f"{folder}/none"
    os.makedirs(folder)
    status, report = doctor(LYRA_CACHE=none)
    names = [each["name"] for each in report["checks"]]
    expected = "system compiler processors memory disk kvm namespaces packages mirrors guest cache"
    expect("doctor says something of everything", list(dict.fromkeys(names)) == expected.split(), report)
    states = {each["state"] for each in report["checks"]}
    expect("its exit status is that of its rows", status == int("wrong" in states) and report["ok"] == (status == 0), report)
    wrong = [each for each in report["checks"] if each["state"] == "wrong"]
    expect("what is wrong has a remedy", all(each["remedy"] for each in wrong), wrong)
    expect("it counts processors", report.get("host", {}).get("processors") == len(os.sched_getaffinity(0)), report)
    text = call([PROGRAM, "doctor"], LYRA_CACHE=none).stdout.splitlines()
    expect("the program says the same in lines", [line.split()[1] for line in text if line[0] != " "] == names, text)

    write(f"{folder}/fedora", 'ID=fedora\nVERSION_ID=41\nPRETTY_NAME="Fedora"\n')
    write(f"{folder}/ubuntu", 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04"\n')
    empty = f"{folder}/empty"
    os.makedirs(empty)
    variables = {"PATH": hide(f"{folder}/bin", ["cmake", "g++"]), "LYRA_CACHE": none, "LYRA_OS_RELEASE": f"{folder}/fedora"}
    status, report = doctor(**variables)
    expect("a missing compiler is wrong where nothing installs it",
           status == 1 and row(report, "compiler")["state"] == "wrong", report)
    expect("missing packages are named", {"cmake", "g++"} <= set(report["missing"].get("run", [])), report)
    result = call([f"{TREE}/lyra", "version"], **variables)
    expect("without them ./lyra ends with 1 and names them",
           result.returncode == 1 and "cmake: no command cmake" in result.stderr and "apt-get" not in result.stderr, result)
    result = call([f"{TREE}/lyra", "version"], **{**variables, "LYRA_OS_RELEASE": f"{folder}/ubuntu"})
    expect("on Ubuntu it says what apt-get has to install",
           result.returncode == 1 and re.search("apt-get install .*cmake g[+][+]", result.stderr), result)

    status, report = doctor(LYRA_APT_ETC=empty, LYRA_CACHE=none)
    mirrors = row(report, "mirrors")
    expect("no mirror is wrong", status == 1 and mirrors["state"] == "wrong" and "LYRA_APT_ETC" in mirrors["remedy"], report)
    expect("doctor makes no cache", not os.path.exists(none))
    status, report = doctor(LYRA_CACHE="/proc/lyra", LYRA_APT_ETC=empty)
    expect("a folder that cannot be written is wrong", row(report, "disk")["state"] == "wrong", report)
    expect("doctor --wrong is a usage error", call([f"{TREE}/lyra", "doctor", "--wrong"]).returncode == 2)
    check_kvm(folder, empty)


def check_kvm(folder, empty):
    write(f"{folder}/vmx", "flags : fpu vmx sse\n")
    write(f"{folder}/plain", "flags : fpu sse\n")
    write(f"{folder}/device")
    cases = [("no-such-device", "vmx", "does not exist"), ("device", "plain", "neither VT-x nor AMD-V"),
             ("device", "vmx", "is no KVM device")]
    for device, flags, why in cases:
        _, report = doctor(LYRA_KVM=f"{folder}/{device}", LYRA_CPUINFO=f"{folder}/{flags}", LYRA_APT_ETC=empty)
        kvm = report.get("kvm", {})
        expect(f"KVM: {why}", kvm.get("usable") is False and why in kvm.get("why", "") and row(report, "kvm")["remedy"], kvm)


def check_clean(folder):
    cache = f"{folder}/cache"
    made = call([f"{TREE}/tools/guest/build_root.sh", "--cache", cache, "--print"], LYRA_PRINT_ONLY="yes").stdout.strip()
    recipe = f"tools/guest/build_root.sh\n{folder}\n=--cache\n={cache}\n=--release\n=trixie\n=--packages\n=\n"
    write(f"{made}/usr/bin/x")
    write(made + ".recipe", recipe)
    for name in "root-trixie-000000000000", "root-trixie-111111111111":
        write(f"{cache}/{name}/usr/bin/x")
        write(f"{cache}/{name}.recipe", recipe)
    write(f"{cache}/root-trixie-222222222222.recipe", recipe)
    write(f"{cache}/kfd-333333333333/amdgpu.ko")
    for number, source in ("4", f"{folder}/gone"), ("5", TREE):
        write(f"{cache}/build-{number * 12}/log")
        os.symlink(source, f"{cache}/build-{number * 12}/src")
    for name in (".qemu.abcdef/x", ".image-sid-7.2.abcdef/x", "log/guest.log", "qemu.lock", "notes.txt", "ccache/x",
                 "debs-6.12/complete", "debs-5.0/complete", "qemu-work-9.0/x"):
        write(f"{cache}/{name}", "x")
    everything = set(os.listdir(cache)) | {"image-sid-7.2.lock"}
    listed = {"root-trixie-000000000000", "root-trixie-222222222222.recipe", "build-444444444444", ".qemu.abcdef", "log",
              "debs-5.0", "qemu-work-9.0"}
    stale = listed | {"root-trixie-000000000000.recipe"}
    lock = open(f"{cache}/image-sid-7.2.lock", "w", encoding="utf-8")  # somebody makes an image
    fcntl.flock(lock, fcntl.LOCK_EX)
    busy = open(f"{cache}/root-trixie-111111111111/usr/bin/x", encoding="utf-8")

    def clean(*words):
        return call([PROGRAM, "clean", *words], LYRA_CACHE=cache)

    result = clean("-n")
    expect("a dry run removes nothing", result.returncode == 0 and set(os.listdir(cache)) == everything, result)
    expect("it says what it would remove", all(f"would remove {name}," in result.stdout for name in listed), result)
    result = clean()
    left = set(os.listdir(cache))
    expect("what is stale goes, all else stays", result.returncode == 0 and left == everything - stale, f"{result}\n{left}")
    expect("it says how much", re.search(r"removed \d+ KB in ", result.stdout), result)
    result = clean("--all")
    expect("nothing goes while a process uses the cache", result.returncode == 1 and set(os.listdir(cache)) == left, result)
    lock.close()
    busy.close()
    result = clean("--all")
    expect("all of Lyra's goes, another's file stays", result.returncode == 0 and os.listdir(cache) == ["notes.txt"], result)
    os.remove(f"{cache}/notes.txt")
    clean("--all")
    expect("an empty cache goes too", not os.path.exists(cache))
    expect("no cache is nothing to clean", clean().returncode == 0)
    expect("clean --wrong is a usage error", clean("--wrong").returncode == 2)


FAKE_SCRIPT = """#!/bin/sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --packages) packages=$2 && shift ;;
    --print) print_only=yes ;;
    esac
    shift
done
artefact fake "$({ cat input "$here/input" && echo "$packages"; } | hash_of)" made
mkdir "$work/out"
touch "$work/out/made"
publish 9
"""


def check_recipes(folder):
    """What a script has made is asked for again as it was: with its arguments, an empty one too, in the same folder."""
    guest, cache, place = f"{folder}/tree/tools/guest", f"{folder}/cache", f"{folder}/my place"
    write(f"{guest}/build_fake.sh", FAKE_SCRIPT)
    os.chmod(f"{guest}/build_fake.sh", 0o755)
    shutil.copy(f"{TREE}/tools/guest/artefact.sh", guest)
    write(f"{guest}/input", "1")
    write(f"{place}/input", "1")
    os.makedirs(f"{cache}/build-000000000000")
    os.symlink(f"{folder}/tree", f"{cache}/build-000000000000/src")

    def make(packages):
        command = f"cd '{place}' && exec {guest}/build_fake.sh --cache {cache} --packages '{packages}'"
        return os.path.basename(call(["sh", "-c", command]).stdout.strip())

    made = {make(""), make("a b"), make("$x")}
    expect("a script makes its artefacts", len(made) == 3 and made <= set(os.listdir(cache)), made)
    call([PROGRAM, "clean"], LYRA_CACHE=cache)
    expect("an artefact that is named as it was asked for stays", made <= set(os.listdir(cache)), os.listdir(cache))
    write(f"{guest}/input", "2")
    call([PROGRAM, "clean"], LYRA_CACHE=cache)
    left = [name for name in os.listdir(cache) if not name.startswith("build-")]
    expect("it goes with its recipe when what it is made of has changed", left == ["fake.lock"], left)


PRECOMPILE = """
made() { # NAME, what the header of now declares
    printf '#pragma once\\nconstexpr int %s = 1;\\n' $1 >one
    touch -d '1 minute ago' one all # ccache takes no header that is as new as the call
    cp old.gch all.gch 2>/dev/null
    "$compile" g++ -x c++-header -include $PWD/all -MD -MF all.d -o all.gch -c empty && [ -s all.gch ] || exit
    echo "static_assert($1 == 1);" | g++ -fsyntax-only -Winvalid-pch -include $PWD/all -x c++ - || exit
    [ -e old.gch ] || cp all.gch old.gch
}
echo '#include "one"' >all
: >empty
made old && made first && made second
"""

ELSEWHERE = """
made() ( # FOLDER, text of the comment
    mkdir $1
    cd $1
    printf '#pragma once\n/* %s */\nconstexpr int one = 1;\n' "$2" >one
    echo "#include \\"$PWD/one\\"" >all
    : >empty
    touch -d '1 minute ago' one all
    "$compile" g++ -x c++-header -include $PWD/all -MD -MF all.d -o all.gch -c empty && [ -s all.gch ] || exit
    echo '#include "one"' | g++ -fsyntax-only -I. -Winvalid-pch -include $PWD/all -x c++ -
)
made here old && made there older
"""


def check_compile(folder):
    """A precompiled header is made of the headers of now: in the place of an old one, and where another folder has one like it."""
    os.makedirs(folder)
    ran = call(["sh", "-c", f"cd {folder}; {PRECOMPILE}"], compile=f"{TREE}/tools/setup/compile.sh", CCACHE_DIR=f"{folder}/ccache",
               CCACHE_SLOPPINESS="pch_defines,time_macros")
    expect("a precompiled header is made of the headers of now", ran.returncode == 0, ran.stdout + ran.stderr)
    ran = call(["sh", "-c", f"cd {folder}; {ELSEWHERE}"], compile=f"{TREE}/tools/setup/compile.sh", CCACHE_DIR=f"{folder}/ccache",
               CCACHE_BASEDIR=folder, CCACHE_NOHASHDIR="1", CCACHE_SLOPPINESS="pch_defines,time_macros")
    expect("one of headers with other comments is not used", ran.returncode == 0, ran.stdout + ran.stderr)


with tempfile.TemporaryDirectory() as scratch:
    check_lists()
    check_compile(f"{scratch}/compile")
    check_recipes(f"{scratch}/recipes")
    check_doctor(f"{scratch}/doctor")
    check_clean(f"{scratch}/clean")
sys.exit(1 if failures else 0)
