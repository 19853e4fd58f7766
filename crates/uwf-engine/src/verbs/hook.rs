//! Evaluates a hook of the configuration for a delivery: the thread that it starts or answers. Changes nothing itself.

pub mod answered;
pub mod deliveries;
pub mod waiting;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_core::config::{HookAction, HookAnswer, HookConfig, HookStart};
use uwf_core::label::{DELIVERY_LABEL, HOOK_LABEL, ThreadLabel, ThreadLabels};
use uwf_core::moderator::{self, PayloadEvaluation};
use uwf_core::thread::{ID_LEN, ThreadId};

use self::deliveries::{DeliveryNote, StartedThread};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::evaluate;
use crate::verbs::start::chosen_id;

/// Context for deriving the id of a thread from a delivery.
const THREAD: &str = "uwf 2026-11 thread of a delivery";

/// First symbol of such an id. No ULID begins with it, so the id equals no other, and nothing reads a time from it.
const FIRST: char = 'H';

/// The symbols of ids.
const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Most characters of a delivery's id.
const LONGEST_DELIVERY: usize = 200;

/// One delivery of a webhook, with a verified signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookDelivery {
    /// Its id: a repeated delivery has the same one.
    pub delivery: String,
    /// Its headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub payload: Value,
}

/// The effect of a hook for a delivery.
#[derive(Debug, Clone, PartialEq)]
pub enum HookPlan {
    /// Nothing: its `when` is false.
    Ignored,
    /// It starts a thread.
    Start(HookedStart),
    /// It answers a thread.
    Answer(HookedAnswer),
}

/// The thread that a delivery starts.
#[derive(Debug, Clone, PartialEq)]
pub struct HookedStart {
    /// Its id.
    pub thread: ThreadId,
    /// Its task.
    pub prompt: String,
    /// Values of the workflow's input.
    pub input: Option<Value>,
    /// Its labels, also those that name hook and delivery.
    pub labels: ThreadLabels,
}

/// The answer that a delivery gives.
#[derive(Debug, Clone, PartialEq)]
pub struct HookedAnswer {
    /// The id of a thread, or a label `KEY=VALUE`.
    pub thread: String,
    /// The output of the role, or the text of a reply.
    pub output: Value,
}

/// Why a text can't be the id of a delivery; `None` if it can. It becomes a label.
pub fn fault_of_delivery(id: &str) -> Option<String> {
    let is_visible = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
    (!is_visible || id.len() > LONGEST_DELIVERY)
        .then(|| format!("the id of a delivery needs visible ASCII characters, at most {LONGEST_DELIVERY}"))
}

/// The id of the thread that a delivery starts, the same on every machine and at every time.
pub fn thread_id(hook: &str, delivery: &str) -> Result<ThreadId> {
    let mut hasher = blake3::Hasher::new_derive_key(THREAD);
    // The name of a hook has no line break.
    hasher.update(hook.as_bytes()).update(b"\n").update(delivery.as_bytes());
    let digest = hasher.finalize();
    let symbols = digest.as_bytes().iter().take(ID_LEN - 1).map(|byte| char::from(SYMBOLS[usize::from(byte % 32)]));
    let id: String = std::iter::once(FIRST).chain(symbols).collect();
    id.parse().map_err(|error| Error::internal(format!("a derived id: {error}")))
}

/// Whether the thread of a delivery has started, whatever the hook says by now.
///
/// # Errors
/// Errors of index, history and record.
pub fn has_started(home: &Home, thread: &ThreadId) -> Result<bool> {
    Ok(chosen_id::begun(home, thread, |_| true)?.is_some())
}

/// Notes that a delivery has started its thread, so that a repetition starts nothing after the thread was removed.
///
/// # Errors
/// `Io`, errors of a shared store.
pub fn note_start(home: &Home, thread: &ThreadId, run: bool) -> Result<()> {
    let started = StartedThread { thread: thread.clone(), run };
    deliveries::note(home, thread, &DeliveryNote::Start(started)).map(|_| ())
}

/// Whether a delivery has started its thread and the thread was removed since.
///
/// # Errors
/// `Io`, errors of a shared store; `Data` for a note that uwf did not write.
pub fn was_removed(home: &Home, thread: &ThreadId) -> Result<bool> {
    Ok(matches!(deliveries::noted(home, thread)?, Some(DeliveryNote::Start(_))) && !has_started(home, thread)?)
}

/// Evaluates a hook for a delivery.
///
/// # Errors
/// `Data` with every expression that fails or gives a wrong value; `Internal` if they can't be evaluated.
pub fn plan(home: &Home, name: &str, hook: &HookConfig, delivery: &HookDelivery) -> Result<HookPlan> {
    let mut expressions = HookExpressions { home, delivery, problems: Vec::new() };
    if let Some(when) = &hook.when {
        let counts = expressions.value("when", when)?;
        if expressions.problems.is_empty() && !moderator::truth(counts.as_ref()) {
            return Ok(HookPlan::Ignored);
        }
    }
    let plan = match &hook.action {
        HookAction::Start(start) => expressions.start(name, start)?.map(HookPlan::Start),
        HookAction::Answer(answer) => expressions.answer(answer)?.map(HookPlan::Answer),
    };
    let problems = expressions.problems;
    plan.filter(|_| problems.is_empty()).ok_or_else(|| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        Error::data(format!("hook `{name}` can't be evaluated for this delivery:{}", lines.concat()))
            .hint(format!("to try it with a payload: `uwf hook test {name} --payload FILE`"))
    })
}

/// The expressions of a hook, with their problems.
struct HookExpressions<'d> {
    home: &'d Home,
    delivery: &'d HookDelivery,
    problems: Vec<String>,
}

impl HookExpressions<'_> {
    fn start(&mut self, name: &str, start: &HookStart) -> Result<Option<HookedStart>> {
        let delivery = &self.delivery.delivery;
        let thread = thread_id(name, delivery)?;
        let mut labels = ThreadLabels::from([
            (HOOK_LABEL.to_owned(), name.to_owned()),
            (DELIVERY_LABEL.to_owned(), delivery.clone()),
        ]);
        let prompt = self.text("start.prompt", &start.prompt)?;
        let input = match &start.input {
            None => None,
            Some(expression) => self.object("start.input", expression)?,
        };
        for (key, expression) in &start.labels {
            labels.extend(self.label(key, expression)?);
        }
        Ok(prompt.map(|prompt| HookedStart { thread, prompt, input, labels }))
    }

    fn answer(&mut self, answer: &HookAnswer) -> Result<Option<HookedAnswer>> {
        let thread = self.text("answer.thread", &answer.thread)?;
        let output = self.value("answer.output", &answer.output)?;
        if output.is_none() && self.problems.is_empty() {
            self.problems.push("`answer.output` gives nothing".to_owned());
        }
        Ok(thread.zip(output).map(|(thread, output)| HookedAnswer { thread, output }))
    }

    /// The value of an expression; `None` if it is missing or the expression fails.
    fn value(&mut self, key: &str, expression: &str) -> Result<Option<Value>> {
        let HookDelivery { delivery, headers, payload } = self.delivery;
        let evaluation = PayloadEvaluation {
            expression: expression.to_owned(),
            payload: payload.clone(),
            variables: [("headers".to_owned(), json!(headers)), ("delivery".to_owned(), json!(delivery))].into(),
        };
        Ok(evaluate::payload_in_child(self.home, &evaluation)?.unwrap_or_else(|why| {
            self.problems.push(format!("`{key}`: {why}"));
            None
        }))
    }

    fn text(&mut self, key: &str, expression: &str) -> Result<Option<String>> {
        let before = self.problems.len();
        match self.value(key, expression)? {
            Some(Value::String(text)) if !text.trim().is_empty() => return Ok(Some(text)),
            _ if self.problems.len() > before => {}
            None => self.problems.push(format!("`{key}` gives nothing, but it must give a text")),
            Some(Value::String(_)) => self.problems.push(format!("`{key}` gives an empty text")),
            Some(other) => self.problems.push(format!("`{key}` gives {}, but it must give a text", kind(&other))),
        }
        Ok(None)
    }

    fn object(&mut self, key: &str, expression: &str) -> Result<Option<Value>> {
        match self.value(key, expression)? {
            None => Ok(None),
            Some(object @ Value::Object(_)) => Ok(Some(object)),
            Some(other) => {
                self.problems.push(format!("`{key}` gives {}, but it must give an object", kind(&other)));
                Ok(None)
            }
        }
    }

    /// A label; `None` if it has no value.
    fn label(&mut self, key: &str, expression: &str) -> Result<Option<(String, String)>> {
        let place = format!("start.labels.{key}");
        let text = match self.value(&place, expression)? {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.is_empty() => return Ok(None),
            Some(Value::String(text)) => text,
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Some(other) => {
                self.problems.push(format!("`{place}` gives {}, but it must give a text", kind(&other)));
                return Ok(None);
            }
        };
        match format!("{key}={text}").parse::<ThreadLabel>() {
            Ok(ThreadLabel { key, value }) => Ok(Some((key, value))),
            Err(why) => {
                self.problems.push(format!("`{place}`: {why}"));
                Ok(None)
            }
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_ids_are_stable_and_never_ulids() {
        let id = thread_id("triage", "72d3162e-cc78-11e3-81ab-4c9367dc0958").unwrap();
        assert_eq!(id, thread_id("triage", "72d3162e-cc78-11e3-81ab-4c9367dc0958").unwrap());
        assert_eq!(id.time_ms(), None);
        assert_ne!(id, thread_id("triage", "72d3162e-cc78-11e3-81ab-4c9367dc0959").unwrap());
        assert_ne!(id, thread_id("other", "72d3162e-cc78-11e3-81ab-4c9367dc0958").unwrap());
    }

    #[test]
    fn delivery_ids_are_visible_and_short() {
        assert_eq!(fault_of_delivery("72d3162e-cc78"), None);
        for id in ["", "a b", "a\nb", "ä", &"x".repeat(201)] {
            assert!(fault_of_delivery(id).is_some(), "{id}");
        }
    }
}
