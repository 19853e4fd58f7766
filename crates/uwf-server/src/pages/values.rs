//! Readable values: an output as a list of names and values, a payload as a tree.

use json_cas::NodeHash;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{parts, texts};
use crate::markdown::web_links;

/// Nesting that lists can show; deeper values are shown as JSON.
const DEPTH: usize = 4;

/// Longest text, in characters, on the line of its name.
const LINE: usize = 120;

/// Entries of one list or object that a page shows.
const ENTRIES: usize = 200;

/// A structured output; `node` links to the complete one.
pub(crate) fn output(value: &Value, node: Option<NodeHash>) -> Markup {
    named(value, 0, node)
}

/// The keys of an answer's header that are not in its output; empty without any.
pub(crate) fn header(fields: &Map<String, Value>) -> Markup {
    html! {
        @if !fields.is_empty() {
            p.small.quiet { "Header of the answer" }
            (named(&Value::Object(fields.clone()), 0, None))
        }
    }
}

fn named(value: &Value, depth: usize, node: Option<NodeHash>) -> Markup {
    match value {
        Value::Object(fields) if fields.is_empty() => html! { p.quiet { "(no fields)" } },
        Value::Object(fields) if depth < DEPTH => html! {
            dl.facts.values {
                @for (name, value) in fields.iter().take(ENTRIES) {
                    dt { (name) }
                    dd { (named(value, depth + 1, node)) }
                }
            }
            (left_out(fields.len(), node))
        },
        Value::Array(items) if items.is_empty() => html! { span.quiet { "(none)" } },
        Value::Array(items) if depth < DEPTH => html! {
            ul.values {
                @for item in items.iter().take(ENTRIES) { li { (named(item, depth + 1, node)) } }
            }
            (left_out(items.len(), node))
        },
        Value::Object(_) | Value::Array(_) => texts::json(value, node),
        Value::String(text) if is_line(text) => web_links::linked(text),
        Value::String(text) => texts::prose(text, 3, node),
        Value::Null => html! { span.quiet { "null" } },
        Value::Bool(is) => html! { (if *is { "yes" } else { "no" }) },
        Value::Number(_) => html! { code { (value) } },
    }
}

fn is_line(text: &str) -> bool {
    !text.contains('\n') && text.len() <= LINE
}

fn left_out(count: usize, node: Option<NodeHash>) -> Markup {
    html! {
        @if count > ENTRIES {
            p.small.quiet {
                (parts::many(count - ENTRIES, "more entry").replace("entrys", "entries")) ". "
                @if let Some(node) = node { a href={"/cas/" (node) "/raw"} { "Show all" } }
            }
        }
    }
}

/// A payload as a tree; references are links.
pub(crate) fn tree(value: &Value, node: NodeHash, is_node: &dyn Fn(NodeHash) -> bool) -> Markup {
    match value {
        Value::Object(fields) => branches(fields, node, is_node),
        Value::Array(items) => html! {
            ol.tree start="0" {
                @for item in items.iter().take(ENTRIES) { li { (tree(item, node, is_node)) } }
            }
            (left_out(items.len(), Some(node)))
        },
        Value::String(text) => match text.parse::<NodeHash>() {
            Ok(hash) if is_node(hash) => html! { a href={"/cas/" (hash)} { code { (hash) } } },
            _ if is_line(text) => web_links::linked(text),
            _ => texts::plain(text, texts::SHOWN, Some(node)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => html! { code { (value) } },
    }
}

fn branches(fields: &Map<String, Value>, node: NodeHash, is_node: &dyn Fn(NodeHash) -> bool) -> Markup {
    html! {
        ul.tree {
            @for (name, value) in fields.iter().take(ENTRIES) {
                li {
                    @match children(value) {
                        Some(words) => details open[words.1] {
                            summary { span.name { (name) } " " span.small { (words.0) } }
                            (tree(value, node, is_node))
                        },
                        None => { span.name { (name) } " " (tree(value, node, is_node)) }
                    }
                }
            }
        }
        (left_out(fields.len(), Some(node)))
    }
}

/// Description of a folded value, and whether it is short enough to be unfolded at first; `None` for a value that is not folded.
fn children(value: &Value) -> Option<(String, bool)> {
    match value {
        Value::Object(fields) if !fields.is_empty() => Some((parts::many(fields.len(), "field"), fields.len() <= 12)),
        Value::Array(items) if !items.is_empty() => Some((parts::many(items.len(), "item"), items.len() <= 12)),
        Value::String(text) if !is_line(text) => Some((texts::size(text.len()), text.len() <= texts::EXCERPT)),
        _ => None,
    }
}

/// A value in one line, shortened.
pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= LINE {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(LINE)])
}
