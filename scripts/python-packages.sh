#!/usr/bin/env bash
# Installs packages from PyPI into target/NAME/venv and prints the directory of their programs. Nothing is installed twice. Messages go to
# stderr.
# Usage: scripts/python-packages.sh NAME PACKAGE...
set -euo pipefail
cd "$(dirname "$0")/.."

dir=target/$1
packages=${*:2}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# Tests that run at the same time wait for each other here.
exec 9>"$dir/lock"
flock 9
if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$packages" ]; then
    printf 'installing %s\n' "$packages" >&2
    rm -rf "$dir/venv" "$dir/stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${@:2}" >&2
    printf '%s' "$packages" >"$dir/stamp"
fi
printf '%s\n' "$dir/venv/bin"
