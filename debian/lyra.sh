#!/bin/sh
# SPDX-License-Identifier: MIT
# Says what a verb needs that is not installed, or hands over to the program.
set -eu
setup=/usr/share/lyra/tools/setup
# shellcheck source=tools/setup/packages.sh
. $setup/packages.sh
PATH=$PATH:/usr/sbin:/sbin
# What the packages lyra and qemu-system-lyra hold needs no compiler.
sets=$(sets_of "$(verb_of "$@")" "$@" | tr ' ' '\n' | grep -v -x -e build -e qemu -e '' | paste -sd ' ')
# shellcheck disable=SC2086
missing=$([ -z "$sets" ] || missing_packages $sets)
if [ -n "$missing" ]; then
    # shellcheck disable=SC2154
    echo "lyra: this is missing; as root: $apt_get $missing" >&2
    exit 1
fi
exec /usr/lib/lyra/lyra "$@"
