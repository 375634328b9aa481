# SPDX-License-Identifier: MIT
"""Where the library, its header and QEMU are: options --header, --library, --qemu of pytest."""
import contextlib
import os

import lyra_api
import pytest
import qtest
import registers

SOURCE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def pytest_addoption(parser):
    parser.addoption("--header", default=os.path.join(SOURCE, "qemu-hw/include/lyra.h"), help="lyra.h of that library")
    parser.addoption("--library", help="liblyra.so")
    parser.addoption("--qemu", help="qemu-system-x86_64 with the device")


def option(request, name):
    value = request.config.getoption(name)
    assert value, f"{name} has to be given"
    return value


@pytest.fixture(scope="session")
def library(request):
    return lyra_api.Library(option(request, "--header"), option(request, "--library"))


@pytest.fixture(scope="session")
def rows():
    return registers.read_tables(SOURCE)


@pytest.fixture(scope="session")
def register(rows):
    """Offsets of registers, by their names."""
    return {name: row.offset for name, row in rows.items()}


@pytest.fixture
def device(library):
    with lyra_api.Device(library) as made:
        yield made


@pytest.fixture(scope="session")
def qemu(request):
    """Program, and the folder of the library that it takes."""
    library = request.config.getoption("--library")
    return option(request, "--qemu"), library and os.path.dirname(os.path.abspath(library))


@pytest.fixture
def start(qemu):
    """start(options) is a machine that ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *words: stack.enter_context(qtest.Machine(*qemu, *words))


@pytest.fixture
def gpu(start):
    return qtest.Gpu(start("-device", qtest.GPU))
