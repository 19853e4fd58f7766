//! Agents that write, edit and compare Word documents with programs that know nothing of uwf. Their output is the paths of the files they
//! wrote, not a text.
//!
//! Each step has its own directory below `outputDir`, so that no step overwrites files that an earlier one recorded. It is
//! `<outputDir>/<thread>` for a role's first visit, `<outputDir>/<thread>/<role>-2` for its second, and so on.

pub mod diff;
pub mod office;
mod task;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::{AgentContext, Error, Result};
use durable_files::regular;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::recorded::{AttemptOpening, AttemptOutputFiles};
use uwf_engine::error::AtPath;

use crate::program::{AttemptProgram, ProgramRun};
use crate::progress;
use crate::settings::{self, TimeLimit};

/// Directory of documents, relative to the storage root, unless `outputDir` is set.
const DEFAULT_OUTPUT_DIR: &str = "outputs";

/// How much a copy is backdated, so that a rewrite is noticed however coarse the file system's times are.
const BACKDATE: Duration = Duration::from_secs(10);

/// Settings in the `config` of these agents.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DocumentAgentSettings {
    /// Where documents are put, below it a directory for each thread; `outputs` in the storage root by default.
    output_dir: Option<String>,
    /// The program, in place of `office-agent` or `docx-diff`. A path is relative to the thread's workspace.
    command: Option<String>,
    /// Time limit of a run, none by default.
    timeout: TimeLimit,
}

impl settings::BuiltInSettings for DocumentAgentSettings {}

/// The program of an agent; a path is relative to the workspace.
///
/// # Errors
/// `Config` for settings that it cannot use.
pub(crate) fn program(spec: &AgentSpec, usual: &str) -> Result<String> {
    Ok(settings::read::<DocumentAgentSettings>(spec)?.command.unwrap_or_else(|| usual.to_owned()))
}

/// A step's agent and directory.
struct DocumentPlace<'c> {
    opened: &'c AttemptOpening,
    files: AttemptOutputFiles,
    settings: DocumentAgentSettings,
    dir: PathBuf,
}

impl<'c> DocumentPlace<'c> {
    /// The place of the current visit. Creates its directory.
    fn create(context: &'c AgentContext<'_>) -> Result<DocumentPlace<'c>> {
        let opened = context.opened()?;
        let settings: DocumentAgentSettings = settings::read(&opened.agent)?;
        let home = context.thread().home();
        let outputs = settings::directory(home, settings.output_dir.as_deref().unwrap_or(DEFAULT_OUTPUT_DIR));
        let outputs = std::path::absolute(&outputs).path_context("make absolute", &outputs)?;
        let role = context.role_name();
        let visits = context.thread().chain()?.count_of(role);
        let of_thread = outputs.join(context.thread().id.as_str());
        let dir = if visits == 0 { of_thread } else { of_thread.join(format!("{role}-{}", visits + 1)) };
        std::fs::create_dir_all(&dir).path_context("create", &dir)?;
        let files = context.output_files()?;
        Ok(DocumentPlace { opened, files, settings, dir })
    }

    fn agent(&self) -> &AgentSpec {
        &self.opened.agent
    }

    fn workspace(&self) -> &Path {
        &self.opened.workspace
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Runs the configured program with these arguments and the agent's own, in this directory.
    fn run(&self, usual: &str, args: &[&OsStr]) -> Result<ProgramRun> {
        let command = self.settings.command.as_deref().unwrap_or(usual);
        // A path is relative to the workspace, not to the directory the program runs in.
        let command = if command.contains('/') {
            self.workspace().join(command).to_string_lossy().into_owned()
        } else {
            command.to_owned()
        };
        let mut program =
            AttemptProgram::new(self.opened, &command)?.limit(self.settings.timeout.0).keeping(&self.files);
        program.command().args(args).args(&self.agent().args).current_dir(&self.dir);
        program.run(|line| progress::line(&format!("{usual}: {line}")), || {})
    }
}

/// The answer of a program that wrote files: their paths.
fn answer(value: Value, asked: Vec<String>, ran: ProgramRun) -> AgentAnswer {
    let turn = AgentTurn { output: ran.stdout.clone(), latency_ms: ran.duration_ms, ..AgentTurn::asked(asked) };
    let raw = if ran.stdout.trim().is_empty() { format!("{value:#}") } else { ran.stdout };
    AgentAnswer { value: Some(value), turns: vec![turn], duration_ms: ran.duration_ms, ..AgentAnswer::text(raw) }
}

/// Removes leftovers of a failed attempt of the same step, so that an existing file was written now.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Copies a document and backdates the copy, so that it looks older than any later write. Returns the copy's time.
fn copy(from: &Path, to: &Path) -> Result<SystemTime> {
    regular::open(from).path_context("copy", from)?;
    std::fs::copy(from, to).path_context("copy to", to)?;
    let file = regular::open_with(std::fs::File::options().write(true), to).path_context("open", to)?;
    file.set_modified(SystemTime::now() - BACKDATE).path_context("set the time of", to)?;
    modified(to)
}

fn modified(path: &Path) -> Result<SystemTime> {
    path.metadata().and_then(|meta| meta.modified()).path_context("look at", path)
}

fn not_made(agent: &str, ran: &ProgramRun, path: &Path) -> Error {
    let failure = ran.failure(agent, |_| false);
    Error::agent_failed(format!("{} ({} was not made)", failure.message, path.display()))
}
