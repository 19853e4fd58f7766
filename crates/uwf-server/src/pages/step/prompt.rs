//! The prompt, folded. In it, texts that were new since the role's last visit are unfolded.

use std::collections::HashSet;

use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::node::ReactSession;
use uwf_engine::root::home::Home;
use uwf_engine::thread::message;
use uwf_engine::views::step_at::{self, StepAt};

use crate::pages::{parts, texts};

/// The section.
pub(super) fn prompt(home: &Home, at: &StepAt, session: &ReactSession) -> Markup {
    let said: HashSet<NodeHash> =
        at.last_visit.map(|step| step_at::prompt(home, step)).unwrap_or_default().into_iter().collect();
    let inputs = if session.turns.is_empty() { Vec::new() } else { step_at::prompt(home, at.step.hash) };
    let (old, new): (Vec<NodeHash>, Vec<NodeHash>) = inputs.into_iter().partition(|hash| said.contains(hash));
    html! {
        section #prompt aria-labelledby="prompt-title" {
            details.section {
                summary { h2 #prompt-title { "Prompt " span.number { (parts::many(new.len() + old.len(), "part")) } } }
                @if let Some(last) = at.last_visit {
                    p.quiet {
                        (parts::many(new.len(), "part")) " new since the role's "
                        a href={"/threads/" (at.thread) "/steps/" (last)} { "last visit" }
                        ". " (parts::many(old.len(), "part")) " unchanged."
                    }
                }
                @if new.is_empty() && old.is_empty() { p.quiet { "It was not recorded." } }
                @for hash in &new { (text(home, *hash, true)) }
                @for hash in &old { (text(home, *hash, false)) }
            }
        }
    }
}

/// A text that was sent to an agent, folded or not.
pub(super) fn text(home: &Home, hash: NodeHash, is_open: bool) -> Markup {
    let text = match home.store().get(hash) {
        Ok(node) => message::text_of(&node.payload).unwrap_or_default(),
        Err(error) => return html! { p.problem { "Not readable: " (error) } },
    };
    html! {
        details.said open[is_open] {
            summary { span.one-line { (texts::first_line(&text)) } " " span.small { (texts::size(text.len())) } }
            (texts::prose(&text, 2, Some(hash)))
        }
    }
}
