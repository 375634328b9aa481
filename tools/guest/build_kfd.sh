#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds amdgpu.ko with a changed amdkfd for the guest's kernel, and prints its folder (amdgpu.ko and VERSIONS).
#
#   build_kfd.sh [--cache DIR] [--kernel V] [--print] [lyra | TREE | FILE.ko]
#
#   lyra       Debian's source with the patches of kfd-patches/linux-V (default)
#   TREE       a kernel tree, or its drivers/gpu/drm/amd: somebody's own changes; files that have not changed since the last
#              call are not compiled again
#   FILE.ko    a module that is built already; only checked
#   --kernel V    the guest's kernel, a row of guests.tsv (default: 6.12)
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# Display code (DC) is left out: it is more than half of the driver, and the GPU has no display. The first time takes about ten
# minutes on two cores. Results: DIR/kfd-HASH; HASH covers what goes in, the kernel's version with it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
. "$here/artefact.sh"
. "$here/kbuild.sh"
kernel=6.12
what=lyra
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --print) print_only=yes ;;
    -*) echo "build_kfd.sh: unknown argument $1" >&2 && exit 2 ;;
    *) what=$1 ;;
    esac
    shift
done

# What goes in: a list of files, and where drivers/gpu/drm/amd is.
case $what in
lyra)
    origin=lyra
    [ -d "$source_dir/kfd-patches/linux-$kernel" ] || { echo "build_kfd.sh: kfd-patches/ has no series for kernel $kernel" >&2 && exit 2; }
    inputs() { cat "$source_dir/kfd-patches/linux-$kernel"/*.patch "$source_dir"/scheduler/core/*.[ch] "$source_dir"/scheduler/core/*.def; }
    ;;
*.ko)
    origin=module
    [ -f "$what" ] || { echo "build_kfd.sh: no such file: $what" >&2 && exit 2; }
    what=$(realpath "$what")
    inputs() { cat "$what"; }
    ;;
*)
    origin=tree
    for tree in "$what" "$what/$amd"; do
        if [ -f "$tree/amdgpu/Makefile" ] && [ -d "$tree/amdkfd" ]; then user=$(realpath "$tree"); fi
    done
    [ -n "${user-}" ] || { echo "build_kfd.sh: $what is neither a .ko file nor a tree with $amd in it" >&2 && exit 2; }
    inputs() { (cd "$user" && find . -type f \( -name '*.[chS]' -o -name Makefile -o -name Kconfig -o -name '*.def' -o -name '*.asm' \) | LC_ALL=C sort | xargs sha256sum); }
    ;;
esac

kbuild_kernel "$kernel"
artefact kfd "$({ cat "$here/build_kfd.sh" "$here/kbuild.sh" && echo "$deb" && inputs; } | hash_of)" amdgpu.ko

tree=$cache/kfd-tree-$release-$origin
refresh() (
    set -e
    if [ "$origin" = lyra ]; then
        mkdir -p "$work/new/${amd%/*}"
        cp -a "$kernel_source/${amd%/*}/." "$work/new/${amd%/*}/"
        "$source_dir/kfd-patches/apply.sh" "$kernel" "$work/new"
        user=$work/new/$amd
    fi
    kbuild_take "$user" "$tree"
)

compile() (
    set -e
    kbuild_compile "$tree"
    cp "$tree/$amd/amdgpu/amdgpu.ko" "$work/amdgpu.ko"
)

# As the image's quick copy of Debian's module: without debug information, and without the list of functions that ftrace could
# patch, which costs 10 s at load under emulation. Tracepoints are not of that list.
finish() (
    set -e
    magic=$(modinfo -F vermagic "$work/amdgpu.ko")
    case $magic in
    "$release "*) ;;
    *) echo "error: the module is for kernel '$magic', the guest has $release" && exit 1 ;;
    esac
    mkdir "$work/out"
    objcopy --strip-debug --remove-section=__mcount_loc --remove-section=.rela__mcount_loc "$work/amdgpu.ko" "$work/out/amdgpu.ko"
    { echo "$deb" && echo "$origin"; } >"$work/out/VERSIONS"
)

if [ "$origin" != module ]; then
    kbuild_ready
    step "take the sources" refresh
    step "compile (the first time some ten minutes)" compile
else
    cp "$what" "$work/amdgpu.ko"
fi
step "check" finish
publish 4
