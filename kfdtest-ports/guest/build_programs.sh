#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the guest's programs that talk to /dev/kfd without a runtime (folder kfd/) and prints the folder that holds them.
#
#   build_programs.sh [--cache DIR] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/guest-programs-HASH; HASH covers the sources. Each kfd/NAME.cpp with a main() becomes a static program NAME.
# The driver's interface comes from the header of the guest's own Debian release. Half a minute.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
. "$top/tools/guest/artefact.sh"
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_programs.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

# What the programs share with the device: the layout of save areas, and the reader of saved images.
shared="cwsr/area.cpp cwsr/image.cpp cwsr/image_dump.cpp cwsr/save_area.cpp"
# shellcheck disable=SC2086
artefact guest-programs "$(cd "$top" && hash_of kfdtest-ports/guest/build_programs.sh kfdtest-ports/guest/kfd/* cwsr/*.h cwsr/*.def $shared \
    common/bits.h common/hash.h facts/chips.h facts/*.def)" wave_state
root=$("$top/tools/guest/build_root.sh" --cache "$cache" 9>&-)
mkdir -p "$work/include/linux" "$work/include/drm" "$work/out"
cp "$root/usr/include/linux/kfd_ioctl.h" "$work/include/linux/"
cp "$root/usr/include/drm/drm.h" "$root/usr/include/drm/drm_mode.h" "$work/include/drm/"

# GPU code: NAME.s becomes the function code_NAME() of code.h.
mkdir -p "$work/include/kfdtest-ports/guest/kfd"
{
    echo '#pragma once'
    echo '#include <span>'
    for source in "$here"/kfd/*.s; do
        echo "std::span<const unsigned char> code_$(basename "$source" .s)();"
    done
} >"$work/include/kfdtest-ports/guest/kfd/code.h"
{
    echo '#include "kfdtest-ports/guest/kfd/code.h"'
    for source in "$here"/kfd/*.s; do
        name=$(basename "$source" .s)
        llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu=gfx900 -filetype=obj -I "$here/kfd" "$source" -o "$work/$name.gpu"
        llvm-objcopy-19 -O binary --only-section=.text "$work/$name.gpu" "$work/$name.bin"
        echo "static const unsigned char ${name}[] = {"
        od -An -v -tu1 "$work/$name.bin" | sed 's/[0-9][0-9]*/&,/g'
        echo "};"
        echo "std::span<const unsigned char> code_$name() { return $name; }"
    done
} >"$work/code.cpp"

flags="-std=c++20 -O2 -Wall -Wextra -DFMT_HEADER_ONLY -I$work/include -I$top"
objects=
# shellcheck disable=SC2086
for source in "$work/code.cpp" $(cd "$top" && ls $shared kfdtest-ports/guest/kfd/*.cpp); do
    case $source in /*) file=$source ;; *) file=$top/$source ;; esac
    object=$work/$(basename "$source" .cpp).o
    # shellcheck disable=SC2086
    ccache g++ $flags -c "$file" -o "$object"
    grep -q '^int main(' "$file" || objects="$objects $object"
done
for source in $(grep -l '^int main(' "$here"/kfd/*.cpp); do
    name=$(basename "$source" .cpp)
    # shellcheck disable=SC2086
    g++ -static -o "$work/out/$name" "$work/$name.o" $objects
    strip "$work/out/$name"
done
publish 3
