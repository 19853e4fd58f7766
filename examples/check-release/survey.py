"""The facts of a repository: what is there to be released?"""

import collections
import os
import re

import tools
from clone import Clone, empty_tree, git, shortstat, top_of, tracked
from step import main

SECONDS = 10

# Files of the working copy that are named.
MAX_UNCOMMITTED = 10

LANGUAGES = {
    ".c": "C", ".cc": "C++", ".cpp": "C++", ".cs": "C#", ".css": "CSS", ".dart": "Dart", ".ex": "Elixir", ".exs": "Elixir",
    ".go": "Go", ".h": "C", ".hpp": "C++", ".hs": "Haskell", ".html": "HTML", ".java": "Java", ".js": "JavaScript",
    ".jsx": "JavaScript", ".kt": "Kotlin", ".lua": "Lua", ".ml": "OCaml", ".php": "PHP", ".pl": "Perl", ".py": "Python",
    ".rb": "Ruby", ".rs": "Rust", ".scala": "Scala", ".sh": "Shell", ".sql": "SQL", ".swift": "Swift", ".ts": "TypeScript",
    ".tsx": "TypeScript", ".zig": "Zig",
}

# Where a version is written, in the order in which they are asked.
VERSIONS = [
    ("Cargo.toml", r"(?ms)^\[(?:workspace\.)?package\][^\[]*?^version\s*=\s*\"([^\"]+)\""),
    ("pyproject.toml", r"(?ms)^\[(?:project|tool\.poetry)\][^\[]*?^version\s*=\s*\"([^\"]+)\""),
    ("package.json", r"\"version\"\s*:\s*\"([^\"]+)\""),
    ("VERSION", r"\A\s*v?(\d\S*)\s*\Z"),
    ("CMakeLists.txt", r"(?is)\bproject\s*\([^)]*?\bVERSION\s+(\d[\d.]*)"),
]


def version_of(clone):
    """The version the repository gives itself, and the file that says so."""
    for name, pattern in VERSIONS:
        found = re.search(pattern, tools.read(clone, name))
        if found:
            return found.group(1), name
    return None, None


def document(files, *stems):
    """The file of the top directory that has one of these names, whatever its extension."""
    top = sorted(name for name in files if "/" not in name)
    return next((name for name in top if re.split(r"[-._]", name.upper())[0] in stems), None)


def languages_of(files):
    """Languages with their number of files, the largest first."""
    counts = collections.Counter(LANGUAGES.get(os.path.splitext(path)[1].lower()) for path in files)
    counts.pop(None, None)
    return [{"name": name, "files": count} for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def uncommitted_in(repository):
    """Files of the working copy that a clone does not have."""
    told = git(repository, "status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames", check=False)
    return [entry[3:] for entry in told.split("\0") if entry]


def survey(step):
    repository = top_of(step.task)
    head = git(repository, "rev-parse", "HEAD").strip()
    clone = Clone(step.thread)
    clone.make(repository, head, step.time_left())
    path = clone.path
    tag = git(path, "describe", "--tags", "--abbrev=0", check=False).strip() or None
    since = tag or empty_tree(path)
    files_changed, insertions, deletions = shortstat(path, since, "HEAD")
    files = tracked(path)
    version, version_file = version_of(path)
    uncommitted = uncommitted_in(repository)
    shown = uncommitted[:MAX_UNCOMMITTED]
    if len(uncommitted) > len(shown):
        shown.append(f"and {len(uncommitted) - len(shown)} more")
    return {
        "repository": repository,
        "name": os.path.basename(repository),
        "branch": git(path, "symbolic-ref", "--quiet", "--short", "HEAD", check=False).strip() or None,
        "head": head,
        "lastTag": tag,
        "commits": int(git(path, "rev-list", "--count", f"{tag}..HEAD" if tag else "HEAD")),
        "filesChanged": files_changed,
        "insertions": insertions,
        "deletions": deletions,
        "languages": languages_of(files),
        "version": version,
        "versionFile": version_file,
        "readme": document(files, "README"),
        "changelog": document(files, "CHANGELOG", "CHANGES", "HISTORY", "NEWS"),
        "licence": document(files, "LICENSE", "LICENCE", "COPYING", "UNLICENSE"),
        "uncommitted": shown,
        "formatChecks": [tool.name for tool in tools.formatters(path)],
        "quickChecks": [check.name for check in tools.quick_checks(path)],
    }


main(survey, SECONDS)
