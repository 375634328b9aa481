#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the Debian root file system of the guest, with hipcc in it, and prints its folder.
#
#   build_root.sh [--cache DIR] [--release R] [--packages A,B,...] [--print]
#
#   --cache DIR      where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --release R      Debian release, a row of guests.tsv (default: its first)
#   --packages LIST  more packages of that release, separated by commas
#   --print          only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/root-R-HASH; HASH covers packages-guest.txt, the additional packages and this script. build_image.sh makes
# the guest's disk of it, hipcc.sh compiles in it. About a minute and 0.9 GB.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
release=$(awk '$1 == "release" { print $2; exit }' "$here/guests.tsv")
packages=
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --release) release=$2 && shift ;;
    --packages) packages=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_root.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
if ! awk -v name="$release" '$1 == "release" && $2 == name { found = 1 } END { exit !found }' "$here/guests.tsv"; then
    echo "build_root.sh: there is no release $release in guests.tsv" >&2
    exit 2
fi
case $packages in
*[!a-z0-9+.,-]*) echo "build_root.sh: --packages: not names of Debian packages: $packages" >&2 && exit 2 ;;
esac

# "name [trixie sid]" is for these releases only. One order, so that the same set has one hash.
list=$(sed -e '/^#/d' "$here/packages-guest.txt" | awk -v release="$release" '
    NF > 1 { line = $0; gsub(/[][]/, " ", line); found = 0; n = split(line, words, " ")
             for (i = 2; i <= n; i++) found = found || words[i] == release
             if (!found) next }
    { print $1 }')
include=$(printf '%s\n%s\n' "$list" "$packages" | tr , '\n' | sed '/^$/d' | LC_ALL=C sort -u | paste -sd,)
artefact "root-$release" "$({ cat "$here/build_root.sh" && echo "$include"; } | hash_of)" usr/bin

. "$here/apt_private.sh"
install_root() (
    set -e
    apt_sources deb "$release" main >"$work/sources.list"
    if ! [ -s "$work/sources.list" ]; then
        echo "error: no Debian mirror found in /etc/apt/sources.list or /etc/apt/sources.list.d"
        exit 1
    fi
    # mmdebstrap passes numbers of open files to /bin/sh, which knows only those below 10: close what this script has inherited.
    mmdebstrap --variant=essential --include="$include" --format=tar \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        "$release" "$work/root.tar" "$work/sources.list" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
    # By tar, so that an ordinary user can make it too: the files become his, the devices are left out.
    mkdir "$work/out"
    tar -x -f "$work/root.tar" -C "$work/out" --no-same-owner --exclude='./dev/*'
    chmod -R u+rwX "$work/out"
)

step "install Debian $release with hipcc${packages:+ and $packages} (about a minute, 0.9 GB)" install_root
publish 3
