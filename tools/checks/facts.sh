#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares facts/ with the headers of the driver that the guest runs (registers.py, packets.py, mqd.py); installs their source
# when it is not in the cache.
#
#   facts.sh [--cache DIR] [--kernel 6.12]
#
# shellcheck disable=SC1091,SC2034,SC2154 # kbuild.sh reads and sets variables
set -eu

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
here=$source_dir/tools/guest
. "$here/artefact.sh"
. "$here/kbuild.sh"
kernel=6.12
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    *) echo "facts.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
mkdir -p "$cache"
work=$(mktemp -d "$cache/.facts.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
log=$work/log
kind=facts
kbuild_kernel "$kernel"
kbuild_ready
for check in registers packets mqd; do python3 "$source_dir/tools/checks/$check.py" "$source_dir" "$kernel_source"; done
