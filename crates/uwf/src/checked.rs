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
        let (errors, warnings) = count(&problems);
        Checked { valid: errors == 0 && (warnings == 0 || !strict), file, problems, text }
    }

    /// Each problem with its line, then the verdict.
    pub(crate) fn told(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| snippet::told(problem, &self.text)).collect();
        let (errors, warnings) = count(&self.problems);
        let counts = [counted(errors, "error"), counted(warnings, "warning")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let verdict = if self.valid { style::green("valid") } else { style::red("not valid") };
        let counts = if counts.is_empty() { String::new() } else { format!(", {}", counts.join(", ")) };
        text.push_str(&format!("{}: {verdict}{counts}\n", self.file));
        text
    }
}

fn count(problems: &[Problem]) -> (usize, usize) {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    (errors, problems.len() - errors)
}

fn counted(count: usize, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        more => Some(format!("{more} {what}s")),
    }
}
