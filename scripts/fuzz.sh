#!/usr/bin/env bash
# Feeds what uwf reads from outside with libFuzzer, one target after the other, and says how many inputs there were.
# Usage: scripts/fuzz.sh SECONDS [TARGET…]      each target for SECONDS; all of them when none is named
# What a target learns stays in fuzz/corpus/TARGET and is where the next run goes on; an input that breaks something is
# kept in fuzz/artifacts/TARGET and named.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift
# Plain instrumentation works with any compiler. There is no unsafe code here for the address sanitizer to watch over.
mode=(--sanitizer none)
# No input that is read by people or agents is slow: seconds are a fault, and so is a gigabyte.
limits=(-timeout=20 -rss_limit_mb=1024 -max_len=16384)

mapfile -t targets < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else cargo fuzz list; fi)
# Files that are written a thousand times a second belong into memory.
if [ -d /dev/shm ]; then export TMPDIR=/dev/shm; fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
broken=()
for target in "${targets[@]}"; do
    cargo fuzz build "${mode[@]}" "$target"
    corpus=fuzz/corpus/$target
    log=$logs/$target
    mkdir -p "$corpus"
    if ! UWF_FUZZ_CORPUS=$corpus cargo fuzz run "${mode[@]}" "$target" "$corpus" -- "${limits[@]}" \
        -dict="$corpus.dict" -max_total_time="$seconds" -print_final_stats=1 >"$log" 2>&1; then
        broken+=("$target")
        tail -n 40 "$log"
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%-16s %12s inputs in %s s\n' "$target" "${executions:-?}" "$seconds"
done
if [ ${#broken[@]} -gt 0 ]; then
    echo "broken: ${broken[*]}" >&2
    exit 1
fi
