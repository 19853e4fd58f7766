//! Writes a document, or changes one, with `office-agent`.

use std::ffi::OsStr;
use std::path::Path;

use agent_kit::answer::AgentAnswer;
use agent_kit::{Agent, AgentContext, Error, Result};
use serde_json::json;
use uwf_core::prompt::{AgentPrompt, PartKind, PromptPart};

use super::task::DocumentTask;
use super::{DocumentPlace, answer, copy, modified, not_made, remove};
use crate::command::MAX_PROMPT_ARGUMENT;
use crate::program::ProgramRun;

/// The program, unless `command` says otherwise.
pub(crate) const COMMAND: &str = "office-agent";

/// A new document.
const OUTPUT: &str = "output.docx";
/// A changed document before and after.
const ORIGINAL: &str = "original.docx";
const MODIFIED: &str = "modified.docx";

/// The agent of one step. Its output is `{mode: generate|edit, outputDocx, sourceDocx or null}`.
#[derive(Default)]
pub struct OfficeAgent {
    exit_code: Option<i32>,
}

impl Agent for OfficeAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: AgentPrompt) -> Result<AgentPrompt> {
        let task = DocumentTask::read(context.task(), &context.opened()?.workspace)?;
        let text = instruction(&task.prompt, &prompt)?;
        Ok(AgentPrompt { parts: vec![PromptPart { kind: PartKind::Instruction, text }] })
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let place = DocumentPlace::create(context)?;
        let task = DocumentTask::read(context.task(), place.workspace())?;
        let wanted = prompt.text();
        match task.input {
            None => self.generate(&place, wanted),
            Some(input) => self.edit(&place, &input, wanted),
        }
    }
}

impl OfficeAgent {
    fn generate(&mut self, place: &DocumentPlace<'_>, wanted: String) -> Result<AgentAnswer> {
        let output = place.file(OUTPUT);
        remove(&output)?;
        let ran = self.run(place, ["create", &wanted, "-o", OUTPUT])?;
        if !output.is_file() {
            return Err(not_made(&place.agent().name, &ran, &output));
        }
        Ok(answer(json!({ "mode": "generate", "outputDocx": output, "sourceDocx": null }), vec![wanted], ran))
    }

    fn edit(&mut self, place: &DocumentPlace<'_>, input: &Path, wanted: String) -> Result<AgentAnswer> {
        let (original, changed) = (place.file(ORIGINAL), place.file(MODIFIED));
        copy(input, &original)?;
        let before = copy(input, &changed)?;
        let ran = self.run(place, ["edit", MODIFIED, &wanted])?;
        if !changed.is_file() {
            return Err(not_made(&place.agent().name, &ran, &changed));
        }
        if modified(&changed)? <= before {
            let (name, how) = (&place.agent().name, ran.how());
            let message = format!("agent `{name}` {how}, but left {} as it was", changed.display());
            return Err(Error::agent_failed(message));
        }
        Ok(answer(json!({ "mode": "edit", "outputDocx": changed, "sourceDocx": original }), vec![wanted], ran))
    }

    fn run<const N: usize>(&mut self, place: &DocumentPlace<'_>, args: [&str; N]) -> Result<ProgramRun> {
        let ran = place.run(COMMAND, &args.map(OsStr::new))?;
        self.exit_code = ran.status.code();
        if ran.status.code().is_some_and(|code| place.agent().succeeded(code)) {
            return Ok(ran);
        }
        Err(ran.failure(&place.agent().name, |_| false))
    }
}

/// The program's instruction: the task, and what other roles have said since the role's last visit.
fn instruction(asked: &str, prompt: &AgentPrompt) -> Result<String> {
    let steps = prompt.parts.iter().filter(|part| matches!(part.kind, PartKind::Steps(..)));
    let said: String = steps.map(|part| part.text.as_str()).collect();
    let wanted = if said.is_empty() { asked.to_owned() } else { format!("{asked}\n\n{said}") };
    if wanted.len() <= MAX_PROMPT_ARGUMENT {
        return Ok(wanted);
    }
    let message = format!(
        "the instruction has {} bytes, too many for an argument of {COMMAND} (at most {MAX_PROMPT_ARGUMENT})",
        wanted.len()
    );
    Err(Error::config(message).hint("shorten the task, or lower `promptBudget` in config.yaml"))
}
