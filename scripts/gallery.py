"""Draws the graphs of the examples, plays each example, and writes what its prompts cost into examples/README.md.

    python3 scripts/gallery.py target/debug/uwf            # write examples/graphs and the table
    python3 scripts/gallery.py target/debug/uwf --check    # only compare; exit 1 if a file is out of date

No model is called: scripts in examples/mock play the agents. Each example is played twice. The run with detours takes the
replies in their order. The shortest run takes only the last reply of each role, which approves the work, and its commands
succeed at once.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
BEGIN, END = "<!-- costs: begin -->\n", "<!-- costs: end -->\n"
# Bytes of a prompt that count as one token.
BYTES_PER_TOKEN = 4
# Tokens are rounded to this, so that a changed word in a prompt rarely changes the table.
ROUNDED_TO = 100
# Exit codes of a thread that ended: as it should, or with another outcome.
ENDED = (0, 11)

# Played by a person, who costs no tokens.
PERSON = "approver"
# Its roles are commands of its own.
WITHOUT_AGENTS = "check-release"
# `make test` fails once in their run with detours.
FAIL_ONCE = ("fix-findings", "review-panel", "upgrade-dependencies", "write-tests")
INPUTS = {"translate-docs": ["--set", "language=French"], "upgrade-dependencies": ["--set", "level=major"]}
TASK = "Make the search find upper case. See issue 42."
PAGES = ["docs/guide.md", "docs/install.md", "docs/search.md"]

CONFIG = """\
agents:
  mock: { command: uwf-mock, config: { script: answers.yaml } }
  develop: { command: uwf-workflow, args: [develop] }
defaultAgent: mock
agentOverrides:
  resolve-issue: { developer: develop }
"""

MAKEFILE = """\
.PHONY: docs
outdated docs health:
\t@echo passed
test:
\t@test ! -e {state} || {{ rm {state}; echo "1 of 12 failed"; exit 1; }}
\t@echo "12 passed"
"""


def last_replies(script):
    """A mock script with only the last entry of each role."""
    lines = [line for line in script.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    roles = re.split(r"(?m)^(?=\w)", "".join(lines))
    shortest = ""
    for role in filter(str.strip, roles):
        name, *entries = re.split(r"(?m)^(?=  - )", role)
        shortest += name + entries[-1]
        if "    repeat: true\n" not in entries[-1]:
            shortest += "    repeat: true\n"
    return shortest


class Playground:
    """A repository and a storage root in a temporary directory."""

    def __init__(self, uwf, directory):
        self.uwf, self.directory = uwf, pathlib.Path(directory).resolve()
        self.root, self.project = self.directory / "root", self.directory / "project"
        self.environment = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ} | {
            "HOME": str(self.directory),
            "UNCAGED_WORKFLOW_STORAGE_ROOT": str(self.root),
            "UWF_FORMAT": "json",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def run(self, *command, codes=(0,)):
        """What a command prints."""
        ran = subprocess.run(
            command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if ran.returncode not in codes:
            sys.exit(f"{' '.join(command)} exited with {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def json(self, *arguments):
        return json.loads(self.run(self.uwf, *arguments))

    def prepare(self, script, pages, fails_once):
        """Creates the storage root, and a project with these pages."""
        self.root.mkdir()
        (self.root / "config.yaml").write_text(CONFIG)
        (self.root / "answers.yaml").write_text(script)
        state = self.directory / "fails-once"
        if fails_once:
            state.touch()
        for page in pages:
            path = self.project / page
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("# A page\n")
        (self.project / "Makefile").write_text(MAKEFILE.format(state=state))
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.run("git", "add", "--all")
        person = ["-c", "user.name=A Person", "-c", "user.email=person@example.org"]
        self.run("git", *person, "commit", "--quiet", "--message=A project")
        self.run(self.uwf, "workflow", "put", str(EXAMPLES / "develop.yaml"))

    def play(self, name):
        """Runs an example to its end."""
        example = str(EXAMPLES / f"{name}.yaml")
        self.run(self.uwf, "run", example, "-p", TASK, *INPUTS.get(name, []), codes=ENDED)

    def prompts(self):
        """The prompt of each agent call, in all threads."""
        for thread in self.json("thread", "list", "--all", "--branches"):
            for step in self.json("thread", "steps", thread["thread"])["steps"]:
                if step.get("agent") == "uwf-mock" and step["role"] != PERSON:
                    yield self.prompt(step["hash"])

    def prompt(self, step):
        """The prompt of a step, with a short path in place of the temporary directory."""
        turns = self.json("thread", "step-details", step)["detail"]["turns"]
        prompt = "".join(part for turn in turns for part in turn["input"])
        return prompt.replace(str(self.directory), "/home/person")


def measured(uwf, name, script, pages, fails_once):
    """Agent calls of a run, and the estimated tokens of their prompts."""
    with tempfile.TemporaryDirectory(prefix="uwf-gallery.") as directory:
        playground = Playground(uwf, directory)
        playground.project.mkdir()
        playground.prepare(script, pages, fails_once)
        playground.play(name)
        sizes = [len(prompt.encode()) for prompt in playground.prompts()]
    if not sizes:
        sys.exit(f"{name}: no agent was called")
    tokens = sum(sizes) / BYTES_PER_TOKEN
    return len(sizes), round(tokens / ROUNDED_TO) * ROUNDED_TO


def row(uwf, name):
    """The line of an example in the table."""
    if name == WITHOUT_AGENTS:
        numbers = [0, 0, 0, 0]
    else:
        script = (EXAMPLES / "mock" / f"{name}.yaml").read_text()
        shortest = measured(uwf, name, last_replies(script), PAGES[:1], False)
        detours = measured(uwf, name, script, PAGES, name in FAIL_ONCE)
        numbers = [*shortest, *detours]
    return f"| [{name}](#{name}) | " + " | ".join(f"{number:,}" for number in numbers) + " |\n"


def table(uwf, names):
    """What each example costs."""
    head = (
        "| example | shortest run: agent calls | input tokens | run with detours: agent calls | input tokens |\n"
        "|---|---:|---:|---:|---:|\n"
    )
    return head + "".join(row(uwf, name) for name in names)


def graph(uwf, name):
    command = [uwf, "workflow", "graph", str(EXAMPLES / f"{name}.yaml"), "--format", "svg"]
    with tempfile.TemporaryDirectory() as root:
        environment = os.environ | {"UNCAGED_WORKFLOW_STORAGE_ROOT": root}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def main():
    uwf, *options = sys.argv[1:] or sys.exit(__doc__)
    uwf = str(pathlib.Path(uwf).resolve())
    names = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if not path.name.endswith(".config.yaml"))
    readme = EXAMPLES / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    after = rest.split(END)[1]
    files = {EXAMPLES / "graphs" / f"{name}.svg": graph(uwf, name) for name in names}
    files[readme] = before + BEGIN + table(uwf, names) + END + after
    changed = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in options:
        if changed:
            sys.exit("out of date: " + ", ".join(str(path.relative_to(ROOT)) for path in changed))
        return
    (EXAMPLES / "graphs").mkdir(exist_ok=True)
    for path in changed:
        path.write_text(files[path])
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
