//! The forms that fork a thread: after one of its steps, or from its start with another task or input. The roles can get other agents.

use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::config::UwfConfig;
use uwf_core::input::{self, InputField};
use uwf_core::text;
use uwf_core::workflow::role_order;
use uwf_engine::root::{ids, project};
use uwf_engine::views::thread_now::ThreadNow;

use super::super::forms::{self, ActionButton, FormSubject};
use super::super::workflows::inputs;
use super::read::ThreadView;
use crate::api::start::{AGENT_OF, INPUT_OF};
use crate::app::AppState;
use crate::fields::RequestFields;

/// Characters of a step in the list of steps.
const STEP: usize = 60;

/// What a fork can differ in.
pub(super) struct ForkChoices {
    /// The roles that an agent plays, in the order of the graph.
    roles: Vec<String>,
    /// Aliases of the configured agents.
    agents: Vec<String>,
    inputs: Vec<InputField>,
}

impl ForkChoices {
    /// Reads the choices. What can't be read is not offered.
    pub(super) fn read(now: &ThreadNow<'_>, cwd: &Path) -> ForkChoices {
        let home = now.thread.home();
        let config = project::config(home, cwd).unwrap_or_else(|_| UwfConfig::default());
        let workflow = now.thread.workflow();
        let roles = workflow.iter().flat_map(|workflow| {
            let is_played = |role: &&str| {
                workflow.roles.get(*role).is_some_and(|role| role.more.run.is_none() && role.more.play.is_none())
            };
            role_order(workflow).into_iter().filter(is_played).map(str::to_owned).collect::<Vec<_>>()
        });
        let schema = workflow.as_ref().ok().and_then(|workflow| home.store().schema(workflow.input?).ok());
        ForkChoices {
            roles: roles.collect(),
            agents: config.agents.keys().cloned().collect(),
            inputs: schema.map(|schema| input::fields(schema.value())).unwrap_or_default(),
        }
    }

    /// Fields for the agents; `form` makes their ids unique on the page.
    fn agents(&self, form: &str) -> Markup {
        html! {
            @if !self.agents.is_empty() && !self.roles.is_empty() {
                details.optional {
                    summary { "Agents" }
                    div.fields {
                        @for role in &self.roles {
                            @let id = format!("{form}-agent-{role}");
                            div.field {
                                label for=(id) { (role) }
                                select id=(id) name={(AGENT_OF) (role)} {
                                    option value="" { "As in this thread" }
                                    @for alias in &self.agents { option value=(alias) { (alias) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Fields for the input, with the values of the thread.
    fn inputs(&self, input: Option<&Value>) -> Markup {
        let values = input.and_then(Value::as_object).into_iter().flatten();
        let texts = values.map(|(name, value)| (format!("{INPUT_OF}{name}"), inputs::in_words(value))).collect();
        inputs::fields(&self.inputs, &RequestFields::of_form(texts))
    }
}

/// Both forms, folded; empty on a server without changes.
pub(super) fn fork_form(app: &AppState, about: FormSubject<'_>, shown: &ThreadView) -> Markup {
    if app.is_read_only() {
        return html! {};
    }
    let status = &shown.status;
    // A fork of a thread that has ended would end at once, so its last step is left out.
    let steps = &shown.steps[..shown.steps.len().saturating_sub(usize::from(status.done))];
    let button = ActionButton { without_run: Some("Only fork"), ..ActionButton::new("fork", "Fork and run", "") };
    let again = ActionButton { without_run: Some("Only start"), ..ActionButton::new("fork", "Start and run", "") };
    let id = html! { input type="hidden" name="id" value=(ids::new_thread_id()); };
    let after_step = html! {
        (id)
        label.inline for="fork-step" { "After" }
        select #fork-step name="step" {
            @if !status.done { option value="" { "the newest step" } }
            @for timed in steps.iter().rev() {
                option value=(timed.step.hash) { (timed.step.index) " " (text::ellipsize(&timed.step.role, STEP)) }
            }
        }
        (shown.fork.agents("after"))
    };
    let with_task = html! {
        input type="hidden" name="id" value=(ids::new_thread_id());
        label for="fork-task" { "Task" }
        textarea #fork-task name="prompt" rows="4" required { "\n" (status.task) }
        (shown.fork.inputs(status.input.as_ref()))
        (shown.fork.agents("again"))
    };
    html! {
        details #fork .act {
            summary.button data-key="F" { "Fork" }
            div.forks {
                @if !status.done || !steps.is_empty() {
                    section { h3 { "Continue another way after a step" } (forms::form(app, about, &button, &after_step)) }
                }
                section { h3 { "Start again from the beginning" } (forms::form(app, about, &again, &with_task)) }
            }
        }
    }
}
