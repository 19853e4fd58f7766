//! Models that judge a whole thread: the supervisor, which may end a thread that has gone astray, and the summary of a
//! complete thread. Each is a separate agent run in a child process, because the engine talks to no model. Both are off
//! unless configured, and then cost nothing. If an advisor fails, uwf only logs it: a thread does not fail for lack of
//! advice.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::attempt::agent_process::{self, AgentProcessEnd, AgentProcessSpec, SignalListener};
use crate::attempt::agents;
use crate::attempt::environment;
use crate::attempt::lease::StepLease;
use crate::attempt::plan::StepPlan;
use crate::attempt::recorded::AttemptOutputFiles;
use crate::error::{Error, Result};
use crate::root::env_file;
use crate::root::log::{LogFile, log};
use crate::root::received_keys;
use crate::root::store_keys::{self, KeyHandover};
use crate::thread::load::Thread;

/// Name of the supervisor: its built-in agent, and its key in `modelOverrides`.
pub const SUPERVISOR: &str = "supervisor";

/// Name of the summary: its built-in agent, and its key in `modelOverrides`.
pub const SUMMARY: &str = "summary";

/// Time limit of an advisor: the step waits for it.
const LIMIT: Duration = Duration::from_mins(1);

/// Most bytes read of an advisor's output.
const OUTPUT_CAP: u64 = 64 << 10;

/// Output of the supervisor's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorOutput {
    /// Whether the thread continues.
    pub verdict: SupervisorVerdict,
    /// The reason, in one or two sentences.
    pub reason: String,
}

/// Whether a thread continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SupervisorVerdict {
    /// The thread continues.
    Continue,
    /// The thread goes round in circles, or its work makes no sense.
    Kill,
}

/// Output of the summary's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryOutput {
    /// The outcome of the thread, for a reader who has not followed it.
    pub summary: String,
}

/// Input for asking about a thread.
pub(crate) struct ThreadAdvisors<'a, 'h> {
    pub(crate) thread: &'a Thread<'h>,
    pub(crate) plan: &'a StepPlan,
    pub(crate) log: &'a LogFile,
}

impl ThreadAdvisors<'_, '_> {
    /// The supervisor's reason to end the thread; `None` if it is not due or does not object.
    pub(crate) fn objection(&self, signals: &mut SignalListener) -> Option<String> {
        let interval = self.plan.config.limits.supervisor_interval?;
        let steps = self.thread.chain().ok()?.len() as u64;
        if interval == 0 || !steps.is_multiple_of(interval) {
            return None;
        }
        let Some(model) = self.plan.config.model_for(SUPERVISOR) else {
            log!(self.log, "B6T4QW9N", Warn, "supervisorInterval is set, but no model: see modelOverrides.supervisor");
            return None;
        };
        match self.ask::<SupervisorOutput>(SUPERVISOR, model, signals) {
            Ok(SupervisorOutput { verdict, reason }) => {
                log!(self.log, "D1K8ZR5C", Info, "the supervisor says {verdict:?}: {reason}");
                (verdict == SupervisorVerdict::Kill).then_some(reason)
            }
            Err(error) => {
                log!(self.log, "W3H7PX0M", Warn, "the supervisor failed: {error}");
                None
            }
        }
    }

    /// A summary of the thread, if a model is configured for it.
    pub(crate) fn summary(&self, signals: &mut SignalListener) -> Option<String> {
        let model = self.plan.config.model_overrides.get(SUMMARY)?.as_deref()?;
        self.thread.last.as_ref()?;
        match self.ask::<SummaryOutput>(SUMMARY, model, signals) {
            Ok(SummaryOutput { summary }) => Some(summary).filter(|summary| !summary.trim().is_empty()),
            Err(error) => {
                log!(self.log, "J9V2CS6E", Warn, "the thread has no summary: {error}");
                None
            }
        }
    }

    fn ask<T: for<'de> Deserialize<'de>>(&self, advisor: &str, model: &str, signals: &mut SignalListener) -> Result<T> {
        // Don't pay for advice on a thread that has just ended.
        self.thread.current_head()?;
        let home = self.thread.home();
        let run = crate::root::ids::new_ulid().to_string();
        let files = AttemptOutputFiles::paths_of_attempt(home, &self.thread.id, &run);
        let job = self.job(advisor, model, &run, &files)?;
        let ended = agent_process::run(&job, None, signals, |_| Ok(()));
        let out = agent_process::read_capped(&files.out, OUTPUT_CAP)?;
        let err = agent_process::read_capped(&files.err, OUTPUT_CAP)?;
        // Left-overs only cost space; the next step sweeps them.
        let _ = std::fs::remove_file(&files.out).and_then(|()| std::fs::remove_file(&files.err));
        match ended? {
            AgentProcessEnd::Exited(0) => serde_json::from_str(out.trim())
                .map_err(|error| Error::agent_failed(format!("its reply is not readable: {error}"))),
            ended => {
                let last_words = err.trim_end().lines().last().unwrap_or_default();
                Err(Error::agent_failed(format!("it {ended}; its last words: {last_words}")))
            }
        }
    }

    fn job(&self, advisor: &str, model: &str, run: &str, files: &AttemptOutputFiles) -> Result<AgentProcessSpec> {
        let home = self.thread.home();
        let config = &self.plan.config;
        let (thread, role) = (self.thread.id.as_str(), self.thread.position());
        let env_file = env_file::read(&home.env_file())?;
        let key: Vec<String> = agents::model_key(config, model).map(str::to_owned).into_iter().collect();
        let mut secrets = config.secret_names();
        secrets.extend(store_keys::names(home, &env_file));
        let mut env = environment::for_agent(received_keys::variables(), &env_file, &secrets, &key);
        env.extend(agents::protocol_variables(home, thread, role, run));
        Ok(AgentProcessSpec {
            argv: agents::built_in_command_line(home.bin(), advisor, thread, role),
            cwd: self.plan.settings.workspace.clone(),
            env,
            stdout: Some(files.out.clone()),
            stderr: files.err.clone(),
            watched: vec![files.out.clone(), files.err.clone()],
            // An advisor asks a model and runs nothing.
            keys: Some(KeyHandover::collect_keys(home)),
            attempt: run.to_owned(),
            timeout: Some(LIMIT),
            idle_timeout: None,
            logs_limits: false,
            grace: config.limits.kill_grace,
            lease: StepLease::of_one_machine(),
            leaves_keepers: false,
            cap: OUTPUT_CAP,
        })
    }
}
