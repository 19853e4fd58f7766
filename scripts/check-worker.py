#!/usr/bin/env python3
"""Checks that no workflow stops a worker of Temporal, and that none wedges.

    python3 scripts/check-worker.py target/debug/uwf
    python3 scripts/check-worker.py "$(scripts/release.sh --program)"

The program is a uwf with the feature `temporal`. `./test --temporal` checks the one of its build, and the job `release` the released one,
in which the SDK has no debug assertions. The script starts a Temporal server and brings workflows into every state in which they wait. Then
it ends the worker. While no worker runs, each workflow gets a message (a signal, an answer, a cancellation) and what it waits for (its
timer, the result of an activity), in both orders. A new worker replays these histories and finds both in one activation. Takes about half
a minute.
"""

import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Seconds until a timer of a waiting thread fires. All workflows have to wait, and the worker to be gone, before that. On a machine that is too
# slow for the first figure, the check begins again with the second.
QUIET = (12, 48)
# A step waits for a worker six times as long as the timer is set to; then its activity times out.
UNTAKEN = 6
# Longest wait for anything, on a machine that is busy with other tests.
PATIENCE = 120

# The thread of all workflows. No store has it.
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

READY = {"is": "ready", "head": "h", "role": "worker", "agent": "absent"}
STOPPED = {"is": "stopped", "head": "h", "state": "stuck", "exit_code": 40, "role": "worker"}
ENDED = {"is": "ended", "thread": UNKNOWN, "head": "h", "reason": "end"}
PAYLOAD = [{"by": "ann", "why": ["any", "payload", {"deep": None}]}, "and a second one"]

# What is sent to a workflow: a name, and the signal with its payloads. A cancellation is no signal.
MESSAGES = {
    "answer": ("answer", []),
    "resume": ("resume", []),
    "pause": ("pause", []),
    "answer with a payload": ("answer", PAYLOAD),
    "resume with a payload": ("resume", PAYLOAD),
    "pause with a payload": ("pause", PAYLOAD),
    "unknown signal": ("no-such-signal", PAYLOAD),
    "cancel": None,
}

State = collections.namedtuple("State", "name begin until resolve is_resolved")
Case = collections.namedtuple("Case", "id state message is_first")


class Server:
    """A Temporal server, asked over HTTP."""

    def __init__(self, home):
        programs = subprocess.run([ROOT / "scripts/temporal.sh"], check=True, stdout=subprocess.PIPE, text=True)
        program = pathlib.Path(programs.stdout.strip()) / "temporal"
        grpc, http = free_port(), free_port()
        self.address = f"127.0.0.1:{grpc}"
        self.url = f"http://127.0.0.1:{http}/api/v1/namespaces/default"
        arguments = ["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error"]
        arguments += ["--port", str(grpc), "--http-port", str(http)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([program, *arguments], env={**os.environ, "HOME": str(home)}, **quiet)

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def is_ready(self):
        try:
            self.ask("/workflows")
            return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def begin(self, workflow, kind, given):
        body = {"workflowType": {"name": kind}, "taskQueue": {"name": "uwf"}, "input": given}
        self.ask(f"/workflows/{workflow}", body)

    def send(self, workflow, message):
        if MESSAGES[message] is None:
            self.ask(f"/workflows/{workflow}/cancel", {})
        else:
            name, payloads = MESSAGES[message]
            self.ask(f"/workflows/{workflow}/signal/{name}", {"input": payloads})

    def complete(self, workflow, result):
        activity = self.ask(f"/workflows/{workflow}")["pendingActivities"][0]["activityId"]
        self.ask(f"/workflows/{workflow}/activities/{activity}/complete", {"result": [result]})

    def events(self, workflow):
        """The types of a workflow's events, such as TIMER_FIRED."""
        events = self.ask(f"/workflows/{workflow}/history?maximumPageSize=1000")["history"]["events"]
        return [event["eventType"].removeprefix("EVENT_TYPE_") for event in events]

    def status(self, workflow):
        return self.ask(f"/workflows/{workflow}")["workflowExecutionInfo"]["status"].removeprefix("WORKFLOW_EXECUTION_STATUS_")


class Worker:
    """The worker under test."""

    def __init__(self, program, home, address, name):
        self.log = home / f"{name}.log"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TEMPORAL_", "UWF_", "RUST_"))}
        environment |= {"HOME": str(home), "UWF_HOME": str(home / "root"), "TEMPORAL_ADDRESS": address}
        # Steps and looks cannot run in a directory that is gone, so the activities stay open until the script completes them.
        gone = home / f"{name}.gone"
        gone.mkdir()
        arguments = [program, "worker", "--engine", "temporal", "--cwd", gone]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(arguments, cwd=home, env=environment, stderr=log, stdout=subprocess.DEVNULL)
        until("the worker starts", lambda: "working for Temporal" in self.log.read_text(), self.check)
        gone.rmdir()

    def said(self):
        """The log, without the looks that are retried all the time."""
        return "\n".join(line for line in self.log.read_text().splitlines() if UNKNOWN not in line)

    def check(self):
        """Fails if it has ended."""
        if self.process.poll() is not None:
            sys.exit(f"the worker ended with {self.process.returncode}:\n{self.said()[-4000:]}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)


class TooSlowError(Exception):
    """A timer fired before the worker was gone."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, is_so, check=lambda: None):
    """Waits for something. The check may fail sooner."""
    begun = time.monotonic()
    while not is_so():
        check()
        if time.monotonic() - begun > PATIENCE:
            sys.exit(f"not within {PATIENCE} s: {what() if callable(what) else what}")
        time.sleep(0.1)


def until_each(what, cases, is_so, check=lambda: None):
    """Waits until something is so of each case."""
    left = list(cases)

    def none_is_left():
        left[:] = [case for case in left if not is_so(case)]
        return not left

    until(lambda: f"{what}: {[case.id for case in left]}", none_is_left, check)


def begin(standing, paused=False, quiet=QUIET[0]):
    """What a thread's workflow begins with."""
    return {"thread": UNKNOWN, "stepsPerRun": 1000, "lookAgain": quiet, "paused": paused, "calls": 0, "standing": standing}


def states(quiet):
    """Each state in which a workflow waits: how it begins, the event that shows the state, and what ends the wait."""
    waits = {"stopped": begin(STOPPED, quiet=quiet), "paused": begin(READY, paused=True, quiet=quiet)}
    for name, given in waits.items():
        yield State(name, given, "TIMER_STARTED", None, "TIMER_FIRED")
    # The timer of a wait that a call ended still runs in the step after it.
    yield State("step after a wait", begin(STOPPED, quiet=quiet), "ACTIVITY_TASK_SCHEDULED", None, "TIMER_FIRED")
    given = begin(READY, quiet=quiet // UNTAKEN)
    yield State("step untaken", given, "ACTIVITY_TASK_SCHEDULED", None, "ACTIVITY_TASK_TIMED_OUT")
    for name, result in {"ready": READY, "stopped": STOPPED, "ended": ENDED}.items():
        for doing, standing in {"step": READY, "look": {"is": "unseen"}}.items():
            given = begin(standing)
            yield State(f"{doing} {name}", given, "ACTIVITY_TASK_SCHEDULED", result, "ACTIVITY_TASK_COMPLETED")
    yield State("fork", {"template": UNKNOWN, "start": "s"}, "ACTIVITY_TASK_SCHEDULED", [], "ACTIVITY_TASK_COMPLETED")


def bring_into_states(server, worker, cases):
    """First those that wait for an activity, then those whose time runs."""
    for has_timer in (False, True):
        begun = [case for case in cases if (case.state.resolve is None) == has_timer]
        for case in begun:
            server.begin(case.id, "uwf.scheduled" if case.state.name == "fork" else "uwf.thread", [case.state.begin])
        after_a_wait = [case for case in begun if case.state.name == "step after a wait"]
        until_each("waits", after_a_wait, lambda case: "TIMER_STARTED" in server.events(case.id), worker.check)
        for case in after_a_wait:
            server.send(case.id, "answer")
        until_each("looks", after_a_wait, lambda case: case.state.until in server.events(case.id), worker.check)
        for case in after_a_wait:
            server.complete(case.id, READY)

        def waits(case):
            steps = 2 if case.state.name == "step after a wait" else 1
            return server.events(case.id).count(case.state.until) >= steps

        until_each("is in its state", begun, waits, worker.check)


def make_pairs(server, cases):
    """Gives each workflow its message and what it waits for, while no worker runs. Returns how many workflow tasks each had before."""
    tasks = {case.id: server.events(case.id).count("WORKFLOW_TASK_COMPLETED") for case in cases}
    early = [case.id for case in cases if case.state.is_resolved in server.events(case.id)]
    if early:
        raise TooSlowError(early)

    def resolve(case):
        if case.state.resolve is not None:
            server.complete(case.id, case.state.resolve)

    for case in cases:
        if case.is_first:
            server.send(case.id, case.message)
        resolve(case)
    until_each("is resolved", cases, lambda case: case.state.is_resolved in server.events(case.id))
    for case in cases:
        if not case.is_first:
            server.send(case.id, case.message)
    for case in cases:
        if server.events(case.id).count("WORKFLOW_TASK_COMPLETED") != tasks[case.id]:
            sys.exit(f"{case.id}: a worker was there meanwhile")
    return tasks


def check_pairs(server, worker, cases, tasks):
    """Each workflow has taken its pair in one task, and a cancelled one has ended."""

    def is_taken(case):
        events = server.events(case.id)
        return "WORKFLOW_TASK_FAILED" in events or events.count("WORKFLOW_TASK_COMPLETED") > tasks[case.id]

    until_each("is taken", cases, is_taken, worker.check)
    failed = [case.id for case in cases if "WORKFLOW_TASK_FAILED" in server.events(case.id)]
    if failed:
        sys.exit("\n".join([*failed, f"{len(failed)} workflow tasks fail", worker.said()[-4000:]]))
    cancelled = [case for case in cases if case.message == "cancel"]
    until_each("has ended", cancelled, lambda case: server.status(case.id) != "RUNNING", worker.check)
    for case in cases:
        status = server.status(case.id)
        wanted = "COMPLETED" if case.state.resolve == ENDED else "CANCELED" if case.message == "cancel" else "RUNNING"
        if status != wanted:
            sys.exit(f"{case.id}: {status} instead of {wanted}: {server.events(case.id)}")


def check_bad_workflows(server, worker):
    """Workflows whose task this worker fails stop neither it nor other workflows, and it names them."""
    bad = {
        "bad-type": ("uwf.no-such-workflow", [1]),
        "bad-input": ("uwf.thread", [{"thread": 7}]),
        "no-input": ("uwf.thread", []),
        "bad-schedule": ("uwf.scheduled", ["text"]),
        "bad-result": ("uwf.thread", [begin(READY)]),
    }
    for workflow, (kind, given) in bad.items():
        server.begin(workflow, kind, given)
    until("a step waits", lambda: "ACTIVITY_TASK_SCHEDULED" in server.events("bad-result"), worker.check)
    server.complete("bad-result", {"is": "nonsense"})
    named = [f"workflow {workflow}: its workflow task fails: " for workflow in bad]
    until(f"the worker says {named}", lambda: all(line in worker.said() for line in named), worker.check)
    server.begin("good", "uwf.thread", [begin(ENDED)])
    until("a good workflow ends", lambda: server.status("good") == "COMPLETED", worker.check)
    worker.check()


def check(program, quiet):
    """Checks a program, and returns how many pairs there were."""
    cases = [
        Case(f"{state.name}, {message}, {'message' if is_first else 'resolution'} first".replace(" ", "-"), state, message, is_first)
        for state in states(quiet)
        for message in MESSAGES
        for is_first in (True, False)
    ]
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        running = [server := Server(home)]
        try:
            until("the server answers", server.is_ready)
            running.append(first := Worker(program, home, server.address, "first"))
            bring_into_states(server, first, cases)
            first.end()
            tasks = make_pairs(server, cases)
            running.append(second := Worker(program, home, server.address, "second"))
            check_pairs(server, second, cases, tasks)
            check_bad_workflows(server, second)
        finally:
            for process in running:
                process.process.kill()
                process.process.wait()
    return len(cases)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    for quiet in QUIET:
        try:
            pairs = check(program, quiet)
        except TooSlowError as error:
            print(f"too slow for timers of {quiet} s: {error}", file=sys.stderr)
        else:
            print(f"{pairs} pairs: no workflow task failed, and no bad workflow stopped the worker")
            return
    sys.exit(1)


main()
