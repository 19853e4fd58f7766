#!/usr/bin/env bash
# Checks that all crates can be published: cargo's own dry run, and the packages compile together, without the repository.
# Usage: scripts/check-packages.sh [--alone | --release] [CARGO-PUBLISH-ARGUMENT...]
#   --alone    also checks each package alone, with only the features that it asks for itself; CONTRIBUTING says when
#   --release  compiles them into the program to release, as scripts/release.sh does from the repository
#
# `cargo publish --dry-run` would build each package with everything it depends on. Here they are members of a workspace like this one,
# so that dependencies are those that the tests were built with: uwf-testing and the benchmark are members because they ask for features.
set -euo pipefail
cd "$(dirname "$0")/.."

how=
case "${1:-}" in
    --alone | --release)
        how=$1
        shift
        ;;
esac
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dir=$target/package/unpacked
rm -rf "$target/package"
cargo publish --workspace --dry-run --no-verify --locked --allow-dirty "$@"
cargo package --workspace --no-verify --locked --allow-dirty --quiet --exclude uwf-testing --exclude uwf-bench
mkdir -p "$dir/crates"
cp Cargo.toml Cargo.lock "$dir"
cp -r bench "$dir"
cp -r crates/uwf-testing "$dir/crates"
names=()
printf '\n[patch.crates-io]\n' >> "$dir/Cargo.toml"
for package in "$target"/package/*.crate; do
    name=$(basename "$package" .crate)
    name=${name%-*}
    mkdir "$dir/crates/$name"
    tar -xzf "$package" -C "$dir/crates/$name" --strip-components=1
    names+=("$name")
    printf '%s = { path = "crates/%s" }\n' "$name" "$name" >> "$dir/Cargo.toml"
done
# Offline, which keeps the versions of Cargo.lock.
offline=(--manifest-path "$dir/Cargo.toml" --offline --quiet)
export CARGO_TARGET_DIR=$target
if [ "$how" = --release ]; then
    scripts/release.sh --workspace "$dir"
    echo "${#names[@]} packages compile"
    exit
fi
cargo build "${offline[@]}" --workspace --features uwf/s3,uwf/postgres,uwf/temporal
echo "${#names[@]} packages compile"
[ "$how" = --alone ] || exit 0
for name in "${names[@]}"; do
    echo "checking the package of $name alone"
    cargo check "${offline[@]}" -p "$name"
done
