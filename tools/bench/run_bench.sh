#!/bin/sh
# SPDX-License-Identifier: MIT
# Benchmark: where the time of a warm `lyra run` goes, beside the same guest without the GPU and its driver (the reference).
#
#   run_bench.sh [RUNS] [PROGRAM.hip]      default: 3 runs of examples/vector_add.hip
#
# Prints minimum, median and maximum of each stage in seconds.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
runs=${1:-3}
program=${2:-$top/examples/vector_add.hip}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

"$top/lyra" run "$program" >/dev/null # warm: everything is built and in the page cache
n=0
while [ "$n" -lt "$runs" ]; do
    "$top/lyra" run --times "$program" >/dev/null 2>>"$work/run"
    "$top/tools/guest/boot.sh" --no-device --times --cmd true >/dev/null 2>>"$work/reference"
    n=$((n + 1))
done

# "stage seconds s" lines -> stage, min, median, max
statistics() {
    sort -k1,1 -k2,2n | awk -F'\t' '
        function show() { if (n) printf "%-28s%8.2f%8.2f%8.2f\n", stage, v[1], v[int((n + 1) / 2)], v[n] }
        $1 != stage { show(); stage = $1; n = 0 }
        { v[++n] = $2 }
        END { show() }'
}
printf '%-28s%8s%8s%8s\n' "$(basename "$program"), $runs runs" min median max
sed -n 's/^\(.*[^ ]\)  *\([0-9.]*\) s$/\1\t\2/p' "$work/run" | statistics
sed -n 's/.*times init \([0-9.]*\) .*end \([0-9.]*\).*/reference: boot to init\t\1\nreference: guest without GPU\t\2/p' "$work/reference" | statistics
