#!/bin/sh
# SPDX-License-Identifier: MIT
# Assembles kernels.s and prints it as words, as kernels.inc has them. The words have to be the same for all three chips.
#   make_kernels.sh >kernels.inc
#   make_kernels.sh --check          exit 1 when kernels.inc is not what kernels.s says
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for chip in gfx900 gfx906 gfx908; do
    llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu=$chip -filetype=obj "$here/kernels.s" -o "$work/$chip.o"
    llvm-objcopy-19 -O binary --only-section=.text "$work/$chip.o" "$work/$chip.bin"
    cmp "$work/$chip.bin" "$work/gfx900.bin"
done
second=$(llvm-nm-19 "$work/gfx900.o" | awk '$3 == "stamp" { print $1 }')
second=$(printf '%d' "0x$second")
words() {
    od -An -v -tx4 -w32 "$work/$1.bin" | sed 's/[0-9a-f][0-9a-f]*/0x&,/g; s/^ */    /'
}
head -c "$second" "$work/gfx900.bin" >"$work/victim.bin"
tail -c "+$((second + 1))" "$work/gfx900.bin" >"$work/stamp.bin"
{
    echo '// SPDX-License-Identifier: MIT'
    echo '// Made of kernels.s by make_kernels.sh: the same words for gfx900, gfx906 and gfx908.'
    for kernel in victim stamp; do
        echo "constexpr uint32_t ${kernel}[] = {"
        words $kernel
        echo '};'
    done
} >"$work/kernels.inc"
if [ "${1-}" = --check ]; then
    cmp "$work/kernels.inc" "$here/kernels.inc"
else
    cat "$work/kernels.inc"
fi
