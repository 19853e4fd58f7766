//! Workflow files: from text to a draft, or to problems.

use std::path::Path;

use uwf_core::document::FileProblem;
use uwf_core::workflow::{WorkflowDraft, check};

use crate::file_schema::agrees_on_workflow;

mod bound_names;
mod examples;
mod graph;
mod older;
mod payload;
mod source;
mod validate;

/// Problems as a person reads them: place, severity, code, message, and the hint below.
pub(crate) fn lines(problems: &[FileProblem]) -> String {
    let line = |problem: &FileProblem| {
        let hint = problem.hint.as_ref().map(|hint| format!("\n    {hint}")).unwrap_or_default();
        format!("{problem}{hint}")
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// All problems of a file called `w.yaml`.
#[track_caller]
fn problems_of(text: &str) -> String {
    let problems = check(text, "w.yaml", None).problems;
    agrees_on_workflow(text, &problems);
    lines(&problems)
}

/// The draft of a file that has no problem at all.
#[track_caller]
fn sound(text: &str) -> WorkflowDraft {
    let parsed = check(text, "w.yaml", None);
    assert_eq!(lines(&parsed.problems), "");
    agrees_on_workflow(text, &parsed.problems);
    parsed.draft.expect("a file without problems has a draft")
}

/// A file handed out beside the repository, or `None` in a clone that does not have those.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the fence is for the crate; its tests read files, and say when there are none"
)]
pub(crate) fn shared(path: &str) -> Option<String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(path);
    let text = std::fs::read_to_string(&path);
    if text.is_err() {
        eprintln!("{} is not there; only invented files are tested", path.display());
    }
    text.ok()
}
