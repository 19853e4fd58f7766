//! A checked file: what is wrong with it, told as compilers do.

use serde::Serialize;
use uwf_core::workflow::{Problem, Severity};

use crate::snippet;
use crate::style;

/// A file somebody wrote, with everything that is wrong with it.
#[derive(Serialize)]
pub(crate) struct Checked {
    /// As it was named.
    file: String,
    /// Whether it can be used.
    pub(crate) valid: bool,
    problems: Vec<Problem>,
    #[serde(skip)]
    text: String,
}

impl Checked {
    /// The verdict on a file. When `strict`, warnings count as errors.
    pub(crate) fn new(file: String, text: String, problems: Vec<Problem>, strict: bool) -> Checked {
        let refused = |problem: &Problem| if strict { problem.is_refused_strictly() } else { problem.is_error() };
        Checked { valid: !problems.iter().any(refused), file, problems, text }
    }

    /// Each problem with its line, then the verdict.
    pub(crate) fn told(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| snippet::told(problem, &self.text)).collect();
        let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| self.counted(severity));
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let verdict = if self.valid { style::green("valid") } else { style::red("not valid") };
        let counts = if counts.is_empty() { String::new() } else { format!(", {}", counts.join(", ")) };
        text.push_str(&format!("{}: {verdict}{counts}\n", self.file));
        text
    }

    fn counted(&self, severity: Severity) -> Option<String> {
        match (self.problems.iter().filter(|problem| problem.severity == severity).count(), severity.as_str()) {
            (0, _) => None,
            (1, what) => Some(format!("1 {what}")),
            (more, what) => Some(format!("{more} {what}s")),
        }
    }
}
