//! The outcome of a thread.
//!
//! A transition to `$END` names it: `succeeded` if it names none, or any other word. uwf itself sets the other three.

/// The outcome of an end without a name.
pub const SUCCEEDED: &str = "succeeded";

/// No transition matched.
pub const NO_MATCH: &str = "no-match";

/// The supervisor ended the thread.
pub const STOPPED: &str = "stopped";

/// A person or a parent thread ended the thread.
pub const KILLED: &str = "killed";

/// The branch of a group failed, and the group continued without it. A workflow can also name it.
pub const FAILED: &str = "failed";

/// The outcomes that a workflow can't name.
const RESERVED: [&str; 3] = [NO_MATCH, STOPPED, KILLED];

/// The states of threads. A list shows state and outcome in one column, so an ended thread with such an outcome would look active, or as if
/// it had succeeded.
const STATES: [&str; 9] =
    ["active", "running", "paused", "waiting", "limited", "stuck", "completed", "killed", "corrupt"];

/// The return code of a thread that its workflow ended with another outcome than `succeeded`, and the exit code of commands that see such
/// an end.
pub const NOT_SUCCEEDED: u8 = 11;

/// Reason of an end by the graph.
pub const BY_GRAPH: &str = "end";

/// Prefix of the reason if the supervisor ended the thread; its explanation follows.
pub const BY_SUPERVISOR: &str = "supervisor: ";

/// Advice for an outcome that is not valid.
pub const EXAMPLES: &str = "an outcome is one word, such as `succeeded`, `failed` or `no-match`";

/// Why a text can't be an outcome of a workflow; `None` if it can.
pub(crate) fn fault(outcome: &str) -> Option<String> {
    if RESERVED.contains(&outcome) {
        return Some(format!("`{outcome}` is an outcome of uwf, which no workflow can name"));
    }
    if STATES.contains(&outcome) {
        return Some(format!("`{outcome}` is a state of threads, which no outcome can be called"));
    }
    let rule = match outcome.chars().count() {
        count if count > MAX => format!("has at most {MAX} characters"),
        _ if outcome.starts_with(|first: char| first.is_numeric() || matches!(first, '-' | '_')) => {
            "begins with a letter".to_owned()
        }
        _ => "is one word of letters, digits, `-` and `_`".to_owned(),
    };
    (!is_word(outcome)).then(|| format!("an outcome {rule}, not `{}`", outcome.escape_debug()))
}

/// Whether a text could be an outcome.
#[must_use]
pub fn is_word(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text.chars().all(|symbol| symbol.is_alphanumeric() || matches!(symbol, '-' | '_'))
        && text.chars().count() <= MAX
}

/// Most symbols of an outcome, so that it fits into a column of a listing.
const MAX: usize = 32;
