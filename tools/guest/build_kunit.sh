#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a kernel for User Mode Linux that holds the KUnit tests of kfd-patches/ and little else, and prints its folder (linux
# and VERSIONS). Running it is running the tests: `linux kunit.enable=1 mem=256M kunit_shutdown=halt`.
#
#   build_kunit.sh [--cache DIR] [--kernel 6.12] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/kunit-HASH; HASH covers the kernel's version, the patches and the policy core. Five minutes on two cores,
# 1.6 GB for that time. Needs flex, bison and bc.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
. "$here/artefact.sh"
kernel=6.12
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_kunit.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
patches=$source_dir/kfd-patches/linux-$kernel
if ! [ -d "$patches" ]; then
    echo "build_kunit.sh: there are no patches for kernel $kernel" >&2
    exit 2
fi
amdkfd=drivers/gpu/drm/amd/amdkfd

image=$("$here/build_image.sh" --cache "$cache" --kernel "$kernel")
upload=$(sed -n 's/^linux-image-[^_]*_\([^_]*\)_.*/\1/p' "$image/VERSIONS")
artefact kunit "$({ cat "$here/build_kunit.sh" && echo "$upload" && cat "$patches"/*.patch "$source_dir"/scheduler/core/*.[ch] "$source_dir"/scheduler/core/*.def; } | hash_of)" linux

fetch() (
    . "$here/apt_private.sh"
    mkdir -p "$work/apt" "$work/source"
    apt_sources deb trixie main >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work"
    apt-get download -q "linux-source-$kernel=$upload"
    # Registers of GPUs are a third of the tree, and nothing here needs them.
    dpkg-deb --fsys-tarfile linux-source-*.deb | tar -x -O --wildcards '*.tar.xz' |
        tar -x -J -C source --strip-components=1 --exclude='*/drivers/gpu/drm/amd/include'
    rm linux-source-*.deb
)

apply() (
    "$source_dir/kfd-patches/apply.sh" "$kernel" "$work/source"
)

compile() (
    cd "$work/source"
    python3 tools/testing/kunit/kunit.py build --jobs "$(nproc)" --kunitconfig="$amdkfd/tests" --build_dir="$work/build"
    mkdir "$work/out"
    strip -o "$work/out/linux" "$work/build/linux"
    echo "linux-source-$kernel $upload" >"$work/out/VERSIONS"
)

step "fetch the source of kernel $upload (150 MB)" fetch
step "apply the patches" apply
step "compile for User Mode Linux (some minutes)" compile
publish 2
