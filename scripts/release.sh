#!/usr/bin/env bash
# Builds uwf as it is released, one static file, and packs it with scripts/package.sh.
# Usage: scripts/release.sh [--program] [--workspace DIR] [TARGET]
#   TARGET           the target to build for; by default, this machine's
#   --program        packs nothing and prints where the program is
#   --workspace DIR  builds another workspace, with the versions that are already downloaded
# Cargo's target directory is CARGO_TARGET_DIR, or target; the packages are put into its subdirectory dist.
set -euo pipefail
cd "$(dirname "$0")/.."

pack=yes workspace=(--locked)
while [[ "${1:-}" == --* ]]; do
    case $1 in
        --program) pack= ;;
        --workspace)
            workspace=(--offline --manifest-path "${2:?usage: scripts/release.sh --workspace DIR}/Cargo.toml")
            shift
            ;;
        *) echo "release.sh: unknown option $1" >&2; exit 64 ;;
    esac
    shift
done
target_dir=${CARGO_TARGET_DIR:-target}
target=${1:-$(rustc --print host-tuple)}
case $target in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
    *) echo "release.sh: $target is not released; x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu are" >&2; exit 64 ;;
esac

RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static" \
    cargo build --release "${workspace[@]}" -p uwf --features s3,postgres,temporal --target "$target"
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
scripts/package.sh "$program"
