//! The commands for the tools and the HTTP API, generated from the definitions of `--help`.

use clap::{Arg, ArgAction, Command};
use uwf_server::{ArgumentHelp, ArgumentKind, CommandHelp, CommandLine};

/// All commands.
pub(crate) fn command_line(mut root: Command) -> CommandLine {
    root.build();
    let mut commands = Vec::new();
    for below in root.get_subcommands() {
        collect(below, below.get_name(), &mut commands);
    }
    CommandLine { commands }
}

fn collect(command: &Command, path: &str, commands: &mut Vec<CommandHelp>) {
    let arguments = command.get_arguments().filter(|arg| arg.get_help().is_some() && !arg.is_hide_set());
    commands.push(CommandHelp {
        path: path.to_owned(),
        about: command.get_about().map(|about| format!("{about}.")).unwrap_or_default(),
        arguments: arguments.map(argument).collect(),
    });
    for below in command.get_subcommands() {
        collect(below, &format!("{path} {}", below.get_name()), commands);
    }
}

fn argument(arg: &Arg) -> ArgumentHelp {
    let is_flag = !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let value = arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
    let kind = match value {
        _ if is_flag => ArgumentKind::Flag,
        Some("N" | "CHARS") => ArgumentKind::Integer,
        Some("AMOUNT") => ArgumentKind::Number,
        _ => ArgumentKind::Text,
    };
    let choices: Vec<String> = match is_flag {
        true => Vec::new(),
        false => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
    };
    let help = arg.get_help().map(|help| described(&help.to_string())).unwrap_or_default();
    // One text can contain several values.
    let (help, choices) = match arg.get_value_delimiter() {
        Some(_) if !choices.is_empty() => (format!("{help} There are {}.", choices.join(", ")), Vec::new()),
        _ => (help, choices),
    };
    ArgumentHelp {
        name: arg.get_long().map_or_else(|| arg.get_id().to_string(), str::to_owned),
        is_positional: arg.is_positional(),
        kind,
        help,
        choices,
    }
}

/// Beginnings of clauses that apply only to a command line: about `-` for stdin, `+` to add an amount, or another option, or several threads.
const TYPED: [&str; 5] = ["; `-`", "; +", "; with --", ", or with --", "; several threads"];

/// The help without these clauses.
fn described(help: &str) -> String {
    let typed = TYPED.iter().filter_map(|typed| help.find(typed)).min();
    format!("{}.", &help[..typed.unwrap_or(help.len())])
}
