//! Choices of the forms that fork a thread: agents and input.

use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::config::UwfConfig;
use uwf_core::input::{self, InputField};
use uwf_core::workflow::role_order;
use uwf_engine::root::project;
use uwf_engine::views::thread_now::ThreadNow;

use super::super::workflows::inputs;
use crate::api::start::{AGENT_OF, INPUT_OF};
use crate::fields::RequestFields;

/// Possible differences between a thread and its fork.
pub(super) struct ForkChoices {
    /// The roles that an agent plays, in the order of the graph.
    roles: Vec<String>,
    /// Aliases of the configured agents.
    agents: Vec<String>,
    inputs: Vec<InputField>,
}

impl ForkChoices {
    /// Reads the choices; unreadable ones are not offered.
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
    pub(super) fn agents(&self, form: &str) -> Markup {
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
    pub(super) fn inputs(&self, input: Option<&Value>) -> Markup {
        let values = input.and_then(Value::as_object).into_iter().flatten();
        let texts = values.map(|(name, value)| (format!("{INPUT_OF}{name}"), inputs::in_words(value))).collect();
        inputs::fields(&self.inputs, &RequestFields::of_form(texts), None)
    }
}
