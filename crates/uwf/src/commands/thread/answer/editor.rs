//! An answer written in an editor. The draft is a file of the thread, so that no typed text is lost. The file is kept until the answer is
//! recorded, and the next `--editor` opens it again.

use std::path::PathBuf;

use agent_kit::AgentContext;
use agent_kit::answer::AgentAnswer;
use durable_files::regular;
use serde_json::Value;
use uwf_core::prompt;
use uwf_engine::error::{AtPath, Error};
use uwf_engine::verbs::answer::{AgentQuestion, OpenQuestion};

use super::given;
use crate::ask::TerminalAsker;
use crate::commands::thread::args::no_ask::NoAsk;
use crate::context::CommandContext;
use crate::editor::{self, MAX_EDITS};
use crate::error::CommandError;
use crate::input;

/// Everything below this line of a draft is ignored.
const SCISSORS: &str = "<!-- From this line on nothing is read. -->";

/// Opens an editor for the answer.
pub(super) fn write(
    context: &CommandContext,
    no_ask: NoAsk,
    agent: &AgentContext<'_>,
    asked: &OpenQuestion,
) -> Result<AgentAnswer, CommandError> {
    let path = draft(context, asked);
    let form = prompt::header_form(agent.schema().value());
    if !path.exists() {
        keep(context, agent, asked, &form)?;
    }
    let mut edits = 0;
    loop {
        edits += 1;
        editor::open(&path)
            .map_err(|error| error.hint("`uwf thread answer` also takes an answer by --data, -m or --file"))?;
        let text = input::from_file(&path)?;
        let text = written(&text);
        if text.trim().is_empty() || text.trim() == form.trim() {
            forget(context, asked);
            return Err(nothing_written());
        }
        let answer = given::message(agent, text.to_owned()).or_else(|misfit| {
            // The misfit may be a placeholder that the person left for an optional key.
            match without_placeholders(text, &form, agent.schema().value()) {
                Some(text) => given::message(agent, text),
                None => Err(misfit),
            }
        });
        let misfit = match answer {
            Ok(answer) => return Ok(answer),
            Err(misfit) => misfit,
        };
        if edits >= MAX_EDITS || !no_ask.asks() || !TerminalAsker::wants_again(context.printer, &misfit) {
            return Err(misfit
                .hint(format!("your text is kept in {}", path.display()))
                .hint(format!("edit it again: `uwf thread answer {} --editor`", asked.thread)));
        }
    }
}

/// Writes the draft for the next `--editor`. The text of an earlier draft stays below the new one.
pub(super) fn keep(
    context: &CommandContext,
    agent: &AgentContext<'_>,
    asked: &OpenQuestion,
    text: &str,
) -> Result<(), CommandError> {
    let path = draft(context, asked);
    context.home.make_thread_dir(&asked.thread)?;
    let below = match path.exists() {
        true => input::from_file(&path)?,
        false => format!("{SCISSORS}\n\n{}", super::shown(agent)?),
    };
    if written(&below).trim() == text.trim() {
        return Ok(());
    }
    Ok(regular::write(&path, format!("{text}\n\n{below}").as_bytes()).path_context("write", &path)?)
}

/// Opens an editor for the reply to an agent's question.
pub(super) fn write_reply(
    context: &CommandContext,
    asked: &OpenQuestion,
    question: &AgentQuestion,
) -> Result<String, CommandError> {
    let path = draft(context, asked);
    if !path.exists() {
        context.home.make_thread_dir(&asked.thread)?;
        let text = format!("\n\n{SCISSORS}\n\n{}\n", question.text);
        std::fs::write(&path, text).path_context("write", &path)?;
    }
    editor::open(&path).map_err(|error| error.hint("`uwf thread answer` also takes a reply by -m or --file"))?;
    let text = input::from_file(&path)?;
    let text = written(&text);
    if text.trim().is_empty() {
        forget(context, asked);
        return Err(nothing_written());
    }
    Ok(text.to_owned())
}

/// The text above the scissors line, without surrounding empty lines.
fn written(draft: &str) -> &str {
    draft.split(SCISSORS).next().unwrap_or_default().trim_matches(['\n', '\r'])
}

/// The text without optional keys that are unchanged from the form; `None` if there are none.
fn without_placeholders(text: &str, form: &str, schema: &Value) -> Option<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|keys| keys.iter().any(|required| required == key));
    let (filled, form) = (entries(text), entries(form));
    let key = |entry: &str| entry.split(':').next().unwrap_or_default().trim_matches(['"', '\'']).to_owned();
    let is_left = |entry: &&String| form.contains(entry) && entry.contains(':') && !is_required(&key(entry));
    filled
        .iter()
        .any(|entry| is_left(&entry))
        .then(|| filled.iter().filter(|entry| !is_left(entry)).map(String::as_str).collect())
}

/// The top-level entries of a text with a YAML header, each with its indented lines.
fn entries(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_below = line.starts_with([' ', '\t']) || line.starts_with("- ");
        match entries.last_mut().filter(|_| is_below) {
            Some(entry) => *entry += line,
            None => entries.push(line.to_owned()),
        }
        if let Some(entry) = entries.last_mut() {
            entry.push('\n');
        }
    }
    entries
}

fn nothing_written() -> CommandError {
    Error::waiting("nothing was written, so the thread keeps waiting").into()
}

/// Removes the draft of a recorded answer.
pub(super) fn forget(context: &CommandContext, asked: &OpenQuestion) {
    // Often no draft exists. A draft that can't be removed does no harm, because the thread has left its position.
    let _ = std::fs::remove_file(draft(context, asked));
}

/// Each position of a thread has its own draft.
fn draft(context: &CommandContext, asked: &OpenQuestion) -> PathBuf {
    context.home.thread_dir(&asked.thread).join(format!("answer-{}.md", asked.head))
}
