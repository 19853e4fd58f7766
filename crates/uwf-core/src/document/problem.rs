//! What is wrong with a file, and where.

use std::fmt;

pub use json_cas::schema::Severity;
use serde::Serialize;
use yaml_tree::Position;

/// One thing wrong with a file a person wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Whether it keeps the file from being used.
    pub severity: Severity,
    /// Stable kebab-case name of the kind of problem.
    pub code: &'static str,
    /// What is wrong; one line.
    pub message: String,
    /// What to do about it; one line.
    pub hint: Option<String>,
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Characters of a message. A key or a value that a message quotes may be as long as the file.
const MAX_MESSAGE: usize = 2000;

impl Problem {
    /// A problem at a place of a file. Message and hint may quote whatever stands there: they become one line each.
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

    /// Whether this problem keeps the file from being used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether this problem keeps the file from being used when warnings are refused too.
    #[must_use]
    pub fn is_refused_strictly(&self) -> bool {
        matches!(self.severity, Severity::Error | Severity::Warning)
    }
}

/// `file:line:column: severity[code]: message`, as editors and CI understand it; the hint is left out.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { severity, code, message, hint: _, file, line, column } = self;
        write!(f, "{file}:{line}:{column}: {}[{code}]: {message}", severity.as_str())
    }
}

/// The text in one line that nothing acts upon: a line of a file could pass for a message, and a control character is
/// obeyed by terminals.
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

/// Sorts by place, then severity, and drops exact repetitions.
fn sort(problems: &mut Vec<Problem>) {
    problems.sort_by(|a, b| {
        (a.line, a.column, a.severity, a.code, &a.message).cmp(&(b.line, b.column, b.severity, b.code, &b.message))
    });
    problems.dedup();
}

/// Problems collected of one file. Whoever has that many fixes some and asks again.
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

    /// The file's name as it stands in messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Whether nothing more is collected, so that looking for hints is a waste.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors_left_out || self.list.iter().any(Problem::is_error)
    }

    /// All problems in order of place.
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
