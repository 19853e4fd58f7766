"""Which format checks and quick checks a repository declares, and how each is run.

A check is taken from what the repository itself says (its manifests and configuration files), never guessed from the
language alone, except for what holds in any repository: no conflict markers, no stray blanks at line ends.
"""

import os
import re
import shutil
import sys

import whitespace
from clone import git, tracked
from step import run

# Directories whose files may be broken on purpose, or belong to somebody else.
NOT_OWN = {"fixtures", "node_modules", "test", "testdata", "tests", "third_party", "vendor"}

# What programs say that are there but lack a part of themselves.
NOT_HERE = r"not installed|no such (sub)?command|could not download"

# Files named in the result of one check.
MAX_FILES = 10


def result(name, kind, status, seconds=0.0, note="", files=()):
    """The result of one check."""
    return {"name": name, "kind": kind, "status": status, "seconds": seconds, "note": note[:300], "files": list(files)[:MAX_FILES]}


class Tool:
    """A formatter: found by a file the repository has, run in the clone."""

    def __init__(self, name, program, declared, check, fix, extensions, prints_files=False):
        self.name = name
        self.program = program
        self.declared = declared
        self.check = check
        self.fix = fix
        self.extensions = extensions
        self.prints_files = prints_files

    def installed(self):
        return shutil.which(self.program) is not None

    def run_check(self, clone, seconds, scratch):
        if not self.installed():
            return result(self.name, "format", "skipped", note=f"`{self.program}` is not installed here")
        ran = run(self.check, clone, seconds, scratch)
        if ran.code is None:
            return result(self.name, "format", "skipped", ran.seconds, "it took too long")
        listed = [line for line in ran.output.splitlines() if line.strip()] if self.prints_files else []
        if ran.code == 0 and not listed:
            return result(self.name, "format", "passed", ran.seconds)
        if re.search(NOT_HERE, ran.output):
            return result(self.name, "format", "skipped", ran.seconds, ran.last_line())
        files = [name for name in (listed or named_files(ran.output, clone)) if name]
        return result(self.name, "format", "failed", ran.seconds, "" if files else ran.last_line(), files)

    def run_fix(self, clone, seconds, scratch):
        return run(self.fix, clone, seconds, scratch)


class Whitespace:
    """Blanks at line ends, a missing last newline, tabs against .editorconfig: in files no formatter looks after."""

    name = "whitespace"

    def __init__(self, tools):
        self.covered = tuple(extension for tool in tools for extension in tool.extensions)

    def files(self, clone):
        return [path for path in whitespace.candidates(clone) if not path.endswith(self.covered or ("\0",))]

    def installed(self):
        return True

    def run_check(self, clone, seconds, scratch):
        found, seen_all, took = whitespace.check(clone, self.files(clone), seconds)
        if found:
            return result(self.name, "format", "failed", took, ", ".join(sorted(set(found.values()))), sorted(found))
        if not seen_all:
            return result(self.name, "format", "skipped", took, "it took too long")
        return result(self.name, "format", "passed", took)

    def run_fix(self, clone, seconds, scratch):
        return whitespace.fix(clone, self.files(clone), seconds)


def formatters(clone):
    """The format checks of a repository, the whitespace check last."""
    files = tracked(clone)
    c_files = [path for path in files if path.endswith((".c", ".cc", ".cpp", ".h", ".hpp"))]
    known = [
        Tool("cargo fmt", "cargo", lambda: "Cargo.toml" in files, ["cargo", "fmt", "--all", "--check"], ["cargo", "fmt", "--all"], [".rs"]),
        Tool("gofmt", "gofmt", lambda: "go.mod" in files, ["gofmt", "-l", "."], ["gofmt", "-w", "."], [".go"], True),
        Tool("ruff format", "ruff", lambda: "ruff.toml" in files or mentions(clone, "pyproject.toml", r"^\[tool\.ruff"),
             ["ruff", "format", "--check", "."], ["ruff", "format", "."], [".py"]),
        Tool("black", "black", lambda: mentions(clone, "pyproject.toml", r"^\[tool\.black"),
             ["black", "--check", "."], ["black", "--quiet", "."], [".py"]),
        Tool("prettier", "prettier", lambda: any(path.startswith(".prettierrc") for path in files),
             ["prettier", "--list-different", "."], ["prettier", "--log-level", "warn", "--write", "."],
             [".css", ".html", ".js", ".json", ".jsx", ".md", ".ts", ".tsx", ".vue", ".yaml", ".yml"], True),
        Tool("clang-format", "clang-format", lambda: ".clang-format" in files and bool(c_files),
             ["clang-format", "--dry-run", "-Werror", *c_files], ["clang-format", "-i", *c_files], [".c", ".cc", ".cpp", ".h", ".hpp"]),
    ]
    tools = [tool for tool in known if tool.declared()]
    return [*tools, Whitespace(tools)]


def mentions(clone, name, pattern):
    """Whether a file of the clone has a line that matches."""
    return re.search(pattern, read(clone, name), re.MULTILINE) is not None


def read(clone, name):
    """The text of a file of the clone; empty when it is absent or leads elsewhere."""
    path = os.path.join(clone, name)
    if os.path.islink(path) or not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(1 << 20)


def named_files(output, clone):
    """Files of the clone that a formatter names in its output, in the order it does, each once."""
    found = []
    for word in re.findall(r"[^\s:'\"`]+\.\w+", output):
        path = os.path.relpath(word, clone) if os.path.isabs(word) else word
        if path not in found and not path.startswith("..") and os.path.isfile(os.path.join(clone, path)):
            found.append(path)
    return found


class Quick:
    """A quick check that is a command."""

    def __init__(self, name, command, needs_network=None):
        self.name = name
        self.command = command
        self.needs_network = needs_network

    def run_check(self, clone, seconds, scratch):
        ran = run(self.command, clone, seconds, scratch)
        if ran.code is None:
            return result(self.name, "quick", "skipped", ran.seconds, "it took too long")
        if ran.code == 0:
            return result(self.name, "quick", "passed", ran.seconds)
        if self.needs_network and re.search(self.needs_network, ran.output):
            return result(self.name, "quick", "skipped", ran.seconds, "it needs something that is not on this machine")
        return result(self.name, "quick", "failed", ran.seconds, ran.last_line())


class PythonSyntax:
    """Every Python file compiles; nothing is run, nothing written."""

    name = "python syntax"

    def __init__(self, files):
        self.files = files

    def run_check(self, clone, seconds, scratch):
        code = ("import sys, warnings; warnings.simplefilter('ignore')\n"
                "for path in sys.stdin.read().split('\\0'):\n"
                "    try: compile(open(path, 'rb').read(), path, 'exec')\n"
                "    except (SyntaxError, ValueError) as error: print(f'{path}: {error}'); bad = True\n"
                "sys.exit('bad' in globals())\n")
        listing = os.path.join(scratch, "python-files")
        with open(listing, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\0".join(self.files))
        ran = run(["sh", "-c", '"$0" -B -c "$1" < "$2"', sys.executable, code, listing], clone, seconds, scratch)
        if ran.code is None:
            return result(self.name, "quick", "skipped", ran.seconds, "it took too long")
        bad = [line.split(": ")[0] for line in ran.output.splitlines()]
        return result(self.name, "quick", "passed" if ran.code == 0 else "failed", ran.seconds, ran.last_line(), bad)


class ConflictMarkers:
    """No file has the marks of an unfinished merge."""

    name = "conflict markers"

    def run_check(self, clone, seconds, scratch):
        marks = r"^(<<<<<<<|>>>>>>>) "
        found = git(clone, "grep", "-I", "-l", "-z", "-E", marks, seconds=seconds, check=False).split("\0")
        files = [name for name in found if name and not is_foreign(name)]
        return result(self.name, "quick", "failed" if files else "passed", 0.0, "unfinished merge" if files else "", files)


def is_foreign(path):
    """Whether a file lies where broken or foreign ones are kept."""
    return bool(NOT_OWN.intersection(path.split("/")[:-1]))


def quick_checks(clone):
    """The quick checks of a repository, its own first."""
    files = tracked(clone)
    checks = []
    if "check" in files and os.access(os.path.join(clone, "check"), os.X_OK):
        checks.append(Quick("./check", ["./check"]))
    for target in ("quick-check", "check"):
        if "Makefile" in files and shutil.which("make") and mentions(clone, "Makefile", rf"^{target}\s*:(?!=)"):
            checks.append(Quick(f"make {target}", ["make", "--silent", target]))
            break
    if "justfile" in files and shutil.which("just") and mentions(clone, "justfile", r"^check\b[^:=]*:(?!=)"):
        checks.append(Quick("just check", ["just", "check"]))
    if "Cargo.lock" in files and shutil.which("cargo"):
        locked = ["cargo", "metadata", "--locked", "--offline", "--quiet", "--format-version", "1"]
        checks.append(Quick("Cargo.lock is current", ["sh", "-c", 'exec "$@" > /dev/null', "sh", *locked],
                            r"you may need to run without --offline|attempting to make an HTTP request|failed to download|" + NOT_HERE))
    python = [path for path in files if path.endswith(".py") and not is_foreign(path)]
    if python:
        checks.append(PythonSyntax(python))
    shell = [path for path in files if path.endswith(".sh") and not is_foreign(path)]
    if shell:
        loop = 'for file; do case $(head -n 1 "$file") in *bash*) bash -n "$file";; *zsh*|*fish*) ;; *) sh -n "$file";; esac || bad=1; done; exit ${bad:-0}'
        checks.append(Quick("shell syntax", ["sh", "-c", loop, "sh", *shell]))
    return [*checks, ConflictMarkers()]
