"""Runs a command in a pseudo-terminal and answers its questions, as a person would.

Reads JSON from stdin: {"argv": [...], "path": PATH, "dialog": [[question, answer], ...], "columns": N}. Each answer is typed once its question has
been shown since the last one; "<signal N>" sends a signal instead. Prints JSON: {"code", "shown", "echo"}, where echo
tells whether the terminal shows what is typed after the command has ended.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

LIMIT = 30.0  # seconds for one question

order = json.load(sys.stdin)
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, order["columns"], 0, 0))
child = os.fork()
if child == 0:
    os.close(master)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for descriptor in (0, 1, 2):
        os.dup2(slave, descriptor)
    os.execve(order["argv"][0], order["argv"], {**os.environ, "PATH": order["path"]})

shown = b""
seen = 0


def read(seconds):
    """More of what is shown; False at the end."""
    global shown
    ready, _, _ = select.select([master], [], [], seconds)
    if ready:
        try:
            data = os.read(master, 65536)
        except OSError:
            return False
        shown += data
    return True


def end(code):
    echo = bool(termios.tcgetattr(slave)[3] & termios.ECHO)
    print(json.dumps({"code": code, "shown": shown.decode(errors="replace").replace("\r\n", "\n"), "echo": echo}))
    sys.exit(0)


for question, answer in order["dialog"]:
    deadline = time.monotonic() + LIMIT
    while question.encode() not in shown[seen:]:
        if time.monotonic() > deadline or os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            read(0.2)
            if question.encode() in shown[seen:]:
                break
            shown += f"\n[waited in vain for: {question}]\n".encode()
            try:
                os.kill(child, 9)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)
            end(None)
        read(0.1)
    seen = shown.index(question.encode(), seen) + len(question)
    signal = re.fullmatch("<signal ([0-9]+)>", answer)
    if signal:
        # What is typed before the prompt is complete would be shown.
        time.sleep(0.3)
        os.kill(child, int(signal[1]))
    else:
        time.sleep(0.1)
        os.write(master, answer.encode())

deadline = time.monotonic() + LIMIT
while True:
    pid, status = os.waitpid(child, os.WNOHANG)
    read(0.1)
    if pid:
        while select.select([master], [], [], 0.1)[0] and read(0):
            pass
        end(os.waitstatus_to_exitcode(status))
    if time.monotonic() > deadline:
        shown += b"\n[it did not end]\n"
        os.kill(child, 9)
        os.waitpid(child, 0)
        end(None)
