#!/bin/sh
# SPDX-License-Identifier: MIT
# Says what a verb needs that is not installed, or hands over to the program.
set -eu
setup=/usr/share/lyra/tools/setup
# shellcheck source=tools/setup/packages.sh
. $setup/packages.sh
PATH=$PATH:/usr/sbin:/sbin
# shellcheck disable=SC2046
missing=$(missing_packages $(sets_of "$(verb_of "$@")" "$@"))
if [ -n "$missing" ]; then
    # shellcheck disable=SC2154
    echo "lyra: this is missing; as root: $apt_get $missing" >&2
    exit 1
fi
exec /usr/lib/lyra/lyra "$@"
