//! The action that lets a stopped thread continue.

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::limit::{self, LimitReport};
use uwf_engine::views::thread_now::ThreadNow;

use super::forms::{self, ActionButton, FormSubject};
use super::parts;
use crate::api::answer;
use crate::app::AppState;

/// The action that a stopped thread needs from a person.
pub(super) enum OpenRequest {
    /// An answer to a question, or the output of the role.
    Answer { question: Option<String>, schema: Box<Value> },
    /// An answer to a child thread.
    Child(ThreadId),
    /// A higher limit.
    Lift(Box<LimitReport>),
    /// Another attempt by one of these agents.
    Retry(Vec<String>),
}

impl OpenRequest {
    pub(super) fn read(now: &ThreadNow<'_>, config: &UwfConfig) -> Option<OpenRequest> {
        match now.state {
            // The thread above it needs the action.
            _ if now.stopped_with.is_some() || now.left_by.is_some() => None,
            ThreadState::Waiting => {
                let form = answer::form(now).ok()?;
                let question = form.asked.question.map(|question| question.text);
                Some(match form.asked.thread == now.thread.id {
                    true => OpenRequest::Answer { question, schema: Box::new(form.schema) },
                    false => OpenRequest::Child(form.asked.thread),
                })
            }
            ThreadState::Limited if now.limit_end().is_some() => {
                Some(OpenRequest::Retry(config.agents.keys().cloned().collect()))
            }
            ThreadState::Limited => limit::to_lift(now).map(|limits| OpenRequest::Lift(Box::new(limits))),
            ThreadState::Stuck => Some(OpenRequest::Retry(config.agents.keys().cloned().collect())),
            ThreadState::Active
            | ThreadState::Running
            | ThreadState::Paused
            | ThreadState::Completed
            | ThreadState::Killed
            | ThreadState::Corrupt => None,
        }
    }

    /// The action as a form; `key` is the key of a retry.
    pub(super) fn action(&self, app: &AppState, about: FormSubject<'_>, key: &'static str) -> Markup {
        let retry = ActionButton { class: "primary", ..ActionButton::new("retry", "Retry", key) };
        match self {
            OpenRequest::Answer { question, schema } => {
                forms::answer(app, about, &forms::FormQuestion { text: question.as_deref(), schema })
            }
            OpenRequest::Child(child) => html! {
                p { "A child thread asks: " a href={"/threads/" (child)} { (parts::short_id(child.as_str())) } }
            },
            OpenRequest::Lift(limits) => html! { div.actions { (lift(app, about, limits)) } },
            OpenRequest::Retry(agents) => html! {
                div.actions { (forms::form(app, about, &retry, &agent_choice(agents, about.thread.as_str()))) }
            },
        }
    }
}

/// A choice of the agent for the next attempt.
fn agent_choice(agents: &[String], id: &str) -> Markup {
    html! {
        @if agents.len() > 1 {
            label.inline for={"agent-" (id)} { "with" }
            select #{"agent-" (id)} name="agent" {
                option value="" { "the same agent" }
                @for agent in agents { option value=(agent) { (agent) } }
            }
        }
    }
}

/// A field for each limit of the thread, filled in with 1.5 times its value.
fn lift(app: &AppState, about: FormSubject<'_>, limits: &LimitReport) -> Markup {
    let more =
        |limit: Option<u64>, used: u64| limit.map(|limit| limit.max(used).saturating_mul(3).div_ceil(2).to_string());
    let of = &limits.limits;
    let cost = of.max_cost.map(|limit| format!("{:.2}", limit.max(limits.used.cost) * 1.5));
    let fields = [
        ("steps", "steps", more(of.max_steps, limits.used.steps)),
        ("time", "time", more(of.max_time, limits.age).map(|seconds| format!("{seconds}s"))),
        ("tokens", "tokens", more(of.max_tokens, limits.used.tokens)),
        ("cost", "dollars", cost),
    ];
    let fields = html! {
        @for (name, label, value) in fields {
            @if let Some(value) = value { label.inline { "up to " input name=(name) value=(value) size="8"; " " (label) } }
        }
    };
    forms::form(
        app,
        about,
        &ActionButton { class: "primary", ..ActionButton::new("limit", "Lift the limit", "") },
        &fields,
    )
}
