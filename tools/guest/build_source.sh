#!/bin/sh
# SPDX-License-Identifier: MIT
# Unpacks the source of a Debian kernel and prints its folder.
#
#   build_source.sh [--cache DIR] [--kernel V] [--print]
#
#   --kernel V    a row of guests.tsv (default: its first); the version is that of the guest's kernel
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/source-V-HASH; HASH covers the version. 1.6 GB. Nobody may change it: who needs another tree makes it of
# hard links.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
. "$here/kbuild.sh"
kernel=$(awk '$1 == "kernel" { print $2; exit }' "$here/guests.tsv")
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_source.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
kbuild_kernel "$kernel"
artefact "source-$kernel" "$({ cat "$here/build_source.sh" && echo "$upload"; } | hash_of)" Makefile

. "$here/apt_private.sh"
fetch() (
    set -e
    mkdir -p "$work/apt" "$work/out"
    for suite in $suites; do apt_sources deb "$suite" main; done >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work"
    apt-get download -q "linux-source-$kernel=$upload"
    dpkg-deb --fsys-tarfile linux-source-*.deb | tar -x -O --wildcards '*.tar.xz' | tar -x -J -C out --strip-components=1
)

step "fetch and unpack the source of kernel $upload (150 MB, 1.6 GB)" fetch
publish 1
