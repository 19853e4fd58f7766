//! `/search?q=`: finds threads, workflows and roles that contain all words. A hash or an id redirects straight to its page.

mod words;

use std::collections::{HashMap, HashSet};
use std::iter;
use std::time::{Duration, Instant};

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use json_cas::NodeHash;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use uwf_core::thread::{MAX_GENERATIONS, ThreadId, is_symbol};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry::{self, Registry};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::views::branches;
use uwf_engine::views::list::{self, ThreadFilter, ThreadRow};
use uwf_engine::views::workflow_names::WorkflowNames;

use self::words::{FoundThread, SearchWords, WordMatch};
use super::layout::{DashboardPage, NavSection};
use super::parts;
use super::texts::first_line;
use crate::app::AppState;
use crate::drawn::DrawnSearch;
use crate::failure::HttpFailure;
use crate::gateway::{self, lists};
use crate::machines::name::MachineName;
use crate::named::{self, ThreadOrNodeId};
use crate::url::encoded;

/// How long texts are searched at first, so that the page appears soon.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long texts are searched if a person asks for more.
const MORE_PATIENCE: Duration = Duration::from_secs(5);

/// Threads and workflows that are searched even if the time is up, so that a busy machine finds the newest ones.
const AT_LEAST: usize = 50;

/// Length from which a possible hash counts as one; a shorter one is more often a word.
const HASH_LIKE: usize = 6;

/// Threads that are listed.
const LISTED: usize = 50;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/search", get(search)).route(gateway::search::PATH, get(for_gateway))
}

/// `GET /api/gateway/search`: the results of a search here, for the search of a gateway.
async fn for_gateway(
    State(app): State<AppState>,
    Query(SearchQuery { q, more, from }): Query<SearchQuery>,
) -> Result<Json<DrawnSearch>, HttpFailure> {
    Ok(Json(drawn(&app, q.trim(), SearchExtent::new(&more, &from)).await?))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchQuery {
    q: String,
    /// If set to anything, search longer.
    more: String,
    /// Number of the newest threads to skip, which were searched before; then the search is longer.
    from: String,
}

/// The threads that a search looks at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SearchExtent {
    /// Number of the newest threads to skip.
    from: usize,
    patience: Duration,
}

impl SearchExtent {
    fn new(more: &str, from: &str) -> SearchExtent {
        let from = from.parse().unwrap_or(0);
        SearchExtent { from, patience: if from > 0 || !more.is_empty() { MORE_PATIENCE } else { PATIENCE } }
    }
}

async fn search(
    State(app): State<AppState>,
    Query(SearchQuery { q, more, from }): Query<SearchQuery>,
) -> Result<Response, HttpFailure> {
    let text = q.trim().to_owned();
    let own = drawn(&app, &text, SearchExtent::new(&more, &from)).await?;
    let machines = match app.gateway() {
        Some(gateway) if !text.is_empty() => lists::searches(&app, gateway, &text, !more.is_empty()).await?,
        _ => Vec::new(),
    };
    let far = machines.iter().find_map(|(machine, found)| {
        let path = found.as_ref()?.straight_to.as_ref()?;
        Some(format!("{}{path}", machine.prefix()))
    });
    if let Some(path) = own.straight_to.clone().or(far) {
        return Ok(Redirect::to(&path).into_response());
    }
    let title = if text.is_empty() { "Search".to_owned() } else { format!("Search: {text}") };
    Ok(DashboardPage::new(title, NavSection::None, body(&text, &own, &machines)).into_response(&app))
}

/// Searches the threads and workflows of this server.
///
/// # Errors
/// Failures to read the registry and the list of threads.
pub(crate) async fn drawn(app: &AppState, text: &str, extent: SearchExtent) -> Result<DrawnSearch, HttpFailure> {
    if text.is_empty() {
        return Ok(DrawnSearch::default());
    }
    let asked = text.to_owned();
    let found = app.read(move |home| SearchResults::find_in_root(home, &asked, extent)).await?;
    let (searched, all) = found.searched;
    let SearchExtent { from, .. } = extent;
    let html = html! {
        (results(&found))
        p.small.quiet {
            @if from > 0 { "Searched threads " (parts::grouped(from + 1)) " to " (parts::grouped(searched)) " of " (parts::grouped(all)) ". " }
            @else { "Searched " (parts::grouped(searched)) " of " (parts::many(all, "thread")) ". " }
            @if searched < all { a.button rel="next" href={ "/search?q=" (encoded(text)) "&from=" (searched) } { "Continue" } }
        }
    };
    Ok(DrawnSearch { straight_to: found.straight_to, html: html.0 })
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
    /// Parents of all child threads, also of those that do not match.
    parents: HashMap<ThreadId, ThreadId>,
    /// Number of threads that were searched, with those before, and of all threads.
    searched: (usize, usize),
}

/// A thread that matches.
struct ThreadMatch {
    row: ThreadRow,
    workflow: String,
    /// The path of a branch.
    branch: Option<String>,
    found: FoundThread,
}

impl ThreadMatch {
    /// The text of its line. The task of a branch begins with the task of its thread, so a branch below its thread has its path alone.
    fn title(&self, depth: usize) -> String {
        let task = &self.found.task;
        match &self.branch {
            Some(branch) if depth > 0 => branch.clone(),
            Some(branch) => format!("{branch}: {task}"),
            None => task.clone(),
        }
    }
}

impl SearchResults {
    fn find_in_root(home: &Home, text: &str, extent: SearchExtent) -> Result<SearchResults, HttpFailure> {
        let named = text.bytes().all(is_symbol).then(|| named::thread_or_node(home, text).ok()).flatten();
        let named = named.filter(|named| exists(home, named));
        // Only one hash in a hundred has no digit, and no word is the hash of a stored node.
        let is_whole = text.parse::<NodeHash>().is_ok();
        let is_hash_like = is_whole || text.len() >= HASH_LIKE && text.bytes().any(|byte| byte.is_ascii_digit());
        if let Some(named) = named.as_ref().filter(|_| is_hash_like) {
            return Ok(SearchResults { straight_to: Some(path(named)), ..SearchResults::default() });
        }
        let registry = registry::read(home)?;
        let mut words = SearchWords::new(text);
        let is_in = |text: &str| words.are_in(text);
        let mut found = SearchResults::default();
        // The rest of a search has only threads.
        if extent.from == 0 {
            let workflows = registry.keys().filter(|name| is_in(name)).cloned().collect();
            let roles = roles(home, &registry, is_in, extent.patience);
            found = SearchResults { named, workflows, roles, ..found };
        }
        found.add_threads(home, &registry, &mut words, extent)?;
        Ok(found)
    }

    /// Adds threads with all words, beginning with the newest threads, until the time is up.
    fn add_threads(
        &mut self,
        home: &Home,
        registry: &Registry,
        words: &mut SearchWords,
        SearchExtent { from, patience }: SearchExtent,
    ) -> Result<(), HttpFailure> {
        let deadline = Instant::now() + patience;
        let rows = list::list(home, &ThreadFilter { all: true, ..ThreadFilter::default() })?.rows;
        let parents = rows.iter().filter_map(|row| Some((row.thread.clone(), row.parent()?.clone())));
        self.parents = parents.collect();
        let mut names = WorkflowNames::from_registry(registry);
        self.searched = (from.min(rows.len()), rows.len());
        for row in rows.into_iter().skip(from) {
            // The newest threads are searched in any case, so that a busy machine finds them.
            let is_late = self.searched.0 >= from + AT_LEAST && Instant::now() >= deadline;
            if is_late || self.threads.len() == LISTED {
                break;
            }
            let until = if self.searched.0 < from + AT_LEAST { deadline + MORE_PATIENCE } else { deadline };
            self.searched.0 += 1;
            let workflow = row.workflow.and_then(|workflow| names.name(home, workflow)).unwrap_or_default();
            if let Some(found) = words.find_in(home, &row, &workflow, until) {
                let branch = row.is_child().then(|| branches::path(home, &row.thread)).flatten();
                self.threads.push(ThreadMatch { row, workflow, branch, found });
            }
        }
        self.drop_repeated_matches();
        Ok(())
    }

    /// Drops matches that a thread below also has: the output of a group's step consists of the outputs of its branches.
    fn drop_repeated_matches(&mut self) {
        let SearchResults { threads, parents, .. } = self;
        let mut below: HashSet<(&ThreadId, [String; 3])> = HashSet::new();
        for thread in &*threads {
            let ancestors = iter::successors(parents.get(&thread.row.thread), |above| parents.get(*above));
            for ancestor in ancestors.take(MAX_GENERATIONS) {
                below.extend(thread.found.matches.iter().map(|found| (ancestor, found.excerpt.clone())));
            }
        }
        for ThreadMatch { row, found, .. } in threads {
            found.matches.retain(|found| !below.contains(&(&row.thread, found.excerpt.clone())));
        }
    }
}

/// Whether this root has a thread or node. A damaged thread has a page.
fn exists(home: &Home, named: &ThreadOrNodeId) -> bool {
    match named {
        ThreadOrNodeId::Thread(thread) => {
            Thread::any(home, thread).map_or_else(|error| error.kind != ErrorKind::NotFound, |_| true)
        }
        ThreadOrNodeId::Node(_) => true,
    }
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

fn body(text: &str, own: &DrawnSearch, machines: &[(MachineName, Option<DrawnSearch>)]) -> Markup {
    html! {
        h1 { @if text.is_empty() { "Search" } @else { "Search: " (text) } }
        form.pick action="/search" {
            label for="search-again" { "Text, id or hash" }
            input #search-again type="search" name="q" value=(text) autocomplete="off";
            button { "Search" }
        }
        @if text.is_empty() {
            p.quiet { "Finds threads that contain all words, in their id, task, workflow, state, outputs or texts. A hash or an id opens its page." }
        } @else {
            (PreEscaped(&own.html))
            @for (machine, found) in machines {
                section #{ "on-" (machine) } {
                    h2 { "On " a href={ (machine.prefix()) "/" } { (machine) } }
                    @match found {
                        Some(found) => (PreEscaped(&found.html)),
                        None => p.quiet { "Not connected, or not responding." },
                    }
                }
            }
        }
    }
}

fn results(found: &SearchResults) -> Markup {
    html! {
        @if let Some(named) = &found.named {
            section #named {
                h2 { "By its name" }
                p data-row tabindex="-1" {
                    a data-open href=(path(named)) {
                        @match named { ThreadOrNodeId::Thread(thread) => { "thread " code { (thread) } }, ThreadOrNodeId::Node(node) => { "node " code { (node) } } }
                    }
                }
            }
        }
        @if !found.workflows.is_empty() {
            section #workflows {
                h2 { "Workflows" }
                ul.found { @for name in &found.workflows { li data-row tabindex="-1" { a data-open href={"/workflows/" (encoded(name))} { (name) } } } }
            }
        }
        @if !found.roles.is_empty() {
            section #roles {
                h2 { "Roles" }
                ul.found {
                    @for (role, workflow) in &found.roles {
                        li data-row tabindex="-1" {
                            a data-open href={"/?workflow=" (encoded(workflow)) "&role=" (encoded(role))} { (role) }
                            span.quiet { " of " (workflow) ", threads at this role" }
                        }
                    }
                }
            }
        }
        section #threads {
            h2 { "Threads" }
            @if found.threads.is_empty() {
                p.quiet { @if found.searched.0 < found.searched.1 { "Nothing was found yet." } @else { "No threads match." } }
            }
            ul.rows {
                // Branches and child threads are below the thread that plays them.
                @for (position, depth) in list::in_families_of(found.threads.iter().map(|found| &found.row), &found.parents) {
                    @let found = &found.threads[position];
                    @let row = &found.row;
                    li.row.part[depth > 0] data-row=(row.thread) tabindex="-1" {
                        (parts::thread_line(row, &found.workflow, &format!("/threads/{}", row.thread), &found.title(depth)))
                        @for WordMatch { step, role, excerpt: [before, word, after] } in &found.found.matches {
                            p.match { a href={"/threads/" (row.thread) "/steps/" (step)} { (role) } ": " (before) mark { (word) } (after) }
                        }
                    }
                }
            }
        }
    }
}
