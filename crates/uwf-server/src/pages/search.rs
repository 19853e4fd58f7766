//! `/search?q=`: finds threads, workflows, roles, and texts in outputs. A hash or an id redirects straight to its page.

use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use json_cas::NodeHash;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use uwf_core::text::{ellipsize, one_line};
use uwf_core::thread::is_symbol;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry::{self, Registry};
use uwf_engine::thread::nodes;
use uwf_engine::views::list::{self, ThreadFilter, ThreadRow};
use uwf_engine::views::workflow_names::WorkflowNames;

use super::layout::{DashboardPage, NavSection};
use super::parts;
use super::texts::first_line;
use crate::app::{AppState, ServerCaches};
use crate::failure::HttpFailure;
use crate::named::{self, ThreadOrNodeId};
use crate::url::encoded;

/// How long texts are searched at first, so that the page appears at once.
const PATIENCE: Duration = Duration::from_millis(15);

/// How long texts are searched if a person asks for more.
const MORE_PATIENCE: Duration = Duration::from_secs(5);

/// Threads and workflows that are searched even if the time is up, so that a busy machine finds the newest ones.
const AT_LEAST: usize = 20;

/// Length from which a possible hash counts as one; a shorter one is more often a word.
const HASH_LIKE: usize = 6;

/// Threads that are listed.
const LISTED: usize = 50;

/// Characters shown around a match in an output.
const AROUND: usize = 70;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/search", get(search))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchQuery {
    q: String,
    /// If set to anything, search longer.
    more: String,
}

async fn search(
    State(app): State<AppState>,
    Query(SearchQuery { q, more }): Query<SearchQuery>,
) -> Result<Response, HttpFailure> {
    let patience = if more.is_empty() { PATIENCE } else { MORE_PATIENCE };
    let text = q.trim().to_owned();
    let (asked, is_empty) = (text.clone(), text.is_empty());
    let found = match is_empty {
        true => SearchResults::default(),
        false => {
            let memory = app.memory();
            app.read(move |home| SearchResults::find_in_root(home, &memory, &asked, patience)).await?
        }
    };
    if let Some(path) = &found.straight_to {
        return Ok(Redirect::to(path).into_response());
    }
    let title = if is_empty { "Search".to_owned() } else { format!("Search: {text}") };
    Ok(DashboardPage::new(title, NavSection::None, body(&text, &found, more.is_empty())).into_response(&app))
}

/// Search results.
#[derive(Default)]
struct SearchResults {
    /// Page to redirect to.
    straight_to: Option<String>,
    /// A thread or node whose id or hash begins or ends with the text.
    named: Option<ThreadOrNodeId>,
    workflows: Vec<String>,
    /// Roles, each with its workflow.
    roles: Vec<(String, String)>,
    threads: Vec<ThreadMatch>,
    /// Number of further threads that are not listed.
    more_threads: usize,
    outputs: Vec<OutputMatch>,
    /// Number of threads whose newest output was searched.
    looked_at: usize,
    is_cut_short: bool,
}

/// A thread that matches.
struct ThreadMatch {
    row: ThreadRow,
    workflow: Option<String>,
    /// The first line of its task.
    task: String,
}

/// An output that matches.
struct OutputMatch {
    thread: String,
    /// The first line of its thread's task.
    task: String,
    step: NodeHash,
    role: String,
    excerpt: [String; 3],
}

impl SearchResults {
    fn find_in_root(
        home: &Home,
        memory: &ServerCaches,
        text: &str,
        patience: Duration,
    ) -> Result<SearchResults, HttpFailure> {
        let named = text.bytes().all(is_symbol).then(|| named::thread_or_node(home, text).ok()).flatten();
        // Only one hash in a hundred has no digit, and no word is the hash of a stored node.
        let is_whole = text.parse::<NodeHash>().is_ok();
        let is_hash_like = is_whole || text.len() >= HASH_LIKE && text.bytes().any(|byte| byte.is_ascii_digit());
        if let Some(named) = named.as_ref().filter(|_| is_hash_like) {
            return Ok(SearchResults { straight_to: Some(path(named)), ..SearchResults::default() });
        }
        let registry = registry::read(home)?;
        let wanted = text.to_lowercase();
        let is_in = |text: &str| text.to_lowercase().contains(&wanted);
        let workflows = registry.keys().filter(|name| is_in(name)).cloned().collect();
        let mut found = SearchResults {
            named,
            workflows,
            roles: roles(home, &registry, is_in, patience),
            ..SearchResults::default()
        };
        found.add_threads(home, memory, &registry, text)?;
        found.add_outputs(home, &wanted, patience)?;
        Ok(found)
    }

    /// Adds threads with the text in their id, their workflow's name or their task.
    fn add_threads(
        &mut self,
        home: &Home,
        memory: &ServerCaches,
        registry: &Registry,
        text: &str,
    ) -> Result<(), HttpFailure> {
        let filter =
            ThreadFilter { all: true, search: Some(text.to_owned()), limit: Some(LISTED), ..ThreadFilter::default() };
        let listing = memory.with_tasks(|tasks| list::list_again(home, &filter, tasks))?;
        let mut names = WorkflowNames::from_registry(registry);
        self.more_threads = listing.matching.saturating_sub(listing.rows.len());
        let threads = listing.rows.into_iter().map(|row| {
            let workflow = row.workflow.and_then(|workflow| names.name(home, workflow));
            ThreadMatch { task: task(home, &row), workflow, row }
        });
        self.threads = threads.collect();
        Ok(())
    }

    /// Adds newest outputs with the text, beginning with the newest threads, until the time is up.
    fn add_outputs(&mut self, home: &Home, wanted: &str, patience: Duration) -> Result<(), HttpFailure> {
        let deadline = Instant::now() + patience;
        let rows = list::list(home, &ThreadFilter { all: true, ..ThreadFilter::default() })?.rows;
        for row in rows {
            let is_late = self.looked_at >= AT_LEAST && Instant::now() >= deadline;
            if is_late || self.outputs.len() == LISTED {
                self.is_cut_short = true;
                break;
            }
            self.looked_at += 1;
            let Ok((step, _)) = nodes::step_node(home.store(), row.head) else { continue };
            let Ok(output) = home.store().get(step.output) else { continue };
            if let Some(excerpt) = excerpt(&output.payload, wanted) {
                let (thread, task) = (row.thread.to_string(), task(home, &row));
                self.outputs.push(OutputMatch { thread, task, step: row.head, role: step.role, excerpt });
            }
        }
        Ok(())
    }
}

/// The first line of a thread's task.
fn task(home: &Home, row: &ThreadRow) -> String {
    let thread = uwf_engine::thread::load::Thread::load_at(home, row.thread.clone(), row.head);
    thread.map_or_else(|_| "a thread that is not readable".to_owned(), |thread| first_line(&thread.start.prompt))
}

/// Path of the page of a thread or node.
fn path(named: &ThreadOrNodeId) -> String {
    match named {
        ThreadOrNodeId::Thread(thread) => format!("/threads/{thread}"),
        ThreadOrNodeId::Node(node) => format!("/cas/{node}"),
    }
}

/// Matching roles of all workflows with names, until the time is up.
fn roles(home: &Home, registry: &Registry, is_in: impl Fn(&str) -> bool, patience: Duration) -> Vec<(String, String)> {
    let deadline = Instant::now() + patience;
    let mut found = Vec::new();
    for (number, (name, entry)) in registry.iter().enumerate() {
        if number >= AT_LEAST && Instant::now() >= deadline {
            break;
        }
        let Ok(workflow) = nodes::workflow(home.store(), entry.hash) else { continue };
        let roles = workflow.roles.into_keys().filter(|role| is_in(role));
        found.extend(roles.map(|role| (role, name.clone())));
    }
    found
}

/// The first match in a value, as three parts: the text before, the match, the text after. `wanted` is in lower case.
fn excerpt(value: &Value, wanted: &str) -> Option<[String; 3]> {
    match value {
        Value::String(text) => around(text, wanted),
        Value::Array(items) => items.iter().find_map(|item| excerpt(item, wanted)),
        Value::Object(fields) => fields.values().find_map(|field| excerpt(field, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn around(text: &str, wanted: &str) -> Option<[String; 3]> {
    let lower = text.to_lowercase();
    let at = lower.find(wanted)?;
    // Lower case changes the length of a few characters. Then the position is unknown, and the beginning of the text is shown instead.
    let (start, end) = if lower.len() == text.len() { (at, at + wanted.len()) } else { (0, 0) };
    let (Some(before), Some(words), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..)) else {
        return Some([String::new(), String::new(), one_line(&text[..text.floor_char_boundary(AROUND)])]);
    };
    let from = before.ceil_char_boundary(before.len().saturating_sub(AROUND));
    let lead = if from > 0 { "…" } else { "" };
    let after = ellipsize(after, AROUND);
    Some([format!("{lead}{}", spaced(&before[from..])), words.to_owned(), spaced(&after)])
}

/// A text with its line breaks replaced by spaces.
fn spaced(text: &str) -> String {
    text.replace(char::is_whitespace, " ")
}

fn body(text: &str, found: &SearchResults, can_look_further: bool) -> Markup {
    html! {
        h1 { @if text.is_empty() { "Search" } @else { "Search: " (text) } }
        form.pick action="/search" {
            label for="search-again" { "Text, id or hash" }
            input #search-again type="search" name="q" value=(text) autocomplete="off";
            button { "Search" }
        }
        @if text.is_empty() {
            p.quiet { "Looks through ids, tasks, workflows and roles of threads, and their newest outputs. A hash or an id opens its page." }
        } @else {
            (results(found))
            @if found.is_cut_short && can_look_further && found.outputs.len() < LISTED {
                p { a.button href={ "/search?q=" (encoded(text)) "&more=1" } { "Look further" } }
            }
        }
    }
}

fn results(found: &SearchResults) -> Markup {
    html! {
        @if let Some(named) = &found.named {
            section #named aria-labelledby="named-title" {
                h2 #named-title { "By its name" }
                p data-row tabindex="-1" {
                    a data-open href=(path(named)) {
                        @match named { ThreadOrNodeId::Thread(thread) => { "thread " code { (thread) } }, ThreadOrNodeId::Node(node) => { "node " code { (node) } } }
                    }
                }
            }
        }
        @if !found.workflows.is_empty() {
            section #workflows aria-labelledby="workflows-title" {
                h2 #workflows-title { "Workflows" }
                ul.found { @for name in &found.workflows { li data-row tabindex="-1" { a data-open href={"/workflows/" (encoded(name))} { (name) } } } }
            }
        }
        @if !found.roles.is_empty() {
            section #roles aria-labelledby="roles-title" {
                h2 #roles-title { "Roles" }
                ul.found {
                    @for (role, workflow) in &found.roles {
                        li data-row tabindex="-1" {
                            a data-open href={"/?workflow=" (encoded(workflow)) "&role=" (encoded(role))} { (role) }
                            span.quiet { " of " (workflow) ", threads whose last step is of this role" }
                        }
                    }
                }
            }
        }
        section #threads aria-labelledby="threads-title" {
            h2 #threads-title { "Threads" }
            @if found.threads.is_empty() { p.quiet { "No thread matches by id, task or workflow name." } }
            ul.found {
                @for ThreadMatch { row, workflow, task } in &found.threads {
                    li data-row tabindex="-1" {
                        a data-open href={"/threads/" (row.thread)} { (task) }
                        " " (parts::state(row.state, row.pausing, row.outcome.as_deref()))
                        p.small.quiet {
                            (workflow.as_deref().unwrap_or_default()) " " (parts::short_id(row.thread.as_str()))
                            @if let Some(changed) = row.changed_at { " " (parts::ago(changed)) }
                        }
                    }
                }
            }
            @if found.more_threads > 0 { p.small.quiet { (parts::many(found.more_threads, "more thread")) "." } }
        }
        section #outputs aria-labelledby="outputs-title" {
            h2 #outputs-title { "Newest outputs" }
            ul.found {
                @for OutputMatch { thread, task, step, role, excerpt: [before, words, after] } in &found.outputs {
                    li data-row tabindex="-1" {
                        a data-open href={"/threads/" (thread) "/steps/" (step)} { (task) } span.quiet { " " (role) " " (parts::short_id(thread)) }
                        p { (before) mark { (words) } (after) }
                    }
                }
            }
            p.small.quiet {
                "The newest outputs of " (parts::many(found.looked_at, "thread")) " were looked at"
                @if found.is_cut_short { "; the search ended early, older ones were not." } @else { "." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn matches_are_shown_in_context() {
        let of = |value: Value, wanted: &str| excerpt(&value, wanted);
        let found = |parts: [&str; 3]| Some(parts.map(str::to_owned));
        assert_eq!(of(json!({"a": 1, "b": ["x", "Fix the Login now"]}), "login"), found(["Fix the ", "Login", " now"]));
        assert_eq!(of(json!("nothing"), "login"), None);
        assert_eq!(of(json!(["line\nlogin\nline"]), "login"), found(["line ", "login", " line"]));
        let long = format!("{}login{}", "é".repeat(100), "é".repeat(100));
        let [before, words, after] = of(json!(long), "login").unwrap();
        assert!(before.starts_with('…') && words == "login" && after.ends_with('…'), "{before}{words}{after}");
        assert!(of(json!("İİ login"), "login").is_some(), "lower case may be longer");
    }
}
