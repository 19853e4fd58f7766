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

C_FILES = [".c", ".cc", ".cpp", ".h", ".hpp"]

# Files named in the result of one check.
MAX_FILES = 10


def result(name, kind, status, seconds=0.0, note="", files=()):
    """The result of one check."""
    return {"name": name, "kind": kind, "status": status, "seconds": seconds, "note": note[:300], "files": list(files)[:MAX_FILES]}


class Tool:
    """A formatter: found by a file the repository has, run in the clone."""

    def __init__(self, name, program, declared, check, fix, extensions, exits_with_0=False):
        self.name = name
        self.program = program
        self.declared = declared
        self.check = check
        self.fix = fix
        self.extensions = extensions
        self.exits_with_0 = exits_with_0

    def installed(self):
        return shutil.which(self.program) is not None

    def run_check(self, clone, seconds, scratch):
        if not self.installed():
            return result(self.name, "format", "skipped", note=f"`{self.program}` is not installed here")
        ran = run(self.check, clone, seconds, scratch)
        if ran.code is None:
            return result(self.name, "format", "skipped", ran.seconds, "it took too long")
        files = named_files(ran.output, clone)
        if ran.code == 0 and not (self.exits_with_0 and files):
            return result(self.name, "format", "passed", ran.seconds)
        if re.search(NOT_HERE, ran.output):
            return result(self.name, "format", "skipped", ran.seconds, ran.last_line())
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
    known = [
        Tool("cargo fmt", "cargo", lambda: "Cargo.toml" in files, ["cargo", "fmt", "--all", "--", "--check", "-l"], ["cargo", "fmt", "--all"], [".rs"]),
        Tool("gofmt", "gofmt", lambda: "go.mod" in files, ["gofmt", "-l", "."], ["gofmt", "-w", "."], [".go"], True),
        Tool("ruff format", "ruff", lambda: "ruff.toml" in files or mentions(clone, "pyproject.toml", r"^\[tool\.ruff"),
             ["ruff", "format", "--check", "."], ["ruff", "format", "."], [".py"]),
        Tool("black", "black", lambda: mentions(clone, "pyproject.toml", r"^\[tool\.black"),
             ["black", "--check", "."], ["black", "--quiet", "."], [".py"]),
        Tool("prettier", "prettier", lambda: any(path.startswith(".prettierrc") for path in files),
             ["prettier", "--list-different", "."], ["prettier", "--log-level", "warn", "--write", "."],
             [".css", ".html", ".js", ".json", ".jsx", ".md", ".ts", ".tsx", ".vue", ".yaml", ".yml"]),
        Tool("clang-format", "clang-format", lambda: ".clang-format" in files,
             each_of(C_FILES, "clang-format --dry-run -Werror"), each_of(C_FILES, "clang-format -i"), C_FILES),
    ]
    tools = [tool for tool in known if tool.declared()]
    return [*tools, Whitespace(tools)]


def each_of(extensions, command):
    """A command that is given all tracked files of these extensions, in as many calls as it takes."""
    patterns = " ".join(f"'*{extension}'" for extension in extensions)
    return ["sh", "-c", f"git ls-files -z -- {patterns} | xargs -0 {command}"]


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

    def __init__(self, name, command):
        self.name = name
        self.command = command

    def run_check(self, clone, seconds, scratch):
        if not shutil.which(self.command[0]) and "/" not in self.command[0]:
            return result(self.name, "quick", "skipped", note=f"`{self.command[0]}` is not installed here")
        ran = run(self.command, clone, seconds, scratch)
        if ran.code is None:
            return result(self.name, "quick", "skipped", ran.seconds, "it took too long")
        if ran.code == 0:
            return result(self.name, "quick", "passed", ran.seconds)
        return result(self.name, "quick", "failed", ran.seconds, ran.last_line())


class CargoLock:
    """Cargo.lock agrees with the manifests. That takes the index of packages as far as it is on this machine."""

    name = "Cargo.lock is current"

    def run_check(self, clone, seconds, scratch):
        ran = run(["cargo", "update", "--workspace", "--locked", "--offline"], clone, seconds, scratch)
        if ran.code == 0:
            return result(self.name, "quick", "passed", ran.seconds)
        # An older index than the lock file's also makes cargo want to change it, but backwards.
        if ran.code is None or "--locked was passed" not in ran.output or "Downgrading" in ran.output:
            return result(self.name, "quick", "skipped", ran.seconds, "it could not be told without the network")
        return result(self.name, "quick", "failed", ran.seconds, "it has to be updated", ["Cargo.lock"])


COMPILE = """
import sys, warnings
warnings.simplefilter("ignore")
bad = False
for path in open(sys.argv[1], encoding="utf-8").read().split("\\0"):
    try:
        compile(open(path, "rb").read(), path, "exec")
    except (SyntaxError, ValueError) as error:
        print(f"{path}: {getattr(error, 'msg', error)} (line {getattr(error, 'lineno', 1)})")
        bad = True
sys.exit(bad)
"""


class PythonSyntax:
    """Every Python file compiles; nothing is run, nothing written."""

    name = "python syntax"

    def __init__(self, files):
        self.files = files

    def run_check(self, clone, seconds, scratch):
        listing = os.path.join(scratch, "python-files")
        with open(listing, "w", encoding="utf-8") as file:
            file.write("\0".join(self.files))
        ran = run([sys.executable, "-B", "-c", COMPILE, listing], clone, seconds, scratch)
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


# Lets the shell that a script is meant for read it. There are no single quotes in it: it stands between some.
SHELL_SYNTAX = """for file; do case $(head -n 1 "$file") in
    *bash*) bash -n "$file" ;;
    *zsh* | *fish*) ;;
    *) sh -n "$file" ;;
esac || bad=1; done; exit ${bad:-0}"""


def quick_checks(clone):
    """The quick checks of a repository."""
    files = tracked(clone)
    checks = [ConflictMarkers()]
    python = [path for path in files if path.endswith(".py") and not is_foreign(path)]
    if python:
        checks.append(PythonSyntax(python))
    if any(path.endswith(".sh") and not is_foreign(path) for path in files):
        checks.append(Quick("shell syntax", each_of([".sh"], f"sh -c '{SHELL_SYNTAX}' sh")))
    if "Cargo.lock" in files and shutil.which("cargo"):
        checks.append(CargoLock())
    # What the repository brings along comes last: it may take all the time there is.
    for target in ("quick-check", "check"):
        if "Makefile" in files and mentions(clone, "Makefile", rf"^{target}\s*:(?!=)"):
            checks.append(Quick(f"make {target}", ["make", "--silent", target]))
            break
    if "justfile" in files and mentions(clone, "justfile", r"^check\b[^:=]*:(?!=)"):
        checks.append(Quick("just check", ["just", "check"]))
    if "check" in files and os.access(os.path.join(clone, "check"), os.X_OK):
        checks.append(Quick("./check", ["./check"]))
    return checks
