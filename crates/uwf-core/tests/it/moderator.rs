//! The moderator: conditions, what they read and cost, and decisions.

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::moderator::{
    CompiledCondition, CompiledTransition, ConditionClass, DecisionState, EvaluationRequest, Moderator,
    ModeratorDecision, ModeratorError, ThreadHistory, evaluate,
};
use uwf_core::thread::Step;

mod class;
mod decide;
mod examples;
mod fields;
mod position;
mod reads;
mod refuse;
mod robust;
mod traps;

/// A complete history of these roles and outputs; step n has the detail `Dn`.
fn history(steps: &[(&str, Value)]) -> ThreadHistory {
    ThreadHistory {
        thread_id: "01JT".into(),
        workflow: "W0RKF10W".into(),
        prompt: "do it".into(),
        depth: 2,
        total: steps.len(),
        steps: steps
            .iter()
            .enumerate()
            .map(|(index, (role, output))| Step {
                detail: NodeHash::from_u64(index as u64),
                agent: "mock".into(),
                header: [("confidence".to_owned(), json!(0.5)), ("status".to_owned(), json!("done"))]
                    .into_iter()
                    .collect(),
                extracted_by: Some(if index == 0 { "llm" } else { "frontmatter" }.into()),
                ..Step::new(index + 1, *role, output.clone())
            })
            .collect(),
        ..ThreadHistory::default()
    }
}

/// The thread most tests look at.
fn thread() -> ThreadHistory {
    history(&[
        ("planner", json!({"phases": [{"hash": "A"}, {"hash": "B"}], "status": "planned"})),
        ("coder", json!({"completedPhase": "A", "n": 1})),
        ("coder", json!({"completedPhase": "B", "n": 2, "nothing": null})),
        ("reviewer", json!({"approved": false, "comments": ["x"], "steps": ["s0", "s1"]})),
    ])
}

fn compile(expression: &str) -> CompiledCondition {
    CompiledCondition::compile(expression).unwrap_or_else(|error| panic!("{error}"))
}

/// Result of an expression on a history; an error as its text.
fn value_on(expression: &str, history: &ThreadHistory) -> Result<Option<Value>, String> {
    evaluate(&EvaluationRequest::new(expression, history)).map_err(|error| error.to_string())
}

/// Result of an expression on [`thread`].
fn value(expression: &str) -> Result<Option<Value>, String> {
    value_on(expression, &thread())
}

fn edge(role: &str, condition: Option<&str>) -> CompiledTransition {
    CompiledTransition {
        role: role.into(),
        condition: condition.map(|text| (format!("to-{role}"), compile(text))),
        outcome: None,
    }
}

/// Decides, evaluating what is asked for on the spot, as the child process would.
fn decide(edges: Vec<CompiledTransition>, history: &ThreadHistory) -> Result<ModeratorDecision, ModeratorError> {
    let mut progress = Moderator::new(edges).decide(history)?;
    loop {
        match progress {
            DecisionState::Decided(decision) => return Ok(decision),
            DecisionState::Evaluate { request, resume } => {
                progress = resume.answer(evaluate(&request).map_err(|error| error.to_string()))?;
            }
        }
    }
}

fn class(expression: &str) -> ConditionClass {
    compile(expression).class()
}
