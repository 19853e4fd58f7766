//! The commands with their help. Tools and the HTTP API describe an argument by it, so each text is written once.

use serde_json::{Value, json};

/// Commands by their words, without `uwf`.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// The commands that do something, groups left out.
    pub commands: Vec<CommandHelp>,
}

/// A command: its help and its arguments.
#[derive(Debug, Clone)]
pub struct CommandHelp {
    /// Its words: `thread step`.
    pub path: String,
    /// Its effect, in a sentence.
    pub about: String,
    /// Its arguments, in the order of its help.
    pub arguments: Vec<ArgumentHelp>,
}

/// An argument or option.
#[derive(Debug, Clone)]
pub struct ArgumentHelp {
    /// The option without its dashes; an argument without an option has the name of its value.
    pub name: String,
    /// Whether its position identifies it.
    pub is_positional: bool,
    /// The type of its value.
    pub kind: ArgumentKind,
    /// Its help.
    pub help: String,
    /// Its possible values; empty if any value is possible.
    pub choices: Vec<String>,
}

/// The type of an argument's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// No value: the option is given or not.
    Flag,
    /// A whole number.
    Integer,
    /// An amount.
    Number,
    /// A text.
    Text,
}

impl CommandLine {
    /// The command of these words.
    pub fn command(&self, path: &str) -> Option<&CommandHelp> {
        self.commands.iter().find(|command| command.path == path)
    }

    /// JSON Schema of an option's value; without a description if there is no such option.
    pub fn option_schema(&self, command: &str, option: &str) -> Value {
        let command = self.command(command);
        let found =
            command.and_then(|command| command.arguments.iter().find(|it| !it.is_positional && it.name == option));
        found.map_or_else(|| json!({}), ArgumentHelp::schema)
    }

    /// JSON Schema of one of a command's arguments without an option, by its position from 0.
    pub fn positional_schema(&self, command: &str, position: usize) -> Value {
        let arguments = self.command(command).into_iter().flat_map(|command| &command.arguments);
        let found = arguments.filter(|it| it.is_positional).nth(position);
        found.map_or_else(|| json!({}), ArgumentHelp::schema)
    }

    /// The effect of a command; empty for an unknown one.
    pub fn about(&self, command: &str) -> &str {
        self.command(command).map_or("", |command| &command.about)
    }
}

impl ArgumentHelp {
    /// JSON Schema of its value.
    pub fn schema(&self) -> Value {
        let kind = match self.kind {
            ArgumentKind::Flag => "boolean",
            ArgumentKind::Integer => "integer",
            ArgumentKind::Number => "number",
            ArgumentKind::Text => "string",
        };
        let mut schema = json!({ "type": kind, "description": self.help });
        if !self.choices.is_empty() {
            schema["enum"] = json!(self.choices);
        }
        schema
    }
}

/// The option of a run that waits for the end of usage limits.
pub const WAIT_OPTION: &str = "wait";

/// The name of an option where names are JSON: `max-steps` is `maxSteps`, and what a command expects is what was expected.
pub fn json_name(option: &str) -> String {
    // `wait` of a request or a tool is how long that itself waits.
    if option == WAIT_OPTION {
        return "waitForLimits".to_owned();
    }
    let option = option.strip_prefix("expect-").map_or_else(|| option.to_owned(), |what| format!("expected-{what}"));
    let mut words = option.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_uppercase() + rest
    })
}
