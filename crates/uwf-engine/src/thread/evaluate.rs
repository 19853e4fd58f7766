//! The sandbox for complex conditions and for expressions over payloads from outside: a child `uwf` with a memory limit and a deadline, so that no expression can hang or kill the
//! engine.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::moderator::{self, EvalError, EvaluationRequest, PayloadEvaluation};
use uwf_platform::host;

use crate::error::{Error, Result};
use crate::root::home::Home;

/// Address space of the child. Conditions over 10,000 steps need a tenth of it.
pub(crate) const MEMORY_LIMIT: u64 = 512 * 1024 * 1024;

/// Time limit of the child.
pub const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Maximum size of a result in bytes: it goes through pipes and the memory of the caller.
pub(crate) const MAX_ANSWER: u64 = 16 * 1024 * 1024;

/// Hidden argument that makes `uwf` the child for a condition.
pub const CHILD_ARGUMENT: &str = "__evaluate";

/// Hidden argument that makes `uwf` the child for an expression over a payload.
pub const PAYLOAD_CHILD_ARGUMENT: &str = "__evaluate-payload";

/// The child's answer. A missing value is not null, so it has its own variant.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EvaluationAnswer {
    Value(Value),
    Missing,
    Error(String),
}

/// Evaluates an expression in a child process. `Ok(Err)` means that the expression failed or hit a limit.
///
/// # Errors
/// `Internal` if the child cannot be started.
pub fn in_child(home: &Home, request: &EvaluationRequest) -> Result<Result<Option<Value>, String>> {
    evaluated(home, CHILD_ARGUMENT, request)
}

/// Evaluates an expression over a payload in a child process. `Ok(Err)` means that the expression failed or hit a limit.
///
/// # Errors
/// `Internal` if the child cannot be started.
pub(crate) fn payload_in_child(home: &Home, evaluation: &PayloadEvaluation) -> Result<Result<Option<Value>, String>> {
    evaluated(home, PAYLOAD_CHILD_ARGUMENT, evaluation)
}

fn evaluated(home: &Home, argument: &str, request: &impl Serialize) -> Result<Result<Option<Value>, String>> {
    let mut child = Command::new(home.bin())
        .arg(argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            Error::internal(format!("cannot start {} to evaluate an expression: {error}", home.bin().display()))
        })?;
    let input = serde_json::to_vec(request).expect("an expression and a JSON context");
    let mut stdin = child.stdin.take().expect("stdin was piped");
    // The child reads everything before it evaluates. If it dies early, the write fails and the answer is missing.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let stdout = child.stdout.take().expect("stdout was piped");
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        // A longer answer fails in the child, because the rest is never read.
        stdout.take(MAX_ANSWER + 1).read_to_end(&mut answer).map(|_| answer)
    });
    let end = wait_until(&mut child, TIME_LIMIT);
    let answer = reader.join().ok().and_then(std::io::Result::ok).unwrap_or_default();
    // A failed write shows as a missing answer.
    let _ = writer.join();
    if end == EvaluatorEnd::Deadline {
        return Ok(Err(format!("took longer than {} s", TIME_LIMIT.as_secs())));
    }
    if answer.len() as u64 > MAX_ANSWER {
        return Ok(Err(format!("gave more than {} MB", MAX_ANSWER / 1024 / 1024)));
    }
    match serde_json::from_slice(&answer) {
        Ok(EvaluationAnswer::Value(value)) => Ok(Ok(Some(value))),
        Ok(EvaluationAnswer::Missing) => Ok(Ok(None)),
        Ok(EvaluationAnswer::Error(error)) => Ok(Err(error)),
        Err(_) => {
            Ok(Err(format!("took more than {} MB of memory, or recursed too deeply", MEMORY_LIMIT / 1024 / 1024)))
        }
    }
}

/// The child for a condition: reads a request from stdin, limits itself, evaluates, and returns the answer to print on stdout.
///
/// # Errors
/// `Internal` if the request is not readable.
pub fn child_main() -> Result<Vec<u8>> {
    answered(moderator::evaluate)
}

/// The child for an expression over a payload, in the same way.
///
/// # Errors
/// `Internal` if the request is not readable.
pub fn payload_child_main() -> Result<Vec<u8>> {
    answered(moderator::evaluate_payload)
}

fn answered<R: DeserializeOwned>(evaluate: impl FnOnce(&R) -> Result<Option<Value>, EvalError>) -> Result<Vec<u8>> {
    let mut input = Vec::new();
    std::io::stdin()
        .read_to_end(&mut input)
        .map_err(|error| Error::internal(format!("cannot read the request: {error}")))?;
    let request: R = serde_json::from_slice(&input)
        .map_err(|error| Error::internal(format!("the request is not readable: {error}")))?;
    host().limit_memory(MEMORY_LIMIT);
    let answer = match evaluate(&request) {
        Ok(Some(value)) => EvaluationAnswer::Value(value),
        Ok(None) => EvaluationAnswer::Missing,
        Err(error) => EvaluationAnswer::Error(error.to_string()),
    };
    Ok(serde_json::to_vec(&answer).unwrap_or_default())
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EvaluatorEnd {
    Itself,
    Deadline,
    Memory,
}

/// Waits for the child's end, and kills it at the deadline, or if it uses more memory than a system without such a limit would stop.
fn wait_until(child: &mut Child, limit: Duration) -> EvaluatorEnd {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    let killed = loop {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return EvaluatorEnd::Itself;
        }
        if Instant::now() >= deadline {
            break EvaluatorEnd::Deadline;
        }
        if host().memory_used(child.id()).is_some_and(|used| used > MEMORY_LIMIT) {
            break EvaluatorEnd::Memory;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    let _ = child.kill();
    let _ = child.wait();
    killed
}
