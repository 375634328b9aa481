#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the clang of the guest's root file system (Debian trixie's clang-17, which hipcc is made of) natively in the current folder:
#
#   guest_clang.sh [--cache DIR] ARGUMENTS of clang-17      file names relative to the current folder
#
# Exit status: that of clang.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
if [ "${1-}" = --cache ]; then
    cache=$2
    shift 2
fi
root=$("$here/../guest/build_root.sh" --cache "$cache")

# clang wants /dev/null and /proc; the folder is mounted in a name space that ends with the command.
enter='mount --$bind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount --bind . "$1/mnt" && root=$1 && shift && exec chroot "$root" "$@"'
if [ "$(id -u)" = 0 ]; then
    spaces="--mount"
    bind=bind
else
    spaces="--user --map-root-user --mount --pid --fork"
    bind=rbind
fi
# shellcheck disable=SC2086
exec unshare $spaces env bind=$bind sh -c "$enter" sh "$root" \
    env -i PATH=/usr/lib/llvm-17/bin:/usr/sbin:/usr/bin HOME=/root TMPDIR=/tmp LANG=C.UTF-8 \
    sh -c 'cd /mnt && exec clang-17 "$@"' sh "$@"
