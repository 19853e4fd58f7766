#!/usr/bin/env bash
# Installs the programs that pack and install Python packages, wheel and uv, and prints the directory they are in. Nothing is installed
# twice: the directory is target/packagers. Messages go to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=("wheel==0.48.0" "uv==0.13.9")
dir=target/packagers
say() { printf '%s\n' "$*" >&2; }

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
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
