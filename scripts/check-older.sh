#!/usr/bin/env bash
# Shows that a uwf without groups lists, verifies, walks, sweeps and copies threads with groups, and refuses to step them.
#
#   scripts/check-older.sh                  builds both programs
#   scripts/check-older.sh OLDER [NEWER]    two programs; NEWER is target/debug/uwf unless given
set -euo pipefail

# The last commit before roles with `play`.
LAST_WITHOUT_GROUPS=ef7ff66245174686390fd8538dd357250b500311
repository=$(cd "$(dirname "$0")/.." && pwd)

# Builds the older uwf with the dependencies that are already compiled, and prints its path.
build_older() {
    local target=${CARGO_TARGET_DIR:-$repository/target} sources
    sources=$target/older/sources
    cd "$repository"
    git cat-file -e "$LAST_WITHOUT_GROUPS^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$LAST_WITHOUT_GROUPS"
    mkdir -p "$sources"
    git archive "$LAST_WITHOUT_GROUPS" | tar -x -C "$sources"
    env -u RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_BUILD_DIR="$target" CARGO_TARGET_DIR="$target/older" \
        cargo build --quiet --locked --manifest-path "$sources/Cargo.toml" --bin uwf
    printf '%s\n' "$target/older/debug/uwf"
}

if [ $# -gt 0 ]; then
    older=$1
    newer=${2:-${CARGO_TARGET_DIR:-$repository/target}/debug/uwf}
else
    older=$(build_older)
    cargo build --quiet --locked --manifest-path "$repository/Cargo.toml" --bin uwf
    newer=${CARGO_TARGET_DIR:-$repository/target}/debug/uwf
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
PATH=$(dirname "$newer"):$PATH
UNCAGED_WORKFLOW_STORAGE_ROOT=$dir/root
export UNCAGED_WORKFLOW_STORAGE_ROOT

fail() { echo "check-older.sh: $1" >&2; cat "$dir/out" >&2; exit 1; }
must() { "$@" > "$dir/out" 2>&1 || fail "$* failed"; }
field() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$dir/out" | head -n 1; }

# A finished thread of the template $1, which it was forked from at the role $2, is used by both programs.
check() {
    local template=$1 role=$2 thread head active digest command
    must "$newer" init workflow "$template" --template "$template"
    must "$newer" run "$template" -p 'Do it' --agent "uwf-mock .workflows/mock/$template.yaml" --format json
    thread=$(field thread) head=$(field head)
    must "$newer" thread fork "$thread" --from-role "$role"
    active=$(field thread)
    must "$newer" thread verify "$thread"
    digest=$(field digest)

    for command in "thread list --all" "thread show $thread" "thread steps $thread" "thread read $thread" "thread cost $thread" \
        "cas walk $head" "thread show $active" "cas gc" "doctor --offline"; do
        # shellcheck disable=SC2086
        must "$older" $command
    done
    must "$older" thread verify "$thread"
    [ "$(field digest)" = "$digest" ] || fail "another digest than $digest"
    if "$older" thread step "$active" > "$dir/out" 2>&1; then fail "the older uwf steps a thread of $template"; fi

    mkdir "copied-$template"
    must "$older" store copy . "$dir/copied-$template"
    # It fails, because the recorded digest stays on the other machine.
    UNCAGED_WORKFLOW_STORAGE_ROOT=$dir/copied-$template "$newer" thread verify "$thread" > "$dir/out" 2>&1 || true
    [ "$(field digest)" = "$digest" ] || fail "the copy has another digest than $digest"

    # Nothing was swept that the newer program needs, and the refused step left nothing behind.
    must "$newer" thread verify "$thread"
    must "$newer" run "$active"
}

check map work
check review-panel reviews
check best-of drafts
echo "A uwf without groups lists, verifies, walks, sweeps and copies threads with groups, and does not step them."
