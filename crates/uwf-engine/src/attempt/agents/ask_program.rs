//! Asks a program a question that it answers at once.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal};

use crate::attempt::agents;

/// Time limit for an answer. Some programs load a whole runtime first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between checks whether it has answered.
const LOOK: Duration = Duration::from_millis(10);

/// Most bytes read of an answer: a pipe's capacity, because uwf reads only after the program has ended.
const MAX_OUTPUT: u64 = 64 << 10;

/// The output of a program started with these arguments; `None` if it fails or takes too long.
pub fn ask(program: &Path, args: &[String], secrets: &BTreeSet<String>) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    // Whatever it does instead of answering, keep it out of the user's project and away from the user's keys.
    command.current_dir(std::env::temp_dir());
    for secret in secrets {
        command.env_remove(secret);
    }
    // Otherwise it could mistake the thread of an agent that started this process for its own.
    for (name, _) in std::env::vars_os().filter(|(name, _)| agents::is_own_variable(name)) {
        command.env_remove(name);
    }
    let mut child = command.spawn().ok()?;
    let in_time = ended_in_time(&mut child);
    // Also ends its background processes, which would keep the pipe open.
    end_group(&child);
    let status = child.wait().ok()?;
    let output = what_came(child.stdout.take()?);
    (in_time && status.success()).then_some(output)
}

/// The current content of a pipe. Don't wait for its end: a process that the program started may hold the other side
/// for ever.
fn what_came(mut pipe: ChildStdout) -> Vec<u8> {
    let mut output = Vec::new();
    if rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK).is_ok() {
        // Reading an open pipe that is empty ends with an error, but keeps what was read before.
        let _ = pipe.by_ref().take(MAX_OUTPUT).read_to_end(&mut output);
    }
    output
}

fn ended_in_time(child: &mut Child) -> bool {
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => return false,
        }
    }
}

fn end_group(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        // The group is already gone if the program left nothing behind.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}
