#!/bin/sh
# Shows that an older uwf can look at, verify, sweep and copy threads with groups, and refuses to step them.
#
#   scripts/check-older.sh OLDER [NEWER]    two programs; NEWER is target/debug/uwf unless given
#
# Build OLDER from a commit before roles with `play`, in a worktree of its own:
#   git worktree add ../older COMMIT && cargo build --locked --manifest-path ../older/Cargo.toml
set -eu

older=${1:?"scripts/check-older.sh OLDER [NEWER]"}
newer=${2:-$(cd "$(dirname "$0")/.." && pwd)/target/debug/uwf}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
UNCAGED_WORKFLOW_STORAGE_ROOT=$dir/root
export UNCAGED_WORKFLOW_STORAGE_ROOT

fail() { echo "check-older.sh: $1" >&2; cat "$dir/out" >&2; exit 1; }
must() { "$@" > "$dir/out" 2>&1 || fail "$* failed"; }
field() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$dir/out" | head -n 1; }

must "$newer" init workflow compare --template map
must "$newer" run compare -p 'Compare them' --agent 'uwf-mock .workflows/mock/compare.yaml' --format json
thread=$(field thread) head=$(field head)
must "$newer" thread fork "$thread" --from-role work
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
if "$older" thread step "$active" > "$dir/out" 2>&1; then fail "the older uwf steps a thread with a group"; fi

# Nothing was swept that the newer program needs, and the refused step left nothing behind.
must "$newer" thread verify "$thread"
must "$newer" run "$active"
echo "older uwf: reads, verifies, sweeps and walks a thread with a group, and does not step it"
