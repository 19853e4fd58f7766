//! An answer written in an editor. The draft is a file of the thread, so that nothing that was typed is lost: it stays
//! until the answer is recorded, and the next `--editor` opens it again.

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_kit::Context as AgentContext;
use agent_kit::answer::Answer;
use uwf_agents::human;
use uwf_core::prompt;
use uwf_engine::answer::Asked;
use uwf_engine::error::{AtPath, Error, Kind};

use super::given;
use crate::ask::Asker;
use crate::context::Context;
use crate::error::CommandError;
use crate::input;

/// From this line on a draft is not read.
const SCISSORS: &str = "<!-- From this line on nothing is read. -->";

/// Times an editor is opened again by one command, so that an editor that returns at once does not go on for ever.
const MAX_EDITS: usize = 20;

/// Lets a person write the answer.
pub(super) fn write(context: &Context, agent: &AgentContext<'_>, asked: &Asked) -> Result<Answer, CommandError> {
    let path = draft(context, asked);
    let form = prompt::header_form(agent.schema().value());
    if !path.exists() {
        context.home.make_thread_dir(&asked.thread)?;
        let text = format!("{form}\n\n{SCISSORS}\n\n{}", human::question(agent));
        std::fs::write(&path, text).at("write", &path)?;
    }
    let mut edits = 0;
    loop {
        edits += 1;
        open(&path)?;
        let text = input::from_file(&path)?;
        let text = text.split(SCISSORS).next().unwrap_or_default().trim();
        if text.is_empty() || text == form.trim() {
            forget(context, asked);
            return Err(Error::new(Kind::Waiting, "nothing was written, so the thread goes on waiting").into());
        }
        let misfit = match given::message(agent, text.to_owned()) {
            Ok(answer) => return Ok(answer),
            Err(misfit) => misfit,
        };
        if edits >= MAX_EDITS || !wants_again(context, &misfit) {
            return Err(misfit
                .hint(format!("what you wrote is kept in {}", path.display()))
                .hint(format!("edit it again: `uwf thread answer {} --editor`", asked.thread)));
        }
    }
}

/// Removes the draft of an answer that was recorded.
pub(super) fn forget(context: &Context, asked: &Asked) {
    // Mostly there is none; one that stays is of a position the thread has left.
    let _ = std::fs::remove_file(draft(context, asked));
}

/// Each position of a thread has a draft of its own.
fn draft(context: &Context, asked: &Asked) -> PathBuf {
    context.home.thread_dir(&asked.thread).join(format!("answer-{}.md", asked.head))
}

fn open(path: &Path) -> Result<(), CommandError> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = named.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    // By a shell, since people give their editor options: `code --wait`.
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).status();
    let problem = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("the editor `{editor}` ended with {status}"),
        Err(error) => format!("cannot start the editor `{editor}`: {error}"),
    };
    Err(CommandError::from(Error::new(Kind::Config, problem))
        .hint("set VISUAL or EDITOR, or answer with --data, -m or --file")
        .hint(format!("what was written is kept in {}", path.display())))
}

/// Tells what does not fit and asks whether to go on; without a terminal nobody can.
fn wants_again(context: &Context, misfit: &CommandError) -> bool {
    if !Asker::has_person() {
        return false;
    }
    context.printer.failure(misfit);
    Asker::new(context.printer).unless_no("edit it again?").unwrap_or(false)
}
