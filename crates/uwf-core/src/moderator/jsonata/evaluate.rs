//! Runs programs on a history.

use std::collections::HashMap;
use std::rc::Rc;

use jsonata_core::evaluator::{Context, Evaluator, EvaluatorError};
use jsonata_core::value::{JArray, JMap, JValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::super::history::INPUT;
use super::super::{HistoryReads, ThreadHistory};
use super::{JsonataProgram, names, parse};
use crate::thread::ALWAYS_ALLOWED;

/// Deepest nesting of a result: as deep as a stored output, plus the steps around it. The JSON that carries it between processes is read up
/// to 128 levels.
const MAX_RESULT_DEPTH: usize = json_cas::cbor::MAX_DEPTH + 4;

/// Why a condition gave no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}{}", code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
pub struct EvalError {
    /// The error message, without the code.
    pub message: String,
    /// JSONata's code such as `T2001`, if it has one.
    pub code: Option<String>,
}

impl EvalError {
    pub(super) fn new(message: &str) -> EvalError {
        let (code, message) = parse::split_code(message);
        EvalError { message: message.to_owned(), code: code.map(str::to_owned) }
    }
}

/// Evaluates any number of programs on one history, which is converted once. Not `Send`.
pub(in super::super) struct EvaluationSession {
    evaluator: Evaluator,
    input: JValue,
}

impl EvaluationSession {
    /// Prepares a history for programs that read at most `reads`.
    pub(in super::super) fn new(history: &ThreadHistory, reads: &HistoryReads) -> EvaluationSession {
        let facts = Rc::new(HistoryFacts::from_history(history));
        let mut context = Context::new();
        let input = history.input.as_ref().map(|input| (INPUT, library_value(input)));
        let start = [
            ("workflow", JValue::string(history.workflow.as_str())),
            ("prompt", JValue::string(history.prompt.as_str())),
        ];
        let start = fields_of(start.into_iter().chain(input));
        context.bind(names::THREAD_ID.into(), JValue::string(history.thread_id.as_str()));
        context.bind(names::DEPTH.into(), JValue::from(i64::from(history.depth)));
        context.bind(names::START.into(), start.clone());
        let item = history.item.as_ref().map(library_value);
        context.bind(names::ITEM.into(), item.clone().unwrap_or(JValue::Undefined));
        context.bind(names::STEPS.into(), facts.steps.clone());
        context.bind(names::STEP_COUNT.into(), JValue::from(history.total));
        let usage = history.usage.as_ref().and_then(|usage| serde_json::to_value(usage).ok());
        context.bind(names::USAGE.into(), usage.as_ref().map_or(JValue::Undefined, library_value));
        for role in &reads.count_of {
            context.bind(names::count_of(role), JValue::from(facts.counts.get(role).copied().unwrap_or(0)));
        }
        for role in &reads.first_of {
            context.bind(names::first_of(role), step_of(facts.first_of.get(role)));
        }
        for role in &reads.last_of {
            context.bind(names::last_of(role), step_of(facts.last_of.get(role)));
        }
        let input = [
            (names::START, start),
            (names::STEPS, facts.steps.clone()),
            (names::THREAD_ID, JValue::string(history.thread_id.as_str())),
            (names::DEPTH, JValue::from(i64::from(history.depth))),
        ];
        let input = fields_of(input.into_iter().chain(item.map(|item| (names::ITEM, item))));
        let mut evaluator = Evaluator::with_context(context);
        register(&mut evaluator, &facts);
        EvaluationSession { evaluator, input }
    }

    /// Runs a program and returns its result. `None` is a missing value, which differs from `null`.
    pub(in super::super) fn run(&mut self, program: &JsonataProgram) -> Result<Option<Value>, EvalError> {
        let result =
            self.evaluator.evaluate(&program.tree, &self.input).map_err(|error| EvalError::new(error.message()))?;
        match result {
            JValue::Undefined => Ok(None),
            other => plain_value(&other, 0).map(Some),
        }
    }
}

/// The data behind the functions and variables.
struct HistoryFacts {
    steps: JValue,
    counts: HashMap<String, usize>,
    first_of: HashMap<String, JValue>,
    last_of: HashMap<String, JValue>,
    /// How each output was obtained, by the hash of the detail that says so.
    extracted_by: HashMap<String, Rc<str>>,
    /// Header keys that are not part of the outputs, by the hash of the detail.
    headers: HashMap<String, Map<String, Value>>,
    /// The branches of groups, by role.
    branches: HashMap<String, JValue>,
    /// Outcomes of child threads, by the hash of the detail.
    outcomes: HashMap<String, Rc<str>>,
}

impl HistoryFacts {
    fn from_history(history: &ThreadHistory) -> HistoryFacts {
        let mut facts = HistoryFacts {
            steps: JValue::Undefined,
            counts: HashMap::new(),
            first_of: HashMap::new(),
            last_of: HashMap::new(),
            extracted_by: HashMap::new(),
            headers: HashMap::new(),
            branches: history.branches.iter().map(|(role, list)| (role.clone(), library_value(list))).collect(),
            outcomes: HashMap::new(),
        };
        let mut steps = Vec::with_capacity(history.steps.len());
        for step in &history.steps {
            let output = library_value(&step.output);
            if history.is_complete() {
                *facts.counts.entry(step.role.clone()).or_default() += 1;
                facts.first_of.entry(step.role.clone()).or_insert_with(|| output.clone());
                facts.last_of.insert(step.role.clone(), output.clone());
            }
            if let Some(how) = &step.extracted_by {
                facts.extracted_by.insert(step.detail.to_string(), how.as_str().into());
            }
            if let Some(outcome) = &step.outcome {
                facts.outcomes.insert(step.detail.to_string(), outcome.as_str().into());
            }
            if !step.header.is_empty() {
                facts.headers.insert(step.detail.to_string(), step.header.clone());
            }
            steps.push(object([
                ("role", JValue::string(step.role.as_str())),
                ("output", output.clone()),
                ("meta", output),
                ("detail", JValue::string(step.detail.to_string())),
                ("agent", JValue::string(step.agent.as_str())),
            ]));
        }
        facts.steps = array(steps);
        if !history.is_complete() {
            facts.counts.extend(history.counts.iter().map(|(role, n)| (role.clone(), *n)));
            facts.first_of.extend(history.first_of.iter().map(|(role, v)| (role.clone(), library_value(v))));
            facts.last_of.extend(history.last_of.iter().map(|(role, v)| (role.clone(), library_value(v))));
        }
        facts
    }
}

/// The value of a rewritten reference to a role's first or newest step.
fn step_of(output: Option<&JValue>) -> JValue {
    match output {
        None => JValue::Undefined,
        Some(output) => object([("output", output.clone()), ("meta", output.clone())]),
    }
}

fn register(evaluator: &mut Evaluator, facts: &Rc<HistoryFacts>) {
    let first = Rc::clone(facts);
    let last = Rc::clone(facts);
    let extracted = Rc::clone(facts);
    let headers = Rc::clone(facts);
    let outcomes = Rc::clone(facts);
    let branches = Rc::clone(facts);
    let registered = [
        evaluator.register_fn(names::FIRST, move |args: &[JValue]| of_role(names::FIRST, &first.first_of, args)),
        evaluator.register_fn(names::LAST, move |args: &[JValue]| of_role(names::LAST, &last.last_of, args)),
        evaluator.register_fn(names::EXTRACTED_BY, move |args: &[JValue]| {
            of_detail(names::EXTRACTED_BY, &extracted.extracted_by, args)
        }),
        evaluator
            .register_fn(names::OUTCOME, move |args: &[JValue]| of_detail(names::OUTCOME, &outcomes.outcomes, args)),
        evaluator
            .register_fn(names::BRANCHES, move |args: &[JValue]| of_role(names::BRANCHES, &branches.branches, args)),
        evaluator.register_fn(names::FRONTMATTER, move |args: &[JValue]| frontmatter(&headers.headers, args)),
    ];
    for result in registered {
        result.expect("a test checks that the library has no functions of these names");
    }
}

fn of_role(function: &str, outputs: &HashMap<String, JValue>, args: &[JValue]) -> Result<JValue, EvaluatorError> {
    match args {
        [JValue::String(role)] => Ok(outputs.get(&**role).cloned().unwrap_or(JValue::Undefined)),
        [JValue::Undefined] => Ok(JValue::Undefined),
        _ => Err(EvaluatorError::TypeError(format!("T0410: ${function} takes the name of a role"))),
    }
}

/// The text that is known about the detail of a step.
fn of_detail(function: &str, known: &HashMap<String, Rc<str>>, args: &[JValue]) -> Result<JValue, EvaluatorError> {
    let Some(StepArgument { detail, .. }) = step_argument(function, args)? else { return Ok(JValue::Undefined) };
    Ok(known.get(detail).map_or(JValue::Undefined, |text| JValue::String(Rc::clone(text))))
}

/// The keys that every header may carry, from the output and from the header beside it.
fn frontmatter(headers: &HashMap<String, Map<String, Value>>, args: &[JValue]) -> Result<JValue, EvaluatorError> {
    let Some(StepArgument { detail, output }) = step_argument(names::FRONTMATTER, args)? else {
        return Ok(JValue::Undefined);
    };
    let beside = headers.get(detail);
    let value = |key: &str| {
        let own = output.and_then(|output| output.get(key)).cloned();
        own.or_else(|| beside?.get(key).map(library_value))
    };
    let found = ALWAYS_ALLOWED.into_iter().filter_map(|key| Some((key.to_owned(), value(key)?)));
    Ok(JValue::object(found.collect()))
}

/// The step that was passed to a function.
struct StepArgument<'v> {
    detail: &'v str,
    /// Its output, if it is an object.
    output: Option<&'v JMap>,
}

/// Returns the step that is the only argument; `None` if the argument is missing.
fn step_argument<'v>(function: &str, args: &'v [JValue]) -> Result<Option<StepArgument<'v>>, EvaluatorError> {
    let step = match args {
        [JValue::Undefined] => return Ok(None),
        [JValue::Object(step)] => step,
        _ => return Err(no_step(function)),
    };
    let Some(JValue::String(detail)) = step.get("detail") else { return Err(no_step(function)) };
    let output = match step.get("output") {
        Some(JValue::Object(output)) => Some(&**output),
        _ => None,
    };
    Ok(Some(StepArgument { detail, output }))
}

fn no_step(function: &str) -> EvaluatorError {
    EvaluatorError::TypeError(format!("T0410: ${function} takes one step, such as steps[-1]"))
}

fn object<const N: usize>(fields: [(&str, JValue); N]) -> JValue {
    fields_of(fields)
}

fn fields_of<'f>(fields: impl IntoIterator<Item = (&'f str, JValue)>) -> JValue {
    JValue::object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn array(items: Vec<JValue>) -> JValue {
    let flat = !items.iter().any(JValue::is_array);
    JValue::Array(JArray::new_flat(items, flat))
}

/// Converts an output to the library's value. Numbers become doubles, as in JavaScript.
pub(super) fn library_value(value: &Value) -> JValue {
    match value {
        Value::Null => JValue::Null,
        Value::Bool(value) => JValue::Bool(*value),
        Value::Number(number) => JValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => JValue::string(text.as_str()),
        Value::Array(items) => array(items.iter().map(library_value).collect()),
        Value::Object(fields) => {
            // The library marks its own wrappers by a first key `@`. Don't let an agent's output pass for a wrapper.
            let wrapped = fields.keys().next().is_some_and(|key| key == "@");
            let (marks, others): (Vec<_>, Vec<_>) = fields.iter().partition(|(key, _)| wrapped && *key == "@");
            let fields = others.into_iter().chain(marks);
            JValue::object(fields.map(|(key, value)| (key.clone(), library_value(value))).collect())
        }
    }
}

/// Converts a result to plain JSON. A missing member of an array becomes null, and a function becomes `""`, as in `$string`.
pub(super) fn plain_value(value: &JValue, depth: usize) -> Result<Value, EvalError> {
    if depth > MAX_RESULT_DEPTH {
        return Err(EvalError::new(&format!("the result is nested more than {MAX_RESULT_DEPTH} deep")));
    }
    Ok(match value {
        JValue::Null | JValue::Undefined => Value::Null,
        JValue::Bool(value) => Value::Bool(*value),
        JValue::Number(number) => plain_number(*number)?,
        JValue::String(text) => Value::String(text.to_string()),
        JValue::Array(items) => {
            Value::Array(items.iter().map(|item| plain_value(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        JValue::Object(fields) => {
            let mut object = Map::new();
            for (name, value) in fields.iter() {
                object.insert(name.clone(), plain_value(value, depth + 1)?);
            }
            Value::Object(object)
        }
        JValue::Lambda(_) | JValue::Builtin { .. } | JValue::Regex { .. } => Value::String(String::new()),
    })
}

fn plain_number(number: f64) -> Result<Value, EvalError> {
    /// Above this, some whole numbers have no double.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Ok(Value::from(number as i64));
    }
    Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(|| EvalError::new("D1001: the result is not a finite number"))
}
