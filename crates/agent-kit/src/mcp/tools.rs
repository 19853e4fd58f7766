//! The tools of one step: submit the result, get the context, read a node.
//!
//! Answers state facts in plain words and give no instructions: some agents show them to their model as data that must not be obeyed.

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::text::without_end;
use uwf_engine::attempt::recorded;
use uwf_engine::error::{Error, Result};

use super::inputs::{VALUE_KEY, arguments_schema, is_object};
use super::protocol::{McpTool, ToolOutcome, ToolSet};
use super::{CAS_GET, CONTEXT, SUBMIT};
use crate::context::AgentContext;
use crate::context_report::ContextReport;
use crate::submitted_value;

/// Bytes of the previous steps' outputs and texts in one answer of `context`: as much as a model can read at once.
pub(crate) const MAX_CONTEXT_BYTES: usize = 256 << 10;

/// Bytes of one node in an answer of `cas_get`.
pub(crate) const MAX_NODE_BYTES: usize = 256 << 10;

/// The tools for a role of a thread.
pub struct StepTools<'c, 'h> {
    context: &'c AgentContext<'h>,
}

impl<'c, 'h> StepTools<'c, 'h> {
    /// The tools for a role of a thread.
    pub fn new(context: &'c AgentContext<'h>) -> StepTools<'c, 'h> {
        StepTools { context }
    }

    fn submit_tool(&self) -> McpTool {
        let role = self.context.role_name();
        McpTool {
            name: SUBMIT.to_owned(),
            description: format!(
                "Hands in the result of role `{role}`. The tool checks the arguments and reports values that don't \
                 fit; correct them and call it again. The last accepted call counts."
            ),
            input_schema: arguments_schema(self.context.schema().value()),
        }
    }

    fn submit(&self, arguments: &Value) -> Result<ToolOutcome> {
        let schema = self.context.schema();
        let is_wrapped = !is_object(schema.value());
        let inner = arguments.get(VALUE_KEY).filter(|_| is_wrapped);
        let value = inner.unwrap_or(arguments);
        let violations = self.context.submit_violations(value);
        if !violations.is_empty() {
            let prefix = if inner.is_some() { format!("/{VALUE_KEY}") } else { String::new() };
            let problems: Vec<String> = violations
                .iter()
                .map(|found| match format!("{prefix}{}", found.path) {
                    path if path.is_empty() => found.message.clone(),
                    path => format!("{path}: {}", found.message),
                })
                .collect();
            return Ok(ToolOutcome::failed(format!("not accepted, nothing was kept:\n{}", problems.join("\n"))));
        }
        self.check_open()?;
        let is_replaced = submitted_value::take(self.context)?.is_some_and(|earlier| earlier != *value);
        submitted_value::keep(self.context, value)?;
        let role = self.context.role_name();
        let place = if is_replaced { "this replaces your earlier result" } else { "this is the result" };
        Ok(ToolOutcome::done(format!("accepted: {place} for role `{role}`; a later accepted call replaces it")))
    }

    /// Rejects a result after the step has ended, because no process would read it.
    fn check_open(&self) -> Result<()> {
        let Some(own) = self.context.attempt() else { return Ok(()) };
        let thread = self.context.thread();
        let newest = recorded::read(thread.home(), &thread.id)?;
        match newest {
            Some(newest) if newest.opened.attempt == own.opened.attempt && newest.closed.is_none() => Ok(()),
            _ => Err(Error::usage("this step has ended and no longer accepts a result")),
        }
    }

    fn context(&self, arguments: &Value) -> Result<ToolOutcome> {
        let (step, most) = match (number(arguments, "step"), number(arguments, "steps")) {
            (Ok(step), Ok(most)) => (step, most.unwrap_or(usize::MAX)),
            (Err(wrong), _) | (_, Err(wrong)) => return Ok(ToolOutcome::failed(wrong)),
        };
        let text = match step {
            Some(position) => serde_json::to_string(&self.context.step(position)?),
            None => serde_json::to_string(&ContextReport::without_prompt(self.context, most, MAX_CONTEXT_BYTES)?),
        };
        let text = text.map_err(|error| Error::internal(format!("the context is not JSON: {error}")))?;
        Ok(ToolOutcome::done(text))
    }

    fn cas_get(&self, arguments: &Value) -> Result<ToolOutcome> {
        let Some(typed) = arguments.get("hash").and_then(Value::as_str) else {
            return Ok(ToolOutcome::failed("/hash: expected the hash of a node (13 symbols, 0-9 and A-Z)"));
        };
        let store = self.context.thread().home().store();
        let hash: NodeHash = store.resolve_prefix(typed.trim())?;
        let node = store.get(hash)?;
        let node = json!({ "type": node.type_hash, "payload": node.payload, "timestamp": node.timestamp });
        Ok(ToolOutcome::done(without_end(&node.to_string(), MAX_NODE_BYTES)))
    }
}

impl ToolSet for StepTools<'_, '_> {
    fn list(&self) -> Vec<McpTool> {
        let submit = self.context.offers_submit().then(|| self.submit_tool());
        let others = [
            McpTool {
                name: CONTEXT.to_owned(),
                description: "Task, role, schema of the result, and the previous steps, oldest first, as one JSON \
                              object; or all of one step."
                    .to_owned(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "steps": {
                            "type": "integer",
                            "minimum": 0,
                            "description": "at most this many of the previous steps, the newest",
                        },
                        "step": {
                            "type": "integer",
                            "minimum": 1,
                            "description": "only the step at this position of the thread, in full",
                        },
                    },
                }),
            },
            McpTool {
                name: CAS_GET.to_owned(),
                description: "A node of the store by its hash: type, payload, timestamp (Unix milliseconds)."
                    .to_owned(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "hash": { "type": "string", "description": "the hash, or the first symbols if they are unique" },
                    },
                    "required": ["hash"],
                }),
            },
        ];
        submit.into_iter().chain(others).collect()
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Option<ToolOutcome> {
        let outcome = match name {
            SUBMIT if self.context.offers_submit() => self.submit(arguments),
            CONTEXT => self.context(arguments),
            CAS_GET => self.cas_get(arguments),
            _ => return None,
        };
        Some(outcome.unwrap_or_else(|error| ToolOutcome::failed(error.message)))
    }
}

/// An optional whole number in the arguments, or why it is invalid.
fn number(arguments: &Value, key: &str) -> std::result::Result<Option<usize>, String> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(given) => match given.as_u64() {
            Some(number) => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
            None => Err(format!("/{key}: expected an integer, 0 or more, found {given}")),
        },
    }
}
