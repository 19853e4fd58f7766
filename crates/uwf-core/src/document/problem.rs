//! Problems of a file, with their places.

use std::fmt;

pub use json_cas::schema::SchemaSeverity;
use serde::Serialize;
use yaml_tree::TextPosition;

/// One problem of a file that a person wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileProblem {
    /// Whether it makes the file unusable.
    pub severity: SchemaSeverity,
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

impl FileProblem {
    /// A problem at a place of a file. Message and hint may quote text of the file, so each is reduced to one line.
    pub(crate) fn at_position(
        (file, TextPosition { line, column }): (&str, TextPosition),
        severity: SchemaSeverity,
        code: &'static str,
        message: &str,
        hint: Option<&str>,
    ) -> FileProblem {
        let (message, hint) = (one_line(message), hint.map(one_line));
        FileProblem { severity, code, message, hint, file: file.to_owned(), line, column }
    }

    /// Whether this problem makes the file unusable.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == SchemaSeverity::Error
    }

    /// Whether this problem makes the file unusable if warnings count as errors.
    #[must_use]
    pub fn is_refused_strictly(&self) -> bool {
        matches!(self.severity, SchemaSeverity::Error | SchemaSeverity::Warning)
    }
}

/// `file:line:column: severity[code]: message`, for editors and CI, without the hint.
impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileProblem { severity, code, message, hint: _, file, line, column } = self;
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
fn sort(problems: &mut Vec<FileProblem>) {
    problems.sort_by(|a, b| {
        (a.line, a.column, a.severity, a.code, &a.message).cmp(&(b.line, b.column, b.severity, b.code, &b.message))
    });
    problems.dedup();
}

/// Most problems of one file. After so many, users fix some and check again.
const MAX_PROBLEMS: usize = 200;

/// Collects the problems of one file.
#[derive(Debug)]
pub(crate) struct ProblemCollector {
    file: String,
    list: Vec<FileProblem>,
    errors_left_out: bool,
}

impl ProblemCollector {
    pub(crate) fn new(file: &str) -> ProblemCollector {
        ProblemCollector { file: file.to_owned(), list: Vec::new(), errors_left_out: false }
    }

    pub(crate) fn error(&mut self, code: &'static str, at: TextPosition, message: String, hint: Option<String>) {
        self.push(SchemaSeverity::Error, code, at, message, hint);
    }

    pub(crate) fn warning(&mut self, code: &'static str, at: TextPosition, message: String, hint: Option<String>) {
        self.push(SchemaSeverity::Warning, code, at, message, hint);
    }

    pub(crate) fn note(&mut self, code: &'static str, at: TextPosition, message: String) {
        self.push(SchemaSeverity::Note, code, at, message, None);
    }

    pub(crate) fn push(
        &mut self,
        severity: SchemaSeverity,
        code: &'static str,
        at: TextPosition,
        message: String,
        hint: Option<String>,
    ) {
        if self.is_full() {
            self.errors_left_out |= severity == SchemaSeverity::Error;
            return;
        }
        self.list.push(FileProblem::at_position((&self.file, at), severity, code, &message, hint.as_deref()));
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
        self.errors_left_out || self.list.iter().any(FileProblem::is_error)
    }

    /// All problems, in order of place.
    pub(crate) fn finish(mut self) -> Vec<FileProblem> {
        sort(&mut self.list);
        if self.is_full() {
            let message = format!("there are more than {MAX_PROBLEMS} problems; these are some of them");
            let severity = if self.has_errors() { SchemaSeverity::Error } else { SchemaSeverity::Warning };
            let (code, file) = ("too-many", self.file.clone());
            self.list.push(FileProblem { severity, code, message, hint: None, file, line: 1, column: 1 });
        }
        self.list
    }
}
