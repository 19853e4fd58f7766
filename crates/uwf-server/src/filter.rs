//! The query for threads: `?state=stuck,waiting&outcome=failed&workflow=develop&role=coder&label=team=web&q=text&limit=50&after=ID`.

use json_cas::NodeHash;
use serde::Deserialize;
use uwf_core::label::LabelFilter;
use uwf_core::outcome;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry::{self, Registry};
use uwf_engine::root::thread_ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{self, NamedThreadRow, ThreadFilter, ThreadListing};
use uwf_engine::views::workflow_names::WorkflowNames;

use crate::app::ServerCaches;
use crate::failure::HttpFailure;
use crate::url::encoded;

/// Threads in an answer if the query has no limit.
pub(crate) const LIMIT: usize = 100;

/// Most threads of one answer.
pub(crate) const MOST: usize = 20_000;

/// A query for threads.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Vec<(String, String)>")]
pub(crate) struct ThreadListQuery {
    /// States, separated by commas.
    pub(crate) state: String,
    /// Outcomes, separated by commas.
    pub(crate) outcome: String,
    /// A name, which means all its versions, or a hash.
    pub(crate) workflow: String,
    /// The role that is running, waiting, stuck or next, or the last one if the thread has ended.
    pub(crate) role: String,
    /// A label, `KEY=VALUE`, or `KEY` for any value.
    pub(crate) label: String,
    /// A text in the id, the workflow's name or the task.
    pub(crate) q: String,
    /// Most threads to return.
    pub(crate) limit: String,
    /// Only threads older than this one.
    pub(crate) after: String,
    /// If set to anything, all threads are listed, not only those that need a person.
    pub(crate) all: String,
}

/// Result of a query.
pub(crate) struct MatchingThreads {
    /// The threads.
    pub(crate) listing: ThreadListing,
    /// The same threads, with the names of their workflows.
    pub(crate) rows: Vec<NamedThreadRow>,
    /// Whether more threads match.
    pub(crate) has_more: bool,
}

impl From<Vec<(String, String)>> for ThreadListQuery {
    /// Reads the pairs of a query: `state` and `outcome` may occur several times, of the others the last one counts.
    fn from(pairs: Vec<(String, String)>) -> ThreadListQuery {
        let mut query = ThreadListQuery::default();
        for (key, value) in pairs {
            match key.as_str() {
                "state" => query.state = format!("{},{value}", query.state),
                "outcome" => query.outcome = format!("{},{value}", query.outcome),
                "workflow" => query.workflow = value,
                "role" => query.role = value,
                "label" => query.label = value,
                "q" => query.q = value,
                "limit" => query.limit = value,
                "after" => query.after = value,
                "all" => query.all = value,
                _ => {}
            }
        }
        for list in [&mut query.state, &mut query.outcome] {
            *list = list.trim_matches(',').to_owned();
        }
        query
    }
}

impl ThreadListQuery {
    /// Whether the query selects threads.
    pub(crate) fn is_filter(&self) -> bool {
        let ThreadListQuery { state, outcome, workflow, role, label, q, limit: _, after, all } = self;
        [state, outcome, workflow, role, label, q, after, all].into_iter().any(|text| !text.is_empty())
    }

    /// The states of the query.
    pub(crate) fn states(&self) -> Result<Vec<ThreadState>, HttpFailure> {
        let known = |name: &str| ThreadState::ALL.into_iter().find(|state| state.name().eq_ignore_ascii_case(name));
        listed(&self.state)
            .map(|name| {
                let states = ThreadState::ALL.map(ThreadState::name).join(", ");
                known(name)
                    .ok_or_else(|| HttpFailure::bad_request(format!("no state is called {name}; there are {states}")))
            })
            .collect()
    }

    fn outcomes(&self) -> Result<Vec<String>, HttpFailure> {
        let word = |name: &str| match outcome::is_word(name) {
            true => Ok(name.to_owned()),
            false => Err(HttpFailure::bad_request(outcome::EXAMPLES)),
        };
        listed(&self.outcome).map(word).collect()
    }

    /// Most threads to return.
    pub(crate) fn most(&self) -> Result<usize, HttpFailure> {
        let known = |limit: &usize| (1..=MOST).contains(limit);
        match self.limit.as_str() {
            "" => Ok(LIMIT),
            text => text
                .parse()
                .ok()
                .filter(known)
                .ok_or_else(|| HttpFailure::bad_request(format!("`limit` is a number of threads, 1 to {MOST}"))),
        }
    }

    /// All threads of the query, in any state.
    pub(crate) fn in_any_state(&self) -> ThreadListQuery {
        let (state, after) = (String::new(), String::new());
        ThreadListQuery { state, after, limit: MOST.to_string(), ..self.clone() }
    }

    /// Returns the threads that match, newest first.
    ///
    /// # Errors
    /// 400 for an invalid state or number, 404 for an unknown workflow or thread, and failures to read the list.
    pub(crate) fn find(&self, home: &Home, memory: &ServerCaches) -> Result<MatchingThreads, HttpFailure> {
        self.find_with(home, memory, false)
    }

    /// The same for people, who look for runs: without the branches of groups.
    pub(crate) fn find_for_people(&self, home: &Home, memory: &ServerCaches) -> Result<MatchingThreads, HttpFailure> {
        self.find_with(home, memory, true)
    }

    fn find_with(
        &self,
        home: &Home,
        memory: &ServerCaches,
        folds_branches: bool,
    ) -> Result<MatchingThreads, HttpFailure> {
        let registry = registry::read(home)?;
        let limit = self.most()?;
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let filter = ThreadFilter {
            all: true,
            workflows: given(&self.workflow).map(|typed| versions(home, &registry, &typed)).transpose()?,
            states: self.states()?,
            outcomes: self.outcomes()?,
            role: given(&self.role),
            labels: given(&self.label).map(|typed| label_filter(&typed)).transpose()?.into_iter().collect(),
            search: given(&self.q),
            after: given(&self.after).map(|typed| thread_ids::resolve(home, None, &typed)).transpose()?,
            limit: Some(limit),
            folds_branches,
            ..ThreadFilter::default()
        };
        let listing = memory.with_lists(|known| list::list_again(home, &filter, known))?;
        let mut names = WorkflowNames::from_registry(&registry);
        let rows: Vec<NamedThreadRow> =
            listing.rows.iter().map(|row| NamedThreadRow::from_row(row.clone(), &mut names, home)).collect();
        let has_more = listing.matching > rows.len();
        Ok(MatchingThreads { listing, rows, has_more })
    }

    /// The same query with another value for one field, or without that field if the value is empty.
    pub(crate) fn with(&self, name: &str, value: &str) -> String {
        let ThreadListQuery { state, outcome, workflow, role, label, q, limit, after, all } = self;
        let now = [
            ("state", state),
            ("outcome", outcome),
            ("workflow", workflow),
            ("role", role),
            ("label", label),
            ("q", q),
            ("limit", limit),
            ("all", all),
        ];
        let kept = now.into_iter().chain((name == "after").then_some(("after", after)));
        let kept: Vec<(&str, &str)> = kept.map(|(key, now)| (key, if key == name { value } else { now })).collect();
        let pairs: Vec<String> = kept
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| format!("{key}={}", encoded(value)))
            .collect();
        format!("?{}", pairs.join("&"))
    }
}

/// The words of a list that is separated by commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn label_filter(typed: &str) -> Result<LabelFilter, HttpFailure> {
    typed.parse().map_err(|why| HttpFailure::bad_request(format!("`label` is KEY=VALUE or KEY: {why}")))
}

/// All versions of a name in the registry, or the workflow with this hash.
fn versions(home: &Home, registry: &Registry, typed: &str) -> Result<Vec<NodeHash>, HttpFailure> {
    if let Some(entry) = registry.get(typed) {
        return Ok(std::iter::once(entry.hash).chain(entry.history.iter().map(|past| past.hash)).collect());
    }
    if let Ok(hash) = home.store().resolve_prefix(typed) {
        return Ok(vec![hash]);
    }
    match list::workflows_shown_as(home, registry, typed)? {
        shown if shown.is_empty() => Err(HttpFailure::not_found(format!("no workflow is called {typed}"))),
        shown => Ok(shown),
    }
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;

    use super::*;

    #[test]
    fn states_may_occur_several_times() {
        let uri = "/?state=stuck&role=coder&state=waiting&role=writer&x=1".parse().unwrap();
        let Query(query) = Query::<ThreadListQuery>::try_from_uri(&uri).unwrap();
        assert_eq!((query.state.as_str(), query.role.as_str()), ("stuck,waiting", "writer"));
        assert_eq!(query.states().unwrap(), [ThreadState::Stuck, ThreadState::Waiting]);
    }
}
