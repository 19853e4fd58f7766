#!/usr/bin/env bash
# Builds uwf as it is released: one static file, packed with its licences, and the checksum beside it.
# Usage: scripts/release.sh [--program] [TARGET]
#   TARGET     that of this machine unless given
#   --program  packs nothing and prints where the program is
# Cargo's target directory is CARGO_TARGET_DIR, or target; the archive is put into its subdirectory dist.
set -euo pipefail
cd "$(dirname "$0")/.."

pack=yes
if [ "${1:-}" = --program ]; then
    pack=
    shift
fi
target_dir=${CARGO_TARGET_DIR:-target}
target=${1:-$(rustc --print host-tuple)}
case $target in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
    *) echo "release.sh: $target is not released; x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu are" >&2; exit 64 ;;
esac

RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static" \
    cargo build --release --locked -p uwf --features s3,postgres,temporal --target "$target"
program=$target_dir/$target/release/uwf

# A program that needs a dynamic linker would not run on every distribution.
if readelf --program-headers "$program" | grep -q INTERP; then
    echo "release.sh: $program is not static" >&2
    exit 1
fi
if [ -z "$pack" ]; then
    echo "$program"
    exit
fi
version=$("$program" --version | cut -d ' ' -f 2)
name=uwf-$version-$target
rm -rf "$target_dir/dist/$name"
mkdir -p "$target_dir/dist/$name"
cp "$program" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$target_dir/dist/$name"
cd "$target_dir/dist"
tar --sort=name --owner=0 --group=0 --numeric-owner -czf "$name.tar.gz" "$name"
rm -r "$name"
sha256sum "$name.tar.gz" > "$name.tar.gz.sha256"
sha256sum --check "$name.tar.gz.sha256"
