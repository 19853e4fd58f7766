//! A failed request: an HTTP status, and the report that the command prints for the same failure.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::thread::state::ThreadState;

use crate::command_line::json_name;
use crate::fields::RequestFields;

/// The form that failed, for the page that shows the failure.
#[derive(Debug, Clone)]
pub(crate) struct SentForm {
    /// Path that the form was sent to.
    pub(crate) action: String,
    /// Page that the form was on.
    pub(crate) page: String,
    /// Fields of the form.
    pub(crate) fields: RequestFields,
}

/// A failed request. API answers are JSON; [`crate::pages::shown_as_page`] turns them into pages where a page was requested.
#[derive(Debug, Clone)]
pub(crate) struct HttpFailure {
    /// The HTTP status.
    pub(crate) status: StatusCode,
    /// Why, in one line.
    pub(crate) message: String,
    /// What to try next.
    pub(crate) hints: Vec<String>,
    /// The whole report; boxed to keep results small.
    report: Box<Value>,
    /// The form that failed.
    pub(crate) form: Option<Box<SentForm>>,
}

/// The HTTP status for a command's exit code. The API reference has the table.
pub(crate) fn status(exit_code: u8) -> StatusCode {
    match exit_code {
        0 | 10 | 11 => StatusCode::OK,
        20 => StatusCode::ACCEPTED,
        30 | 40 | 41 | 78 => StatusCode::UNPROCESSABLE_ENTITY,
        64 | 65 => StatusCode::BAD_REQUEST,
        69 => StatusCode::NOT_FOUND,
        75 => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl HttpFailure {
    /// A failure of the server itself, which no command reports.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> HttpFailure {
        let message = message.into();
        let report = json!({ "error": { "message": message, "hints": [] } });
        HttpFailure { status, message, hints: Vec::new(), report: Box::new(report), form: None }
    }

    /// The requested thing does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> HttpFailure {
        HttpFailure::new(StatusCode::NOT_FOUND, message)
    }

    /// The request is invalid.
    pub(crate) fn bad_request(message: impl Into<String>) -> HttpFailure {
        HttpFailure::new(StatusCode::BAD_REQUEST, message)
    }

    /// A bug in the server.
    pub(crate) fn internal(error: impl std::fmt::Display) -> HttpFailure {
        HttpFailure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("this should not happen: {error}"))
    }

    /// Adds a hint about what to try next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> HttpFailure {
        self.hints.push(hint.into());
        self.report["error"]["hints"] = json!(self.hints);
        self
    }

    /// The whole report.
    pub(crate) fn report(&self) -> &Value {
        &self.report
    }

    /// Whether the thread still waits for a person, so that the answer was not accepted.
    pub(crate) fn still_waits(&self) -> bool {
        self.report["state"] == ThreadState::Waiting.name()
    }

    /// Adds the form that failed, so that it needn't be typed again.
    #[must_use]
    pub(crate) fn of_form(self, form: SentForm) -> HttpFailure {
        HttpFailure { form: Some(Box::new(form)), ..self }
    }

    /// Names the fields of the request where the command names its options.
    #[must_use]
    pub(crate) fn of_fields(mut self, options: &[&str]) -> HttpFailure {
        for option in options {
            self.message = with_field(&self.message, option);
        }
        self.report["error"]["message"] = json!(self.message);
        self
    }

    /// The report that a failed command printed.
    pub(crate) fn reported(exit_code: u8, report: Map<String, Value>) -> HttpFailure {
        let error = report.get("error").cloned().unwrap_or_default();
        let message = error["message"].as_str().unwrap_or("the command failed").to_owned();
        let hints = error["hints"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        HttpFailure {
            status: status(exit_code),
            message,
            hints: hints.collect(),
            report: Box::new(Value::Object(report)),
            form: None,
        }
    }
}

/// A message with the field's name in the place of `'--OPTION <VALUE>'`, as the parser of the command line quotes an option.
fn with_field(message: &str, option: &str) -> String {
    let quoted = format!("'--{option} <");
    match message.split_once(&quoted).and_then(|(before, rest)| Some((before, rest.split_once(">'")?.1))) {
        Some((before, after)) => format!("{before}`{}`{after}", json_name(option)),
        None => message.to_owned(),
    }
}

impl<E: Into<Error>> From<E> for HttpFailure {
    fn from(error: E) -> HttpFailure {
        let Error { kind, message, hints, .. } = error.into();
        let exit_code = kind.exit_code();
        let error = json!({ "kind": kind, "message": message, "hints": hints, "exitCode": exit_code });
        let status = match kind {
            // An invalid name is not found rather than a bad request: usually a link was cut short.
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            _ => status(exit_code),
        };
        HttpFailure { status, message, hints, report: Box::new(json!({ "error": error })), form: None }
    }
}

impl IntoResponse for HttpFailure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.report.clone())).into_response();
        response.extensions_mut().insert(self);
        response
    }
}
