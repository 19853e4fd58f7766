#!/usr/bin/env python3
"""An agent that looks for the keys of the store wherever a program of the same user can look. It writes down where it found one."""
import json, os, re, socket, stat, struct, sys

ATTEMPT = os.environ["UWF_ATTEMPT"]
ROOT = os.environ["UNCAGED_WORKFLOW_STORAGE_ROOT"]
# In two parts, so that its own file is no finding.
MARKS = [("hush-" + "hush-").encode()]
found, looked = set(), {"environ": 0, "mem": 0, "fd": 0, "files": 0, "sockets": 0}


def look(where, data):
    if any(mark in data for mark in MARKS):
        found.add(where)


def read(path, limit=1 << 26):
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return None


def words(pid):
    return (read(f"/proc/{pid}/cmdline") or b"").split(b"\0")


def processes():
    """Processes of uwf. Reading a pipe removes its bytes, so processes known to be of other tests are left out."""
    own = f"HOME={os.environ['HOME']}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid() or not words(pid)[0].endswith(b"/uwf"):
            continue
        environment = read(f"/proc/{pid}/environ")
        if environment is None or own in environment.split(b"\0"):
            yield pid


def memory(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
            looked["mem"] += 1
            for line in maps:
                bounds, mode = line.split()[:2]
                if mode.startswith("rw"):
                    start, end = (int(part, 16) for part in bounds.split("-"))
                    try:
                        mem.seek(start)
                        look(f"memory of {what(pid)}", mem.read(end - start))
                    except (OSError, ValueError):
                        pass
    except OSError:
        pass


def what(pid):
    return b" ".join(words(pid)[1:4]).decode(errors="replace")[:60]


def descriptors(pid):
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        path = f"/proc/{pid}/fd/{name}"
        try:
            kind = os.stat(path).st_mode
            if stat.S_ISREG(kind):
                looked["fd"] += 1
                look(f"descriptor of {what(pid)}", read(path) or b"")
            elif stat.S_ISFIFO(kind):
                looked["fd"] += 1
                pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    look(f"pipe of {what(pid)}", os.read(pipe, 1 << 16))
                except BlockingIOError:
                    pass
                os.close(pipe)
        except OSError:
            pass


def files(top):
    for dir, _, names in os.walk(top):
        for name in names:
            path = os.path.join(dir, name)
            try:
                if stat.S_ISREG(os.lstat(path).st_mode):
                    looked["files"] += 1
                    look(f"file {path}", read(path) or b"")
            except OSError:
                pass


def call(path, head, *parts):
    """One request to a socket of uwf, as its protocol has it."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(path)
        head = json.dumps(head).encode()
        peer.sendall(struct.pack("<II", len(head), len(parts)) + head)
        for part in parts:
            peer.sendall(struct.pack("<I", len(part)) + part)
        answer = b""
        peer.shutdown(socket.SHUT_WR)
        while chunk := peer.recv(1 << 16):
            answer += chunk
        return answer


def sockets():
    dir = os.path.join(ROOT, "sockets")
    for name in os.listdir(dir) if os.path.isdir(dir) else []:
        path = os.path.join(dir, name)
        looked["sockets"] += 1
        for head in [{"get": {"hashes": [os.environ.get("FOREIGN", "0000000000000")]}}, {"keys": {}}, {"environment": {}},
                     {"redact": {"value": "hush"}}, "head", "tell", {"get": {"hashes": []}}, {"note": {"name": "x"}}]:
            try:
                answer = call(path, head)
            except OSError as error:
                answer = str(error).encode()
            look(f"socket, asked {head}", answer)
            if b"FOREIGN-TASK" in answer:
                found.add("a node of another thread through the socket")


look("own environment", json.dumps(dict(os.environ)).encode())
look("arguments", "\0".join(sys.argv).encode())
for pid in list(processes()):
    look(f"arguments of {what(pid)}", b"\0".join(words(pid)))
    data = read(f"/proc/{pid}/environ")
    if data is not None:
        looked["environ"] += 1
        look(f"environment of {what(pid)}", data)
    descriptors(pid)
    memory(pid)
for own in os.listdir("/proc/self/fd"):
    path = f"/proc/self/fd/{own}"
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            look("own descriptor", read(path) or b"")
    except OSError:
        pass
files(os.environ["HOME"])
files("/tmp/uwf") if os.path.isdir("/tmp/uwf") else None
sockets()
with open("found.json", "w") as file:
    json.dump({"found": sorted(found), "looked": looked}, file)
