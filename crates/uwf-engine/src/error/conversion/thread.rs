//! Errors of reading a thread.

use crate::error::conversion::root;
use crate::error::{Error, ErrorKind};
use crate::thread::error::ThreadError;
use json_cas::StoreError;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

/// What to do about a node that is missing.
const BRING_BACK: &str =
    "`uwf cas verify` shows what else is missing; put it back from a backup of cas/, or put the same content again";

/// Hint for a wrong condition.
const NEW_VERSION: &str = "a thread keeps its version of the workflow: correct the condition, `uwf workflow put FILE`, then start a thread of it";

/// Hint for a correct condition that reads wrong data.
fn around(thread: &ThreadId, position: &str) -> String {
    match position {
        START => format!("`uwf thread fork {thread} -p 'TEXT'` begins a thread with another task"),
        role => {
            let is_word = role.chars().all(|symbol| symbol.is_alphanumeric() || ['-', '_', '.'].contains(&symbol));
            let word = if is_word { role.to_owned() } else { format!("'{}'", role.replace('\'', "'\\''")) };
            format!("`uwf thread fork {thread} --from-role {word}` begins a thread in which `{role}` is next")
        }
    }
}

pub(super) fn of(error: ThreadError) -> Error {
    use ThreadError as Thread;
    let of = |kind| Error::new(kind, error.to_string());
    let edge = match error {
        Thread::Root(source) => return root::of(source),
        Thread::NoEnd { .. } => of(ErrorKind::Data)
            .hint("history.jsonl says so: `uwf recover` looks whether that line is damaged")
            .hint(BRING_BACK),
        Thread::Gone { .. } => of(ErrorKind::Data).hint(BRING_BACK),
        Thread::HeadMoved { .. } => of(ErrorKind::Busy).hint("look at it with `uwf thread show`, then try again"),
        Thread::Routing { ref thread, ref position, .. } => of(ErrorKind::Data)
            .hint(format!("`uwf thread eval {thread} EXPR` shows what an expression gives"))
            .hint(around(thread, position))
            .hint(NEW_VERSION),
        Thread::Expression(_)
        | Thread::Evaluation { .. }
        | Thread::WrongKind { .. }
        | Thread::Shape { .. }
        | Thread::Workflow { .. }
        | Thread::TooDeep { .. } => of(ErrorKind::Data),
        Thread::NotADigest(_) => of(ErrorKind::Usage).hint("a digest has 64 hexadecimal digits"),
        Thread::NoStep { .. }
        | Thread::Evaluator { .. }
        | Thread::NoRequest(_)
        | Thread::Request(_)
        | Thread::NoDigest => of(ErrorKind::Internal),
    };
    let source: Box<dyn std::error::Error + Send + Sync> = match error {
        Thread::Gone { hash } => Box::new(StoreError::NotFound { hash }),
        error => Box::new(error),
    };
    Error { source: Some(source), ..edge }
}
