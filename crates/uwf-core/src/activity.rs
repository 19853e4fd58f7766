//! The activity of an agent in a few words: "runs pytest", "reads src/main.rs", and the tool calls that it was not permitted.

use serde_json::Value;

use crate::text::{ellipsize, one_line};

/// Keys of a tool's arguments with a command.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// Keys of a tool's arguments with the path of a file, or with a host.
const PATHS: [&str; 5] = ["file_path", "filePath", "absolute_path", "path", "host"];

/// Keys of a tool's arguments with what it searches for.
const PATTERNS: [&str; 3] = ["pattern", "query", "regex"];

/// Parts of the names of tools that search.
const SEARCHES: [&str; 4] = ["grep", "glob", "search", "find"];

/// Parts of the names of tools that change a file.
const CHANGES: [&str; 5] = ["write", "edit", "patch", "replace", "create"];

/// Last line of the result of a denied tool call. Importers of traces write it, because only they know what a program prints for that.
const DENIED: &str = "[denied]";

/// Characters shown of a denied tool call.
const DENIED_CALL: usize = 100;

/// Name of a tool whose arguments are a command, not JSON.
pub const SHELL: &str = "shell";

/// The command that a tool call runs, or the path that it touches.
enum CallSubject {
    Command(String),
    Path(String),
}

impl CallSubject {
    fn of_call(name: &str, arguments: &str) -> Option<CallSubject> {
        let parsed: Option<Value> = serde_json::from_str(arguments).ok();
        let known = |keys: &[&str]| {
            let object = parsed.as_ref()?.as_object()?;
            keys.iter().find_map(|key| object.get(*key)?.as_str()).map(str::to_owned)
        };
        let is_plain = name == SHELL && parsed.as_ref().is_none_or(|parsed| !parsed.is_object());
        let plain = || is_plain.then(|| arguments.to_owned());
        let command = known(&COMMANDS).or_else(plain).map(|command| one_line(without_shell(&command)));
        command.map(CallSubject::Command).or_else(|| known(&PATHS).map(|path| CallSubject::Path(one_line(&path))))
    }
}

/// A tool call in one line.
pub fn describe_call(name: &str, arguments: &str) -> String {
    let lower = name.to_lowercase();
    match CallSubject::of_call(name, arguments) {
        Some(CallSubject::Command(command)) => format!("runs {command}"),
        Some(CallSubject::Path(path)) if lower.contains("read") || lower.contains("view") => format!("reads {path}"),
        Some(CallSubject::Path(path)) if CHANGES.iter().any(|part| lower.contains(part)) => format!("changes {path}"),
        found => {
            let searched = SEARCHES.iter().any(|part| lower.contains(part)).then(|| pattern(arguments)).flatten();
            match (searched, found) {
                (Some(what), Some(CallSubject::Path(place))) => format!("searches {place} for {what}"),
                (Some(what), _) => format!("searches for {what}"),
                (None, _) => one_line(&format!("{name} {}", named_values(arguments))),
            }
        }
    }
}

/// The text or pattern of a search.
fn pattern(arguments: &str) -> Option<String> {
    let parsed: Value = serde_json::from_str(arguments).ok()?;
    PATTERNS.iter().find_map(|key| parsed.get(*key)?.as_str()).map(one_line)
}

/// Arguments as a person writes them: `path: a, limit: 3`.
fn named_values(arguments: &str) -> String {
    let Ok(Value::Object(values)) = serde_json::from_str(arguments) else { return arguments.to_owned() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let named: Vec<String> = values.iter().map(|(key, value)| format!("{key}: {}", text(value))).collect();
    named.join(", ")
}

/// The result of a tool call, marked if the call was denied.
pub fn call_result(said: String, is_denied: bool) -> String {
    if is_denied { denied_result(&said) } else { said }
}

/// The result of a tool call that was denied, with what the program said about it.
pub fn denied_result(said: &str) -> String {
    match said.trim_end() {
        "" => DENIED.to_owned(),
        said if is_denied(said) => said.to_owned(),
        said => format!("{said}\n{DENIED}"),
    }
}

/// Whether a tool call was denied, by its result.
pub fn is_denied(result: &str) -> bool {
    result.lines().next_back() == Some(DENIED)
}

/// Denied tool calls, each once, by their names and arguments.
pub fn denied_calls(calls: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut denied = Vec::new();
    for call in calls.into_iter().map(|(name, arguments)| denied_call(&name, &arguments)) {
        if !denied.contains(&call) {
            denied.push(call);
        }
    }
    denied
}

/// A denied tool call in few words: `Bash(cargo test)`.
fn denied_call(name: &str, arguments: &str) -> String {
    let call = match CallSubject::of_call(name, arguments) {
        Some(CallSubject::Command(subject) | CallSubject::Path(subject)) if subject != name => {
            format!("{}({subject})", one_line(name))
        }
        _ => one_line(name),
    };
    ellipsize(&call, DENIED_CALL).into_owned()
}

/// A command without the shell that runs it, as codex writes it: `/bin/bash -lc 'COMMAND'`.
fn without_shell(command: &str) -> &str {
    let inner = command.split_once(" -lc ").filter(|(shell, _)| shell.ends_with("sh")).map(|(_, inner)| inner.trim());
    let Some(inner) = inner else { return command };
    let unquoted = ['\'', '"'].iter().find_map(|quote| inner.strip_prefix(*quote)?.strip_suffix(*quote));
    unquoted.unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_described_in_few_words() {
        for (name, arguments, expected) in [
            ("Bash", r#"{"command":"pytest -q","description":"Run"}"#, "runs pytest -q"),
            ("shell", "/bin/bash -lc 'cargo test'", "runs cargo test"),
            ("shell", "bash -lc ls", "runs ls"),
            ("shell_exec", "{\"command\":\"a\\nb\"}", "runs a b"),
            ("read_file", r#"{"absolute_path":"/a.rs"}"#, "reads /a.rs"),
            ("Edit", r#"{"file_path":"a.rs","old_string":"x"}"#, "changes a.rs"),
            ("look a", r#"{"path":"a"}"#, "look a path: a"),
            ("Grep", r#"{"pattern":"fn main","path":"src","-n":true}"#, "searches src for fn main"),
            ("Glob", r#"{"pattern":"**/*.rs"}"#, "searches for **/*.rs"),
            ("TodoWrite", r#"{"todos":[],"note":"x"}"#, "TodoWrite todos: [], note: x"),
            ("web_search", "moons", "web_search moons"),
        ] {
            assert_eq!(describe_call(name, arguments), expected);
        }
    }

    #[test]
    fn denied_calls_name_tool_and_subject() {
        for (name, arguments, expected) in [
            ("Bash", r#"{"command":"cargo test"}"#, "Bash(cargo test)"),
            ("shell", "/bin/bash -lc 'cargo test'", "shell(cargo test)"),
            ("Write", r#"{"file_path":"a.rs","content":"x"}"#, "Write(a.rs)"),
            ("rm -rf target", r#"{"command":"rm -rf target"}"#, "rm -rf target"),
            ("WebFetch", r#"{"url":"http://x"}"#, "WebFetch"),
        ] {
            assert_eq!(denied_call(name, arguments), expected);
        }
        let result = denied_result("no\n");
        assert_eq!((result.as_str(), denied_result("").as_str()), ("no\n[denied]", "[denied]"));
        assert_eq!(denied_result(&result), result);
        assert!(is_denied(&result) && !is_denied("[denied] is a word\n") && !is_denied(""));
    }
}
