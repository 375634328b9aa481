#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a Debian root file system with what compiles a kernel, and prints its folder.
#
#   build_compiler.sh [--cache DIR] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/compiler-HASH; HASH covers this script. A minute and 0.7 GB.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_compiler.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
release=$(awk '$1 == "release" { print $2; exit }' "$here/guests.tsv")
packages=bc,bison,cpio,flex,gcc,kmod,libc6-dev,libelf-dev,libssl-dev,make,perl,python3,rsync,xz-utils,zstd
artefact compiler "$({ cat "$here/build_compiler.sh" && echo "$release"; } | hash_of)" usr/bin/gcc

. "$here/apt_private.sh"
install_root() (
    set -e
    apt_sources deb "$release" main >"$work/sources.list"
    if ! [ -s "$work/sources.list" ]; then
        echo "error: no Debian mirror found in /etc/apt/sources.list or /etc/apt/sources.list.d"
        exit 1
    fi
    # As in build_root.sh.
    mmdebstrap --variant=essential --include="$packages" --format=tar \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        "$release" "$work/root.tar" "$work/sources.list" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
    mkdir "$work/out"
    tar -x -f "$work/root.tar" -C "$work/out" --no-same-owner --exclude='./dev/*'
    chmod -R u+rwX "$work/out"
)

step "install a compiler for kernels (a minute, 0.7 GB)" install_root
publish 1
