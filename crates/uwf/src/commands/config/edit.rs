//! `uwf config edit`

use std::path::PathBuf;

use serde_json::json;
use uwf_engine::error::{AtPath, ErrorKind};
use uwf_engine::root::config_file::{self, ConfigChangeReport};
use uwf_engine::root::config_text;

use super::set;
use super::validate::problems_of;
use crate::ask::TerminalAsker;
use crate::context::CommandContext;
use crate::editor::{self, MAX_EDITS};
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf config edit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config edit
  EDITOR='code --wait' uwf config edit

The editor is $VISUAL, else $EDITOR, else vi. It gets a draft; config.yaml is replaced once the draft is valid. An
invalid draft is kept and opened again the next time.")]
pub(crate) struct Args {}

/// Opens the configuration in an editor.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let home = &context.home;
    let before = config_text::read(&home.config_file())?;
    let draft = draft(context, &before)?;
    let mut edits = 0;
    let configured = loop {
        edits += 1;
        editor::open(&draft)?;
        let after = input::from_file(&draft)?;
        match config_file::replace(home, &before, &after, &|text| problems_of(home, text)) {
            Ok(configured) => break configured,
            Err(error) => {
                let error = CommandError::from(error);
                let again = error.kind == ErrorKind::Config && edits < MAX_EDITS;
                if !again || !TerminalAsker::wants_again(context.printer, &error) {
                    let kept = format!("the draft is kept in {}; `uwf config edit` opens it again", draft.display());
                    return Err(error.hint(kept));
                }
            }
        }
    };
    std::fs::remove_file(&draft).path_context("remove", &draft)?;
    report(context, &configured)
}

/// The file to edit: the current configuration, or the draft of an earlier edit.
fn draft(context: &CommandContext, before: &str) -> Result<PathBuf, CommandError> {
    let draft = context.home.config_draft();
    if draft.exists() {
        context.printer.warn(&format!("this is the draft of an earlier edit, {}", draft.display()));
    } else {
        context.home.make_root()?;
        std::fs::write(&draft, before).path_context("write", &draft)?;
    }
    Ok(draft)
}

fn report(context: &CommandContext, configured: &ConfigChangeReport) -> CommandResult {
    set::warn(context, configured);
    let file = context.home.config_file().display().to_string();
    let text = if configured.changed { format!("changed {file}\n") } else { format!("nothing new for {file}\n") };
    Ok(PrintableReport::value_with_text(json!({ "file": file, "changed": configured.changed }), text))
}
