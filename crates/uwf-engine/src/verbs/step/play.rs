//! Runs an agent for a role.

use std::time::Duration;

use json_cas::NodeHash;
use uwf_platform::host;

use super::link::StoredStep;
use super::{BegunAttempt, StepInProgress};
use crate::attempt::agent_process::{self, AgentProcessEnd, AgentProcessSpec, SignalListener};
use crate::attempt::broker::BrokerProcess;
use crate::attempt::ended::stopped_by;
use crate::attempt::environment;
use crate::attempt::lease::StepLease;
use crate::attempt::recorded::{self, AttemptOpening, AttemptOutputFiles, AttemptProcess, FinishedStep, GaveUp};
use crate::attempt::{result_line, slots};
use crate::error::{ErrorKind, Result};
use crate::root::ids;
use crate::root::log::log;
use crate::root::store_keys::KeyHandover;

impl<'a, 'h> StepInProgress<'a, 'h> {
    /// Runs the agent's process to its end, and returns the step it stored. After that, no process of the agent is left running.
    pub(super) fn play(&self, begun: &BegunAttempt, signals: &mut SignalListener) -> Result<StoredStep<'_, 'a, 'h>> {
        let opened = &begun.attempt.opened;
        log!(self.log, "V4C8T0RD", Info, "attempt {}: role {} by {}", opened.attempt, opened.role, opened.agent.name);
        let (places, waited) = slots::take(self.home, self.plan, opened, &self.log, signals)?;
        let job = self.job(opened, begun.lease.clone())?;
        let files = AttemptOutputFiles::paths_of_attempt(self.home, &opened.thread, &opened.attempt);
        let broker = files.reserve().and_then(|()| BrokerProcess::start(self.home, opened));
        let broker = broker.inspect_err(|_| files.release())?;
        let ended = agent_process::run(&job, broker, signals, |pid| {
            let (started_at, waited_ms) = (Some(ids::now_ms()), u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
            let birth = host().birth(pid).filter(|_| !host().shows_environments());
            let started = AttemptProcess { attempt: opened.attempt.clone(), pid, started_at, waited_ms, birth };
            recorded::started(self.home, &opened.thread, started)
        });
        drop(places);
        files.release();
        let ended = ended?;
        log!(self.log, "P9ZB3N6E", Info, "attempt {}: the agent {ended}", opened.attempt);
        let (hash, finished) = self.result(opened, &job, ended)?;
        Ok(StoredStep::new(self, opened, hash, finished))
    }

    /// The step that an ended agent left, and how it was recorded as finished.
    fn result(
        &self,
        opened: &AttemptOpening,
        job: &AgentProcessSpec,
        ended: AgentProcessEnd,
    ) -> Result<(NodeHash, Option<FinishedStep>)> {
        let after = recorded::read(self.home, &opened.thread)?.filter(|after| after.opened.attempt == opened.attempt);
        if let Some(finished) = after.as_ref().and_then(|after| after.finished.as_ref()) {
            // The step is stored, synced and recorded: whatever happened to the process afterwards, it was paid for.
            return Ok((finished.step, Some(finished.clone())));
        }
        // An agent's last words after a stop signal don't explain why it ended.
        let by_itself = matches!(ended, AgentProcessEnd::Exited(_) | AgentProcessEnd::Signaled(_));
        if let Some(gave_up) = after.and_then(|after| after.gave_up).filter(|_| by_itself) {
            return Err(gave_up.to_error());
        }
        let out = job
            .stdout
            .as_deref()
            .map_or_else(|| Ok(String::new()), |path| agent_process::read_capped(path, opened.output_cap))?;
        // Recorded now, because a later step may store the output.
        let stopped = match ended {
            AgentProcessEnd::Lost(why) => Some((ErrorKind::Busy, format!("the agent was ended: {why}"))),
            AgentProcessEnd::Cancelled(signal) => Some((stopped_by(signal), format!("the agent {ended}"))),
            _ => None,
        };
        if let Some((kind, why)) = stopped {
            recorded::gave_up(self.home, &opened.thread, GaveUp::because(&opened.attempt, kind, why))?;
        }
        let step = result_line::result_line(&opened.agent, ended, &out, job, &self.timeout_setting(opened)).map_err(
            |error| match job.leaves_keepers && by_itself {
                true => error.hint(format!(
                    "threads that it started continue; `uwf thread retry {}` waits for them and uses their results",
                    opened.thread
                )),
                false => error,
            },
        )?;
        recorded::named(self.home, &opened.thread, &opened.attempt, step)?;
        Ok((step, None))
    }

    /// The setting with the timeout of an attempt.
    fn timeout_setting(&self, opened: &AttemptOpening) -> String {
        let (role, agent) = (&opened.role, &opened.agent.name);
        let setting = format!("the `timeout` of role `{role}` in the workflow");
        let has_role_one = self.plan.role(role).is_ok_and(|role| role.more.timeout.is_some());
        match self.plan.config.agent(agent).map(|agent| agent.timeout) {
            _ if opened.agent.is_role_command => setting,
            None if has_role_one => setting,
            Some(None) if has_role_one => format!("{setting}, or set the `timeout` of agent `{agent}` in config.yaml"),
            None | Some(_) => "the `timeout` of the agent in config.yaml".to_owned(),
        }
    }

    fn job(&self, opened: &AttemptOpening, lease: StepLease) -> Result<AgentProcessSpec> {
        let files = AttemptOutputFiles::paths_of_attempt(self.home, &opened.thread, &opened.attempt);
        Ok(AgentProcessSpec {
            argv: opened.command_line(self.home.bin()),
            cwd: opened.workspace.clone(),
            env: environment::of_attempt(self.home, opened)?,
            watched: vec![files.out.clone(), files.err.clone(), files.raw.clone()],
            // The record already has everything about a wrapped command; its stdout would only repeat the hash.
            stdout: (!opened.is_wrapped()).then_some(files.out),
            stderr: files.err,
            keys: opened.agent.holds_store().then(|| KeyHandover::collect_keys(self.home)),
            attempt: opened.attempt.clone(),
            timeout: opened.agent.timeout_ms.map(Duration::from_millis),
            idle_timeout: opened.agent.idle_timeout_ms.map(Duration::from_millis),
            logs_limits: opened.agent.logs_limits(),
            grace: self.plan.config.limits.kill_grace,
            lease,
            leaves_keepers: opened.agent.plays_by_threads(),
            cap: opened.output_cap,
        })
    }
}
