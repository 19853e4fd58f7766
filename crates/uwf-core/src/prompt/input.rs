//! The input of a thread in a prompt: the same bytes for every role.

use serde_json::Value;

use super::fence::{fenced, head};

/// The largest share of the prompt that the input takes, as a divisor of the budget. The rest is for the task and the steps.
const SHARE: usize = 4;

/// A cut input has a multiple of this many bytes, so that few different texts are stored.
const UNIT: usize = 1 << 10;

/// The section of an input, and whether it is cut. It depends only on the input and the budget of the prompt.
pub(super) fn section(input: &Value, budget: usize) -> (String, bool) {
    let text = yaml_tree::write::block(input);
    let most = (budget / SHARE / UNIT).max(1) * UNIT;
    let (start, left_out) = head(&text, most);
    let mark = if left_out > 0 { format!("[… {left_out} bytes of the input left out]\n") } else { String::new() };
    (format!("\n# Input\n\n{}{mark}", fenced("yaml", start)), left_out > 0)
}
