#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles a HIP source file with the guest's own hipcc, natively (without emulation), in the guest's root file system.
#
#   hipcc.sh [--cache DIR] [--release R] [--packages A,B,...] [--headers DIR] SOURCE OUTPUT [OPTIONS for hipcc]
#
# --release and --packages are those of build_root.sh; --headers are a kernel's, in the place of the release's. The target is
# gfx900 unless OPTIONS say otherwise (--offload-arch=...). The folder of SOURCE is copied, so that files which it includes from
# there are found. Exit status: that of hipcc; 2 for a missing file.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/in_root.sh"
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
PATH=$PATH:/usr/sbin:/sbin
release= packages= headers=
while :; do
    case ${1-} in
    --cache) cache=$2 ;;
    --release) release=$2 ;;
    --packages) packages=$2 ;;
    --headers) headers=$2 ;;
    *) break ;;
    esac
    shift 2
done
if [ $# -lt 2 ]; then
    echo "usage: hipcc.sh [--cache DIR] [--release R] [--packages A,B] SOURCE OUTPUT [OPTIONS]" >&2
    exit 2
fi
source=$1 output=$2
shift 2
if ! [ -f "$source" ]; then
    echo "hipcc.sh: no such file: $source" >&2
    exit 2
fi
root=$("$here/build_root.sh" --cache "$cache" ${release:+--release "$release"} --packages "$packages")

# A folder of its own inside the root: several compilations may run at a time.
work=$(mktemp -d "$root/tmp/hip.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
inside=/tmp/${work##*/}
mkdir "$work/src" "$work/tmp"
# Headers and sources beside the file, but no large data.
find "$(dirname "$source")" -maxdepth 1 -type f -size -1024k \
    \( -name '*.h' -o -name '*.hh' -o -name '*.hpp' -o -name '*.hip' -o -name '*.cpp' -o -name '*.inc' \) \
    -exec cp {} "$work/src/" \;
cp "$source" "$work/src/"
if [ -n "$headers" ]; then
    cp -r "$headers" "$work/headers"
    set -- "$@" -isystem "$inside/headers"
fi

arch=--offload-arch=gfx900
language=
for option in "$@"; do
    case $option in
    --offload-arch=*) arch= ;;
    -x) language=given ;;
    esac
done
case $source in
*.hip | *.cu) [ -n "$language" ] || language=hip ;;
*) [ -n "$language" ] || language=hip ;;
esac
[ "$language" = given ] || set -- -x hip "$@"

status=0
# shellcheck disable=SC2086
in_root "$root" env -i PATH=/usr/sbin:/usr/bin HOME=/root TMPDIR="$inside/tmp" LANG=C.UTF-8 HIP_PLATFORM=amd \
    sh -c 'cd "$1" && shift && exec hipcc "$@"' sh "$inside/src" \
    $arch "$@" -o "$inside/output" "$(basename "$source")" || status=$?
[ $status = 0 ] || exit $status
cp "$work/output" "$output"
