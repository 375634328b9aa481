# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# To be sourced by the scripts that make something once and keep it in the cache.
#
# The sourcing script handles the options --cache and --print by setting these two. LYRA_PRINT_ONLY=yes is --print for the
# scripts that it calls as well: nothing is made.
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
if [ "${LYRA_PRINT_ONLY:-no}" = yes ]; then print_only=yes; else print_only=no; fi
# Ordinary users do not have the folders in which modprobe and chroot are.
PATH=$PATH:/usr/sbin:/sbin

# shellcheck disable=SC2154 # the scripts that read this one set here
# How the result is asked for, a line each: the script's place in the source tree, the folder it was called in, its arguments
# (each behind "="). It lies beside the result. `lyra clean` asks again; a result that no answer names is stale.
recipe=$(realpath --relative-to="$here/../.." "$here/${0##*/}" && pwd && for word; do echo "=$word"; done)

# artefact KIND HASH FILE: the result is the folder $out = CACHE/KIND-HASH; it is complete when FILE is in it. Prints it and
# ends the script when it is complete (exit 0) or with --print (exit 1). Otherwise takes the lock of KIND and makes $work, a
# folder of this run that is removed at the end. The result is put together in $work/out.
artefact() {
    kind=$1
    out=$cache/$1-$2
    artefact_found "$3"
    if [ "$print_only" = yes ]; then
        echo "$out"
        exit 1
    fi
    mkdir -p "$cache"
    exec 9>"$cache/$kind.lock"
    flock 9
    artefact_found "$3" # made while this script waited
    work=$(mktemp -d "$cache/.$kind.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    log=$work/log
}

# A result that is used becomes the newest of its kind.
artefact_found() {
    if [ -e "$out/$1" ]; then
        [ "$print_only" = yes ] || touch "$out"
        echo "$out"
        exit 0
    fi
}

# step TITLE COMMAND ARGUMENTS...: runs the command, a function of the script, in a subshell with "set -e"; its output is shown
# only when it fails. Lines of a compiler's errors are shown in the place of the last lines.
step() {
    echo "$kind: $1" >&2
    shift
    # Not in a condition: there "set -e" would have no effect inside.
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1 9>&-
    result=$?
    set -e
    if [ $result != 0 ]; then
        if grep -n 'error:' "$log" >"$log.errors"; then head -n 20 "$log.errors"; else tail -n 40 "$log"; fi | cut -c1-300 >&2
        echo "$kind: failed: $*" >&2
        exit 1
    fi
}

# publish KEEP: moves $work/out to its place, prints it and removes all but the KEEP most recently used results of this kind.
publish() {
    rm -rf "$out"
    printf '%s\n' "$recipe" >"$out.recipe"
    mv "$work/out" "$out"
    touch "$out"
    # shellcheck disable=SC2010
    ls -dt "$cache/$kind"-* | grep -E "/$kind-[0-9a-f]{12}\$" | tail -n +$(($1 + 1)) | sed 'p; s/$/.recipe/' | xargs -r rm -rf
    echo "$out"
}

# hash_of FILES...: twelve digits that name their content. Reads standard input without arguments.
hash_of() {
    cat "$@" | sha256sum | cut -c1-12
}
