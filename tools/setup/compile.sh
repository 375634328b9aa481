#!/bin/sh
# SPDX-License-Identifier: MIT
# Launcher of the compilers: calls them by way of ccache.
#
# Where a precompiled header is made again, GCC's preprocessor takes the old one for what it includes. ccache then hashes the
# old one instead of the headers, and answers with what was once made of other headers. So the old one goes first.
#
# A precompiled header knows the files that it was made of by their contents, and "#pragma once" goes by that. What ccache
# hashes when the same header is made in another folder has no comments, so it is told to hash these files, too: all but the one
# that includes them, which has the folder's name in it.
#
# usage: compile.sh COMPILER ARGUMENTS...
for word; do
    case $word in
    *.gch)
        rm -f "$word"
        header=$(basename "${word%.gch}")
        files=$("$@" -M -MF /dev/stdout | tr -d '\\\n' | tr -s ' ' '\n' | grep "^/" | grep -v "/$header\$")
        CCACHE_EXTRAFILES=$(echo "$files" | paste -sd :)
        export CCACHE_EXTRAFILES
        rm -f "$word" # an empty one
        ;;
    esac
done
exec ccache "$@"
