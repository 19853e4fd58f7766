#!/usr/bin/env bash
# Runs tests again and again beside busy processes, to find those that depend on the speed of the machine. Stops at the first failure.
# Usage: scripts/repeat.sh RUNS BUSY [ARGUMENT OF ./test...]
#   scripts/repeat.sh 10 8                the tests of ./test, ten times beside eight busy processes
#   scripts/repeat.sh 20 8 serve_actions  only the tests whose names contain the word
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:?usage: scripts/repeat.sh RUNS BUSY [ARGUMENT OF ./test...]}
busy=${2:?usage: scripts/repeat.sh RUNS BUSY [ARGUMENT OF ./test...]}
shift 2
[ $# -gt 0 ] || set -- --tests

loops=()
finish() { [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null || true; }
trap finish EXIT
for ((at = 1; at <= busy; at++)); do
    (while :; do :; done) &
    loops+=($!)
done
for ((at = 1; at <= runs; at++)); do
    begun=$SECONDS
    ./test "$@" || { echo "repeat.sh: run $at of $runs failed" >&2; exit 1; }
    echo "run $at of $runs passed in $((SECONDS - begun)) s, beside $busy busy processes"
done
