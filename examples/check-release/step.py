"""What every step of the example shares: where it is in the run, what was said before, and how to run a command."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

# Bytes of a command's output that are looked at.
OUTPUT_CAP = 64 * 1024


class Failed(Exception):
    """The step cannot be done; the message is one line for the person who started the run."""


class Step:
    """The step to be done, as `uwf agent context` shows it."""

    def __init__(self, seconds):
        self.thread = os.environ["UWF_THREAD"]
        self.deadline = time.monotonic() + seconds
        asked = [os.environ["UWF_BIN"], "agent", "context", self.thread, os.environ["UWF_ROLE"], "--format", "json"]
        context = json.loads(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout)
        self.task = context["task"]
        self.steps = context["steps"]

    def outputs(self, role):
        """What a role has said so far, oldest first."""
        return [step["output"] for step in self.steps if step["role"] == role]

    def last(self, role):
        """What a role said last."""
        return self.outputs(role)[-1]

    def time_left(self):
        """Seconds until this step has to be done."""
        return max(0.0, self.deadline - time.monotonic())


class Ran:
    """How a command ended: `code` is None when its time was up."""

    def __init__(self, code, output, seconds):
        self.code = code
        self.output = output
        self.seconds = round(seconds, 1)

    def last_line(self):
        """The last line that says something."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def environment(scratch):
    """The environment of the repository's own commands: nothing that is meant for this process, and no network."""
    foreign = ("GIT_", "UWF_", "UNCAGED_", "WORKFLOW_", "RUSTUP_TOOLCHAIN")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    # By this uwf knows what to end with the step, whatever session it has moved to.
    kept["UWF_ATTEMPT"] = os.environ.get("UWF_ATTEMPT", "")
    kept.update(GIT_TERMINAL_PROMPT="0", CARGO_NET_OFFLINE="true", RUSTUP_AUTO_INSTALL="0", PYTHONDONTWRITEBYTECODE="1")
    kept["CARGO_TARGET_DIR"] = os.path.join(scratch, "target")
    return kept


def run(command, directory, seconds, scratch):
    """Runs a command of the repository with its output mixed; after `seconds` it is ended with all it started."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command, cwd=directory, env=environment(scratch), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            return Ran(126, str(error), 0)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        size = os.fstat(output.fileno()).st_size
        output.seek(max(0, size - OUTPUT_CAP))
        text = output.read().decode("utf-8", "replace")
    return Ran(code, text, time.monotonic() - begun)


def header(fields):
    """Frontmatter with these fields. JSON is YAML, so any text is safe in it."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", ""])


def main(work, seconds):
    """Does a step within `seconds`. `work` returns what is to be printed, a value or a text."""
    try:
        answer = work(Step(seconds))
    except (Failed, OSError, subprocess.CalledProcessError) as failed:
        sys.exit(str(failed))
    sys.stdout.reconfigure(encoding="utf-8")
    print(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
