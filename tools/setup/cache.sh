# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # who reads it sets source and cache
# To be sourced, with $source the source tree and $cache the cache: what lies in the cache, how big it is, and what of it is
# stale.

# Source trees that build in this cache (each has a build folder with a link to it), this one first.
cache_trees() {
    {
        echo "$source"
        for _link in "$cache"/build-*/src; do
            [ ! -d "$_link/tools/guest" ] || readlink -f "$_link"
        done
    } | awk '!seen[$0]++'
}

# Files and folders of the cache that processes have open, run, or work in; of other users' processes only root sees that.
cache_open_files() {
    {
        ls -l /proc/[0-9]*/exe /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd 2>/dev/null | sed -n 's/.* -> //p'
        sed -n 's/^[^/]*//p' /proc/[0-9]*/maps 2>/dev/null
    } | grep -F "$(readlink -f "$cache")/" | sort -u
}

# Does a process use this entry of the cache? Reads the list of open files.
cache_in_use() { # NAME
    case $1 in
    .*.??????) # its maker holds the lock of its kind
        _kind=${1#.}
        grep -q -x -F "$(readlink -f "$cache")/${_kind%.??????}.lock" "$open_files" && return 0
        ;;
    esac
    awk -v path="$(readlink -f "$cache")/$1" '
        $0 == path || index($0, path "/") == 1 { found = 1 }
        END { exit !found }' "$open_files"
}

# Does one of the trees name this artefact, asked as it was asked for when it was made? Equal questions are asked once.
cache_is_named() { # NAME
    _answers=$answers/$(cksum <"$cache/$1.recipe" | tr ' ' -)
    [ -f "$_answers" ] || cache_ask "$cache/$1.recipe" >"$_answers"
    grep -q -x -F "$cache/$1" "$_answers"
}

# What all trees answer to a recipe.
cache_ask() { # FILE
    {
        read -r _script
        read -r _folder
        set --
        while read -r _word; do
            case $_word in
            =--cache) read -r _word ;;
            =--print) ;;
            *) set -- "$@" "${_word#=}" ;;
            esac
        done
    } <"$1"
    cache_trees | while read -r _tree; do
        # Scripts that do not know LYRA_PRINT_ONLY would make things.
        grep -q -s LYRA_PRINT_ONLY "$_tree/tools/guest/artefact.sh" && [ -x "$_tree/$_script" ] || continue
        { cd "$_folder" || cd /; } 2>/dev/null
        LYRA_PRINT_ONLY=yes "$_tree/$_script" "$@" --cache "$cache" --print 2>/dev/null </dev/null || true
    done
}

# State of an entry of the cache and why, in one line: kept, stale, leftover, log, or unknown (not Lyra's).
cache_state() { # NAME
    _name=$1
    case $_name in
    ccache) echo "kept compiled objects, limited by ccache itself" ;;
    qemu-work*)
        for _file in "$cache/qemu${_name#qemu-work}"-????????????; do
            [ ! -d "$_file" ] || { echo "kept build tree of QEMU" && return; }
        done
        echo "stale there is no QEMU of it"
        ;;
    *.lock) echo "kept lock" ;;
    log) [ -z "$(ls -A "$cache/log")" ] && echo "kept no logs" || echo "log logs of guests that failed" ;;
    .*.??????) echo "leftover an interrupted run left it" ;;
    *.recipe) [ -e "$cache/${_name%.recipe}" ] && echo "kept how an artefact was made" || echo "stale its artefact is gone" ;;
    build-*)
        if [ -d "$cache/$_name/src/tools" ]; then
            echo "kept build of $(readlink -f "$cache/$_name/src")"
        else
            echo "stale its source tree is gone"
        fi
        ;;
    snapshots) echo "kept saved machines, limited by lyra run itself" ;;
    compiled) echo "kept compiled programs, limited by lyra run itself" ;;
    test-tree) echo "kept kernel tree of the tests" ;;
    debs-firmware-*)
        if cut -f 1,4 "$source/tools/guest/guests.tsv" | grep -q -x -F "kernel$(printf '\t')${_name#debs-firmware-}"; then
            echo "kept firmware of ${_name#debs-firmware-}"
        else
            echo "stale no kernel of guests.tsv takes it"
        fi
        ;;
    debs-*)
        if cut -f 1,2 "$source/tools/guest/guests.tsv" | grep -q -x -F "kernel$(printf '\t')${_name#debs-}"; then
            echo "kept packages of kernel ${_name#debs-}"
        else
            echo "stale no kernel of guests.tsv"
        fi
        ;;
    kbuild-* | kfd-tree-*)
        _version=$(echo "$_name" | sed 's/^kbuild-//; s/^kfd-tree-//; s/-\(lyra\|tree\)$//')
        if grep -q -s "^linux-image-${_version}_" "$cache"/image-*/VERSIONS; then
            echo "kept for drivers of kernel $_version"
        else
            echo "stale no image has kernel $_version"
        fi
        ;;
    trap-handler-*.bin)
        for _file in "$cache"/image-*/VERSIONS; do
            case $_name in
            *-$(sha256sum <"$_file" 2>/dev/null | cut -c1-12).bin) echo "kept of ${_file%/VERSIONS}" && return ;;
            esac
        done
        echo "stale its image is gone"
        ;;
    *-????????????)
        if ! [ -f "$cache/$_name.recipe" ]; then
            echo "unknown it does not say how it was made"
        elif cache_is_named "$_name"; then
            echo "kept in use by a source tree"
        else
            echo "stale no source tree names it any more"
        fi
        ;;
    *) echo "unknown not one of Lyra's names" ;;
    esac
}

# All entries of the cache: STATE, KILOBYTES, NAME, WHY, with tabs between. State busy: a process uses it.
cache_entries() {
    [ -d "$cache" ] || return 0
    open_files=$(mktemp) answers=$(mktemp -d)
    cache_open_files >"$open_files"
    (cd "$cache" && ls -A) | while read -r _entry; do
        _line=$(cache_state "$_entry")
        _state=${_line%% *}
        case $_state in
        kept) ;;
        *) ! cache_in_use "$_entry" || _state=busy ;;
        esac
        printf '%s\t%s\t%s\t%s\n' "$_state" "$(du -sk "$cache/$_entry" 2>/dev/null | cut -f 1)" "$_entry" "${_line#* }"
    done
    rm -rf "$open_files" "$answers"
}

# 1234567 kilobytes as "1.2 GB".
human_size() {
    awk -v kb="$1" 'BEGIN {
        if (kb >= 1048576) printf "%.1f GB", kb / 1048576
        else if (kb >= 1024) printf "%.0f MB", kb / 1024
        else printf "%d KB", kb
    }'
}
