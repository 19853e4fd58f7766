//! A decision of the moderator as text.

use serde_json::Value;
use uwf_core::text::one_line;
use uwf_engine::thread::moderate::{ConsideredTransition, DecisionExplanation, ReadValue};

use crate::{style, table};

/// Maximum columns of a value that a condition read or returned.
const VALUE: usize = 200;

/// A decision with every transition that was considered, after a word about the decision.
pub(crate) fn explanation(what: &str, explained: &DecisionExplanation) -> String {
    let mut text = format!("{what}: {}\n", style::bold(&explained.next));
    for line in &explained.considered {
        text.push_str(&transition(line));
    }
    text + &branches(&explained.branches)
}

/// The branches of a group: which were played, and why the others were left out. Empty if none has a condition.
pub(crate) fn branches(considered: &[ConsideredTransition]) -> String {
    if considered.is_empty() {
        return String::new();
    }
    let line = |branch: &ConsideredTransition| {
        let word = match (&branch.error, branch.matched) {
            (Some(_), _) => "cannot decide about",
            (None, true) => "plays",
            (None, false) => "leaves out",
        };
        considered_line(branch, word)
    };
    format!("branches\n{}", considered.iter().map(line).collect::<String>())
}

fn transition(line: &ConsideredTransition) -> String {
    considered_line(line, "→")
}

fn considered_line(line: &ConsideredTransition, word: &str) -> String {
    let sign = match (&line.error, line.matched) {
        (Some(_), _) => style::red("✗"),
        (None, true) => style::green("✓"),
        (None, false) => style::dim("·"),
    };
    let condition = line.condition.as_deref().map(|name| format!(" if {}", one_line(name))).unwrap_or_default();
    let description = line.description.as_deref().map(|text| format!(" ({})", one_line(text))).unwrap_or_default();
    let mut text =
        format!("  {sign} {word} {}{condition}{description}: {}\n", one_line(&line.role), one_line(&line.why));
    if let Some(expression) = &line.expression {
        text.push_str(&style::dim(&format!("      {expression} → {}\n", value(line.value.as_ref()))));
    }
    for read in &line.reads {
        text.push_str(&style::dim(&format!("      {} is {}\n", read.what, read_value(read))));
    }
    text
}

fn read_value(read: &ReadValue) -> String {
    match (&read.error, read.bytes) {
        (Some(error), _) => format!("not known: {}", one_line(error)),
        (None, Some(bytes)) => format!("a value of {bytes} bytes"),
        (None, None) => value(read.value.as_ref()),
    }
}

fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| table::excerpt(&value.to_string(), VALUE))
}
