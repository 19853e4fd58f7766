"""The format check that needs no tool: what .editorconfig says about blanks, and sensible rules where there is none."""

import fnmatch
import os
import re
import time

from clone import git, tracked
from step import Ran

# Larger files are data, not text somebody edits.
MAX_BYTES = 1 << 20

# Blanks at line ends mean something here, or the file is a record of something.
BLANKS_COUNT = (".csv", ".diff", ".golden", ".md", ".patch", ".rst", ".snap", ".svg", ".tsv")

# Attributes of .gitattributes with the values that take a file out.
EXEMPT = {
    "text": ("unset",), "whitespace": ("unset",), "linguist-generated": ("set", "true"), "linguist-vendored": ("set", "true"),
}

# What holds where there is no .editorconfig.
DEFAULTS = {"trim_trailing_whitespace": "true", "insert_final_newline": "true"}


def candidates(clone):
    """Tracked files that git does not exempt (`-text`, `-whitespace`, generated or vendored in .gitattributes)."""
    files = tracked(clone)
    asked = "\0".join(files).encode("utf-8")
    told = git(clone, "check-attr", "-z", "--stdin", *EXEMPT, data=asked).split("\0")
    attributes = zip(told[0::3], told[1::3], told[2::3])
    exempt = {path for path, name, value in attributes if value in EXEMPT[name]}
    return [path for path in files if path not in exempt]


class Rules:
    """The properties .editorconfig gives each file (https://spec.editorconfig.org), as far as they are used here."""

    def __init__(self, clone):
        self.sections = []
        path = os.path.join(clone, ".editorconfig")
        self.declared = os.path.isfile(path) and not os.path.islink(path)
        if self.declared:
            with open(path, encoding="utf-8", errors="replace") as file:
                self._read(file.read(MAX_BYTES))

    def _read(self, text):
        for line in text.splitlines():
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                self.sections.append((patterns(line[1:-1]), {}))
            elif "=" in line and not line.startswith(("#", ";")) and self.sections:
                key, value = line.split("=", 1)
                self.sections[-1][1][key.strip().lower()] = value.strip().lower()

    def of(self, path):
        """The properties of a file."""
        found = {} if self.declared else dict(DEFAULTS)
        for globs, properties in self.sections:
            if any(fnmatch.fnmatch(path, glob) or fnmatch.fnmatch(os.path.basename(path), glob) for glob in globs):
                found.update(properties)
        if not self.declared and path.endswith(BLANKS_COUNT):
            del found["trim_trailing_whitespace"]
        return found


def patterns(glob):
    """The globs a section header stands for, its braces expanded."""
    braces = re.search(r"\{([^{}]*,[^{}]*)\}", glob)
    if not braces:
        return [glob.lstrip("/")]
    before, after = glob[: braces.start()], glob[braces.end():]
    return [one for part in braces.group(1).split(",") for one in patterns(before + part.strip() + after)]


def tidy(data, rules):
    """The bytes as the rules want them, and what was wrong with them."""
    wrong = []
    if rules.get("trim_trailing_whitespace") == "true" and re.search(rb"[ \t]+(?=\r?\n|\Z)", data):
        data = re.sub(rb"[ \t]+(?=\r?\n|\Z)", b"", data)
        wrong.append("blanks at line ends")
    if rules.get("end_of_line") == "lf" and b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
        wrong.append("CRLF line ends")
    width = rules.get("indent_size", rules.get("tab_width", ""))
    if rules.get("indent_style") == "space" and width.isdigit() and re.search(rb"(?m)^ *\t", data):
        data = re.sub(rb"(?m)^[ \t]*\t[ \t]*", lambda indent: indent.group().expandtabs(int(width)), data)
        wrong.append("tabs as indentation")
    if rules.get("insert_final_newline") == "true" and data and not data.endswith(b"\n"):
        data += b"\n"
        wrong.append("no newline at the end")
    return data, wrong


def texts(clone, files, seconds):
    """Path and content of each text file, None when the time is up."""
    end = time.monotonic() + seconds
    for path in files:
        if time.monotonic() > end:
            yield None, b""
            return
        full = os.path.join(clone, path)
        if os.path.islink(full) or not os.path.isfile(full) or os.path.getsize(full) > MAX_BYTES:
            continue
        with open(full, "rb") as file:
            data = file.read()
        if b"\0" not in data:
            yield path, data


def check(clone, files, seconds):
    """What is wrong by file, whether all files were seen, and the seconds it took."""
    begun = time.monotonic()
    rules = Rules(clone)
    found = {}
    for path, data in texts(clone, files, seconds):
        if path is None:
            return found, False, round(time.monotonic() - begun, 1)
        wrong = tidy(data, rules.of(path))[1]
        if wrong:
            found[path] = ", ".join(wrong)
    return found, True, round(time.monotonic() - begun, 1)


def fix(clone, files, seconds):
    """Puts right what the check finds."""
    begun = time.monotonic()
    rules = Rules(clone)
    for path, data in texts(clone, files, seconds):
        if path is None:
            break
        better, wrong = tidy(data, rules.of(path))
        if wrong:
            with open(os.path.join(clone, path), "wb") as file:
                file.write(better)
    return Ran(0, "", time.monotonic() - begun)
