//! Reference texts made for agents, each small enough for a context window. What commands, keys, templates and variables there
//! are comes from where they are defined.

use clap::{Command, ValueEnum};

use crate::file_schemas;
use crate::templates::Template;
use crate::topics;

/// What a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// The commands: how an agent runs workflows and looks after threads.
    Cli,
    /// Writing workflows: keys, conditions, templates, pitfalls.
    Author,
    /// Writing agents: what they get, how they answer, how they hand in a result.
    Develop,
}

/// Groups whose commands are not for whoever drives threads.
const NOT_FOR_DRIVERS: [&str; 7] = ["agent", "cas", "completions", "man", "mcp", "setup", "help"];

impl Subject {
    /// What it is asked for by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::Cli => "cli",
            Subject::Author => "author",
            Subject::Develop => "develop",
        }
    }

    /// What it is about, in a line.
    pub(crate) fn about(self) -> String {
        about(self)
    }

    /// The text, made for a command line of these definitions.
    pub(crate) fn text(self, root: Command) -> String {
        match self {
            Subject::Cli => filled(
                include_str!("skills/cli.md"),
                &[
                    ("exit-codes", exit_codes()),
                    ("commands", commands(root, |group| !NOT_FOR_DRIVERS.contains(&group))),
                ],
            ),
            Subject::Author => filled(
                include_str!("skills/author.md"),
                &[
                    ("templates", listed(&Template::value_variants().iter().map(|it| it.name()).collect::<Vec<_>>())),
                    ("example", without_first_lines(&Template::Review.workflow(Template::Review.name()))),
                    ("keys", keys("workflow", |path| !is_older(path))),
                ],
            ),
            Subject::Develop => filled(
                include_str!("skills/develop.md"),
                &[
                    ("variables", variables()),
                    ("agent-keys", keys("config", |path| path.starts_with("agents.ALIAS."))),
                    ("built-in", listed(&uwf_agents::NAMES.map(|name| format!("uwf-{name}")))),
                    ("commands", commands(root, |group| group == "agent")),
                ],
            ),
        }
    }
}

/// What the help says of a value.
fn about(value: impl ValueEnum) -> String {
    let help = value.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
    help.unwrap_or_default()
}

/// The text with what stands for `{{name}}` put in.
fn filled(text: &str, parts: &[(&str, String)]) -> String {
    parts.iter().fold(text.to_owned(), |text, (name, part)| text.replace(&format!("{{{{{name}}}}}"), part.trim_end()))
}

/// `a`, `b` and `c` in code.
fn listed<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A line for each exit code.
fn exit_codes() -> String {
    let lines = topics::EXIT_CODES.lines().skip(1).take_while(|line| line.starts_with("  "));
    lines
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(code, meaning)| format!("- {code}: {}\n", meaning.trim()))
        .collect()
}

/// A line for each command: how it is called, and what it does.
fn commands(mut root: Command, is_wanted: impl Fn(&str) -> bool) -> String {
    root.build();
    let mut lines = String::new();
    for group in root.get_subcommands().filter(|group| !group.is_hide_set() && is_wanted(group.get_name())) {
        add_commands(group, &mut lines);
    }
    lines
}

fn add_commands(command: &Command, lines: &mut String) {
    let is_leaf = !command.has_subcommands();
    if is_leaf {
        let usage = command.clone().render_usage().to_string().replace("[OPTIONS] ", "").replace(" [OPTIONS]", "");
        // Of several ways to call it, the first.
        let usage = usage.lines().next().unwrap_or_default().trim_start_matches("Usage:").trim().to_owned();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        // The first sentence says it.
        let about = about.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
        lines.push_str(&format!("- `{usage}`: {about}\n"));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        add_commands(below, lines);
    }
}

/// A line for each key of a file.
fn keys(schema: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let keys = file_schemas::find(schema).map(file_schemas::FileSchema::keys).unwrap_or_default();
    keys.iter().filter(|(path, _)| is_wanted(path)).map(|(path, what)| format!("- `{path}`: {what}\n")).collect()
}

/// Keys that are read, but not to be written any more.
fn is_older(path: &str) -> bool {
    const OLDER: [&str; 5] = ["systemPrompt", "extractPrompt", "outputSchema", "schema", "roles.ROLE.name"];
    path.starts_with("moderator") || OLDER.iter().any(|older| path.ends_with(older))
}

/// The rows of the environment's table.
fn variables() -> String {
    let page = topics::text_of("agent-protocol").unwrap_or_default();
    let rows = page.lines().map(str::trim).filter(|line| line.starts_with("| `UWF_") || line.starts_with("| `UNCAGED"));
    rows.map(|row| format!("{row}\n")).collect()
}

/// A template without the line for editors.
fn without_first_lines(text: &str) -> String {
    text.lines().skip(1).map(|line| format!("{line}\n")).collect()
}
