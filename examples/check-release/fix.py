"""Applies the formatters whose check failed, in the clone only."""

import os

import tools
from clone import Clone, git, shortstat
from step import header, main

SECONDS = 6


def fix(step):
    place = Clone(step.thread)
    clone = place.open(step)
    failed = {check["name"] for check in step.last("check")["checks"] if check["kind"] == "format" and check["status"] == "failed"}
    before = git(clone, "diff", "HEAD")
    used, notes = [], []
    for tool in tools.formatters(clone):
        if tool.name in failed and step.time_left() > 0:
            ran = tool.run_fix(clone, step.time_left(), place.base)
            used.append(tool.name)
            if ran.code != 0:
                notes.append(f"* `{tool.name}` did not end well: {ran.last_line() or 'it took too long'}")
    changed = git(clone, "diff", "HEAD") != before
    files, insertions, deletions = shortstat(clone, "HEAD") if changed else (0, 0, 0)
    told = {
        "round": len(step.outputs("fix")) + 1,
        "tools": used,
        "filesChanged": files,
        "insertions": insertions,
        "deletions": deletions,
        "patch": write_patch(clone, step) if changed else None,
    }
    stat = git(clone, "diff", "--stat=90", "--stat-count=20", "HEAD").rstrip()
    body = [f"{', '.join(used) or 'no formatter'} changed {files} files in the clone.", ""]
    body += ["```", stat, "```", ""] if changed else []
    return header(told) + "\n".join(body + notes)


def write_patch(clone, step):
    """The whole difference to the surveyed commit, kept where it outlives the clone. Returns its path."""
    directory = os.path.join(os.environ["UNCAGED_WORKFLOW_STORAGE_ROOT"], "outputs", step.thread)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "formatting.patch")
    git(clone, "diff", "--binary", "--full-index", "--no-color", "--no-ext-diff", f"--output={path}", "HEAD")
    return path


main(fix, SECONDS)
