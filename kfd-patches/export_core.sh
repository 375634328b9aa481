#!/bin/sh
# SPDX-License-Identifier: MIT
# Copies the policy core into a kernel tree: export_core.sh DRIVERS_GPU_DRM_AMD_AMDKFD
set -eu
core=$(cd "$(dirname "$0")/../scheduler/core" && pwd)
cp "$core/qsched.c" "$core/qsched.h" "$core/policies.c" "$core/policies.h" "$core/policies.def" "$1/"
