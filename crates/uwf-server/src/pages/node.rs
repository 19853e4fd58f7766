//! `/cas/HASH`: any node. The page is a permalink, because a hash always names the same content.

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use json_cas::{Node, NodeHash, Store};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use uwf_core::node::NodeKind;
use uwf_engine::root::type_index;
use uwf_engine::thread::message;
use uwf_engine::views::referrers::{self, NodeReferrers};

use super::layout::{DashboardPage, NavSection};
use super::{parts, values};
use crate::api;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::named;
use crate::respond::wants_json;
use crate::url::encoded;

/// References listed on a page.
const LISTED: usize = 500;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/cas/{hash}", get(node)).route("/cas/{hash}/raw", get(raw))
}

/// Query of the page.
#[derive(Debug, Default, Deserialize)]
struct NodeQuery {
    /// If set, look for nodes that reference this one.
    referrers: Option<String>,
}

async fn node(
    state: State<AppState>,
    Path(typed): Path<String>,
    Query(asked): Query<NodeQuery>,
    headers: HeaderMap,
) -> Response {
    let is_json = wants_json(&headers);
    let answer = if is_json { api::node(state, Path(typed)).await } else { page(state, typed, asked).await };
    ([(header::VARY, "accept")], answer).into_response()
}

/// Contents of a node's page.
struct NodeView {
    hash: NodeHash,
    node: Node,
    title: String,
    refs: Vec<(NodeHash, String)>,
    known: std::collections::HashSet<NodeHash>,
    referrers: Option<NodeReferrers>,
}

async fn page(State(app): State<AppState>, typed: String, asked: NodeQuery) -> Result<Response, HttpFailure> {
    let wants_referrers = asked.referrers.is_some();
    let name = typed.clone();
    let shown = app
        .read(move |home| {
            let hash = named::node(home, &name)?;
            let store = home.store();
            let node = store.get(hash)?;
            // If the node's type is not readable, references can't be distinguished from texts.
            let refs = store.refs(&node).unwrap_or_default();
            let titled = |hash: &NodeHash| {
                (*hash, store.get(*hash).map_or_else(|error| error.to_string(), |node| kind(store, &node)))
            };
            let known = refs
                .iter()
                .copied()
                .chain(hashes(&node.payload).into_iter().filter(|hash| store.has(*hash).unwrap_or(false)));
            Ok(NodeView {
                hash,
                title: kind(store, &node),
                known: known.collect(),
                refs: refs.iter().take(LISTED).map(titled).collect(),
                referrers: wants_referrers.then(|| referrers::find_referrers(home, hash)).transpose()?,
                node,
            })
        })
        .await?;
    if typed != shown.hash.to_string() {
        return Ok(Redirect::to(&format!("/cas/{}", shown.hash)).into_response());
    }
    let page = DashboardPage::new(format!("{} {}", shown.title, shown.hash), NavSection::None, body(&shown))
        .into_response(&app);
    Ok(if wants_referrers { page } else { ([api::FOR_EVER], page).into_response() })
}

/// Name of a node's type.
fn kind(store: &Store, node: &Node) -> String {
    type_index::title(store, node.type_hash).unwrap_or_else(|| "node".to_owned())
}

/// Texts in a payload that could be hashes.
fn hashes(value: &Value) -> Vec<NodeHash> {
    match value {
        Value::String(text) => text.parse().into_iter().collect(),
        Value::Array(items) => items.iter().take(LISTED).flat_map(hashes).collect(),
        Value::Object(fields) => fields.values().take(LISTED).flat_map(hashes).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn body(shown: &NodeView) -> Markup {
    let NodeView { hash, node, title, refs, known, referrers } = shown;
    html! {
        header #head {
            h1 { (title) " " code.hash { (hash) } }
            dl.facts {
                dt { "Type" } dd { a href={"/cas/" (node.type_hash)} { code { (node.type_hash) } } " " span.quiet { (title) } }
                dt { "First stored" } dd { (parts::time(node.timestamp)) }
            }
            p.actions {
                button type="button" data-copy={"/cas/" (hash)} data-key="y" hidden { "Copy the link" }
                a.button href={"/cas/" (hash) "/raw"} { "Raw" }
                @if NodeKind::from_type_hash(node.type_hash) == Some(NodeKind::Workflow) { a.button href={"/workflows/" (hash)} { "As a workflow" } }
            }
        }
        section #payload aria-labelledby="payload-title" {
            h2 #payload-title { "Content" }
            (values::tree(&node.payload, *hash, &|hash| known.contains(&hash)))
        }
        section #refs aria-labelledby="refs-title" {
            h2 #refs-title { "Refers to" }
            @if refs.is_empty() { p.quiet { "Nothing." } }
            (list(refs))
            @if refs.len() == LISTED { p.small.quiet { "Only the first " (LISTED) " are listed." } }
        }
        section #referrers aria-labelledby="referrers-title" {
            h2 #referrers-title { "Referred to by" }
            @match referrers {
                None => p { a href={"/cas/" (hash) "?referrers=1#referrers"} { "Look for nodes and threads that refer to it" } span.quiet { " (up to two seconds)" } },
                Some(found) => (found_referrers(found)),
            }
        }
    }
}

fn found_referrers(found: &NodeReferrers) -> Markup {
    let nodes: Vec<(NodeHash, String)> = found.nodes.iter().map(|node| (node.hash, node.kind.clone())).collect();
    html! {
        @if !found.threads.is_empty() {
            h3 { "Threads with this head" }
            ul { @for thread in &found.threads { li { a href={"/threads/" (thread)} { code { (thread) } } } } }
        }
        @if !found.names.is_empty() {
            h3 { "Names of workflows" }
            ul { @for name in &found.names { li { a href={"/workflows/" (encoded(name))} { (name) } } } }
        }
        @if !nodes.is_empty() { h3 { "Nodes" } }
        (list(&nodes))
        @if nodes.is_empty() && found.threads.is_empty() && found.names.is_empty() { p { "Nothing was found." } }
        p.small.quiet {
            @if found.is_whole { "Searched all " (parts::many(found.looked_at, "node")) "." }
            @else { "Searched " (found.looked_at) " of " (parts::many(found.of, "node")) "." }
        }
    }
}

fn list(nodes: &[(NodeHash, String)]) -> Markup {
    html! {
        @if !nodes.is_empty() {
            ul.nodes {
                @for (hash, title) in nodes {
                    li data-row tabindex="-1" { a data-open href={"/cas/" (hash)} { code { (hash) } } " " span.quiet { (title) } }
                }
            }
        }
    }
}

/// `/cas/HASH/raw`: a text unchanged, or the content as JSON. A browser always saves it and never displays it.
async fn raw(State(app): State<AppState>, Path(typed): Path<String>) -> Result<Response, HttpFailure> {
    let name = typed.clone();
    let (hash, node) = app
        .read(move |home| {
            let hash = named::node(home, &name)?;
            Ok((hash, home.store().get(hash)?))
        })
        .await?;
    if typed != hash.to_string() {
        return Ok(Redirect::to(&format!("/cas/{hash}/raw")).into_response());
    }
    let text = match NodeKind::from_type_hash(node.type_hash) {
        Some(NodeKind::Content | NodeKind::HermesRaw) => message::text_of(&node.payload),
        _ => None,
    };
    let text = text.unwrap_or_else(|| format!("{:#}\n", node.payload));
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{hash}.txt\"")),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, [api::FOR_EVER], text).into_response())
}
