//! Reference texts for agents, each small enough for a context window. Their lists of commands, keys, templates and variables are generated
//! from the definitions.

use clap::{Command, ValueEnum};

use crate::file_schemas;
use crate::templates::WorkflowTemplate;
use crate::topics;

/// Subject of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillSubject {
    /// The commands: how an agent runs workflows and looks after threads.
    Cli,
    /// Writing workflows: keys, conditions, templates, pitfalls.
    Author,
    /// Writing agents: their input, their answers, and how they hand in a result.
    Develop,
}

/// Command groups that an agent driving threads does not need.
const NOT_FOR_DRIVERS: [&str; 7] = ["agent", "cas", "completions", "man", "mcp", "setup", "help"];

impl SkillSubject {
    /// The name in `uwf skill NAME`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SkillSubject::Cli => "cli",
            SkillSubject::Author => "author",
            SkillSubject::Develop => "develop",
        }
    }

    /// One line about the text.
    pub(crate) fn about(self) -> String {
        about(self)
    }

    /// The text, for a command line with these definitions.
    pub(crate) fn text(self, root: Command) -> String {
        match self {
            SkillSubject::Cli => filled(
                include_str!("skills/cli.md"),
                &[
                    ("exit-codes", exit_codes()),
                    ("commands", commands(root, |group| !NOT_FOR_DRIVERS.contains(&group))),
                ],
            ),
            SkillSubject::Author => filled(
                include_str!("skills/author.md"),
                &[
                    (
                        "templates",
                        listed(&WorkflowTemplate::value_variants().iter().map(|it| it.name()).collect::<Vec<_>>()),
                    ),
                    (
                        "example",
                        without_first_lines(&WorkflowTemplate::Review.workflow(WorkflowTemplate::Review.name())),
                    ),
                    ("keys", keys("workflow", |path| !is_older(path))),
                ],
            ),
            SkillSubject::Develop => filled(
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

/// The help of a value.
fn about(value: impl ValueEnum) -> String {
    let help = value.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
    help.unwrap_or_default()
}

/// The text with each `{{name}}` replaced.
fn filled(text: &str, parts: &[(&str, String)]) -> String {
    parts.iter().fold(text.to_owned(), |text, (name, part)| text.replace(&format!("{{{{{name}}}}}"), part.trim_end()))
}

/// A list of words as code: `a`, `b` and `c`.
fn listed<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// One line for each exit code.
fn exit_codes() -> String {
    let lines = topics::EXIT_CODES.lines().skip(1).take_while(|line| line.starts_with("  "));
    lines
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(code, meaning)| format!("- {code}: {}\n", meaning.trim()))
        .collect()
}

/// One line for each command: its usage and its purpose.
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
        // The first of several usages.
        let usage = usage.lines().next().unwrap_or_default().trim_start_matches("Usage:").trim().to_owned();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        // Only the first sentence.
        let about = about.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
        lines.push_str(&format!("- `{usage}`: {about}\n"));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        add_commands(below, lines);
    }
}

/// One line for each key of a file.
fn keys(schema: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let keys = file_schemas::find(schema).map(file_schemas::FileSchema::keys).unwrap_or_default();
    keys.iter().filter(|(path, _)| is_wanted(path)).map(|(path, what)| format!("- `{path}`: {what}\n")).collect()
}

/// Old keys that uwf still reads but that new files should not use.
fn is_older(path: &str) -> bool {
    const OLDER: [&str; 5] = ["systemPrompt", "extractPrompt", "outputSchema", "schema", "roles.ROLE.name"];
    path.starts_with("moderator") || OLDER.iter().any(|older| path.ends_with(older))
}

/// The rows of the table of environment variables.
fn variables() -> String {
    let page = topics::text_of("agent-protocol").unwrap_or_default();
    let rows = page.lines().map(str::trim).filter(|line| line.starts_with("| `UWF_") || line.starts_with("| `UNCAGED"));
    rows.map(|row| format!("{row}\n")).collect()
}

/// A template without its first line, which is for editors.
fn without_first_lines(text: &str) -> String {
    text.lines().skip(1).map(|line| format!("{line}\n")).collect()
}
