#!/usr/bin/env bash
# Runs a workflow in a job of GitHub Actions or GitLab CI, or continues the thread of an earlier job, and reports it there.
#
#   WORKFLOW_STORAGE_ROOT  the storage root, which the CI system keeps between jobs
#   UWF_WORKFLOW           the workflow of a new thread: a file or a name
#   UWF_PROMPT             its task
#   UWF_ARGUMENTS          more arguments of `uwf thread start`, one on each line
#   UWF_ANSWER             an answer for the thread, if it waits for a person
#
# Exits with 0 if the workflow succeeded, and also if it waits for a person or for the end of a limit: a later job goes on. Otherwise it
# exits with the code of `uwf run`.
set -uo pipefail

fail() {
    echo "run.sh: $1" >&2
    exit 64
}

[ -n "${WORKFLOW_STORAGE_ROOT:-}" ] || fail "WORKFLOW_STORAGE_ROOT is not set"
mkdir -p "$WORKFLOW_STORAGE_ROOT"
kept=$WORKFLOW_STORAGE_ROOT/ci-thread

# The value of a key of the thread's state; empty without one.
of_thread() { uwf thread show "$1" --format yaml 2>/dev/null | sed -n "s/^$2: //p" | head -n 1 | tr -d "'\""; }

# Lines of agents must not become workflow commands of GitHub, which are lines that begin with `::`.
token=
if [ "${GITHUB_ACTIONS:-}" = true ]; then
    token=uwf-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$token"
fi
resume_commands() { [ -z "$token" ] || { echo "::$token::"; token=; }; }
trap resume_commands EXIT

thread=$(cat "$kept" 2>/dev/null || true)
if [ -n "$thread" ]; then
    code=0
    shown=$(uwf thread show "$thread" --format yaml) || code=$?
    case $code in
        0) if printf '%s\n' "$shown" | grep -qx 'done: true'; then thread=; fi ;;
        69) echo "run.sh: the thread of the earlier job is gone, so a new one starts" >&2 && thread= ;;
        # The thread may be unfinished: a new one would pay for the same work again.
        *) exit "$code" ;;
    esac
fi
continues=$thread
if [ -z "$thread" ]; then
    [ -n "${UWF_WORKFLOW:-}" ] || fail "UWF_WORKFLOW is not set, and no earlier job left a thread to continue"
    [ -n "${UWF_PROMPT:-}" ] || fail "UWF_PROMPT is not set"
    arguments=()
    while IFS= read -r argument; do [ -z "$argument" ] || arguments+=("$argument"); done <<< "${UWF_ARGUMENTS:-}"
    thread=$(printf '%s' "$UWF_PROMPT" | uwf thread start "$UWF_WORKFLOW" -p - --format yaml "${arguments[@]}" |
        sed -n 's/^thread: //p' | tr -d "'\"") || exit $?
    # Kept before the first agent runs: if this job is cancelled, the next one continues the thread.
    printf '%s\n' "$thread" > "$kept"
fi

code=0
# A runner may check the repository out at another path than the one of the earlier job. From this step on, agents work here.
if [ -n "$continues" ] && [ ! -d "$(of_thread "$thread" workspace)" ]; then
    uwf thread step "$thread" --cwd "$PWD" > /dev/null || code=$?
    case $code in 20 | 30) code=0 ;; esac
fi
if [ "$code" -eq 0 ] && [ -n "${UWF_ANSWER:-}" ] && [ "$(of_thread "$thread" state)" = waiting ]; then
    uwf thread answer "$thread" -m "$UWF_ANSWER" > /dev/null || code=$?
fi
[ "$code" -ne 0 ] || [ "$(of_thread "$thread" 'done')" = true ] || uwf run "$thread" < /dev/null > /dev/null || code=$?

resume_commands
reported=0
state=$(of_thread "$thread" state)
outcome=$(of_thread "$thread" outcome)
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf '%s\n' "thread=$thread" "state=$state" "outcome=$outcome" "exit-code=$code" >> "$GITHUB_OUTPUT" || reported=$?
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    uwf thread read "$thread" --format github >> "$GITHUB_STEP_SUMMARY" || reported=$?
    uwf thread read "$thread" --format github-annotations || reported=$?
fi
if [ -n "${GITLAB_CI:-}" ]; then
    printf '%s\n' "UWF_THREAD=$thread" "UWF_STATE=$state" "UWF_OUTCOME=$outcome" "UWF_EXIT_CODE=$code" > uwf.env || reported=$?
    uwf thread read "$thread" --quota 400000 --no-pager > uwf.md || reported=$?
fi
# 20: it waits for a person. 30: it is at a limit.
case $code in
    0 | 20 | 30) exit "$reported" ;;
    *) exit "$code" ;;
esac
