"""The temporary clone all work is done in, and git."""

import os
import shutil
import subprocess
import tempfile

from step import Failed


def git(directory, *args, seconds=10, check=True, data=None):
    """Runs git and returns its stdout. The user's hooks, prompts and locks are left out of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept.update(GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0", GIT_LFS_SKIP_SMUDGE="1", LC_ALL="C")
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-C", directory, *args]
    try:
        done = subprocess.run(command, env=kept, input=data or b"", capture_output=True, timeout=max(0.1, seconds))
    except subprocess.TimeoutExpired:
        raise Failed(f"`git {args[0]}` in {directory} took longer than {seconds:.0f} s") from None
    except FileNotFoundError:
        raise Failed("git is not installed") from None
    if check and done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise Failed(f"`git {args[0]}` failed in {directory}: {lines[0]}")
    return done.stdout.decode("utf-8", "replace")


def top_of(path):
    """The repository a path lies in. Fails in words for people if there is none."""
    path = os.path.abspath(os.path.expanduser(path.strip()))
    if not os.path.isdir(path):
        raise Failed(f"{path} is not a directory; the task must be the path of a git repository")
    top = git(path, "rev-parse", "--show-toplevel", check=False).strip()
    bare = git(path, "rev-parse", "--is-bare-repository", check=False).strip() == "true"
    if not top and not bare:
        raise Failed(f"{path} is not a git repository; the task must be the path of one")
    top = top or path
    if not git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False).strip():
        raise Failed(f"{top} has no commits yet, so there is nothing to release")
    return top


class Clone:
    """A clone of the surveyed commit, in a directory of the thread below TMPDIR."""

    def __init__(self, thread):
        self.base = os.path.join(tempfile.gettempdir(), f"uwf-check-release-{thread}")
        self.path = os.path.join(self.base, "clone")

    def make(self, repository, head, seconds):
        """Clones anew. Nothing in it leads back to the repository: no shared objects, no remote."""
        self.remove()
        os.mkdir(self.base, 0o700)
        git(self.base, "clone", "--quiet", "--no-hardlinks", "--no-checkout", "--", repository, self.path, seconds=seconds)
        branch = git(repository, "symbolic-ref", "--quiet", "--short", "HEAD", check=False).strip()
        if branch:
            git(self.path, "checkout", "--quiet", "--force", "-B", branch, head, seconds=seconds)
        else:
            git(self.path, "checkout", "--quiet", "--force", "--detach", head, seconds=seconds)
        git(self.path, "remote", "remove", "origin")

    def open(self, step):
        """The clone as the last step left it, made again if somebody has cleaned up in between."""
        if not os.path.isdir(os.path.join(self.path, ".git")):
            survey = step.last("survey")
            self.make(survey["repository"], survey["head"], step.time_left())
            patches = [fix["patch"] for fix in step.outputs("fix") if fix["patch"]]
            if patches and os.path.exists(patches[-1]):
                git(self.path, "apply", "--whitespace=nowarn", patches[-1])
        return self.path

    def remove(self):
        """Removes the clone and all that lies beside it."""
        if os.path.islink(self.base):
            raise Failed(f"{self.base} is a symbolic link, which this run did not make")
        shutil.rmtree(self.base, ignore_errors=True)


def empty_tree(directory):
    """The tree without files, against which everything counts as added. Its hash depends on the hash function."""
    return git(directory, "hash-object", "-t", "tree", "--stdin", data=b"").strip()


def shortstat(directory, *args):
    """Files changed, lines added, lines removed."""
    files = added = removed = 0
    for line in git(directory, "diff", "--numstat", "-z", "--no-renames", *args).split("\0"):
        if line:
            plus, minus, _ = line.split("\t", 2)
            files += 1
            added += int(plus) if plus != "-" else 0
            removed += int(minus) if minus != "-" else 0
    return files, added, removed


def tracked(directory):
    """Tracked regular files; no symbolic links, no submodules."""
    entries = git(directory, "ls-files", "-s", "-z").split("\0")
    return [entry.split("\t", 1)[1] for entry in entries if entry.startswith("100")]
