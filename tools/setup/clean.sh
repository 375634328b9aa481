#!/bin/sh
# SPDX-License-Identifier: MIT
# lyra clean: removes what is stale in the cache, and says what and how much. ./lyra runs it directly, without a build.
#
#   clean.sh [--all] [--dry-run|-n]
#
# Stale are results that no source tree names any more, builds of source trees that are gone, what an interrupted run has left
# behind, and logs. With --all everything of Lyra's goes. What a process has open, and files of other names than Lyra's, stay.
set -eu

setup=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$setup/../.." && pwd)
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
. "$setup/cache.sh"
all=no dry=no
for word; do
    case $word in
    --all) all=yes ;;
    -n | --dry-run) dry=yes ;;
    -q | --quiet | -v | --verbose) ;;
    -h | --help)
        echo "usage: lyra clean [--all] [-n|--dry-run]"
        echo "Removes what is stale in $cache; with --all everything that Lyra has made there. -n: only says what."
        exit 0
        ;;
    *) echo "lyra: clean: unknown argument $word (--all, --dry-run)" >&2 && exit 2 ;;
    esac
done
if [ $all = yes ] && [ $dry = no ] && [ -d "$cache" ] && [ -n "$(cache_open_files)" ]; then
    echo "lyra: processes use $cache; wait until they have ended, or leave --all out" >&2
    exit 1
fi

tab=$(printf '\t')
entries=$(cache_entries)
total=0
while IFS=$tab read -r state size name why; do
    case $state:$why in
    : | busy:*) continue ;;
    unknown:not*) [ $all = no ] || echo "not Lyra's, stays: $name" >&2 && continue ;;
    kept:* | unknown:*) [ $all = yes ] || continue ;;
    esac
    if [ $dry = yes ]; then
        echo "would remove $name, $(human_size "$size"): $why"
    else
        rm -rf --one-file-system "${cache:?}/${name:?}" "$cache/$name.recipe"
        echo "removed $name, $(human_size "$size"): $why"
    fi
    total=$((total + size))
done <<END
$entries
END
[ $all = no ] || [ $dry = yes ] || rmdir "$cache" 2>/dev/null || true
if [ $total = 0 ]; then
    echo "nothing to remove in $cache"
else
    echo "$([ $dry = yes ] && echo "would remove" || echo removed) $(human_size $total) in $cache"
fi
