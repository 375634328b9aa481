# SPDX-License-Identifier: MIT
"""Where the library and its header are: options --header and --library of pytest."""
import os

import lyra_api
import pytest
import registers

SOURCE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def pytest_addoption(parser):
    parser.addoption("--header", default=os.path.join(SOURCE, "qemu-hw/include/lyra.h"), help="lyra.h of that library")
    parser.addoption("--library", help="liblyra.so")


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
