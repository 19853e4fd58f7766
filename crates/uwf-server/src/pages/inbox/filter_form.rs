//! The form that filters the list of threads.

use std::collections::BTreeSet;

use maud::{Markup, html};
use uwf_core::outcome::{FAILED, KILLED, NO_MATCH, STOPPED, SUCCEEDED};
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::verbs::workflows;

use crate::failure::HttpFailure;
use crate::filter::ThreadListQuery;

/// The choices of the form, from the workflows that have a name.
pub(super) struct FilterChoices {
    workflows: BTreeSet<String>,
    roles: BTreeSet<String>,
    outcomes: BTreeSet<String>,
}

impl FilterChoices {
    /// Reads the names of all workflows. `reads_workflows`: also the roles and outcomes of their current versions.
    pub(super) fn read(home: &Home, reads_workflows: bool) -> Result<FilterChoices, HttpFailure> {
        let outcomes = [SUCCEEDED, FAILED, NO_MATCH, STOPPED, KILLED].map(str::to_owned).into();
        let mut choices = FilterChoices { workflows: BTreeSet::new(), roles: BTreeSet::new(), outcomes };
        for (name, entry) in registry::read(home)? {
            choices.workflows.insert(name);
            if !reads_workflows {
                continue;
            }
            // The list of workflows says which of them is damaged.
            let Ok(shown) = workflows::show(home, entry.hash) else { continue };
            let transitions = shown.workflow.graph.values().flatten();
            choices.outcomes.extend(transitions.filter_map(|transition| transition.outcome.clone()));
            choices.roles.extend(shown.workflow.roles.into_keys());
        }
        Ok(choices)
    }

    /// The names of the workflows.
    pub(super) fn workflows(&self) -> &BTreeSet<String> {
        &self.workflows
    }

    /// The form, filled in with a query. It suggests labels.
    pub(super) fn form(&self, query: &ThreadListQuery, labels: &BTreeSet<String>) -> Markup {
        let ThreadListQuery { state, outcome, workflow, role, label, q, .. } = query;
        html! {
            form.filter action="/" {
                @if state.is_empty() { input type="hidden" name="all" value="1"; } @else { input type="hidden" name="state" value=(state); }
                label { "Text " input name="q" value=(q) size="10"; }
                (choice("workflow", "Workflow", workflow, &self.workflows))
                (choice("role", "Role", role, &self.roles))
                (choice("outcome", "Outcome", outcome, &self.outcomes))
                label { "Label " input name="label" value=(label) placeholder="KEY=VALUE" size="10" list="labels"; }
                datalist #labels { @for label in labels { option value=(label) {} } }
                button { "Filter" }
                @if [outcome, workflow, role, label, q].iter().any(|value| !value.is_empty()) {
                    a href={"/" (ThreadListQuery { state: state.clone(), all: query.all.clone(), ..ThreadListQuery::default() }.with("after", ""))} { "Clear" }
                }
            }
        }
    }
}

/// A menu. It also has a value that comes from a link: the hash of a workflow, for example.
fn choice(name: &str, label: &str, chosen: &str, choices: &BTreeSet<String>) -> Markup {
    let own = (!chosen.is_empty() && !choices.contains(chosen)).then_some(chosen);
    html! {
        label {
            (label) " "
            select name=(name) {
                option value="" { "any" }
                @for value in own.into_iter().chain(choices.iter().map(String::as_str)) {
                    option value=(value) selected[value == chosen] { (value) }
                }
            }
        }
    }
}
