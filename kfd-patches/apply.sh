#!/bin/sh
# SPDX-License-Identifier: MIT
# Applies the series for a kernel to its source: apply.sh KERNEL TREE
# TREE may lack everything outside drivers/: only the files below it are changed. A Git tree takes the patches with `git am`.
# The policy core is that of this checkout. The series has a copy of it, equal unless a policy was changed (check.sh --core).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$2"
for patch in "$here/linux-$1"/*.patch; do
    case $patch in */0000-*) continue ;; esac
    # The ceiling: TREE is not part of a repository that it happens to lie in.
    GIT_CEILING_DIRECTORIES=$(dirname "$PWD") git apply --include='drivers/*' "$patch"
done
cp "$here"/../scheduler/core/*.[ch] "$here"/../scheduler/core/*.def drivers/gpu/drm/amd/amdkfd/
