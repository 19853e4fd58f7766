#!/usr/bin/env python3
"""Writes crates/uwf/hot-functions.ld: which functions of uwf a step runs, so that they are linked side by side.

A step runs 3,000 of uwf's functions, a sixth of the program, strewn over all of it; each part of it that is touched
costs each of a step's processes a page fault. Where the file is out of date nothing breaks: a pattern that matches no
function is ignored, and a function without a pattern lies where it lay before. `uwf-bench` has a row that counts the
page faults of a step.

Run it from the project's root after larger changes, or when rustc names functions in another way. It needs valgrind,
builds uwf with its symbols (a few minutes) and takes a minute more.
"""

import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "target" / "hot-functions"
TO = ROOT / "crates" / "uwf" / "hot-functions.ld"

# In the names rustc gives to the linker (.cargo/config.toml says which): hashes that differ from one build to the next.
HASH = re.compile(r"(?<=Cs)[0-9A-Za-z]+(?=_)|\.llvm\.[0-9]+")

# Of longer names the beginning is matched. Functions that cannot be told apart by it are taken together if most of that
# is run, or it is little.
LONGEST = 200
MOST_BYTES = 1024
MOST_TIMES = 3

# What a process of posix_spawn runs before its program, where callgrind does not look.
OF_CHILDREN = {"sigprocmask", "pthread_sigmask", "setpgid", "chdir", "dup2", "execve"}

ANSWER = r"---\nnext: {next}\nn: 1\n---\n\nDone.\n"

# So many steps that a role's first visit is told more of them than are read by one thread.
STEPS = 16

HEAD = """\
/* The functions a step runs, side by side: fewer pages to touch for each of its processes.
   Made by bench/hot_functions.py; harmless where it is out of date. */
SECTIONS
{
  .text.hot_functions :
  {
"""

TAIL = """\
  }
}
INSERT BEFORE .text;
"""


def build():
    """An optimised uwf that still has its symbols, and the bench's agent."""
    environment = dict(os.environ, CARGO_PROFILE_RELEASE_STRIP="none", CARGO_TARGET_DIR=str(BUILD))
    packages = ["-p", "uwf", "-p", "uwf-bench"]
    subprocess.run(["cargo", "build", "--release", "--locked", *packages], cwd=ROOT, env=environment, check=True)
    return BUILD / "release"


def run_functions(programs, directory):
    """Names of all functions that a thread's usual commands run, in whichever process of uwf."""
    root, work, traces = (pathlib.Path(directory) / name for name in ("root", "work", "traces"))
    for new in (root, work, traces):
        new.mkdir()
    (root / "config.yaml").write_text(
        "agents:\n"
        f"  texter: {{ command: printf, args: ['%b', '{ANSWER.format(next='reviewer')}'], output: text }}\n"
        f"  closing: {{ command: printf, args: ['%b', '{ANSWER.format(next='closer')}'], output: text }}\n"
        f"  stepper: {{ command: '{programs}/trivial-agent' }}\n"
    )
    environment = dict(os.environ, WORKFLOW_STORAGE_ROOT=str(root), UWF_FORMAT="json")
    callgrind = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", "--trace-children=yes"]
    uwf = [*callgrind, f"--callgrind-out-file={traces}/%p", str(programs / "uwf")]

    def call(*arguments):
        done = subprocess.run([*uwf, *arguments], cwd=work, env=environment, stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()

    call("workflow", "put", str(ROOT / "bench" / "workflow.yaml"))
    thread = re.search(r'"thread":"(\w+)"', call("thread", "start", "play-roles", "-p", "Play."))[1]
    for agent in ["texter", "stepper"] * (STEPS // 2) + ["closing"]:
        stepped = call("thread", "step", thread, "--agent", agent)
    call("thread", "step", thread, "--agent", "texter")
    call("thread", "fork", re.search(r'"head":"(\w+)"', stepped)[1])
    call("thread", "fork", thread)
    call("thread", "show", thread)
    found = set()
    for trace in traces.iterdir():
        text = trace.read_text()
        if f"cmd:  {programs}/uwf " in text:
            found.update(re.findall(r"^c?fn=\(\d+\) (\S+)$", text, re.MULTILINE))
    return {name.split("'")[0] for name in found}


def sizes(program):
    """Bytes of every function of a program."""
    listed = subprocess.run(["nm", "-S", program], stdout=subprocess.PIPE, check=True).stdout.decode()
    fields = (line.split() for line in listed.splitlines())
    return {line[3]: int(line[1], 16) for line in fields if len(line) == 4 and line[2] in "tTwW"}


def patterns(run, size_of):
    """What to match to have the functions that are run, and little else."""
    all_bytes, run_bytes = {}, {}
    for name, size in size_of.items():
        pattern = HASH.sub("*", name)
        if pattern != name:
            pattern = pattern if len(pattern) <= LONGEST else pattern[:LONGEST] + "*"
            all_bytes[pattern] = all_bytes.get(pattern, 0) + size
            if name in run:
                run_bytes[pattern] = run_bytes.get(pattern, 0) + size
    chosen = {found for found, size in run_bytes.items() if all_bytes[found] <= max(MOST_BYTES, MOST_TIMES * size)}
    return sorted(chosen), sum(run_bytes[one] for one in chosen), sum(all_bytes[one] for one in chosen)


def members(run):
    """The parts of the C library that hold the functions that are run."""
    library = subprocess.run(["cc", "-print-file-name=libc.a"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    listed = subprocess.run(["nm", "-A", library], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    found = set()
    for line in listed.stdout.decode().splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tTwWi" and fields[2] in run:
            member = fields[0].split(":")[1]
            # Of these there is one for each kind of processor, and valgrind's is none of the newest.
            found.add(re.sub(r"-(avx|evex|sse).*", "-*", member))
    return sorted(found)


def main():
    programs = build()
    with tempfile.TemporaryDirectory() as directory:
        run = run_functions(programs, directory)
    chosen, run_bytes, all_bytes = patterns(run, sizes(programs / "uwf"))
    of_libc = members(run | OF_CHILDREN)
    functions = "".join(f"    *(.text*.{pattern})\n" for pattern in chosen)
    functions += "".join(f"    *libc.a:{member}(.text .text.*)\n" for member in of_libc)
    TO.write_text(HEAD + functions + TAIL)
    print(f"{len(chosen)} names: {all_bytes} bytes, of which {run_bytes} are run; {len(of_libc)} parts of the C library")


main()
