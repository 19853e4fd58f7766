//! Finds lines that show where the block below them comes from: a command, a file, a server, a patch or a chat. Such a block is not the
//! answer.
//!
//! These signs are marks of programs, so they need no list of words and hold in any language.

use super::lines::names_answer;

/// Marks of a shell or an interpreter before a command.
const PROMPTS: [&str; 5] = ["$ ", "% ", ">>> ", "❯ ", "➜ "];

/// Names of the speakers of a chat. A model and a person take turns.
const SPEAKERS: [(&str, ChatSpeaker); 3] =
    [("user", ChatSpeaker::Person), ("human", ChatSpeaker::Person), ("assistant", ChatSpeaker::Model)];

/// Who speaks in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatSpeaker {
    Person,
    Model,
}

/// Whether the paragraph above a block shows that the block comes from elsewhere. Returns the number of the line in the paragraph.
pub(super) fn origin(paragraph: &[&str]) -> Option<usize> {
    let last = paragraph.last()?;
    let is_source = is_prompt(last) || last.starts_with("@@ ") || paragraph.len() == 1 && is_path(last);
    let message = || paragraph.iter().position(|line| is_http(line));
    is_source.then(|| paragraph.len() - 1).or_else(message)
}

/// The speaker that a line names: `User: …`, `**Assistant:**`.
pub(super) fn speaker(line: &str) -> Option<ChatSpeaker> {
    let (name, _) = line.split_once(':')?;
    let name = name.trim_matches(['*', '_', '#', '[', ']', ' ']);
    SPEAKERS.into_iter().find_map(|(known, speaker)| name.eq_ignore_ascii_case(known).then_some(speaker))
}

/// A command behind a prompt: `$ cat a.json`, `ada@host:~/project$ cat a.json`.
fn is_prompt(line: &str) -> bool {
    let host = || {
        let (prompt, _) = line.split_once("$ ").or_else(|| line.split_once("# "))?;
        Some(prompt.contains('@') && !prompt.contains(' '))
    };
    PROMPTS.iter().any(|prompt| line.starts_with(prompt)) || host() == Some(true)
}

/// The first line of a request or a response: `HTTP/1.1 200 OK`, `POST /reviews HTTP/1.1`.
fn is_http(line: &str) -> bool {
    let line = line.trim_start_matches(['<', '>', ' ']);
    let version = |word: &str| word.strip_prefix("HTTP/").is_some_and(|version| version.starts_with(char::is_numeric));
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_method = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_uppercase());
    version(first) || is_method && words.next_back().is_some_and(version)
}

/// A line with only the path of a file, also with a word before it and a colon behind it: `**src/a.json**`, `Created a.json:`. A file whose
/// name stands for an answer may have the answer.
fn is_path(line: &str) -> bool {
    let is_mark = |symbol: char| matches!(symbol, '*' | '_' | '#' | '`' | '"' | '\'' | '(' | ')' | ':' | ' ');
    let words: Vec<&str> = line.trim_matches(is_mark).split_whitespace().collect();
    let path = match words[..] {
        [path] => path,
        [label, path] if line.trim_end().ends_with(':') && !names_answer(label) => path,
        _ => return false,
    };
    let path = path.trim_matches(is_mark);
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_extension = extension.starts_with(|first: char| first.is_ascii_alphabetic())
        && extension.len() <= 8
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_name = |symbol: char| symbol.is_alphanumeric() || matches!(symbol, '.' | '_' | '-' | '/' | '\\' | '~' | '@');
    is_extension && path.chars().all(is_name) && !names_answer(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_programs_show_an_origin() {
        for paragraph in [
            "$ cat a.json",
            "ada@host:~/project$ cat a.json",
            ">>> print(x)",
            "@@ -0,0 +1 @@",
            "HTTP/1.1 200 OK\nContent-Type: application/json",
            "< HTTP/2 200",
            "POST /reviews HTTP/1.1",
            "config.json:",
            "**src/a.json**",
            "### `tests/fixture.yaml`",
            "Created `config.json`:",
        ] {
            let lines: Vec<&str> = paragraph.lines().collect();
            assert!(origin(&lines).is_some(), "{paragraph}");
        }
    }

    #[test]
    fn other_paragraphs_show_no_origin() {
        for paragraph in [
            "Done.",
            "It costs $ 5.",
            "The server speaks HTTP/1.1",
            "answer.json:",
            "Review src/a.rs:",
            "My review of src/a.rs:",
            "- src/a.rs",
            "I changed\nsrc/a.rs",
            "v1.2",
            "# Review",
            "> It was slow.",
        ] {
            let lines: Vec<&str> = paragraph.lines().collect();
            assert_eq!(origin(&lines), None, "{paragraph}");
        }
    }

    #[test]
    fn turns_of_a_chat_name_their_speaker() {
        assert_eq!(speaker("User: so?"), Some(ChatSpeaker::Person));
        assert_eq!(speaker("**Assistant:**"), Some(ChatSpeaker::Model));
        assert_eq!(speaker("The user: Ada"), None);
        assert_eq!(speaker("user"), None);
    }
}
