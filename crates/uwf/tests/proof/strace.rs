//! Running a command with one system call of one of its processes killed or made to fail.
//!
//! A step is several processes, and a fault that follows all of them hits each of them. So each is started through a
//! script: it puts the process that is meant under strace, and those before it under another one that only lets `uwf`
//! take the script for itself (what `/proc/self/exe` says), so that its children come through the script too. strace lets
//! go of children at their `execve`.
//!
//! A keeper is a fork of its window, which no script comes between, unless the window is part of an attempt: so where the
//! keeper is meant, it is started by such a window.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use uwf_testing::Ran;

use crate::stage::Stage;

/// Seconds after which a command counts as hanging.
const LIMIT: &str = "40";

/// Calls by which a command changes what is on disk or running. Those a machine does not have are left out.
const CALLS: [&str; 24] = [
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
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::Command => "command",
            Target::Window => "window",
            Target::Keeper => "keeper",
            Target::Agent => "agent",
            Target::Submit => "submit",
            Target::Everything => "everything",
        }
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
}

/// A place and what happens there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) place: Place,
    pub(crate) effect: Effect,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { target, call, number } = &self.place;
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
    pub(crate) ran: Ran,
    /// What strace wrote about the process that was meant.
    pub(crate) log: String,
}

impl Traced {
    /// Whether the call was reached.
    pub(crate) fn was_hit(&self) -> bool {
        self.log.contains("(INJECTED)") || self.log.contains("+++ killed by SIGKILL +++")
    }

    /// Whether it took so long that it was ended.
    pub(crate) fn hung(&self) -> bool {
        self.ran.code == Some(124)
    }
}

/// How often the processes that are meant make each call: of several processes and threads the most.
pub(crate) fn count(stage: &Stage, args: &[String], target: Target) -> BTreeMap<String, usize> {
    let traced = run(stage, args, target, None);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in traced.log.lines() {
        // Where only one process is followed, its id is not told.
        let (pid, call) = line.split_once(' ').filter(|(pid, _)| pid.parse::<u32>().is_ok()).unwrap_or(("", line));
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        if CALLS.contains(&name) {
            *counts.entry((pid, name)).or_default() += 1;
        }
    }
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for ((_, name), count) in counts {
        let known = most.entry(name.to_owned()).or_default();
        *known = count.max(*known);
    }
    assert!(!most.is_empty(), "{target:?} makes no calls: {:?}", traced.ran);
    most
}

/// Runs a command with one case.
pub(crate) fn inject(stage: &Stage, args: &[String], case: &Case) -> Traced {
    let Place { target, call, number } = &case.place;
    let injection = match case.effect {
        Effect::Kill => format!("{call}:signal=SIGKILL:when={number}"),
        Effect::Once(error) => format!("{call}:error={error}:when={number}"),
        Effect::FromThenOn(error) => format!("{call}:error={error}:when={number}+"),
    };
    run(stage, args, *target, Some(injection))
}

fn run(stage: &Stage, args: &[String], target: Target, injection: Option<String>) -> Traced {
    let script = script(stage);
    let log = stage.dir().join("trace");
    let _ = fs::remove_file(&log);
    let uwf = stage.home().command(&[] as &[&str]);
    let mut command = Command::new("timeout");
    stage.home().prepare(&mut command);
    command
        .args(["-k", "1", LIMIT])
        .arg(&script)
        .args(args)
        .env("PROOF_TARGET", target.name())
        .env("PROOF_TRACE", &log)
        .env("PROOF_CALLS", CALLS.map(|call| format!("?{call}")).join(","))
        .env("PROOF_INJECT", injection.unwrap_or_default())
        .env("PROOF_LINK", reads_as(&script))
        .env("PROOF_UWF", uwf.get_program());
    if target == Target::Keeper {
        command.env("UWF_ATTEMPT", "of-nobody");
    }
    let ran = command.output().expect("timeout is installed").into();
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
