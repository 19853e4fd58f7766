//! The action that lets a stopped thread continue.

use maud::{Markup, html};
use uwf_core::config::UwfConfig;
use uwf_core::text;
use uwf_core::thread::{Step, ThreadId};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::settings::limit::{self, LimitReport};
use uwf_engine::verbs::step::newest_attempt;
use uwf_engine::views::branches;
use uwf_engine::views::thread_now::ThreadNow;

use super::forms::{self, ActionButton, FormSubject};
use super::{copies, parts, values};
use crate::api::answer::{self, QuestionWithSchema};
use crate::app::AppState;
use crate::command_line::{WAIT_OPTION, json_name};
use crate::markdown::markdown;

/// Bytes shown of a goal or a text that a person decides about.
const SHOWN: usize = 8 << 10;

/// The action that a stopped thread needs from a person.
pub(super) enum OpenRequest {
    /// An answer to a question, or the output of the role.
    Answer(Box<QuestionWithSchema>),
    /// An answer to a child thread.
    Child(Box<ChildQuestion>),
    /// A higher limit.
    Lift(Box<LimitReport>),
    /// Another attempt.
    Retry {
        /// The agents to choose from.
        agents: Vec<String>,
        /// Whether the thread has reached a limit that ends by itself.
        is_limit_ending: bool,
    },
}

/// The question of a child thread.
pub(super) struct ChildQuestion {
    form: QuestionWithSchema,
    /// Its path if it is a branch.
    path: Option<String>,
    /// The newest attempt at its head.
    attempt: Option<String>,
}

impl ChildQuestion {
    fn read(now: &ThreadNow<'_>, form: QuestionWithSchema) -> ChildQuestion {
        let (home, thread) = (now.thread.home(), &form.asked.thread);
        let attempt = newest_attempt::at_head(home, thread, form.asked.head).ok().map(|newest| newest.to_string());
        ChildQuestion { path: branches::path(home, thread), attempt, form }
    }
}

impl OpenRequest {
    pub(super) fn read(now: &ThreadNow<'_>, config: &UwfConfig) -> Option<OpenRequest> {
        match now.state {
            // The thread above it needs the action.
            _ if now.stopped_with.is_some() || now.left_by.is_some() => None,
            ThreadState::Waiting => {
                let form = answer::form(now).ok()?;
                Some(match form.asked.thread == now.thread.id {
                    true => OpenRequest::Answer(Box::new(form)),
                    false => OpenRequest::Child(Box::new(ChildQuestion::read(now, form))),
                })
            }
            ThreadState::Limited if now.continues_at().is_some() => Some(OpenRequest::retry(config, true)),
            ThreadState::Limited => limit::to_lift(now).map(|limits| OpenRequest::Lift(Box::new(limits))),
            ThreadState::Stuck => Some(OpenRequest::retry(config, false)),
            ThreadState::Active
            | ThreadState::Running
            | ThreadState::Paused
            | ThreadState::Completed
            | ThreadState::Killed
            | ThreadState::Corrupt => None,
        }
    }

    fn retry(config: &UwfConfig, is_limit_ending: bool) -> OpenRequest {
        OpenRequest::Retry { agents: config.agents.keys().cloned().collect(), is_limit_ending }
    }

    /// Whether a person decides about the work of other roles.
    pub(super) fn is_decision(&self) -> bool {
        matches!(self, OpenRequest::Answer(form) if form.asked.question.is_none())
    }

    /// The action as a form; `key` is the key of a retry. `files` are the changed files that a person decides about.
    pub(super) fn action(&self, app: &AppState, about: FormSubject<'_>, key: &'static str, files: &Markup) -> Markup {
        let retry = ActionButton::new("retry", "Retry and run", key).and_run("Retry without running", "Retrying");
        match self {
            OpenRequest::Answer(form) => question(app, about, form, files),
            OpenRequest::Child(child) => {
                let ChildQuestion { form, path, attempt } = &**child;
                let (thread, back) = (&form.asked.thread, format!("/threads/{}", about.thread));
                let of_child =
                    FormSubject { thread, head: form.asked.head, attempt: attempt.as_deref(), back: Some(&back) };
                html! {
                    p {
                        a href={"/threads/" (thread)} {
                            @match path { Some(path) => (path), None => { "Child thread " (parts::short_id(thread.as_str())) } }
                        }
                        @if form.copies.is_some() { ": pick the best copy." } @else { " needs your answer." }
                    }
                    (question(app, of_child, form, &html! {}))
                }
            }
            OpenRequest::Lift(limits) => html! { div.actions { (lift(app, about, limits)) } },
            OpenRequest::Retry { agents, is_limit_ending } => html! {
                div.actions {
                    (forms::form(app, about, &retry, &agent_choice(agents, about.thread.as_str())))
                    @if *is_limit_ending { (at_end_of_limit(app, about)) }
                }
            },
        }
    }

    /// Name of the action in a list.
    pub(super) fn name(&self) -> &'static str {
        match self {
            OpenRequest::Answer(_) | OpenRequest::Child(_) => "Answer",
            OpenRequest::Lift(_) => "Raise the limit",
            OpenRequest::Retry { .. } => "Retry",
        }
    }
}

/// The form of a question, below what it is about.
fn question(app: &AppState, about: FormSubject<'_>, form: &QuestionWithSchema, files: &Markup) -> Markup {
    if let Some(asked) = &form.copies {
        return copies::choice(app, asked, about.back);
    }
    let asked = form.asked.question.as_ref();
    let (text, options) = (asked.map(|question| question.text.as_str()), asked.map(|question| &*question.options));
    let question = forms::FormQuestion { text, options: options.unwrap_or_default(), schema: &form.schema };
    html! {
        // On a narrow screen, the changed files can be long, and the form is below them.
        @if asked.is_none() && !app.is_read_only() { a.jump href={"#" (about.id("asks"))} { "Go to the answer" } }
        (context(form, files))
        (forms::answer(app, about, &question))
    }
}

/// A run that waits until a usage limit has ended.
fn at_end_of_limit(app: &AppState, about: FormSubject<'_>) -> Markup {
    let button = ActionButton {
        done: "Waiting for the end of the limit",
        ..ActionButton::new("run", "Run when the limit ends", "")
    };
    let waits = html! { input type="hidden" name=(json_name(WAIT_OPTION)) value="true"; };
    forms::form(app, about, &button, &waits)
}

/// The role's goal, the newest step and the changed files, which the person decides about.
fn context(form: &QuestionWithSchema, files: &Markup) -> Markup {
    let goal = form.goal.trim();
    html! {
        div.decides {
            @if let Some(question) = &form.asked.question { div.question { (markdown(&question.text, 3)) } }
            @if form.asked.question.is_none() && !goal.is_empty() { div.goal { (markdown(&text::without_end(goal, SHOWN), 3)) } }
            @if let Some(task) = &form.task {
                details open { summary { "Task" } div.text { (markdown(&text::without_end(task, SHOWN), 3)) } }
            }
            @if let Some(step) = &form.last { (output_of(&form.asked.thread, step, form.asked.question.is_none())) }
            // A reviewer's verdict may be the newest step, and the text that it is about an earlier one.
            @if form.asked.question.is_none() {
                @for step in &form.earlier { (output_of(&form.asked.thread, step, false)) }
                (files)
            }
        }
    }
}

/// The output and the text of a step.
fn output_of(thread: &ThreadId, step: &Step, is_open: bool) -> Markup {
    html! {
        details open[is_open] {
            summary { "Output of " b { (step.role) } " " (parts::ago(step.timestamp)) }
            @if let Some(why) = &step.unreadable.output { p.problem { "Its output is not readable: " (why) } } @else { (values::output(&step.output, None)) }
            @if let Some(message) = step.message.as_deref().filter(|message| !message.trim().is_empty()) {
                div.text { (markdown(&text::without_end(message, SHOWN), 3)) }
            }
            p.small { a href={"/threads/" (thread) "/steps/" (step.hash)} { "Open the step" } }
        }
    }
}

/// A choice of the agent for the next attempt.
pub(super) fn agent_choice(agents: &[String], id: &str) -> Markup {
    html! {
        @if agents.len() > 1 {
            label.inline for={"agent-" (id)} { "Agent" }
            select #{"agent-" (id)} name="agent" {
                option value="" { "same as before" }
                @for agent in agents { option value=(agent) { (agent) } }
            }
        }
    }
}

/// A field for each limit of the thread. Those that were reached are filled in with 1.5 times their value; the others are folded, and
/// change only if a person fills them in.
fn lift(app: &AppState, about: FormSubject<'_>, limits: &LimitReport) -> Markup {
    let is_reached = |used: u64, limit: u64| used >= limit;
    let higher = |limit: u64, used: u64| limit.max(used).saturating_mul(3).div_ceil(2).to_string();
    let (of, used) = (&limits.limits, &limits.used);
    let mut fields: Vec<LimitField> = Vec::new();
    let mut add = |name, unit, limit: Option<u64>, used: u64, suffix: &str| {
        let Some(limit) = limit else { return };
        let (now, higher) = (format!("{limit}{suffix}"), format!("{}{suffix}", higher(limit, used)));
        fields.push(LimitField { name, unit, now, higher, is_reached: is_reached(used, limit) });
    };
    add("steps", "steps", of.max_steps, used.steps, "");
    add("time", "time", of.max_time, limits.age, "s");
    add("tokens", "tokens", of.max_tokens, used.tokens.unwrap_or_default(), "");
    if let Some(limit) = of.max_cost {
        let cost = used.cost.unwrap_or_default();
        let (now, higher) = (format!("{limit:.2}"), format!("{:.2}", limit.max(cost) * 1.5));
        fields.push(LimitField { name: "cost", unit: "dollars", now, higher, is_reached: cost >= limit });
    }
    // A limit that is reached by the steps of children, for example, is not known here.
    let none_is_reached = fields.iter().all(|field| !field.is_reached);
    let (reached, others): (Vec<_>, Vec<_>) = fields.into_iter().partition(|field| field.is_reached || none_is_reached);
    let fields = html! {
        @for field in &reached { (field.input(true)) }
        @if !others.is_empty() {
            details.optional { summary { "Other limits" } div.fields { @for field in &others { (field.input(false)) } } }
        }
    };
    let button = ActionButton::new("limit", "Raise and run", "").and_run("Raise without running", "Raised");
    forms::form(app, about, &button, &fields)
}

/// A limit in a form.
struct LimitField {
    name: &'static str,
    unit: &'static str,
    now: String,
    higher: String,
    is_reached: bool,
}

impl LimitField {
    fn input(&self, is_filled: bool) -> Markup {
        let LimitField { name, unit, now, higher, .. } = self;
        html! { label.inline { "up to " input name=(name) value=(if is_filled { higher } else { "" }) placeholder=(now) size="8"; " " (unit) } }
    }
}
