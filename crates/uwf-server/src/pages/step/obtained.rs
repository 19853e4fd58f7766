//! How an output was obtained: the agent's text, the result of each rung of the ladder, and the output.

use maud::{Markup, html};
use uwf_core::node::RungResult;
use uwf_engine::root::home::Home;
use uwf_engine::thread::message;
use uwf_engine::views::why::{self, OutputOrigin};

use super::StepView;
use crate::pages::texts;

/// The section; empty if nothing is known.
pub(super) fn obtained(home: &Home, view: &StepView) -> Markup {
    let Some(step) = view.reasoned() else { return html! {} };
    html! {
        section #obtained aria-labelledby="obtained-title" {
            // An answer that was valid at once needs no explanation.
            details.section open[!is_plain(&step.output)] {
                summary { h2 #obtained-title { "How the output was obtained" } @if let Some(by) = &step.output.extracted_by { " " span.quiet { (by) } } }
                ol.ladder {
                    @if let Some(session) = &view.session { (raw(home, session.raw)) }
                    (rungs(&step.output))
                    @if let Some(by) = step.output.extracted_by.as_deref().filter(|by| !has_given(&step.output.rungs, by)) {
                        li.taken { p.topic { span.verdict aria-hidden="true" { "✓" } strong { (by) } } p { (sentence(by)) } }
                    }
                    @if let Some(child) = step.output.child_step {
                        li.taken { p { "A child thread played the role; its last step is " a href={"/cas/" (child)} { code { (child) } } "." } }
                    }
                }
                @if step.output.adopted {
                    p { "It was taken over: the step command that ran the agent ended before it could link its result." }
                }
                @if let Some(attempt) = step.output.reread {
                    p { "It was read again from the text of a " a href={"/cas/" (attempt)} { "failed attempt" } "." }
                }
                @if let Some(why) = &step.output.unreadable { p.problem { "The rest cannot be read: " (why) } }
                p.small.quiet { a href={"/cas/" (view.at.step.detail)} { "All records" } }
            }
        }
    }
}

/// Whether the output was read in the first place, without a fault or a correction.
fn is_plain(output: &OutputOrigin) -> bool {
    let is_clean = |rung: &RungResult| rung.errors.is_empty() && rung.fixes.is_empty();
    output.rungs.iter().all(is_clean) && !output.adopted && output.reread.is_none() && output.unreadable.is_none()
}

fn raw(home: &Home, raw: json_cas::NodeHash) -> Markup {
    let text = home.store().get(raw).map(|node| message::text_of(&node.payload).unwrap_or_default());
    html! {
        li {
            @match text {
                Ok(text) => details #raw {
                    summary { "The agent's text, " (texts::size(text.len())) }
                    (texts::plain(&text, texts::SHOWN, Some(raw)))
                },
                Err(error) => p.problem { "The agent's text is not readable: " (error) },
            }
        }
    }
}

fn rungs(output: &OutputOrigin) -> Markup {
    html! {
        @for rung in &output.rungs {
            @let given = is_given(rung, output.extracted_by.as_deref());
            li class=[given.then_some("taken")] {
                p.topic {
                    span.verdict aria-hidden="true" { @if given { "✓" } @else { "✕" } }
                    strong { (rung.rung) }
                    @if given { " gave the output" } @else { " did not give it" }
                }
                p.quiet { (sentence(&rung.rung)) }
                @if !rung.errors.is_empty() { ul.problem { @for error in &rung.errors { li { (error) } } } }
                @if !rung.fixes.is_empty() { ul { @for fix in &rung.fixes { li { (fix) } } } }
            }
        }
    }
}

/// Whether a rung gave the output: it has no errors, and the session names it.
fn is_given(rung: &RungResult, by: Option<&str>) -> bool {
    rung.errors.is_empty() && by.is_none_or(|by| by == rung.rung)
}

fn has_given(rungs: &[RungResult], by: &str) -> bool {
    rungs.iter().any(|rung| is_given(rung, Some(by)))
}

fn sentence(rung: &str) -> String {
    crate::pages::parts::sentence(why::rung_in_words(rung))
}
