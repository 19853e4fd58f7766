//! Attempts before the successful one, and the stderr of the successful agent.

use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::agent_name::AgentName;
use uwf_core::node::{self, ReactSession};
use uwf_engine::root::home::Home;
use uwf_engine::thread::nodes;

use super::turns::text;
use crate::pages::texts;

/// The sections; empty if there are none.
pub(super) fn attempts(home: &Home, session: &ReactSession) -> Markup {
    let mut before = Vec::new();
    let mut own = None;
    for hash in &session.attempts {
        match nodes::attempt(home.store(), *hash) {
            Ok(attempt) if attempt.error.is_none() => own = Some(attempt),
            attempt => before.push((*hash, attempt.map_err(|error| error.to_string()))),
        }
    }
    html! {
        @if !before.is_empty() {
            section #attempts aria-labelledby="attempts-title" {
                h2 #attempts-title { "Attempts before it" }
                ol.attempts { @for (hash, attempt) in &before { (attempt_of(home, *hash, attempt)) } }
            }
        }
        @if let Some(own) = own {
            section #stderr aria-labelledby="stderr-title" {
                h2 #stderr-title { "On stderr" }
                (folded(home, "Output on stderr", own.stderr))
            }
        }
    }
}

fn attempt_of(home: &Home, hash: NodeHash, attempt: &Result<node::AttemptNode, String>) -> Markup {
    let attempt = match attempt {
        Ok(attempt) => attempt,
        Err(error) => return html! { li { p.problem { (error) } } },
    };
    let agent = nodes::typed::<node::AgentNode>(home.store(), attempt.agent).map(|agent| AgentName::from(&agent));
    html! {
        li id={"attempt-" (hash)} {
            p.topic {
                @if attempt.has_failed() { "Failed" } @else { "Asked a person" }
                @if let Ok(agent) = agent { " by " strong { (agent.short()) } }
                @if let Some(code) = attempt.exit_code { ", exit code " (code) }
                " " a.small href={"/cas/" (hash)} { code { (hash) } }
            }
            @if let Some(error) = &attempt.error { p.problem { (error) } }
            (folded(home, "On stderr", attempt.stderr))
            (folded(home, "Output", attempt.raw))
        }
    }
}

fn folded(home: &Home, title: &str, hash: NodeHash) -> Markup {
    let text = text(home, hash);
    html! {
        @if !text.trim().is_empty() {
            details { summary { (title) ", " (texts::size(text.len())) } (texts::plain(&text, texts::SHOWN, Some(hash))) }
        }
    }
}
