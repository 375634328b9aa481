#!/bin/sh
# SPDX-License-Identifier: MIT
# Takes the first-level trap handler for GFX9 out of Debian's amdgpu.ko and prints the name of the file (raw code).
#
#   trap_handler.sh [--cache DIR] [--kernel 6.12|6.1] [--chip gfx900|gfx90a|gfx942]
#
# The driver keeps the code of each family of chips as an array of words, whose symbol is in the module. The module comes from
# the package that the guest image was made of.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
kernel=6.12
chip=gfx900
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --chip) chip=$2 && shift ;;
    *) echo "trap_handler.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
# Linux 6.12 kfd_device.c kfd_cwsr_init()
case $chip in
gfx900) array=cwsr_trap_gfx9_hex ;;
gfx90a) array=cwsr_trap_aldebaran_hex ;;
gfx942) array=cwsr_trap_gfx9_4_3_hex ;;
*) echo "trap_handler.sh: no array of the driver is known for chip $chip" >&2 && exit 2 ;;
esac

image=$("$here/build_image.sh" --cache "$cache" --kernel "$kernel")
out=$cache/trap-handler-$chip-$kernel-$(sha256sum <"$image/VERSIONS" | cut -c1-12).bin
if [ -s "$out" ]; then
    echo "$out"
    exit 0
fi

work=$(mktemp -d "$cache/.handler.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
# The package is quicker to look into than the image; it is only kept while nobody cleans the cache.
if [ -f "$cache/debs-$kernel/complete" ]; then
    dpkg-deb --fsys-tarfile "$cache/debs-$kernel"/linux-image-*.deb | tar -xO --wildcards '*/amd/amdgpu/amdgpu.ko*' >"$work/module"
else
    fsck.erofs --extract="$work/tree" "$image/root.erofs" >/dev/null
    find "$work/tree" -path '*/kernel/drivers/*' -name 'amdgpu.ko*' -exec cp {} "$work/module" \; -quit
fi
case $(head -c 6 "$work/module" | od -An -tx1 | tr -d ' ') in
fd377a585a00) xz -dc <"$work/module" >"$work/amdgpu.ko" ;;
28b52ffd*) zstd -qdc <"$work/module" >"$work/amdgpu.ko" ;;
*) mv "$work/module" "$work/amdgpu.ko" ;;
esac
# Value, size and section of the symbol; offset of the section in the file.
symbol=$(readelf -sW "$work/amdgpu.ko" | awk -v array="$array" '$8 == array { print $2, $3, $7 }')
if [ -z "$symbol" ]; then
    echo "trap_handler.sh: $image: the module has no $array" >&2
    exit 1
fi
# shellcheck disable=SC2086
set -- $symbol
section=$(readelf -SW "$work/amdgpu.ko" | sed 's/^ *\[ *//' | awk -v n="$3]" '$1 == n { print $5 }')
dd if="$work/amdgpu.ko" of="$work/handler" bs=4 skip=$(((0x$1 + 0x$section) / 4)) count=$(($2 / 4)) status=none
[ "$(stat -c %s "$work/handler")" = "$2" ]
mv "$work/handler" "$out"
echo "$out"
