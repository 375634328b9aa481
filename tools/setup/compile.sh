#!/bin/sh
# SPDX-License-Identifier: MIT
# Launcher of the compilers: calls them by way of ccache.
#
# Where a precompiled header is made again, GCC's preprocessor takes the old one for what it includes. ccache then hashes the
# old one instead of the headers, and answers with what was once made of other headers. So the old one goes first.
#
# usage: compile.sh COMPILER ARGUMENTS...
for word; do
    case $word in
    *.gch) rm -f "$word" ;;
    esac
done
exec ccache "$@"
