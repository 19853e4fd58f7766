//! The activity of an agent in a few words: "runs pytest", "reads src/main.rs".

use serde_json::Value;

use crate::text::one_line;

/// Keys of a tool's arguments with a command.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// Keys of a tool's arguments with the path of a file.
const PATHS: [&str; 4] = ["file_path", "filePath", "absolute_path", "path"];

/// Parts of the names of tools that change a file.
const CHANGES: [&str; 5] = ["write", "edit", "patch", "replace", "create"];

/// A tool call in one line.
pub fn describe_call(name: &str, arguments: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    let known = |keys: &[&str]| {
        let object = parsed.as_ref()?.as_object()?;
        keys.iter().find_map(|key| object.get(*key)?.as_str()).map(str::to_owned)
    };
    let plain =
        || (name == "shell" && parsed.as_ref().is_none_or(|parsed| !parsed.is_object())).then(|| arguments.to_owned());
    if let Some(command) = known(&COMMANDS).or_else(plain) {
        return format!("runs {}", one_line(without_shell(&command)));
    }
    let lower = name.to_lowercase();
    match known(&PATHS) {
        Some(path) if lower.contains("read") || lower.contains("view") => format!("reads {}", one_line(&path)),
        Some(path) if CHANGES.iter().any(|part| lower.contains(part)) => format!("changes {}", one_line(&path)),
        _ => one_line(&format!("{name} {arguments}")),
    }
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
            ("look a", r#"{"path":"a"}"#, r#"look a {"path":"a"}"#),
            ("web_search", "moons", "web_search moons"),
        ] {
            assert_eq!(describe_call(name, arguments), expected);
        }
    }
}
