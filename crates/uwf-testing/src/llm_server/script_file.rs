//! Scripts as JSON files, for tests in other languages.
//!
//! `{"models": [names], "refuse": [features], "answers": [answer…]}`, or only the list. An answer is a text, or an object with any of
//! `text`, `thinking`, `calls: [{name, arguments}]`, `chunks`, `usage: {input, output, cached, reasoning, cost}` or null, `status` with
//! `message`, `body` with `contentType`, `headers`, `delayMs`, `pauseMs`, `cutAfter`, `stallAfter`, `trickleBytes`, `hangUp`,
//! `neverStreamed`, `cutAtMaxTokens`, `onlyIf`, `repeat`. Arguments can be a text, which is sent unchanged.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{LlmScript, ScriptedAnswer, ScriptedUsage};

/// Every key an answer may have.
const KEYS: [&str; 20] = [
    "text",
    "thinking",
    "calls",
    "chunks",
    "usage",
    "status",
    "message",
    "body",
    "contentType",
    "headers",
    "delayMs",
    "pauseMs",
    "cutAfter",
    "stallAfter",
    "trickleBytes",
    "hangUp",
    "neverStreamed",
    "cutAtMaxTokens",
    "onlyIf",
    "repeat",
];

impl LlmScript {
    /// Parses a script.
    pub fn from_json(text: &str) -> Result<LlmScript, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let list = value.as_array().or_else(|| value.get("answers")?.as_array());
        let list = list.ok_or("a script is a list of answers, or an object with a list `answers`")?;
        let answers: Result<Vec<ScriptedAnswer>, String> = list
            .iter()
            .enumerate()
            .map(|(at, one)| answer(one).map_err(|problem| format!("answer {}: {problem}", at + 1)))
            .collect();
        let mut script = LlmScript::new(answers?);
        for feature in texts(value.get("refuse"))? {
            script = script.refusing(&feature);
        }
        Ok(if value.get("models").is_some() { script.with_models(texts(value.get("models"))?) } else { script })
    }
}

fn answer(value: &Value) -> Result<ScriptedAnswer, String> {
    let fields = match value {
        Value::String(text) => return Ok(ScriptedAnswer::text(text)),
        Value::Object(fields) => fields,
        other => return Err(format!("{other} is neither a text nor an object")),
    };
    if let Some(unknown) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("unknown key `{unknown}`"));
    }
    let mut say = begun(fields)?;
    for call in fields.get("calls").and_then(Value::as_array).into_iter().flatten() {
        let name = call.get("name").and_then(Value::as_str).ok_or("a call has no `name`")?;
        say = match call.get("arguments") {
            Some(Value::String(written)) => say.and_call_as_written(name, written),
            arguments => say.and_call(name, arguments.cloned().unwrap_or_else(|| Value::Object(Map::new()))),
        };
    }
    for (name, value) in fields.get("headers").and_then(Value::as_object).into_iter().flatten() {
        say = say.header(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    Ok(travelling(say, fields))
}

/// The contents of an answer.
fn begun(fields: &Map<String, Value>) -> Result<ScriptedAnswer, String> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let mut say = match (fields.get("status").and_then(Value::as_u64), text("body")) {
        (status, Some(body)) => ScriptedAnswer::raw(
            to_status(status.unwrap_or(200))?,
            text("contentType").unwrap_or("application/json"),
            body,
        ),
        (Some(status), None) => {
            ScriptedAnswer::status(to_status(status)?, text("message").unwrap_or("scripted failure"))
        }
        (None, None) => ScriptedAnswer::text(text("text").unwrap_or_default()),
    };
    if fields.contains_key("chunks") {
        say = say.chunks(texts(fields.get("chunks"))?);
    }
    if let Some(thinking) = text("thinking") {
        say = say.thinking(thinking);
    }
    if let Some(condition) = text("onlyIf") {
        say = say.only_if(condition);
    }
    Ok(match fields.get("usage") {
        None => say,
        Some(Value::Null) => say.without_usage(),
        Some(value) => say.usage(usage(value)),
    })
}

/// How an answer is sent.
fn travelling(mut say: ScriptedAnswer, fields: &Map<String, Value>) -> ScriptedAnswer {
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    let size = |key: &str| number(key).and_then(|number| usize::try_from(number).ok());
    let is = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
    let pause = Duration::from_millis(number("pauseMs").unwrap_or(0));
    say = say.after(Duration::from_millis(number("delayMs").unwrap_or(0))).pausing(pause);
    if let Some(pieces) = size("cutAfter") {
        say = say.cut_after(pieces);
    }
    if let Some(pieces) = size("stallAfter") {
        say = say.stalling_after(pieces);
    }
    if let Some(bytes) = size("trickleBytes") {
        say = say.trickling(bytes, pause);
    }
    if is("hangUp") {
        say = ScriptedAnswer { travel: ScriptedAnswer::hang_up().travel, ..say };
    }
    if is("neverStreamed") {
        say = say.never_streamed();
    }
    if is("cutAtMaxTokens") {
        say = say.cut_at_max_tokens();
    }
    if is("repeat") { say.repeated() } else { say }
}

fn to_status(number: u64) -> Result<u16, String> {
    u16::try_from(number).ok().filter(|code| (100..600).contains(code)).ok_or(format!("{number} is not an HTTP status"))
}

fn usage(value: &Value) -> ScriptedUsage {
    let count = |key: &str| value.get(key).and_then(Value::as_u64);
    ScriptedUsage {
        input: count("input").unwrap_or(0),
        output: count("output").unwrap_or(0),
        cache_write: 0,
        cached: count("cached"),
        reasoning: count("reasoning"),
        cost: value.get("cost").and_then(Value::as_f64),
    }
}

fn texts(list: Option<&Value>) -> Result<Vec<String>, String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| item.as_str().map(str::to_owned).ok_or(format!("{item} is not a text"))).collect()
}
