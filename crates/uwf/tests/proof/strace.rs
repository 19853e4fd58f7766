//! Running a command with one system call of one of its processes killed or made to fail.
//!
//! A step is several processes, and a fault that follows all of them hits each of them. So each is started through a
//! script: it puts the process that is meant under strace, and those before it under another one that only lets `uwf`
//! take the script for itself (what `/proc/self/exe` says), so that its children come through the script too. strace lets
//! go of children at their `execve`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use uwf_testing::FinishedRun;

use crate::stage::Stage;

/// Seconds after which a command counts as hanging.
const LIMIT: &str = "40";

/// Calls by which a command changes what is on disk or running. Those a machine does not have are left out.
pub(crate) const CHANGING: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fchmod",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "close",
    "clone",
    "clone3",
    "fork",
    "vfork",
    "execve",
    "memfd_create",
    "flock",
    "socket",
    "bind",
    "sendto",
];

/// What a program of Rust calls first of all: whatever comes before is the dynamic loader's.
const BEGINS: [&str; 2] = ["poll", "ppoll"];

/// Calls by which it learns what there is.
pub(crate) const READING: &[&str] = &[
    "read",
    "pread64",
    "getdents",
    "getdents64",
    "stat",
    "fstat",
    "newfstatat",
    "statx",
    "pipe2",
    "fcntl",
    "readlink",
    "readlinkat",
];

const SCRIPT: &str = r#"#!/bin/sh
case "$1 $2" in
    "__keeper "*) process=keeper ;;
    "agent run") process=agent ;;
    "agent submit") process=submit ;;
    *) process=window ;;
esac
if [ "$PROOF_TARGET" = everything ]; then
    exec strace -f -A -o "$PROOF_TRACE" -e trace="$PROOF_CALLS" ${PROOF_INJECT:+-e "inject=$PROOF_INJECT"} "$PROOF_UWF" "$@"
elif [ "$PROOF_TARGET" = "$process" ] || [ "$PROOF_TARGET $process" = "command window" ]; then
    [ $process = window ] && [ "$PROOF_TARGET" != command ] && follow= || follow="-f -b execve"
    exec strace $follow -A -o "$PROOF_TRACE" -e trace="$PROOF_CALLS" ${PROOF_INJECT:+-e "inject=$PROOF_INJECT"} "$PROOF_UWF" "$@"
fi
case "$PROOF_TARGET $process" in
    "keeper window" | "agent window" | "agent keeper" | "submit window" | "submit keeper")
        exec strace -f -b execve -qq -o /dev/null -P /proc/self/exe -e trace=readlink,readlinkat -e "inject=$PROOF_LINK" "$PROOF_UWF" "$@" ;;
esac
exec "$PROOF_UWF" "$@"
"#;

/// The script in place of git. Words in capitals are replaced when it is written, as git gets no variables of the test.
const GIT: &str = r#"#!/bin/sh
case " $* " in
    *" merge --no-edit "* | *" commit --quiet "* | *" update-ref -m "* | *" read-tree --reset "*) ;;
    *) exec REAL "$@" ;;
esac
strace -f -A -o TRACE -e trace=CALLS INJECT REAL "$@"
status=$?
[ $status = 137 ] && [ TARGET = git-and-command ] && kill -9 $PPID
exit $status
"#;

/// Which process of a command is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// What was called, when that is all: with its threads.
    Command,
    /// What was called, when it has a keeper do the work.
    Window,
    /// What performs a step.
    Keeper,
    /// The agent process of uwf's own.
    Agent,
    /// `uwf agent submit`, called by an agent.
    Submit,
    /// All of them, the agent's programs too: each at its own count.
    Everything,
    /// Git, while it merges or commits for what was called.
    Git,
    /// The same, and if it is killed, what was called is killed with it.
    GitWithCommand,
}

impl Target {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Command => "command",
            Target::Window => "window",
            Target::Keeper => "keeper",
            Target::Agent => "agent",
            Target::Submit => "submit",
            Target::Everything => "everything",
            Target::Git => "git",
            Target::GitWithCommand => "git-and-command",
        }
    }

    fn is_git(self) -> bool {
        matches!(self, Target::Git | Target::GitWithCommand)
    }
}

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The process is killed before it.
    Kill,
    /// It fails with this error, once.
    Once(&'static str),
    /// It fails with this error, as does every later one.
    FromThenOn(&'static str),
}

/// One call of one process, the first being 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) target: Target,
    pub(crate) call: String,
    pub(crate) number: usize,
    /// So many of them were counted.
    pub(crate) counted: usize,
}

impl Place {
    /// Whether the process should end before it makes this call.
    pub(crate) fn is_beyond(&self) -> bool {
        self.number > self.counted
    }
}

/// A place and what happens there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) place: Place,
    pub(crate) effect: Effect,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { target, call, number, .. } = &self.place;
        write!(f, "{} {call} {number} ", target.name())?;
        match self.effect {
            Effect::Kill => write!(f, "kill"),
            Effect::Once(error) => write!(f, "{error}"),
            Effect::FromThenOn(error) => write!(f, "{error}+"),
        }
    }
}

/// What came of a traced command.
pub(crate) struct Traced {
    /// The command as its caller saw it.
    pub(crate) ran: FinishedRun,
    /// What strace wrote about the process that was meant.
    pub(crate) log: String,
}

impl Traced {
    /// Whether the case came to pass. A process may also be killed by another; then its last call is not the one meant.
    pub(crate) fn was_hit(&self, case: &Case) -> bool {
        if case.effect != Effect::Kill {
            return self.log.contains("(INJECTED)");
        }
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        self.log.lines().any(|line| {
            let (pid, event) = of_process(line);
            if event.starts_with("+++ killed by SIGKILL") {
                return last.get(pid).is_some_and(|call| *call == case.place.call);
            }
            if let Some(call) = call_of(event) {
                last.insert(pid, call);
            }
            false
        })
    }

    /// Whether it took so long that it was ended.
    pub(crate) fn hung(&self) -> bool {
        self.ran.code == Some(124)
    }
}

/// The calls of each name that the processes that are meant make, by their numbers: of several processes and threads those of
/// the one that makes the most. Those of the dynamic loader are not among them.
pub(crate) fn count(
    stage: &Stage,
    args: &[String],
    target: Target,
    calls: &[&'static str],
) -> BTreeMap<String, RangeInclusive<usize>> {
    let traced = run(stage, args, target, &[calls, &BEGINS].concat(), None);
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut loaded: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for line in traced.log.lines() {
        let (pid, event) = of_process(line);
        let Some(call) = call_of(event) else { continue };
        let counts = counts.entry(pid).or_default();
        if BEGINS.contains(&call) {
            loaded.entry(pid).or_insert_with(|| counts.clone());
        } else {
            *counts.entry(call).or_default() += 1;
        }
    }
    // Git is no program of Rust.
    assert!(!loaded.is_empty() || target.is_git() && !counts.is_empty(), "{target:?} does not begin: {:?}", traced.ran);
    let most = |of: &BTreeMap<&str, BTreeMap<&str, usize>>, call: &str| {
        of.values().filter_map(|counts| counts.get(call)).max().copied().unwrap_or_default()
    };
    let names: BTreeSet<&str> = counts.values().flat_map(BTreeMap::keys).copied().collect();
    names.into_iter().map(|call| (call.to_owned(), most(&loaded, call) + 1..=most(&counts, call))).collect()
}

/// A line of a log: process and what happened. Where only one process is followed, its id is not told.
fn of_process(line: &str) -> (&str, &str) {
    let (pid, event) = line.split_once(' ').filter(|(pid, _)| pid.parse::<u32>().is_ok()).unwrap_or(("", line));
    (pid, event.trim_start())
}

/// The call that begins in a line of a log.
fn call_of(event: &str) -> Option<&str> {
    let (name, _) = event.split_once('(')?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

/// Runs a command with one case.
pub(crate) fn inject(stage: &Stage, args: &[String], case: &Case) -> Traced {
    let Place { target, call, number, .. } = &case.place;
    let injection = match case.effect {
        Effect::Kill => format!("{call}:signal=SIGKILL:when={number}"),
        Effect::Once(error) => format!("{call}:error={error}:when={number}"),
        Effect::FromThenOn(error) => format!("{call}:error={error}:when={number}+"),
    };
    run(stage, args, *target, &[call], Some(injection))
}

fn run(stage: &Stage, args: &[String], target: Target, calls: &[&str], injection: Option<String>) -> Traced {
    let script = script(stage);
    let log = stage.dir().join("trace");
    let _ = fs::remove_file(&log);
    let calls = calls.iter().map(|call| format!("?{call}")).collect::<Vec<_>>().join(",");
    let git = stage.home().bin_dir().join("git");
    let _ = fs::remove_file(&git);
    if target.is_git() {
        let real = uwf_engine::attempt::program::find("git").expect("git is installed");
        let inject = injection.iter().map(|injection| format!("-e inject={injection}")).collect::<String>();
        let words = [
            ("REAL", real.display().to_string()),
            ("TRACE", log.display().to_string()),
            ("CALLS", calls.clone()),
            ("INJECT", inject),
            ("TARGET", target.name().to_owned()),
        ];
        let script = words.iter().fold(GIT.to_owned(), |script, (word, value)| script.replace(word, value));
        stage.home().script("git", &script);
    }
    let uwf = stage.home().command(&[] as &[&str]);
    let mut command = Command::new("timeout");
    stage.home().prepare(&mut command);
    command
        .args(["-k", "1", LIMIT])
        .arg(&script)
        .args(args)
        .env("PROOF_TARGET", target.name())
        .env("PROOF_TRACE", &log)
        .env("PROOF_CALLS", calls)
        .env("PROOF_INJECT", injection.unwrap_or_default())
        .env("PROOF_LINK", reads_as(&script))
        .env("PROOF_UWF", uwf.get_program());
    let ran = command.output().expect("timeout is installed").into();
    // Whatever follows has the real one.
    let _ = fs::remove_file(&git);
    Traced { ran, log: fs::read_to_string(&log).unwrap_or_default() }
}

fn script(stage: &Stage) -> PathBuf {
    let path = stage.dir().join("uwf");
    if !path.exists() {
        fs::write(&path, SCRIPT).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    path
}

/// The injection that lets the first link a process reads, which is `/proc/self/exe`, lead to `path`.
fn reads_as(path: &std::path::Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (call, argument) = if cfg!(target_arch = "x86_64") { ("readlink", 2) } else { ("readlinkat", 3) };
    format!("{call}:when=1:retval={}:poke_exit=@arg{argument}={hex}", bytes.len())
}
