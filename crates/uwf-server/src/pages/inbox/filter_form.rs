//! The form that filters the list of threads.

use std::collections::BTreeSet;

use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::outcome::{FAILED, KILLED, NO_MATCH, STOPPED, SUCCEEDED};
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::verbs::workflows;
use uwf_engine::views::list::{self, ThreadFilter};
use uwf_engine::views::workflow_names::WorkflowNames;

use crate::failure::HttpFailure;
use crate::filter::ThreadListQuery;

/// Number of the newest threads whose workflows are also choices: they may be from a file, or their name was removed.
const NEWEST: usize = 200;

/// The choices of the form.
pub(super) struct FilterChoices {
    workflows: BTreeSet<String>,
    roles: BTreeSet<String>,
    outcomes: BTreeSet<String>,
}

impl FilterChoices {
    /// Reads the workflows in the registry and those of the newest threads, with their roles and outcomes.
    pub(super) fn read(home: &Home) -> Result<FilterChoices, HttpFailure> {
        let outcomes = [SUCCEEDED, FAILED, NO_MATCH, STOPPED, KILLED].map(str::to_owned).into();
        let mut choices = FilterChoices { workflows: BTreeSet::new(), roles: BTreeSet::new(), outcomes };
        let registry = registry::read(home)?;
        let newest = ThreadFilter { all: true, limit: Some(NEWEST), ..ThreadFilter::default() };
        let of_threads = list::list(home, &newest)?.rows.into_iter().filter_map(|row| row.workflow);
        let hashes: BTreeSet<NodeHash> = registry.values().map(|entry| entry.hash).chain(of_threads).collect();
        let mut names = WorkflowNames::from_registry(&registry);
        for hash in hashes {
            // The list of workflows says which of them is damaged.
            let Ok(shown) = workflows::show(home, hash) else { continue };
            // A former version is among the threads of the name.
            let is_former = registry.values().any(|entry| entry.history.iter().any(|past| past.hash == hash));
            choices.workflows.extend(names.name(home, hash).filter(|_| !is_former));
            let transitions = shown.workflow.graph.values().flatten();
            choices.outcomes.extend(transitions.filter_map(|transition| transition.outcome.clone()));
            choices.roles.extend(shown.workflow.roles.into_keys());
        }
        choices.workflows.extend(registry.into_keys());
        Ok(choices)
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
