"""Draws docs/run.svg, the picture of the README: the README's own example, run for real.

    python3 scripts/readme-picture.py target/debug/uwf > docs/run.svg

The files and the first command are taken from the README; what is drawn is what uwf prints on a terminal. Ids, hashes and
times are exchanged for fixed ones, so the same program always draws the same picture. A test compares the two.
"""

import fcntl
import hashlib
import html
import os
import pathlib
import pty
import re
import struct
import sys
import tempfile
import termios

COLUMNS = 100
CHAR_WIDTH, LINE_HEIGHT, MARGIN = 8.0, 19, 22
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
FURTHER = [
    "uwf thread steps @",
    "uwf thread fork @ --from-role reviewer      # go back to before the last review",
    # Another agent than before, so that this step never happens to be the very same node.
    "uwf thread step @ --explain --agent 'sh reviewer.sh --strict' --output json",
]
CLASSES = {"1": "bold", "2": "dim", "32": "green", "33": "yellow", "31": "red"}

STYLE = """
    text { font: 13.3px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
    .window { fill: #f6f8fa; stroke: #d1d9e0 }
    .prompt, .bold { font-weight: 600 }
    .dim { fill: #59636e } .green { fill: #1a7f37 } .yellow { fill: #9a6700 } .red { fill: #d1242f }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .window { fill: #0d1117; stroke: #3d444d }
      .dim { fill: #9198a1 } .green { fill: #3fb950 } .yellow { fill: #d29922 } .red { fill: #f85149 }
    }
"""


def example(readme):
    """The files of the README's example by name, and the command that runs it."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", readme, re.M | re.S)
    files = {}
    for _, text in blocks:
        name = re.match(r"# (\S+\.\w+)\n", text)
        if name:
            files[name[1]] = text
    command = next(text for kind, text in blocks if kind == "console")
    command = re.match(r"\$ ((?:.*\\\n)*.*)", command)[1]
    return files, command


def on_a_terminal(command, directory, uwf):
    """What a command prints on a terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(directory)
        environment = {
            "PATH": f"{directory}/bin:{os.environ['PATH']}",
            "HOME": directory,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PAGER": "cat",
            "UNCAGED_WORKFLOW_STORAGE_ROOT": f"{directory}/root",
        }
        # The window has its size before anything looks at it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        os.execvpe("sh", ["sh", "-c", command], environment)
    printed = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        printed += data
    if os.waitpid(process, 0)[1] != 0:
        sys.exit(f"failed: {command}\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


class Fixed:
    """Exchanges what differs from run to run: the first id of a run always becomes the same one, and so on."""

    def __init__(self):
        self.known = {}

    def name(self, found, length, begin):
        if found not in self.known:
            digest = hashlib.sha256(f"{length} {len(self.known)}".encode()).digest()
            rest = "".join(CROCKFORD[byte % 32] for byte in digest)
            self.known[found] = (begin + rest)[:length]
        return self.known[found]

    def text(self, text):
        text = re.sub(r"(?<![0-9A-Z])01[0-9A-Z]{24}(?![0-9A-Z])", lambda found: self.name(found[0], 26, "01M84K4HXK"), text)
        text = re.sub(r"(?<![0-9A-Z])[0-9A-F][0-9A-Z]{12}(?![0-9A-Z])", lambda found: self.name(found[0], 13, "7"), text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-11-23 16:16:59", text)
        return re.sub(r"\d+\.\d s\b", "0.1 s", text)


def segments(line):
    """Pieces of a line with the classes they are drawn in."""
    active, at, column = set(), 0, 0
    for mark in [*re.finditer(r"\x1b\[([0-9;]*)m", line), None]:
        piece = line[at : mark.start() if mark else len(line)]
        # Drawn word group by word group: not every viewer keeps runs of blanks.
        for group in re.finditer(r"\S+(?: \S+)*", piece):
            yield column + group.start(), group[0], " ".join(sorted(active))
        column += len(piece)
        if mark:
            codes = mark[1].split(";")
            active = active | {CLASSES[code] for code in codes if code in CLASSES} if mark[1] not in ("", "0") else set()
            at = mark.end()


def draw(lines):
    width, height = MARGIN * 2 + COLUMNS * CHAR_WIDTH, MARGIN * 2 + len(lines) * LINE_HEIGHT
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">')
    print("  <title>A workflow is run to its end, listed, forked and stepped once</title>")
    print(f"  <style>{STYLE}  </style>")
    print(f'  <rect class="window" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>')
    for number, line in enumerate(lines):
        y = MARGIN + 13 + number * LINE_HEIGHT
        for column, piece, names in segments(line):
            x, length = MARGIN + column * CHAR_WIDTH, len(piece) * CHAR_WIDTH
            name = f' class="{names}"' if names else ""
            size = f'textLength="{length:g}" lengthAdjust="spacingAndGlyphs"'
            print(f'  <text{name} x="{x:g}" y="{y}" {size}>{html.escape(piece, quote=False)}</text>')
    print("</svg>")


def main():
    uwf = pathlib.Path(sys.argv[1]).resolve()
    readme = pathlib.Path(__file__).resolve().parent.parent / "README.md"
    files, first = example(readme.read_text())
    fixed, lines = Fixed(), []
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            (pathlib.Path(directory) / name).write_text(text)
        (pathlib.Path(directory) / "bin").mkdir()
        (pathlib.Path(directory) / "bin/uwf").symlink_to(uwf)
        for command in [first, *FURTHER]:
            shown = command.split("\n")
            lines += [f"\x1b[2m$\x1b[0m \x1b[1m{shown[0]}\x1b[0m", *(f"\x1b[1m{line}\x1b[0m" for line in shown[1:])]
            printed = fixed.text(on_a_terminal(command, directory, uwf))
            # Progress is overwritten in place: the last of it stays.
            lines += [re.split(r"\x1b\[2K|\r", line)[-1].rstrip() for line in printed.rstrip("\n").split("\n")]
            lines.append("")
    draw(lines[:-1])


main()
