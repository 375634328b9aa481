#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of this folder with pytest.

usage: run.py (--library FILE | --program FILE) [--header FILE] [--qemu FILE] [TEST...]

--library   liblyra.so.1 to test, also that of QEMU
--program   the same by a program that uses it
--header    its lyra.h, if not that of this source tree
--qemu      qemu-system-x86_64 with the device, for test_device.py and test_machine.py
TEST        files, if not all that can run

The last lines name each test with PASSED, FAILED or ERROR. Exit status 77 without pytest.
"""
import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY_TESTS = ["test_header.py", "test_library.py", "test_library_host.py", "test_library_state.py"]
DEVICE_TESTS = ["test_device.py", "test_machine.py"]
# Nothing of the user's settings, and no files in the source tree.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


def pytest_command():
    if importlib.util.find_spec("pytest"):
        return [sys.executable, "-m", "pytest"]
    found = shutil.which("pytest-3")  # Debian's, of Debian's Python
    return found and [found]


def library_of(program):
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True)
    found = re.search(r"liblyra\.so\S* => (/\S+)", done.stdout)
    if not found:
        sys.exit(f"{program} does not use liblyra.so")
    return found.group(1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("--library", "--program", "--header", "--qemu"):
        parser.add_argument(name)
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    command = pytest_command()
    if not command:
        print("pytest is missing (set optional of tools/setup/packages.tsv)")
        return 77
    library = given.library or library_of(given.program)
    options = {"library": library, "header": given.header, "qemu": given.qemu}
    command += [f"--{name}={os.path.abspath(value)}" for name, value in options.items() if value]
    with tempfile.TemporaryDirectory() as folder:
        command += ["-q", "-rA", "--tb=short", "-c", os.devnull, "--rootdir", HERE, "-p", "no:cacheprovider",
                    "--basetemp", os.path.join(folder, "tests")]
        tests = given.tests or LIBRARY_TESTS + (DEVICE_TESTS if given.qemu else [])
        done = subprocess.run([*command, *tests], cwd=HERE, env={**os.environ, **ENVIRONMENT})
    return 0 if done.returncode == 0 else 1


sys.exit(main())
