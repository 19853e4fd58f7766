//! Sets up a new worktree before its first agent works there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use durable_files::regular;
use uwf_core::text::ellipsize;

use super::{BegunAttempt, StepInProgress};
use crate::attempt::agent_process::{self, AgentProcessEnd, AgentProcessSpec, SignalListener};
use crate::attempt::agents::HUMAN;
use crate::attempt::ended::stopped_by;
use crate::attempt::environment;
use crate::attempt::recorded::AttemptOpening;
use crate::attempt::worktree::includes;
use crate::attempt::worktree::setup::{self, WorktreeSetup};
use crate::error::{AtPath, Error, Result};
use crate::root::log::log;
use crate::root::project;
use crate::root::worktree::Worktree;

/// Mode of the file with the output of the commands, which may contain secrets.
const OUTPUT_MODE: u32 = 0o600;

/// Last lines of that output in an error.
const TAIL: usize = 5;

/// Most characters of such a line.
const LINE: usize = 200;

impl StepInProgress<'_, '_> {
    /// Sets up the worktree of the thread if it is new: copies the files of `.worktreeinclude`, and runs the commands of
    /// `worktree.prepare`. Returns what was done; `None` if nothing was to be done. A step that is stopped or fails before the end begins
    /// again with the first command.
    ///
    /// # Errors
    /// `Config` if the files are too large or a command fails, the kind of a signal that stopped it; `Io`, errors of git.
    pub(super) fn set_up_worktree(
        &self,
        begun: &BegunAttempt,
        signals: &mut SignalListener,
    ) -> Result<Option<WorktreeSetup>> {
        let opened = &begun.attempt.opened;
        let Some(worktree) = self.plan.settings.worktree_in_use() else { return Ok(None) };
        // A person needs no files to answer, and an earlier answer was given with them.
        if opened.reextract.is_some() || opened.agent.is_built_in(HUMAN) {
            return Ok(None);
        }
        let Some(ready) = setup::file_if_new(worktree)? else { return Ok(None) };
        let included = {
            let _errand = self.errand(&opened.agent, Some(&opened.attempt));
            includes::copy(self.home, &opened.thread, worktree)?
        };
        let project = project::find_project_config(self.home, &worktree.dir)?;
        let ignores_config = project.is_some_and(|project| project.ignored().is_some());
        let mut done = WorktreeSetup { ignores_config, ..WorktreeSetup::new(&included) };
        for line in done.lines().iter().chain(&done.warnings()) {
            log!(self.log, "E4S7P2KM", Info, "{line}");
        }
        let commands = &self.plan.config.worktree_prepare.commands;
        if !commands.is_empty() {
            let output = self.output_of_preparation(opened)?;
            for command in commands {
                self.prepare(begun, worktree, command, &output, signals)?;
            }
            done = WorktreeSetup { prepared: commands.clone(), output: Some(output), ..done };
        }
        setup::mark_ready(&ready, &done)?;
        Ok(Some(done).filter(|done| !done.is_empty()))
    }

    /// The empty file for the output of the commands.
    fn output_of_preparation(&self, opened: &AttemptOpening) -> Result<PathBuf> {
        let path = self.home.prepare_output(&opened.thread);
        regular::write(&path, b"").path_context("write", &path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(OUTPUT_MODE)).path_context("write", &path)?;
        Ok(path)
    }

    /// Runs one command at the top of a worktree.
    fn prepare(
        &self,
        begun: &BegunAttempt,
        worktree: &Worktree,
        command: &str,
        output: &Path,
        signals: &mut SignalListener,
    ) -> Result<()> {
        let opened = &begun.attempt.opened;
        log!(self.log, "J2V6R9DT", Info, "attempt {}: preparing the worktree: {command}", opened.attempt);
        let job = AgentProcessSpec {
            argv: ["sh", "-c", command].map(str::to_owned).to_vec(),
            cwd: worktree.dir.clone(),
            env: environment::of_preparation(self.home, opened)?,
            watched: vec![output.to_owned()],
            stdout: Some(output.to_owned()),
            stderr: output.to_owned(),
            keys: None,
            attempt: opened.attempt.clone(),
            timeout: self.plan.config.worktree_prepare.timeout,
            idle_timeout: None,
            logs_limits: false,
            grace: self.plan.config.limits.kill_grace,
            lease: begun.lease.clone(),
            leaves_keepers: false,
            cap: opened.output_cap,
        };
        let ended = agent_process::run(&job, None, signals, |_| Ok(()))?;
        log!(self.log, "A7D3X5QH", Info, "attempt {}: the command {ended}", opened.attempt);
        let printed = agent_process::read_capped(output, opened.output_cap).unwrap_or_default();
        let message = format!("`{command}`, which prepares the worktree, {ended}");
        let error = match ended {
            AgentProcessEnd::Exited(0) => return Ok(()),
            AgentProcessEnd::Cancelled(signal) => return Err(Error::new(stopped_by(signal), message)),
            AgentProcessEnd::Lost(_) => return Err(Error::busy(message)),
            AgentProcessEnd::TimedOut(_) => Error::config(message)
                .hint("raise `worktree.prepareTimeout` in config.yaml, or make the command faster"),
            AgentProcessEnd::Exited(_)
            | AgentProcessEnd::Signaled(_)
            | AgentProcessEnd::Idle(_)
            | AgentProcessEnd::AtLimit => Error::config(format!("{message}{}", tail(&printed)))
                .hint("correct the command in `worktree.prepare` of config.yaml, or what it needs"),
        };
        Err(error
            .hint(format!("its output: {}, in the worktree {}", output.display(), worktree.dir.display()))
            .hint(Error::preparation_hint(opened.thread.as_str())))
    }
}

/// The last lines of an output, as the end of a message.
fn tail(printed: &str) -> String {
    let lines: Vec<&str> = printed.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default();
    last.iter()
        .enumerate()
        .map(|(at, line)| {
            format!("{}{}", if at == 0 { "; its last lines:\n  " } else { "\n  " }, ellipsize(line, LINE))
        })
        .collect()
}
