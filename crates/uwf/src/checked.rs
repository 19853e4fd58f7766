//! A checked file, with its problems printed like a compiler's errors.

use serde::Serialize;
use serde_json::json;
use uwf_core::document::{FileProblem, SchemaSeverity};
use uwf_engine::error::ErrorKind;

use crate::error::CommandError;
use crate::role_commands::RoleCommands;
use crate::snippet;
use crate::style;
use crate::table::count;

/// A file with all its problems.
#[derive(Serialize)]
pub(crate) struct CheckedFile {
    /// The file's name, as typed.
    file: String,
    /// Whether the file can be used.
    pub(crate) valid: bool,
    problems: Vec<FileProblem>,
    /// The commands of a workflow's roles.
    #[serde(skip_serializing_if = "RoleCommands::is_empty")]
    commands: RoleCommands,
    #[serde(skip)]
    text: String,
}

impl CheckedFile {
    /// The result of a check. With `strict`, warnings count as errors.
    pub(crate) fn new(file: String, text: String, problems: Vec<FileProblem>, strict: bool) -> CheckedFile {
        let refused = |problem: &FileProblem| if strict { problem.is_refused_strictly() } else { problem.is_error() };
        CheckedFile { valid: !problems.iter().any(refused), file, problems, commands: RoleCommands::default(), text }
    }

    /// The result with the commands of a workflow's roles.
    pub(crate) fn with_commands(self, commands: RoleCommands) -> CheckedFile {
        CheckedFile { commands, ..self }
    }

    /// Each problem with its source line.
    pub(crate) fn snippets(&self) -> String {
        // A problem may be in another file.
        let source = |problem: &FileProblem| if problem.file == self.file { &*self.text } else { "" };
        self.problems.iter().map(|problem| snippet::text(problem, source(problem))).collect()
    }

    /// Each problem with its source line, then the verdict.
    pub(crate) fn text(&self) -> String {
        let verdict = if self.valid { style::green("valid") } else { style::red("not valid") };
        let file = style::in_line(&self.file);
        format!("{}{file}: {verdict}{}\n{}", self.snippets(), self.counts(), self.commands.text())
    }

    /// The error of a command that needs a valid file, after the snippets were printed.
    pub(crate) fn refused(&self) -> CommandError {
        let error = CommandError::new(ErrorKind::Data, format!("{}: not valid{}", self.file, self.counts()));
        error.knowing(json!(self))
    }

    /// `, 2 errors, 1 warning`.
    fn counts(&self) -> String {
        let counts = [SchemaSeverity::Error, SchemaSeverity::Warning, SchemaSeverity::Note]
            .map(|severity| self.counted(severity));
        counts.into_iter().flatten().map(|count| format!(", {count}")).collect()
    }

    fn counted(&self, severity: SchemaSeverity) -> Option<String> {
        let found = self.problems.iter().filter(|problem| problem.severity == severity).count();
        (found > 0).then(|| count(found, severity.as_str()))
    }
}
