//! The turns of a failed attempt whose agent did not record them: a program that prints its events, or keeps its own
//! session. Only the built-in agents understand these, so uwf runs one of them to read the turns.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::attempt::agent_process;
use crate::attempt::agents;
use crate::attempt::environment;
use crate::attempt::live_trace::{self, LiveTrace};
use crate::attempt::processes::{self, AttemptTrail};
use crate::attempt::recorded::{AttemptOpening, AttemptOutputFiles};
use crate::error::{AtPath, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::received_keys;
use crate::root::store_keys::KeyHandover;

/// Name of the built-in agent that reads the turns. It cannot be configured.
pub const AGENT: &str = "salvage";

/// Time limit for reading: the step waits for it. An export of hermes takes two or three seconds, and ten times that on
/// a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// Interval between checks whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// The turns of a failed attempt: first those of a session that it gave up, then those that its agent recorded. If the
/// agent recorded none, or uwf has only followed its program so far, uwf reads them from its output. There may be none.
/// Unreadable turns never prevent the attempt itself from being kept.
pub(crate) fn turns(home: &Home, opened: &AttemptOpening, files: &AttemptOutputFiles) -> LiveTrace {
    let given_up = live_trace::read_given_up(files);
    let trace = of_last_session(home, opened, files);
    if given_up.is_empty() { trace } else { trace.after(given_up) }
}

fn of_last_session(home: &Home, opened: &AttemptOpening, files: &AttemptOutputFiles) -> LiveTrace {
    let recorded = live_trace::read(files);
    let is_readable = opened.reextract.is_none() && opened.agent.leaves_trace();
    let is_whole = !recorded.is_empty() && !recorded.is_followed();
    if !is_whole && is_readable && read_left(home, opened, files).unwrap_or(false) {
        return live_trace::read(files);
    }
    recorded
}

/// Runs a process of uwf that records the turns it can read. Returns whether it succeeded.
fn read_left(home: &Home, opened: &AttemptOpening, files: &AttemptOutputFiles) -> Result<bool> {
    let env_file = env_file::read(&home.env_file())?;
    let secrets = opened.secrets.iter().cloned().collect();
    let mut env = environment::for_agent(received_keys::variables(), &env_file, &secrets, &opened.agent.env);
    let (thread, role) = (opened.thread.as_str(), opened.role.as_str());
    env.extend(agents::protocol_variables(home, thread, role, &opened.attempt));
    let argv = agents::built_in_command_line(home.bin(), AGENT, thread, role);
    let stderr = agent_process::create(&files.err)?;
    let mut reader = Command::new(&argv[0]);
    reader.args(&argv[1..]).env_clear().envs(env).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    // Programs that it runs to read a session must not find the keys in its environment or in this process.
    let keys = KeyHandover::collect_keys(home).through_stdin(&mut reader).path_context("start", home.bin())?;
    // Read the turns even if the workspace is gone.
    if opened.workspace.is_dir() {
        reader.current_dir(&opened.workspace);
    }
    let mut reader = reader.process_group(0).spawn().path_context("start", home.bin())?;
    // If it is already gone, the loop below notices.
    let _ = keys.send(&mut reader);
    let begun = Instant::now();
    loop {
        match reader.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if begun.elapsed() < LIMIT => std::thread::sleep(LOOK),
            Ok(None) => break,
            Err(_) => return Ok(false),
        }
    }
    processes::end_abandoned(&AttemptTrail::of_child(&opened.attempt, reader.id()), Duration::ZERO);
    // It may have been reaped with the others.
    let _ = reader.wait();
    Ok(false)
}
