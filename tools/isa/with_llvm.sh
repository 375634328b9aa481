#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a program that was built on the host with the C library, and with LYRA_LLVM naming LLVM's, of a release's root file
# system.
#
#   with_llvm.sh [--cache DIR] RELEASE PROGRAM ARGUMENTS...
#
# Exit status: that of the program.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
[ "${1-}" != --cache ] || {
    cache=$2
    shift 2
}
root=$("$here/../guest/build_root.sh" --cache "$cache" --release "$1")
program=$2
shift 2
libraries=$root/usr/lib/x86_64-linux-gnu
LYRA_LLVM=$(find "$libraries" -name 'libLLVM.so.*' | sort -V | tail -n 1)
[ -n "$LYRA_LLVM" ] || {
    echo "with_llvm.sh: the root file system has no LLVM" >&2
    exit 2
}
export LYRA_LLVM
# What the release has in other versions, libfmt among them, is the host's.
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:/usr/lib/x86_64-linux-gnu" "$program" "$@"
