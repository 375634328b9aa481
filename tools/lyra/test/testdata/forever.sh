#!/bin/sh
# SPDX-License-Identifier: MIT
# Never ends: `lyra run --timeout` has to end it.
while :; do
    sleep 1
done
