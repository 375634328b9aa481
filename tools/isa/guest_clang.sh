#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the clang of a guest's root file system natively in the current folder: that of which the release's hipcc is made, 15 in
# bookworm, 17 in trixie.
#
#   guest_clang.sh [--cache DIR] [--release R] ARGUMENTS of clang      file names relative to the current folder
#
# Exit status: that of clang.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../guest/in_root.sh"
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
release=trixie
while :; do
    case ${1-} in
    --cache) cache=$2 ;;
    --release) release=$2 ;;
    *) break ;;
    esac
    shift 2
done
root=$("$here/../guest/build_root.sh" --cache "$cache" --release "$release")
clang=$(cd "$root/usr/bin" && printf '%s\n' clang-[0-9]* | sort -V | tail -n 1)

bind=$PWD
in_root "$root" env -i PATH="/usr/lib/llvm-${clang#clang-}/bin:/usr/sbin:/usr/bin" HOME=/root TMPDIR=/tmp LANG=C.UTF-8 \
    sh -c 'cd /mnt && exec "$@"' sh "$clang" "$@"
