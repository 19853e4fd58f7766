#!/usr/bin/env python3
"""A program that takes whatever lies in the stdin of new processes of uwf, until there is a file `enough`, for two minutes at most."""
import os, stat, time

OWN = f"HOME={os.environ['HOME']}".encode()
MARK = ("hush-" + "hush-").encode()


def taken(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if OWN not in file.read().split(b"\0"):
                return b""
        path = f"/proc/{pid}/fd/0"
        if not stat.S_ISFIFO(os.stat(path).st_mode):
            return b""
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(pipe, 1 << 16)
        finally:
            os.close(pipe)
    except OSError:
        return b""


known = set()
end = time.monotonic() + 120
while not os.path.exists("enough") and time.monotonic() < end:
    pids = {pid for pid in os.listdir("/proc") if pid.isdigit()}
    # A new process begins as a copy of the one that starts it, so it is looked at for a while.
    until = time.monotonic() + 0.05
    while time.monotonic() < until and pids - known:
        if any(MARK in taken(pid) for pid in pids - known):
            with open("taken.txt", "a") as file:
                file.write("a key\n")
    known = pids
