#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the series of patches as a maintainer would: one line for each check, exit status 1 when one fails.
#
#   check.sh [--cache DIR] [--core | --form] [KERNEL...]
#
#   --core     only: the series has the same policy core as scheduler/core/; needs no kernel source
#   --form     without compiling: also `git am` on a clean tree, who signed, numbering, checkpatch --strict
#   KERNEL     6.12, 7.2; without it all that have a series
#   --cache DIR   where compiler, headers, source and objects are kept (default: $LYRA_CACHE, then ~/.cache/lyra)
#
# Without --core and --form every commit is compiled, too: of amdgpu.ko what it changes. Some 20 minutes on two cores the first
# time. What checkpatch may say, and why, is in checkpatch.tsv.
# Functions are called by name through check(), and kbuild.sh sets release.
# shellcheck disable=SC2317,SC2154,SC2034,SC2046,SC2086,SC1091
set -eu

patches=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$patches/.." && pwd)
here=$source_dir/tools/guest
. "$here/artefact.sh"
. "$here/kbuild.sh"
level=build
kernels=
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --core) level=core ;;
    --form) level=form ;;
    -*) echo "check.sh: unknown argument $1" >&2 && exit 2 ;;
    *)
        [ -d "$patches/linux-$1" ] || { echo "check.sh: there is no series for kernel $1" >&2 && exit 2; }
        kernels="$kernels $1"
        ;;
    esac
    shift
done
[ -n "$kernels" ] || kernels=$(cd "$patches" && echo linux-* | sed 's/linux-//g')

if [ $level = core ]; then
    work=$(mktemp -d)
else
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/.kfd-check.XXXXXX")
fi
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
log=$work/log
kind=kfd-check
status=0

# check TITLE COMMAND...: prints a line, and what the command has printed when it fails. Sets $result. Never in a condition:
# "set -e" would have no effect inside.
check() {
    title="linux-$kernel: $1"
    shift
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    result=$?
    set -e
    if [ $result = 0 ]; then
        echo "PASS $title"
    else
        echo "FAIL $title"
        if grep -n 'error:' "$log" >"$log.errors"; then head -n 20 "$log.errors"; else tail -n 40 "$log"; fi | sed 's/^/    /'
        status=1
    fi
}

# Each file of the core, as the series makes it.
core_is_equal() (
    mkdir -p "$work/core"
    cd "$work/core"
    git init -q .
    for patch in "$patches/linux-$kernel"/*.patch; do
        case $patch in */0000-*) continue ;; esac
        git apply --include='*/amdkfd/qsched.*' --include='*/amdkfd/policies.*' "$patch"
    done
    for file in "$source_dir"/scheduler/core/*.[ch] "$source_dir"/scheduler/core/*.def; do
        diff -u "$amd/amdkfd/${file##*/}" "$file"
    done
    # Nothing that scheduler/core does not have.
    for file in "$amd"/amdkfd/*; do test -f "$source_dir/scheduler/core/${file##*/}"; done
)

in_tree() { git -C "$work/tree" -c user.name=check -c user.email=check@localhost -c core.hooksPath=/dev/null "$@"; }

am() {
    mkdir "$work/tree"
    cp -a "$kernel_source/." "$work/tree/"
    # checkpatch wants to see a whole tree.
    for part in COPYING CREDITS Kbuild Makefile README; do [ -e "$work/tree/$part" ] || touch "$work/tree/$part"; done
    for part in arch fs include init ipc kernel lib; do mkdir -p "$work/tree/$part"; done
    in_tree init -q
    # Without the lists of registers, which are most of it.
    in_tree -c core.compression=0 add -A -f -- . ":!$amd/include"
    in_tree commit -q -m "Debian's source"
    in_tree tag clean
    in_tree am --whitespace=error $(ls "$patches/linux-$kernel"/*.patch | sed '/0000-/d')
}

# One author, who has signed; numbers without a gap; a cover letter for so many.
letters() {
    author=$(git -C "$source_dir" log -1 --format='%an <%ae>' -- kfd-patches)
    count=$(ls "$patches/linux-$kernel"/*.patch | sed '/0000-/d' | wc -l)
    n=0
    for patch in "$patches/linux-$kernel"/*.patch; do
        git mailinfo "$work/message" "$work/diff" <"$patch" >"$work/head"
        grep -q "^Subject: .*[A-Za-z]" "$work/head"
        numbers=$(printf '[PATCH %02d/%02d]' "$n" "$count")
        grep -qF "$numbers" "$patch" || { echo "$patch is not $numbers" && exit 1; }
        [ "$(sed -n 's/^Author: //p' "$work/head") <$(sed -n 's/^Email: //p' "$work/head")>" = "$author" ] ||
            { echo "$patch is not by $author" && exit 1; }
        [ $n = 0 ] || grep -qxF "Signed-off-by: $author" "$work/message" ||
            { echo "$patch is not signed by $author" && exit 1; }
        n=$((n + 1))
    done
    [ $n = $((count + 1)) ]
}

checkpatch() {
    cd "$work" # where it leaves a file
    in_tree format-patch -q --stdout -1 "$1" >"$work/one.patch"
    perl "$work/tree/scripts/checkpatch.pl" --root="$work/tree" --strict --show-types --terse --showfile \
        "$work/one.patch" >"$work/said" && return
    grep '^total: .* lines checked$' "$work/said" # otherwise it has not run
    sed -n 's/^\([^:]*\):[0-9]*: [A-Z]*:\([A-Z_]*\): .*/\2 \1/p' "$work/said" >"$work/types"
    [ "$(wc -l <"$work/types")" = "$(awk '/^total:/ { print $2 + $4 + $6 }' "$work/said")" ] || { cat "$work/said" && exit 1; }
    while read -r type file; do
        excused=no
        while IFS="$(printf '\t')" read -r row pattern _; do
            # shellcheck disable=SC2254
            if [ "$row" = "$type" ]; then case $file in $pattern) excused=yes ;; esac fi
        done <"$patches/checkpatch.tsv"
        [ $excused = yes ] || { grep "$type" "$work/said" && exit 1; }
    done <"$work/types"
}

build() {
    in_tree checkout -q -f "$1"
    kbuild_take "$work/tree/$amd" "$objects"
    kbuild_compile "$objects"
}

for kernel in $kernels; do
    check "the policy core is that of scheduler/core" core_is_equal
    rm -rf "$work/core" "$work/tree"
    [ $level != core ] || continue
    check "authors, signatures and numbers" letters
    kbuild_kernel "$kernel"
    # Compiler, headers, source and objects are those of build_kfd.sh, and so is the lock.
    exec 9>"$cache/kfd.lock"
    [ $level = form ] && [ -f "$kernel_source/scripts/checkpatch.pl" ] || flock 9
    kbuild_ready
    check "git am on the source of $release" am
    [ $result = 0 ] || continue
    commits=$(in_tree rev-list --reverse clean..HEAD)
    for commit in $commits; do
        title=$(in_tree log -1 --format=%s "$commit")
        check "checkpatch: $title" checkpatch "$commit"
    done
    [ $level = build ] || continue
    objects=$cache/kfd-tree-$release-lyra
    for commit in $commits; do
        title=$(in_tree log -1 --format=%s "$commit")
        check "compiles: $title" build "$commit"
    done
done
exit $status
