#!/usr/bin/env bash
# Checks that all crates can be published: cargo's own dry run, and each crate compiles from its package alone.
#
# `cargo publish --dry-run` would build each package with everything it depends on, which takes ten minutes. Here the compiler only
# checks them, in a workspace of the unpacked packages. Each is still checked with only the features that it asks for itself.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dir=$target/package/unpacked
rm -rf "$target/package"
cargo publish --workspace --dry-run --no-verify --locked --allow-dirty "$@"
cargo package --workspace --no-verify --locked --allow-dirty --quiet --exclude uwf-testing --exclude uwf-bench
mkdir -p "$dir"
names=()
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
    for package in "$target"/package/*.crate; do
        tar -xzf "$package" -C "$dir"
        directory=$(basename "$package" .crate)
        name=$(sed -n 's/^name = "\(.*\)"/\1/p;T;q' "$dir/$directory/Cargo.toml")
        names+=("$name")
        printf '%s = { path = "%s" }\n' "$name" "$directory"
    done
} > "$dir/Cargo.toml"
cp Cargo.lock "$dir"
for name in "${names[@]}"; do
    echo "checking the package of $name"
    # Offline, so that the versions are those of Cargo.lock.
    CARGO_TARGET_DIR=$target cargo check --manifest-path "$dir/Cargo.toml" --offline --quiet -p "$name"
done
echo "${#names[@]} packages compile"
