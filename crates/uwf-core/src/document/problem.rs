//! Problems of a file, with their places.

use std::fmt;

pub use json_cas::schema::Severity;
use serde::Serialize;
use yaml_tree::Position;

/// One problem of a file that a person wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Whether it makes the file unusable.
    pub severity: Severity,
    /// Stable kebab-case name of the kind of problem.
    pub code: &'static str,
    /// The problem; one line.
    pub message: String,
    /// How to fix it; one line.
    pub hint: Option<String>,
    /// The file, as named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Characters of a message. A quoted key or value may be as long as the file.
const MAX_MESSAGE: usize = 2000;

impl Problem {
    /// A problem at a place of a file. Message and hint may quote text of the file, so each is reduced to one line.
    pub(crate) fn at(
        (file, Position { line, column }): (&str, Position),
        severity: Severity,
        code: &'static str,
        message: &str,
        hint: Option<&str>,
    ) -> Problem {
        let (message, hint) = (one_line(message), hint.map(one_line));
        Problem { severity, code, message, hint, file: file.to_owned(), line, column }
    }

    /// Whether this problem makes the file unusable.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether this problem makes the file unusable if warnings count as errors.
    #[must_use]
    pub fn is_refused_strictly(&self) -> bool {
        matches!(self.severity, Severity::Error | Severity::Warning)
    }
}

/// `file:line:column: severity[code]: message`, for editors and CI, without the hint.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { severity, code, message, hint: _, file, line, column } = self;
        write!(f, "{file}:{line}:{column}: {}[{code}]: {message}", severity.as_str())
    }
}

/// The text as one harmless line: a further line could pass for a message, and terminals obey control characters.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MAX_MESSAGE));
    for (number, char) in text.chars().enumerate() {
        match char {
            _ if number == MAX_MESSAGE => {
                line.push('…');
                break;
            }
            control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                line.extend(control.escape_default());
            }
            other => line.push(other),
        }
    }
    line
}

/// Sorts by place, then severity, and drops exact duplicates.
fn sort(problems: &mut Vec<Problem>) {
    problems.sort_by(|a, b| {
        (a.line, a.column, a.severity, a.code, &a.message).cmp(&(b.line, b.column, b.severity, b.code, &b.message))
    });
    problems.dedup();
}

/// Most problems of one file. After so many, users fix some and check again.
const MAX_PROBLEMS: usize = 200;

/// Collects the problems of one file.
#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    list: Vec<Problem>,
    errors_left_out: bool,
}

impl Problems {
    pub(crate) fn new(file: &str) -> Problems {
        Problems { file: file.to_owned(), list: Vec::new(), errors_left_out: false }
    }

    pub(crate) fn error(&mut self, code: &'static str, at: Position, message: String, hint: Option<String>) {
        self.push(Severity::Error, code, at, message, hint);
    }

    pub(crate) fn warning(&mut self, code: &'static str, at: Position, message: String, hint: Option<String>) {
        self.push(Severity::Warning, code, at, message, hint);
    }

    pub(crate) fn note(&mut self, code: &'static str, at: Position, message: String) {
        self.push(Severity::Note, code, at, message, None);
    }

    pub(crate) fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: Position,
        message: String,
        hint: Option<String>,
    ) {
        if self.is_full() {
            self.errors_left_out |= severity == Severity::Error;
            return;
        }
        self.list.push(Problem::at((&self.file, at), severity, code, &message, hint.as_deref()));
    }

    /// The file's name in messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Whether further problems are dropped, so that hints need not be computed.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors_left_out || self.list.iter().any(Problem::is_error)
    }

    /// All problems, in order of place.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        sort(&mut self.list);
        if self.is_full() {
            let message = format!("there are more than {MAX_PROBLEMS} problems; these are some of them");
            let severity = if self.has_errors() { Severity::Error } else { Severity::Warning };
            let (code, file) = ("too-many", self.file.clone());
            self.list.push(Problem { severity, code, message, hint: None, file, line: 1, column: 1 });
        }
        self.list
    }
}
