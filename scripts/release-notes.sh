#!/usr/bin/env bash
# Prints the part of CHANGELOG.md about a version.
# Usage: scripts/release-notes.sh v0.2.0
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1#v}
notes=$(awk -v heading="## [$version]" 'index($0, "## [") == 1 { inside = index($0, heading) == 1; next } inside' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || { echo "release-notes.sh: CHANGELOG.md has no section \"## [$version]\"" >&2; exit 65; }
printf '%s\n' "$notes"
