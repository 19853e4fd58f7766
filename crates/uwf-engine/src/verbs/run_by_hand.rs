//! `uwf agent run NAME THREAD ROLE` by hand: a built-in agent plays a role and its step is stored, but no head moves.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use uwf_core::thread::ThreadId;

use crate::attempt::agent_process::{self, SignalListener};
use crate::attempt::broker::BrokerProcess;
use crate::attempt::environment;
use crate::attempt::plan::{self, StepPlan};
use crate::attempt::recorded::{self, AttemptOpening};
use crate::error::{AtPath, Result};
use crate::root::home::Home;
use crate::root::node_types;
use crate::root::store_keys::KeyHandover;
use crate::thread::load::Thread;

/// How often to check whether the agent has ended, if no signal says so.
const LOOK: Duration = Duration::from_secs(1);

/// Added by shells to the number of the signal that ended a process.
const BY_SIGNAL: i32 = 128;

/// Runs a built-in agent for a role of an active thread. Uses the settings of the role's own agent if it is the same agent. The agent
/// prints to this process's stdout and stderr, as it would in a step. Returns the exit code.
///
/// # Errors
/// `Config` for settings of the agent, `NotFound` if the thread is not active, `Data` for a role the workflow does not have.
pub fn run(home: &Home, name: &str, id: &ThreadId, role: &str) -> Result<u8> {
    let (thread, _) = Thread::active(home, id)?;
    let plan = StepPlan::load(&thread, None)?;
    plan::check_role(&plan.workflow, role)?;
    node_types::ensure(home)?;
    // It is not one of the thread's attempts, so it inherits nothing from them.
    let planned = plan.attempt(&thread, role, plan.built_in(name, role)?)?;
    let opened = recorded::open_by_hand(home, AttemptOpening { earlier: Vec::new(), replies: Vec::new(), ..planned })?;
    let mut signals = SignalListener::listen()?;
    let argv = crate::attempt::agents::built_in_command_line(home.bin(), name, id.as_str(), role);
    let _broker = BrokerProcess::start(home, &opened)?;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir(&opened.workspace).env_clear();
    command.envs(environment::of_attempt(home, &opened)?).stdin(Stdio::null());
    let not_started = |source| agent_process::cannot_start(&argv[0], &argv[1..], &opened.workspace, &source);
    let keys = opened.agent.holds_store().then(|| KeyHandover::collect_keys(home));
    let keys = keys.map(|keys| keys.through_stdin(&mut command)).transpose().map_err(not_started)?;
    let mut process = command.spawn().map_err(not_started)?;
    if let Some(keys) = keys {
        // If the process is already gone, the loop below notices.
        let _ = keys.send(&mut process);
    }
    let status = loop {
        if let Some(status) = process.try_wait().path_context("wait for", home.bin())? {
            break status;
        }
        signals.wait(LOOK);
        if let (Some(signal), Some(pid)) = (signals.stop(), Pid::from_raw(process.id().cast_signed())) {
            // From a terminal the agent already has the signal; a second one does no harm.
            let _ = Signal::from_named_raw(signal).map(|signal| kill_process(pid, signal));
        }
    };
    if status.success() {
        // A leftover directory only costs space.
        let _ = std::fs::remove_dir_all(recorded::dir_by_hand(home, id, &opened.attempt));
    }
    Ok(exit_code(status))
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| BY_SIGNAL + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}
