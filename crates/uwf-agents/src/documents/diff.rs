//! Compares a changed document with the original, with `docx-diff`.

use std::ffi::OsStr;
use std::path::PathBuf;

use agent_kit::answer::AgentAnswer;
use agent_kit::{Agent, AgentContext, Error, ErrorKind, Result};
use serde_json::{Value, json};
use uwf_core::prompt::AgentPrompt;
use uwf_engine::thread::steps::StepParts;

use super::{DocumentPlace, answer, not_made, remove};

/// The program, unless `command` says otherwise.
pub(crate) const COMMAND: &str = "docx-diff";

/// The document with the marked changes.
const DIFF: &str = "diff.docx";

/// Exit codes of a successful comparison: without and with differences. The program also exits with 1 if it fails, so the file must exist
/// as well.
const COMPARED: [i32; 2] = [0, 1];

const INSTALL: &str = "`pip install docx-diff` installs it";

/// The agent of one step. Its output is `{sourceDocx, modifiedDocx, diffDocx}`.
#[derive(Default)]
pub struct DiffAgent {
    exit_code: Option<i32>,
}

impl Agent for DiffAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// The program gets only paths.
    fn prompt(&mut self, _context: &AgentContext<'_>, _prompt: AgentPrompt) -> Result<AgentPrompt> {
        Ok(AgentPrompt { parts: Vec::new() })
    }

    fn answer(&mut self, context: &AgentContext<'_>, _prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let changed = changed(context)?;
        let place = DocumentPlace::create(context)?;
        let diff = place.file(DIFF);
        remove(&diff)?;
        let (source, modified) = (changed.source.as_os_str(), changed.modified.as_os_str());
        let [output, docx, out_file] = ["--output", "docx", "--out-file"].map(OsStr::new);
        let ran = place
            .run(COMMAND, &[source, modified, output, docx, out_file, diff.as_os_str()])
            .map_err(|error| if error.kind == ErrorKind::Config { error.hint(INSTALL) } else { error })?;
        self.exit_code = ran.status.code();
        if !ran.status.code().is_some_and(|code| COMPARED.contains(&code)) {
            return Err(ran.failure(&place.agent().name, |_| false));
        }
        if !diff.is_file() {
            return Err(not_made(&place.agent().name, &ran, &diff));
        }
        let value = json!({ "sourceDocx": changed.source, "modifiedDocx": changed.modified, "diffDocx": diff });
        Ok(answer(value, vec![format!("{} → {}", changed.source.display(), changed.modified.display())], ran))
    }
}

/// A document before and after it was changed.
struct DocumentVersions {
    source: PathBuf,
    modified: PathBuf,
}

/// The change by the newest step that wrote a document.
fn changed(context: &AgentContext<'_>) -> Result<DocumentVersions> {
    let thread = context.thread();
    for index in (0..thread.chain()?.len()).rev() {
        let step = thread.step(index, StepParts::NONE)?;
        let text = |key: &str| step.output.get(key).and_then(Value::as_str);
        match (text("mode"), text("sourceDocx"), text("outputDocx")) {
            (Some("edit"), Some(source), Some(modified)) => {
                let (source, modified) = (PathBuf::from(source), PathBuf::from(modified));
                if let Some(gone) = [&source, &modified].into_iter().find(|path| !path.is_file()) {
                    let message = format!("the file {} of step {} no longer exists", gone.display(), index + 1);
                    return Err(Error::agent_failed(message));
                }
                return Ok(DocumentVersions { source, modified });
            }
            (Some(mode), _, Some(_)) => {
                let message =
                    format!("there is nothing to compare: step {} ({}) has mode `{mode}`", index + 1, step.role);
                return Err(Error::agent_failed(message).hint(ROUTE));
            }
            _ => {}
        }
    }
    let message = "there is nothing to compare: no step has changed a document (an output with mode `edit`)";
    Err(Error::agent_failed(message).hint(ROUTE))
}

const ROUTE: &str = "route to this role only after a step whose output.mode is \"edit\"";
