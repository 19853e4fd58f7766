//! The output of a step as a text in a prompt.

use std::borrow::Cow;

use serde_json::Value;

/// An output in a prompt, with the kind of its text.
pub(super) fn shown_output(output: &Value) -> (&'static str, Cow<'_, str>) {
    match (output, printed(output)) {
        (Value::String(text), _) => ("markdown", Cow::from(text)),
        (value, Some(printed)) => ("text", Cow::from(exit_text(value, printed.trim_end()))),
        (value, None) => ("json", Cow::from(format!("{value:#}"))),
    }
}

/// The text that a command printed, if the role has `run`. As JSON, its lines would be one long string.
fn printed(output: &Value) -> Option<&str> {
    let keys = output.as_object().filter(|keys| keys.len() == 3)?;
    keys.get("passed")?.as_bool()?;
    keys.get("exitCode")?.as_i64()?;
    keys.get("output")?.as_str()
}

fn exit_text(output: &Value, printed: &str) -> String {
    let verdict = if output["passed"] == true { "passed" } else { "failed" };
    let printed = if printed.is_empty() { " nothing.".to_owned() } else { format!(":\n{printed}") };
    format!("The command {verdict} with exit code {}. It printed{printed}", output["exitCode"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn silent_command_printed_nothing() {
        let output = |printed: &str| json!({ "passed": true, "exitCode": 0, "output": printed });
        assert_eq!(shown_output(&output("\n")).1, "The command passed with exit code 0. It printed nothing.");
        assert_eq!(shown_output(&output("ok\n")).1, "The command passed with exit code 0. It printed:\nok");
    }
}
