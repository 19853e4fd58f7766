#!/bin/sh
# Can this repository be released? Runs the workflow check-release.yaml on a git repository and prints what came of it.
#
#   examples/check-release.sh [PATH]      PATH is the current directory unless given
#
# The repository is only read; all work is done in a temporary clone. What was said is kept in a storage root of its own,
# target/check-release (or $CHECK_RELEASE_ROOT), to be looked at afterwards. It uses the program that $UWF names, or else the `uwf` on
# PATH. Without either, it builds uwf first, not optimised, because that takes a third of the time.
set -eu

examples=$(cd "$(dirname "$0")" && pwd)
project=$(dirname "$examples")
repository=${1:-.}

needs() { command -v "$1" > /dev/null || { echo "check-release.sh: $1 is needed and is not on PATH" >&2; exit 78; }; }
needs git
needs python3
UWF=${UWF:-$(command -v uwf || true)}
if [ -z "$UWF" ]; then
    needs cargo
    cargo build --locked --manifest-path "$project/Cargo.toml" --package uwf
fi
uwf() {
    if [ -n "$UWF" ]; then "$UWF" "$@"; else
        cargo run --locked --quiet --manifest-path "$project/Cargo.toml" --package uwf -- "$@"
    fi
}

UNCAGED_WORKFLOW_STORAGE_ROOT=${CHECK_RELEASE_ROOT:-$project/target/check-release}
export UNCAGED_WORKFLOW_STORAGE_ROOT
mkdir -p "$UNCAGED_WORKFLOW_STORAGE_ROOT"
cp "$examples/check-release.config.yaml" "$UNCAGED_WORKFLOW_STORAGE_ROOT/config.yaml"

# Whatever happens, the clone goes with this directory.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/check-release.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The path as it is meant here, not where the run works. One that does not exist is for the run to complain about.
if [ -d "$repository" ]; then repository=$(cd "$repository" && pwd); fi
case $repository in /*) ;; *) repository=$PWD/$repository ;; esac
ran=$(uwf run "$examples/check-release.yaml" --cwd "$project" -p "$repository" --format json)
thread=$(printf '%s\n' "$ran" | sed 's/.*"thread":"\([^"]*\)".*/\1/')

uwf thread read "$thread" --format text
cat >&2 <<END

Look around:  export UNCAGED_WORKFLOW_STORAGE_ROOT=$UNCAGED_WORKFLOW_STORAGE_ROOT
              uwf thread steps $thread
END
