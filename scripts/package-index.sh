#!/usr/bin/env bash
# Writes the files that name other files of a release: the Homebrew formula, from the archives, and SHA256SUMS, from all files.
# Usage: scripts/package-index.sh DIR
# scripts/package.sh runs it for the machine that it packs for; the release workflow, once the files of all machines are there.
set -euo pipefail
cd "$(dirname "$0")/.."
template=$PWD/packaging/homebrew.rb
releases=https://github.com/uncaged/uwf/releases
cd "${1:?usage: scripts/package-index.sh DIR}"

formula=$(< "$template")
for block in intel:x86_64 arm:aarch64; do
    arch=${block#*:}
    archive=$(find . -maxdepth 1 -name "uwf-*-$arch-unknown-linux-gnu.tar.gz" -printf '%P')
    if [ -z "$archive" ]; then
        formula=$(sed "/^  on_${block%:*} do/,/^  end/d" <<< "$formula" | cat -s)
        continue
    fi
    version=${archive#uwf-}
    version=${version%-"$arch"-unknown-linux-gnu.tar.gz}
    sum=$(sha256sum "$archive")
    formula=$(sed -e "s|@VERSION@|$version|" -e "s|@URL_$arch@|$releases/download/v$version/$archive|" -e "s|@SHA256_$arch@|${sum%% *}|" <<< "$formula")
done
printf '%s\n' "$formula" > uwf.rb
sums=$(find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name '*.sha256' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum)
printf '%s\n' "$sums" > SHA256SUMS
ls -s --block-size=KiB "$PWD"
