//! `uwf help`: the help of a command, or a page about a topic.

use clap::Command;
use json_cas::nearest;
use serde_json::json;

use crate::error::CommandError;
use crate::help_text;
use crate::printer::{CommandResult, PrintableReport};
use crate::topics::{self, HelpTopic};

/// Arguments of `uwf help`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("Examples:\n  uwf help thread step\n  uwf help workflow-format | less\n\n{}", topics::overview()))]
pub(crate) struct Args {
    /// A command, such as `thread step`, or a topic.
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

/// Prints help or a page.
pub(crate) fn run(args: &Args, root: Command, width: usize) -> CommandResult {
    if args.words == ["topics"] {
        return Ok(printed(format!("{}\n", topics::overview())));
    }
    if let [word] = args.words.as_slice()
        && let Some(HelpTopic { text, .. }) = topics::find(word)
    {
        return Ok(printed(text(root)));
    }
    let root = help_text::laid_out(root, width);
    let command = find(&root, &args.words)?;
    let help = command.clone().render_long_help().to_string();
    let help = if args.words.is_empty() { format!("{}\n\n{}\n", help.trim_end(), topics::overview()) } else { help };
    Ok(printed(help))
}

fn printed(help: String) -> PrintableReport {
    PrintableReport::value_with_text(json!({ "help": help }), help)
}

/// The command below `root` with these words.
///
/// # Errors
/// `Usage` with a suggestion.
pub(crate) fn find<'c>(root: &'c Command, words: &[String]) -> Result<&'c Command, CommandError> {
    let mut at = root;
    for (index, word) in words.iter().enumerate() {
        let Some(below) = at.find_subcommand(word) else {
            return Err(unknown(at, &words[..index], word));
        };
        at = below;
    }
    Ok(at)
}

fn unknown(at: &Command, before: &[String], word: &str) -> CommandError {
    let within = ["uwf"].into_iter().chain(before.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let what = if before.is_empty() { "command or topic" } else { "command" };
    let error = CommandError::usage(format!("unknown {what} `{within} {word}`"));
    let commands = at.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
    let topics = topics::ALL.iter().map(|topic| topic.name).filter(|_| before.is_empty());
    match nearest::nearest(word, commands.chain(topics)) {
        Some(near) => {
            let path = before.iter().map(String::as_str).chain([near]).collect::<Vec<_>>().join(" ");
            error.hint(format!("did you mean `uwf help {path}`?"))
        }
        None => error.hint(format!("`{within} --help` lists the commands, `uwf help topics` the topics")),
    }
}
