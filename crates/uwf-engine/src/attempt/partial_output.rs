//! The turns of a failed attempt whose agent did not record them: a program that prints its events, or keeps a session of
//! its own. What these mean only the built-in agents know, so a process of uwf is asked to read them.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::attempt::agent_process;
use crate::attempt::agents;
use crate::attempt::environment;
use crate::attempt::live_trace::{self, Trace};
use crate::attempt::processes;
use crate::attempt::recorded::{Opened, OutputFiles};
use crate::error::{AtPath, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::received_keys;
use crate::root::store_keys::Handover;

/// Name of the built-in agent that reads what was left. It is none of those one can configure.
pub const AGENT: &str = "salvage";

/// How long reading may take: whoever stepped the thread waits for it. An export of hermes takes two or three seconds,
/// on a busy machine ten times that.
const LIMIT: Duration = Duration::from_mins(1);

/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// The turns of a failed attempt: those of a session that it gave up, then those its agent recorded, else those that can be read
/// from what it left. There may be none; that they cannot be read never keeps the attempt itself from being kept.
pub(crate) fn turns(home: &Home, opened: &Opened, files: &OutputFiles) -> Trace {
    let given_up = live_trace::read_given_up(files);
    let trace = of_last_session(home, opened, files);
    if given_up.is_empty() { trace } else { trace.after(given_up) }
}

fn of_last_session(home: &Home, opened: &Opened, files: &OutputFiles) -> Trace {
    let recorded = live_trace::read(files);
    let is_readable = opened.reextract.is_none() && opened.agent.leaves_trace();
    if recorded.is_empty() && is_readable && read_left(home, opened, files).unwrap_or(false) {
        return live_trace::read(files);
    }
    recorded
}

/// Lets a process of uwf write down the turns it can read. Whether it came to its end.
fn read_left(home: &Home, opened: &Opened, files: &OutputFiles) -> Result<bool> {
    let env_file = env_file::read(&home.env_file())?;
    let secrets = opened.secrets.iter().cloned().collect();
    let mut env = environment::for_agent(received_keys::variables(), &env_file, &secrets, &opened.agent.env);
    let (thread, role) = (opened.thread.as_str(), opened.role.as_str());
    env.extend(agents::protocol_variables(home, thread, role, &opened.attempt));
    let argv = agents::built_in_command_line(home.bin(), AGENT, thread, role);
    let stderr = agent_process::create(&files.err)?;
    let mut reader = Command::new(&argv[0]);
    reader.args(&argv[1..]).env_clear().envs(env).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    // Programs that it runs to read a session must not find the keys in their environment or in this process.
    let keys = Handover::of(home);
    keys.through_stdin(&mut reader);
    // A workspace that is gone is no reason not to look.
    if opened.workspace.is_dir() {
        reader.current_dir(&opened.workspace);
    }
    let mut reader = reader.process_group(0).spawn().at("start", home.bin())?;
    // One that is gone already has ended, which is noticed.
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
    processes::end_abandoned(&opened.attempt, Duration::ZERO);
    // It may have been collected with the others.
    let _ = reader.wait();
    Ok(false)
}
