//! The format of `.env`: parses a text into assignments, or reports the first ambiguous line.

use std::ops::Range;

/// One assignment of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EnvAssignment {
    pub(super) name: String,
    pub(super) value: String,
    /// Byte range of the value in the text, with its quotes.
    pub(super) place: Range<usize>,
}

/// A line that is rejected. Never quotes the line, which may contain a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RejectedEnvLine {
    /// Its number, from 1.
    pub(super) line: usize,
    pub(super) why: &'static str,
}

const EXPANSION: &str = "`${…}` is not expanded; put the value into single quotes if it is meant as it is";

/// The assignments of a text, in order.
pub(super) fn parse(text: &[u8]) -> Result<Vec<EnvAssignment>, RejectedEnvLine> {
    let text = std::str::from_utf8(text)
        .map_err(|error| RejectedEnvLine { line: line_at(text, error.valid_up_to()), why: "it is not UTF-8 text" })?;
    let mut assignments = Vec::new();
    let mut at = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    while at < text.len() {
        let refused = |why| RejectedEnvLine { line: line_at(text.as_bytes(), at), why };
        let line = line_from(text, at);
        let content = line.trim_start_matches(BLANKS);
        if content.is_empty() || content.starts_with('#') {
            at += line.len() + 1 + usize::from(text[at + line.len()..].starts_with("\r\n"));
            continue;
        }
        let (before, _) = line.split_once('=').ok_or_else(|| refused("it is not NAME=value"))?;
        let name = name(before).ok_or_else(|| refused("it is not NAME=value"))?;
        let after = at + before.len() + 1;
        let start = after + text[after..].len() - text[after..].trim_start_matches(BLANKS).len();
        let (value, end) = match text[start..].chars().next() {
            Some(quote @ ('\'' | '"')) => quoted(text, start + 1, quote),
            _ => plain(text, after),
        }
        .map_err(refused)?;
        let start = start.min(end);
        let rest = line_from(text, end);
        assignments.push(EnvAssignment { name: name.to_owned(), value, place: start..end });
        at = end + rest.len() + 1 + usize::from(text[end + rest.len()..].starts_with("\r\n"));
    }
    Ok(assignments)
}

const BLANKS: [char; 2] = [' ', '\t'];

/// The rest of the line at this byte, without its line break.
fn line_from(text: &str, at: usize) -> &str {
    let line = text[at..].split('\n').next().unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// The name in the text before the `=`.
fn name(before: &str) -> Option<&str> {
    let mut words = before.split(BLANKS).filter(|word| !word.is_empty());
    let words = (words.next(), words.next(), words.next());
    let ((Some(name), None, None) | (Some("export"), Some(name), None)) = words else { return None };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let is_name = name.bytes().all(is_part) && !name.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    is_name.then_some(name)
}

/// An unquoted value, up to a comment or the end of the line. Also returns its end.
fn plain(text: &str, after: usize) -> Result<(String, usize), &'static str> {
    let line = line_from(text, after);
    let comment = line.match_indices('#').map(|(at, _)| at).find(|at| line[..*at].ends_with(BLANKS));
    let value = line[..comment.unwrap_or(line.len())].trim_end_matches(BLANKS);
    let end = after + value.len();
    let value = value.trim_start_matches(BLANKS);
    if value.contains(['\0', '\r']) {
        return Err("its value has a control character");
    }
    if value.contains("${") {
        return Err(EXPANSION);
    }
    Ok((value.to_owned(), end))
}

/// A quoted value, starting after the opening quote. Also returns its end, after the closing quote.
fn quoted(text: &str, from: usize, quote: char) -> Result<(String, usize), &'static str> {
    let mut value = String::new();
    let mut symbols = text[from..].char_indices();
    let end = loop {
        match symbols.next() {
            None => return Err("its quote is never closed"),
            Some((at, symbol)) if symbol == quote => break from + at + 1,
            Some((_, '\0')) => return Err("its value has a control character"),
            Some((_, '\\')) if quote == '"' => value.push(match symbols.next().map(|(_, symbol)| symbol) {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(symbol @ ('"' | '\'' | '\\' | '$' | '`')) => symbol,
                None => return Err("its quote is never closed"),
                Some(_) => return Err("in double quotes a `\\` needs n, r, t, \", ', `, $ or \\ behind it"),
            }),
            Some((at, '$')) if quote == '"' && text[from + at..].starts_with("${") => return Err(EXPANSION),
            Some((_, symbol)) => value.push(symbol),
        }
    };
    let rest = line_from(text, end);
    let is_comment = rest.starts_with(BLANKS) && rest.trim_start_matches(BLANKS).starts_with('#');
    match is_comment || rest.trim_matches(BLANKS).is_empty() {
        true => Ok((value, end)),
        false => Err("something follows its last quote"),
    }
}

fn line_at(text: &[u8], at: usize) -> usize {
    1 + text[..at].iter().filter(|byte| **byte == b'\n').count()
}
