#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the Debian trixie root file system of the guest, with hipcc in it, and prints its folder.
#
#   build_root.sh [--cache DIR] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/root-HASH; HASH covers packages-guest.txt and this script. build_image.sh makes the guest's disk of it,
# hipcc.sh compiles in it. About a minute and 0.9 GB.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
print_only=no
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_root.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

hash=$(cat "$here/build_root.sh" "$here/packages-guest.txt" | sha256sum | cut -c1-12)
out=$cache/root-$hash
if [ -d "$out" ]; then
    echo "$out"
    exit 0
fi
if [ $print_only = yes ]; then
    echo "$out"
    exit 1
fi

mkdir -p "$cache"
exec 9>"$cache/root.lock"
flock 9
if [ -d "$out" ]; then # made while this script waited
    echo "$out"
    exit 0
fi
work=$(mktemp -d "$cache/.root.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
. "$here/apt_private.sh"
apt_sources deb trixie main >"$work/sources.list"
if ! [ -s "$work/sources.list" ]; then
    echo "root: no Debian mirror found in /etc/apt/sources.list or /etc/apt/sources.list.d" >&2
    exit 1
fi
include=$(sed '/^#/d' "$here/packages-guest.txt" | paste -sd,)

echo "root: install Debian trixie with hipcc (about a minute, 0.9 GB)" >&2
# It passes numbers of open files to /bin/sh, which knows only those below 10: close what this script has inherited.
if ! mmdebstrap --variant=essential --include="$include" --format=tar \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    trixie "$work/root.tar" "$work/sources.list" >"$work/log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; then
    tail -n 30 "$work/log" >&2
    echo "root: mmdebstrap failed" >&2
    exit 1
fi
# By tar, so that an ordinary user can make it too: the files become his, the devices are left out.
mkdir "$work/root"
tar -x -f "$work/root.tar" -C "$work/root" --no-same-owner --exclude='./dev/*'
chmod -R u+rwX "$work/root"
mv "$work/root" "$out"
# The last two are kept: a gigabyte each.
ls -dt "$cache"/root-* | tail -n +3 | xargs -r rm -rf
echo "$out"
