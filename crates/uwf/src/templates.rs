//! Starter workflows, built into the program, each with a script that runs it without a model.

use clap::ValueEnum;

/// A workflow to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkflowTemplate {
    /// A writer and a reviewer, until a text is approved; an editor settles it after three reviews.
    Review,
    /// Plan, implement and review the change that resolves one issue.
    SolveIssue,
    /// Plan in phases, build them one by one, review, test and commit.
    Develop,
    /// Answer a question with sources, checked before it is written up.
    Research,
    /// Review a change from three sides at the same time, and repair it.
    ReviewPanel,
    /// Split a task into parts, do all parts at the same time, sum up.
    Map,
    /// Write three drafts at the same time, pick the best, finish it.
    BestOf,
}

/// The file of the project's configuration.
pub(crate) const CONFIG: &str = include_str!("../templates/config.yaml");

impl WorkflowTemplate {
    /// The name in `uwf init`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WorkflowTemplate::Review => "review",
            WorkflowTemplate::SolveIssue => "solve-issue",
            WorkflowTemplate::Develop => "develop",
            WorkflowTemplate::Research => "research",
            WorkflowTemplate::ReviewPanel => "review-panel",
            WorkflowTemplate::Map => "map",
            WorkflowTemplate::BestOf => "best-of",
        }
    }

    /// An example task.
    pub(crate) fn task(self) -> &'static str {
        match self {
            WorkflowTemplate::Review => "Write about cats",
            WorkflowTemplate::SolveIssue => "The search does not find upper case",
            WorkflowTemplate::Develop => "Add a dark mode",
            WorkflowTemplate::Research => "Tram or bus lane?",
            WorkflowTemplate::ReviewPanel => "Let the search find upper case",
            WorkflowTemplate::Map => "Compare tram and bus lane",
            WorkflowTemplate::BestOf => "Write about cats",
        }
    }

    /// The workflow file, with this name in it.
    pub(crate) fn workflow(self, name: &str) -> String {
        let text = match self {
            WorkflowTemplate::Review => include_str!("../templates/review.yaml"),
            WorkflowTemplate::SolveIssue => include_str!("../templates/solve-issue.yaml"),
            WorkflowTemplate::Develop => include_str!("../templates/develop.yaml"),
            WorkflowTemplate::Research => include_str!("../templates/research.yaml"),
            WorkflowTemplate::ReviewPanel => include_str!("../templates/review-panel.yaml"),
            WorkflowTemplate::Map => include_str!("../templates/map.yaml"),
            WorkflowTemplate::BestOf => include_str!("../templates/best-of.yaml"),
        };
        text.replacen(&format!("\nname: {}\n", self.name()), &format!("\nname: {name}\n"), 1)
    }

    /// The script for the workflow.
    pub(crate) fn script(self) -> &'static str {
        match self {
            WorkflowTemplate::Review => include_str!("../templates/review.mock.yaml"),
            WorkflowTemplate::SolveIssue => include_str!("../templates/solve-issue.mock.yaml"),
            WorkflowTemplate::Develop => include_str!("../templates/develop.mock.yaml"),
            WorkflowTemplate::Research => include_str!("../templates/research.mock.yaml"),
            WorkflowTemplate::ReviewPanel => include_str!("../templates/review-panel.mock.yaml"),
            WorkflowTemplate::Map => include_str!("../templates/map.mock.yaml"),
            WorkflowTemplate::BestOf => include_str!("../templates/best-of.mock.yaml"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_is_selected_by_name_and_accepts_another() {
        for template in WorkflowTemplate::value_variants() {
            let typed = template.to_possible_value().unwrap();
            assert_eq!(typed.get_name(), template.name());
            let renamed = template.workflow("other");
            assert!(renamed.contains("\nname: other\n"), "{renamed}");
        }
    }
}
