//! Explains why a command line is invalid, and suggests the command that was probably meant.

use std::ffi::OsString;

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use json_cas::nearest;
use uwf_core::thread::is_symbol;
use uwf_engine::root::thread_ids;

use crate::error::CommandError;
use crate::printer::ReportFormat;

/// Words that people try, and the uwf command for each. The first column is the group in which they try the word.
const MEANT: &[(&str, &str, &str)] = &[
    ("", "status", "`uwf thread list` shows the state of all threads, `uwf show THREAD` of one"),
    ("", "threads", "`uwf thread list` lists threads"),
    ("", "workflows", "`uwf workflow list` lists workflows"),
    ("", "list", "`uwf thread list` lists threads, `uwf workflow list` workflows"),
    ("", "logs", "`uwf read THREAD` prints what happened in a thread, `uwf log THREAD` what uwf itself noted"),
    (
        "",
        "remove",
        "`uwf thread rm THREAD` removes a finished thread, `uwf workflow rm WORKFLOW` the name of a workflow",
    ),
    (
        "",
        "delete",
        "`uwf thread rm THREAD` removes a finished thread, `uwf workflow rm WORKFLOW` the name of a workflow",
    ),
    ("", "login", "`uwf setup` stores the key of a provider"),
    ("", "version", "`uwf --version` prints it"),
    ("", "exec", "`uwf run WORKFLOW -p 'TEXT'` starts a thread and steps it until the end"),
    ("", "next", "`uwf step THREAD` does one step"),
    ("", "continue", "`uwf run THREAD` steps a thread until the end"),
    ("", "stop", "`uwf thread kill THREAD` ends a thread, `uwf thread pause THREAD` only stops it for now"),
    ("", "new", "`uwf thread start WORKFLOW -p 'TEXT'` starts a thread"),
    ("", "create", "`uwf workflow put FILE` stores a workflow, `uwf thread start WORKFLOW -p 'TEXT'` starts a thread"),
    ("", "agents", "`uwf config get agents` shows the agents that are configured"),
    ("", "models", "`uwf config get models` shows the models that are configured"),
    ("", "approve", "`uwf thread answer THREAD` answers for a role that is played by a person"),
    ("thread", "status", "`uwf thread show THREAD` shows the state of a thread"),
    ("thread", "get", "`uwf thread show THREAD` shows the state of a thread"),
    ("thread", "new", "`uwf thread start WORKFLOW -p 'TEXT'` starts a thread"),
    ("thread", "create", "`uwf thread start WORKFLOW -p 'TEXT'` starts a thread"),
    ("thread", "log", "`uwf thread read THREAD` prints what happened, `uwf log THREAD` what uwf itself noted"),
    ("thread", "logs", "`uwf thread read THREAD` prints what happened, `uwf log THREAD` what uwf itself noted"),
    ("thread", "running", "`uwf thread list --state running` lists the threads that are running"),
    ("thread", "stop", "`uwf thread kill THREAD` ends a thread, `uwf thread pause THREAD` only stops it for now"),
    ("thread", "cancel", "`uwf thread kill THREAD` ends a thread"),
    ("thread", "remove", "`uwf thread rm THREAD` removes a finished thread from the history"),
    ("thread", "delete", "`uwf thread rm THREAD` removes a finished thread from the history"),
    ("thread", "next", "`uwf thread step THREAD` does one step"),
    ("thread", "continue", "`uwf thread run THREAD` steps a thread until the end"),
    ("thread", "approve", "`uwf thread answer THREAD` answers for a role that is played by a person"),
    ("workflow", "get", "`uwf workflow show WORKFLOW` prints a workflow"),
    ("workflow", "create", "`uwf workflow put FILE` stores a workflow"),
    ("workflow", "edit", "change its file, then `uwf workflow put FILE` stores the new version"),
    ("workflow", "remove", "`uwf workflow rm WORKFLOW` removes a name"),
    ("workflow", "delete", "`uwf workflow rm WORKFLOW` removes a name"),
    ("workflow", "check", "`uwf workflow validate FILE` checks a workflow"),
    ("workflow", "run", "`uwf run WORKFLOW -p 'TEXT'` starts a thread and steps it until the end"),
    ("workflow", "start", "`uwf thread start WORKFLOW -p 'TEXT'` starts a thread"),
    ("config", "show", "`uwf config list` shows what is set"),
    ("config", "add", "`uwf config set KEY VALUE` sets a value"),
    ("config", "rm", "`uwf config unset KEY` removes a key"),
    ("config", "remove", "`uwf config unset KEY` removes a key"),
    ("config", "delete", "`uwf config unset KEY` removes a key"),
    ("config", "check", "`uwf config validate` checks the configuration"),
    ("cas", "cat", "`uwf cas get HASH` prints a node"),
    ("cas", "show", "`uwf cas get HASH` prints a node"),
    ("cas", "types", "`uwf cas schema list` lists the types"),
];

/// The error for a free text that is an option of its command, as in `-p --no-ask`: its author probably forgot the text. `root` has
/// parsed the command line.
pub(crate) fn option_as_text(
    root: &clap::Command,
    parsed: &clap::ArgMatches,
    args: &[OsString],
) -> Option<CommandError> {
    let (mut command, mut parsed, mut path) = (root, parsed, "uwf".to_owned());
    while let Some((name, below)) = parsed.subcommand() {
        command = command.find_subcommand(name)?;
        parsed = below;
        path = format!("{path} {name}");
    }
    let words: Vec<&str> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let is_option = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        command.get_arguments().any(|argument| names(argument, name))
    };
    let takes = |option: &clap::Arg, text: &str| {
        let id = option.get_id().as_str();
        let given = parsed.try_get_raw(id).ok().flatten();
        given.is_some_and(|mut given| given.any(|given| given.to_str() == Some(text)))
    };
    let free = || command.get_arguments().filter(|argument| argument.is_allow_hyphen_values_set());
    let pairs = words.windows(2).filter(|pair| is_option(pair[1]));
    let (option, text, argument) = pairs
        .filter_map(|pair| Some((pair[0], pair[1], free().find(|argument| names(argument, pair[0]))?)))
        .find(|(_, text, argument)| takes(argument, text))?;
    let value = argument.get_value_names().and_then(|names| names.first()).map_or("TEXT", |name| name.as_str());
    let failure = CommandError::usage(format!("`{option}` has no text: `{text}` is an option of `{path}`"));
    Some(
        failure
            .hint(format!("to use the option, write the text first: {option} '{value}' {text}"))
            .hint(format!("if `{text}` is the text: {option}={text}")),
    )
}

/// Whether a word of the command line is the name of an option.
fn names(option: &clap::Arg, word: &str) -> bool {
    let has_short = |short: char| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]));
    option.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long))
        || option.get_short().is_some_and(has_short)
}

/// Options that people try in a command, or in any command, and the uwf option for each.
const MEANT_OPTIONS: &[(&str, &str, &str)] = &[
    ("thread answer", "--text", "`-m 'TEXT'` is an answer that is one text"),
    ("thread limit", "--max-steps", "`--steps N` changes the limit of a thread that has begun"),
    ("thread limit", "--max-time", "`--time TIME` changes the limit of a thread that has begun"),
    ("thread limit", "--max-tokens", "`--tokens N` changes the limit of a thread that has begun"),
    ("thread limit", "--max-cost", "`--cost AMOUNT` changes the limit of a thread that has begun"),
    (
        "thread start",
        "--steps",
        "`--max-steps N` limits the thread; `uwf run WORKFLOW -p 'TEXT' --steps N` stops after N steps",
    ),
    ("serve", "--port", "`--address HOST:PORT` says where to listen"),
    ("serve", "--listen", "`--address HOST:PORT` says where to listen"),
    ("serve", "--bind", "`--address HOST:PORT` says where to listen"),
    ("", "--task", "`-p 'TEXT'` is the task"),
    ("", "--prompt-file", "`-p - < FILE` reads the task from a file"),
    ("", "--json", "`--format json` prints JSON"),
    ("", "--yaml", "`--format yaml` prints YAML"),
    ("", "--text", "`--format text` prints text, also into a pipe"),
    ("", "--output", "`--format json` prints JSON, `--format text` text"),
];

/// The format that a command line asks for, found before the command line is parsed.
pub(crate) fn asked_format(args: &[OsString]) -> Option<ReportFormat> {
    let words = args.iter().map(|arg| arg.to_str().unwrap_or_default()).take_while(|arg| *arg != "--");
    let words: Vec<&str> = words.collect();
    let after = words.windows(2).find(|pair| pair[0] == "--format").map(|pair| pair[1]);
    let joined = || words.iter().find_map(|word| word.strip_prefix("--format="));
    ReportFormat::from_str(after.or_else(joined)?, true).ok()
}

/// Whether a command line ends with a group, without one of its commands.
pub(crate) fn lacks_command(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand)
}

/// The group at the end of a command line.
pub(crate) fn group<'c>(root: &'c mut clap::Command, args: &[OsString]) -> &'c mut clap::Command {
    let mut at = root;
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        if at.find_subcommand(word).is_some() {
            at = at.find_subcommand_mut(word).expect("it was found");
        }
    }
    at
}

/// Converts clap's error about a command line into a command's error.
pub(crate) fn failure(error: &clap::Error, root: &mut clap::Command) -> CommandError {
    let rendered = error.render().to_string();
    if lacks_command(error) {
        // The usage line names the group.
        let group = rendered.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("uwf <COMMAND>");
        let group = group.split(" [").next().unwrap_or(group).trim_end_matches(" <COMMAND>");
        return CommandError::usage(format!("`{group}` needs a command"))
            .hint(format!("`{group} --help` lists its commands"));
    }
    let mut paragraphs = rendered.split("\n\n");
    let what = paragraphs.next().unwrap_or_default().trim().trim_start_matches("error: ");
    let (what, choices): (Vec<&str>, Vec<&str>) = what.lines().map(str::trim).partition(|line| !line.starts_with('['));
    let mut failure = CommandError::usage(what.join(" "));
    let meant = meant(error, root);
    let is_answered = !meant.is_empty();
    for hint in choices.iter().map(|choice| choice.trim_matches(['[', ']']).to_owned()).chain(meant) {
        failure = failure.hint(hint);
    }
    if error.kind() == ErrorKind::ArgumentConflict {
        // Don't suggest leaving out `--dry-run`: then the command would be run for real.
        let hint = if rendered.contains("--dry-run") { "leave out the other one" } else { "leave one of them out" };
        return failure.hint(hint);
    }
    for line in paragraphs.flat_map(str::lines).map(str::trim) {
        match line.split_once(": ") {
            // Clap means an argument, but here most words that begin with a dash are values of options.
            Some(("tip", tip)) if tip.starts_with("to pass '-") && !tip.starts_with("to pass '--") => {
                failure = failure.hint(format!("{tip}; as the value of an option, write it after a `=`"));
            }
            // In uwf no value begins with two dashes.
            Some(("tip", tip)) if tip.starts_with("to pass '--") => {}
            Some(("tip", tip)) if !is_answered => failure = failure.hint(tip),
            Some(("Usage", usage)) if !is_answered => failure = failure.hint(format!("usage: {usage}")),
            _ => {}
        }
    }
    failure
}

/// Suggestions for an unknown option or command.
fn meant(error: &clap::Error, root: &mut clap::Command) -> Vec<String> {
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    {
        return meant_option(option, &command_path(error), root).into_iter().collect();
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return Vec::new() };
    let group = command_path(error);
    if ["", "thread"].contains(&&*group) && is_thread_id(word) {
        return vec![format!("`uwf thread show {word}` shows the thread, `uwf run {word}` runs it")];
    }
    let word = word.to_lowercase();
    if let Some((_, _, hint)) = MEANT.iter().find(|(within, tried, _)| *within == group && *tried == word) {
        return vec![(*hint).to_owned()];
    }
    root.build();
    let paths = paths(root, "uwf");
    let elsewhere: Vec<String> = paths
        .iter()
        .filter(|path| path.rsplit(' ').next() == Some(word.as_str()))
        .map(|path| format!("did you mean `{path}`?"))
        .collect();
    if !elsewhere.is_empty() {
        return elsewhere;
    }
    let within = if group.is_empty() { "uwf ".to_owned() } else { format!("uwf {group} ") };
    let near = nearest::nearest(&word, paths.iter().filter_map(|path| path.strip_prefix(&within)));
    let anywhere = || {
        let last = nearest::nearest(&word, paths.iter().filter_map(|path| path.rsplit(' ').next()))?;
        paths.iter().find(|path| path.rsplit(' ').next() == Some(last)).cloned()
    };
    let near = near.map(|near| format!("{within}{near}")).or_else(anywhere);
    match near {
        Some(near) => vec![format!("did you mean `{near}`?")],
        None => vec![format!("`{} --help` lists the commands", within.trim_end())],
    }
}

/// The command of an error, without `uwf`.
fn command_path(error: &clap::Error) -> String {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let words = usage.trim_start_matches("Usage: uwf").split_whitespace();
    words.take_while(|word| !word.starts_with(['<', '[', '-'])).collect::<Vec<_>>().join(" ")
}

/// The suggestion for an unknown option. Clap suggests any option with some of the same letters, and omits all others from the usage.
fn meant_option(option: &str, path: &str, root: &mut clap::Command) -> Option<String> {
    let name = option.strip_prefix("--").filter(|name| !name.is_empty())?;
    let is_tried =
        |(within, tried, _): &&(&str, &str, &str)| *tried == option && (*within == path || within.is_empty());
    if let Some((_, _, hint)) = MEANT_OPTIONS.iter().find(is_tried) {
        return Some((*hint).to_owned());
    }
    root.build();
    let command = path.split_whitespace().try_fold(&*root, |at, word| at.find_subcommand(word))?;
    let options = || command.get_arguments().filter(|option| !option.is_hide_set()).filter_map(clap::Arg::get_long);
    let longer: Vec<&str> = options().filter(|option| option.starts_with(name)).collect();
    let near = if let [only] = longer[..] { Some(only) } else { nearest::nearest(name, options()) };
    Some(match near {
        Some(near) => format!("did you mean `--{near}`?"),
        None => format!("`{} --help` lists its options", format!("uwf {path}").trim_end()),
    })
}

/// Whether a word is a thread's id, or the end of one: commands contain no digits.
fn is_thread_id(word: &str) -> bool {
    let symbols = word.trim_start_matches('…');
    let has_digit = symbols.bytes().any(|byte| byte.is_ascii_digit());
    word.starts_with(thread_ids::NEWEST)
        || has_digit && symbols.len() >= thread_ids::MIN_SYMBOLS && symbols.bytes().all(is_symbol)
}

/// Every command after its groups, such as `uwf thread step`.
fn paths(command: &clap::Command, path: &str) -> Vec<String> {
    command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .flat_map(|sub| {
            let path = format!("{path} {}", sub.get_name());
            std::iter::once(path.clone()).chain(paths(sub, &path))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use clap_complete::engine::ArgValueCompleter;

    use super::*;

    #[test]
    fn suggested_commands_exist_and_mistyped_ones_do_not() {
        let mut root = crate::cli::command();
        root.build();
        for (group, tried, hint) in MEANT {
            let within = group.split_whitespace().fold(&root, |at, word| at.find_subcommand(word).expect("a group"));
            assert!(within.find_subcommand(tried).is_none(), "`{group} {tried}` is a command");
            for command in hint.split('`').filter_map(|quoted| quoted.strip_prefix("uwf ")) {
                let mut at = &root;
                for word in command.split_whitespace().filter(|word| *word != "--version") {
                    if at.has_subcommands() {
                        at = at.find_subcommand(word).unwrap_or_else(|| panic!("{hint}"));
                    }
                }
            }
        }
    }

    #[test]
    fn suggested_options_exist_and_tried_ones_do_not() {
        let mut root = crate::cli::command();
        root.build();
        for (path, tried, hint) in MEANT_OPTIONS.iter().filter(|(path, _, _)| !path.is_empty()) {
            let command = path.split_whitespace().fold(&root, |at, word| at.find_subcommand(word).expect("a command"));
            let has = |name: &str| command.get_arguments().any(|option| option.get_long() == Some(name));
            assert!(!has(tried.trim_start_matches('-')), "`{path} {tried}` is an option");
            let suggested = hint.split('`').filter_map(|quoted| quoted.strip_prefix("--")?.split(' ').next());
            suggested.for_each(|name| assert!(has(name), "{hint}"));
        }
    }

    /// Lists and headers in Markdown begin with a dash, and so do many texts.
    #[test]
    fn free_text_may_begin_with_a_dash() {
        const FREE: [&str; 6] = ["TEXT", "PROMPT", "JSON", "KEY", "EXPRESSION", "VALUE"];
        let mut root = crate::cli::command();
        root.build();
        let mut refusing = Vec::new();
        for path in paths(&root, "") {
            let command = path.split_whitespace().fold(&root, |at, word| at.find_subcommand(word).expect("a command"));
            for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
                let mut named = argument.get_value_names().unwrap_or_default().iter().flat_map(|name| name.split('|'));
                // A `KEY` of `config` is a key path.
                let is_free = !path.starts_with(" config") && named.any(|name| FREE.contains(&name));
                if is_free && !argument.is_allow_hyphen_values_set() {
                    refusing.push(format!("{path} {argument}"));
                }
            }
        }
        assert!(refusing.is_empty(), "{refusing:#?}");
    }

    /// Arguments that name a thread, a step, another hash or a role have completions.
    #[test]
    fn arguments_that_name_something_are_completed() {
        let mut root = crate::cli::command();
        root.build();
        let mut open = Vec::new();
        // `agent mcp` is started by an agent.
        for path in paths(&root, "").iter().filter(|path| *path != " agent mcp") {
            let command = path.split_whitespace().fold(&root, |at, word| at.find_subcommand(word).expect("a command"));
            for argument in command.get_arguments() {
                let named = argument.get_value_names().unwrap_or_default().iter().map(clap::builder::Str::as_str);
                let is_known = named
                    .flat_map(|name| name.split('|'))
                    .any(|name| ["THREAD", "STEP", "HASH", "TYPE", "ROLE"].contains(&name));
                if is_known
                    && argument.get::<ArgValueCompleter>().is_none()
                    && argument.get_possible_values().is_empty()
                {
                    open.push(format!("{path} {argument}"));
                }
            }
        }
        assert!(open.is_empty(), "{open:#?}");
    }
}
