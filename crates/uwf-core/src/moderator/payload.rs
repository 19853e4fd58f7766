//! Expressions over a payload from outside. They are evaluated under limits only: the payload is hostile until proven otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::analysis::ConditionError;
use super::jsonata::{self, EvalError, JsonataProgram};

/// Variables of these expressions.
pub const PAYLOAD_VARIABLES: [&str; 2] = ["headers", "delivery"];

/// A compiled expression over a payload.
#[derive(Debug)]
pub struct PayloadExpression {
    program: JsonataProgram,
}

/// An expression to evaluate in a child process, with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PayloadEvaluation {
    /// The expression.
    pub expression: String,
    /// Its input.
    pub payload: Value,
    /// Values of [`PAYLOAD_VARIABLES`].
    pub variables: BTreeMap<String, Value>,
}

impl PayloadExpression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The expression does not parse, is too long, or uses something that it must not use: names of threads, `$now`, `$millis`, `$random`,
    /// `$shuffle`, `$eval`, the `@` and `#` bindings.
    pub fn compile(expression: &str) -> Result<PayloadExpression, ConditionError> {
        ConditionError::check_length(expression, None)?;
        Ok(PayloadExpression { program: jsonata::payload::compile(expression, &PAYLOAD_VARIABLES)? })
    }
}

/// Evaluates an expression on a payload; `None` is a missing value. It applies no limits; the caller sets them for its process.
///
/// # Errors
/// The expression does not compile or fails.
pub fn evaluate_payload(evaluation: &PayloadEvaluation) -> Result<Option<Value>, EvalError> {
    let compiled = PayloadExpression::compile(&evaluation.expression)
        .map_err(|error| EvalError { message: error.to_string(), code: error.code })?;
    jsonata::payload::run(&compiled.program, &evaluation.payload, &evaluation.variables)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(expression: &str) -> Result<Option<Value>, String> {
        let evaluation = PayloadEvaluation {
            expression: expression.to_owned(),
            payload: json!({ "action": "opened", "issue": { "number": 42, "labels": [{ "name": "bug" }, { "name": "ui" }] } }),
            variables: [
                ("headers".to_owned(), json!({ "x-github-event": "issues" })),
                ("delivery".to_owned(), json!("d-1")),
            ]
            .into(),
        };
        evaluate_payload(&evaluation).map_err(|error| error.to_string())
    }

    #[test]
    fn payload_headers_and_delivery_are_read() {
        assert_eq!(value("action = 'opened' and $headers.'x-github-event' = 'issues'"), Ok(Some(json!(true))));
        assert_eq!(value("'#' & issue.number & ' ' & $delivery & $$.action"), Ok(Some(json!("#42 d-1opened"))));
        assert_eq!(value("{ 'labels': issue.labels.$uppercase(name) }"), Ok(Some(json!({ "labels": ["BUG", "UI"] }))));
        assert_eq!(value("issue.title"), Ok(None));
    }

    #[test]
    fn unknown_names_are_rejected_with_suggestion() {
        let refused = |expression: &str| PayloadExpression::compile(expression).unwrap_err().to_string();
        assert_eq!(
            refused("$header.x"),
            "`$header.x`: `$header` is not known here (character 1); did you mean `headers`?"
        );
        for expression in ["$steps", "$last('a')", "$threadId", "$now()", "$eval('1')", "a@$b.c", "a ==", ""] {
            assert!(PayloadExpression::compile(expression).is_err(), "{expression}");
        }
        assert!(PayloadExpression::compile("($x := 1; $f := function($y) { $y + $x }; $map([1, 2], $f))").is_ok());
    }
}
