#!/bin/sh
# Tries everything that a sandbox must prevent, and reports each try in the file `report`: `done` or `refused`.
cat > /dev/null
root=$UNCAGED_WORKFLOW_STORAGE_ROOT
. ./targets

try() {
    name=$1
    shift
    if ( "$@" ) > /dev/null 2>&1; then echo "$name done" >> report; else echo "$name refused" >> report; fi
}
has_text() { grep -q . "$1"; }
append() { echo "# changed" >> "$1"; }
by_link() { ln -sf "$1" a-link && append a-link; }
by_hard_link() { ln -f "$1" "$2" && "$3" "$2"; }
new_file() { echo x > "$1"; }
moved() { mv "$1" "$1-moved" && mkdir "$1" && mv "$1-moved"/* "$1"; }

keeper=none
for process in /proc/[0-9]*; do
    case $(tr '\0' ' ' < "$process/cmdline" 2> /dev/null) in
        *__keeper*"$UWF_THREAD"*) keeper=${process#/proc/} ;;
    esac
done

try read-secrets has_text "$root/.env"
try read-configuration has_text "$root/config.yaml"
try read-index has_text "$root/threads.yaml"
try list-store ls "$root/cas/"
try read-own-record has_text "$root/threads/$UWF_THREAD.jsonl"
try read-record-of-other-thread has_text "$root/threads/$other.jsonl"
try read-worktree-of-other-thread has_text "$root/worktrees/$other/README"
try write-worktree-of-other-thread append "$root/worktrees/$other/README"
try write-git-of-other-thread append "$repository/.git/worktrees/$other/HEAD"
try write-store new_file "$root/cas/evil.bin"
try read-key has_text "$HOME/.ssh/id_test"
try read-key-by-hard-link by_hard_link "$HOME/.ssh/id_test" a-key has_text
try write-file append "$HOME/notes.txt"
try write-file-by-link by_link "$HOME/notes.txt"
try write-file-by-hard-link by_hard_link "$HOME/notes.txt" a-hard-link append
try write-file-by-own-root append "/proc/self/root$HOME/notes.txt"
try write-file-by-working-directory append "/proc/self/cwd/../../../notes.txt"
try read-secrets-by-root-of-keeper has_text "/proc/$keeper/root$root/.env"
try read-secrets-by-directory-of-keeper has_text "/proc/$keeper/cwd/../root/.env"
try read-environment-of-keeper has_text "/proc/$keeper/environ"
try read-descriptors-of-keeper ls -l "/proc/$keeper/fd/"
try signal-keeper kill -0 "$keeper"
try read-environment-of-process has_text "/proc/$process_id/environ"
try signal-process kill -0 "$process_id"
try write-hook new_file "$repository/.git/hooks/pre-commit"
try write-git-configuration append "$repository/.git/config"
try write-git-head append "$repository/.git/HEAD"
try read-temporary-file-of-others has_text "$temporary"

# What an agent needs.
try write-workspace new_file made.txt
try write-new-directory mkdir -p made/inside
try write-temporary-file new_file "${TMPDIR:-/tmp}/mine"
try read-other-file has_text "$HOME/notes.txt"
try read-repository has_text "$repository/README"
try commit sh -c "git add -A && git -c user.name=A -c user.email=a@example.org commit -q -m work"
try reopen-output sh -c 'echo again >> /dev/stderr'
try use-null sh -c 'echo x > /dev/null'

# What it leaves behind.
(trap '' TERM HUP INT; exec sleep 86399.25) > /dev/null 2>&1 &
setsid sh -c 'trap "" TERM; sleep 86399.25; sleep 86399.25' > /dev/null 2>&1 &
echo '{"n": 1}'
