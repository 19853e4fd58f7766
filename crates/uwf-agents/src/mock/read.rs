//! Reads a mock's script and says what is wrong with it, and where.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_kit::{Error, Result};
use json_cas::nearest;
use serde_json::{Map, Value};
use uwf_core::document::{Document, Problem};

use super::script::{Script, ScriptEntry, ScriptedAct, ScriptedFailure, ScriptedGarbage, ScriptedReply};

/// Longest `hang`: a day. A longer one is a slip of the unit.
pub(super) const LONGEST_HANG: f64 = 86_400.0;

/// Exit code of a failed try that names none.
const EXIT_CODE: i32 = 1;

pub(super) const KEYS: [&str; 9] =
    ["reply", "garbage", "feedback", "fail", "hang", "expect-prompt", "exit-code", "stderr", "repeat"];

impl Script {
    /// Reads a script. `file` is its name in messages.
    ///
    /// # Errors
    /// `Config` with every problem, each with line and column.
    pub(super) fn parse(text: &str, file: &str) -> Result<Script> {
        Ok(Script { file: file.to_owned(), roles: roles(text, file)? })
    }
}

/// What each role does, in order. `file` is the script's name in messages.
///
/// # Errors
/// `Config` with every problem, each with line and column.
fn roles(text: &str, file: &str) -> Result<BTreeMap<String, Vec<ScriptEntry>>> {
    let document = Document::parse(text, file).map_err(|problems| refused(&problems))?;
    let mut reader = Reader { document: &document, problems: Vec::new() };
    let roles = reader.roles();
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    if reader.problems.is_empty() { Ok(roles) } else { Err(refused(&reader.problems)) }
}

fn refused(problems: &[Problem]) -> Error {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match &problem.hint {
            Some(hint) => format!("{problem} ({hint})"),
            None => problem.to_string(),
        })
        .collect();
    Error::config(lines.join("\n"))
}

/// Makes entries of a document and collects what is wrong with it.
struct Reader<'d> {
    document: &'d Document,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn error(&mut self, pointer: &str, code: &'static str, message: impl Into<String>, hint: Option<&str>) {
        self.problems.push(self.document.error(pointer, code, message.into(), hint.map(str::to_owned)));
    }

    /// A key of the entry at `pointer` has a value that it cannot have.
    fn wrong_type(&mut self, pointer: &str, key: &str, message: impl Into<String>, hint: Option<&str>) {
        self.error(&Document::below(pointer, key), "wrong-type", message, hint);
    }

    /// A key of the entry at `pointer` belongs to another one, which it lacks.
    fn misplaced(&mut self, pointer: &str, key: &str, other: &str) {
        self.error(&Document::below(pointer, key), "misplaced", format!("`{key}` goes with `{other}`"), None);
    }

    fn roles(&mut self) -> BTreeMap<String, Vec<ScriptEntry>> {
        let Value::Object(roles) = &self.document.value else {
            self.error("", "wrong-type", "a script is a mapping of roles, each with a list of entries", None);
            return BTreeMap::new();
        };
        roles.iter().map(|(role, entries)| (role.clone(), self.entries(role, entries))).collect()
    }

    fn entries(&mut self, role: &str, entries: &Value) -> Vec<ScriptEntry> {
        let pointer = Document::below("", role);
        let Value::Array(items) = entries else {
            let hint = "begin each entry with `- `, such as `- reply: {…}`";
            self.error(&pointer, "wrong-type", format!("role `{role}` must have a list of entries"), Some(hint));
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = Document::below(&pointer, &index.to_string());
            let Some(entry) = self.entry(&pointer, item) else { continue };
            if entry.repeat && index + 1 < items.len() {
                let at = Document::below(&pointer, "repeat");
                let message = "only the last entry of a role can be repeated: what follows is never reached";
                self.error(&at, "unreachable", message, None);
            }
            entries.push(entry);
        }
        entries
    }

    fn entry(&mut self, pointer: &str, item: &Value) -> Option<ScriptEntry> {
        let Value::Object(fields) = item else {
            let hint = "such as `- reply: {…}`";
            self.error(pointer, "wrong-type", format!("an entry is a mapping with one of {}", acts()), Some(hint));
            return None;
        };
        let before = self.problems.len();
        self.unknown_keys(pointer, fields);
        let hang = self.hang(pointer, fields);
        let expect_prompt = self.texts(pointer, fields, "expect-prompt");
        let repeat = self.repeat(pointer, fields);
        let act = self.act(pointer, fields)?;
        if repeat && !matches!(act, ScriptedAct::Reply(_)) {
            self.misplaced(pointer, "repeat", "reply");
        }
        let place = self.document.place(pointer);
        (self.problems.len() == before).then_some(ScriptEntry { place, act, hang, expect_prompt, repeat })
    }

    fn unknown_keys(&mut self, pointer: &str, fields: &Map<String, Value>) {
        for key in fields.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let hint = match nearest::nearest(key, KEYS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", KEYS.join(", ")),
            };
            let message = format!("the key `{key}` is not known here");
            self.error(&Document::below(pointer, key), "unknown-key", message, Some(&hint));
        }
    }

    fn act(&mut self, pointer: &str, fields: &Map<String, Value>) -> Option<ScriptedAct> {
        let given: Vec<&str> =
            ["reply", "garbage", "fail"].into_iter().filter(|key| fields.contains_key(*key)).collect();
        let act = match given[..] {
            ["reply"] => Some(ScriptedAct::Reply(match &fields["reply"] {
                Value::String(text) => ScriptedReply::Text(text.clone()),
                value => ScriptedReply::Value(value.clone()),
            })),
            ["garbage"] => self.garbage(pointer, fields).map(ScriptedAct::Garbage),
            ["fail"] => self.fail(pointer, fields).map(ScriptedAct::Fail),
            [] if fields.contains_key("hang") => Some(ScriptedAct::Hang),
            [] if fields.keys().any(|key| !KEYS.contains(&key.as_str())) => None,
            [] => {
                self.error(pointer, "missing-key", format!("the entry says nothing: it needs one of {}", acts()), None);
                None
            }
            _ => {
                let message = format!("an entry does one thing, this one has {}", in_code(&given));
                let hint = "make an entry of each, in the order in which they happen";
                self.error(pointer, "ambiguous", message, Some(hint));
                None
            }
        };
        if given[..] != ["fail"] {
            for key in ["exit-code", "stderr"].into_iter().filter(|key| fields.contains_key(*key)) {
                self.misplaced(pointer, key, "fail");
            }
        }
        if given[..] != ["garbage"] && fields.contains_key("feedback") {
            self.misplaced(pointer, "feedback", "garbage");
        }
        act
    }

    fn garbage(&mut self, pointer: &str, fields: &Map<String, Value>) -> Option<ScriptedGarbage> {
        let feedback = self.texts(pointer, fields, "feedback");
        Some(ScriptedGarbage { text: self.text(pointer, fields, "garbage")?, feedback })
    }

    fn fail(&mut self, pointer: &str, fields: &Map<String, Value>) -> Option<ScriptedFailure> {
        let times = fields["fail"].as_u64().filter(|times| *times > 0).and_then(|times| usize::try_from(times).ok());
        if times.is_none() {
            self.wrong_type(pointer, "fail", "`fail` is the number of tries that fail, at least 1", None);
        }
        let exit_code = match fields.get("exit-code") {
            None => Some(EXIT_CODE),
            Some(code) => {
                code.as_i64().filter(|code| (1..=255).contains(code)).and_then(|code| i32::try_from(code).ok())
            }
        };
        if exit_code.is_none() {
            self.wrong_type(pointer, "exit-code", "`exit-code` is a number from 1 to 255", None);
        }
        let stderr = if fields.contains_key("stderr") { self.text(pointer, fields, "stderr") } else { None };
        Some(ScriptedFailure { times: times?, exit_code: exit_code?, stderr })
    }

    fn hang(&mut self, pointer: &str, fields: &Map<String, Value>) -> Duration {
        let Some(value) = fields.get("hang") else { return Duration::ZERO };
        let Some(seconds) = value.as_f64().filter(|seconds| (0.0..=LONGEST_HANG).contains(seconds)) else {
            let message = format!("`hang` is a number of seconds, at most {LONGEST_HANG}");
            self.wrong_type(pointer, "hang", message, None);
            return Duration::ZERO;
        };
        Duration::from_secs_f64(seconds)
    }

    fn texts(&mut self, pointer: &str, fields: &Map<String, Value>, key: &str) -> Vec<String> {
        let texts = match fields.get(key) {
            None => Some(Vec::new()),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        texts.unwrap_or_else(|| {
            let message = format!("`{key}` is a text or a list of texts");
            self.wrong_type(pointer, key, message, Some("put numbers in quotes"));
            Vec::new()
        })
    }

    fn repeat(&mut self, pointer: &str, fields: &Map<String, Value>) -> bool {
        let Some(value) = fields.get("repeat") else { return false };
        value.as_bool().unwrap_or_else(|| {
            self.wrong_type(pointer, "repeat", "`repeat` is true or false", None);
            false
        })
    }

    fn text(&mut self, pointer: &str, fields: &Map<String, Value>, key: &str) -> Option<String> {
        let text = fields[key].as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(pointer, key, format!("`{key}` is a text"), Some("put it in quotes"));
        }
        text
    }
}

fn acts() -> String {
    in_code(&["reply", "garbage", "fail", "hang"])
}

fn in_code(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a script; the schema refuses it, too.
    fn told(script: &str) -> String {
        let document = Document::parse(script, "s.yaml").unwrap();
        let schema = json_cas::Schema::compile(&super::super::schema()).unwrap();
        assert_ne!(schema.violations(&document.value), [], "{script}");
        roles(script, "s.yaml").unwrap_err().message
    }

    #[test]
    fn a_script_is_refused_by_the_schema_when_it_is_refused_here() {
        let schema = json_cas::Schema::compile(&super::super::schema()).unwrap();
        let entries = [
            "reply: 1",
            "reply: ~",
            "reply: {}",
            "reply: a\n    repeat: true",
            "garbage: x",
            "garbage: x\n    feedback: y",
            "garbage: x\n    feedback: [y, z]",
            "garbage: x\n    feedback: [1]",
            "garbage: 1",
            "garbage: ~",
            "fail: 1",
            "fail: 0",
            "fail: 1\n    exit-code: 255",
            "fail: 1\n    exit-code: 0",
            "fail: 1\n    stderr: x",
            "fail: 1\n    stderr: ~",
            "reply: 1\n    stderr: x",
            "reply: 1\n    exit-code: 2",
            "reply: 1\n    feedback: x",
            "hang: 1",
            "hang: -1",
            "hang: 86401",
            "hang: 1\n    reply: 1",
            "hang: 1\n    fail: 1",
            "reply: 1\n    fail: 1",
            "expect-prompt: x",
            "reply: 1\n    expect-prompt: x",
            "reply: 1\n    expect-prompt: [x, 2]",
            "rply: 1",
            "hang: 1\n    repeat: true",
            "hang: 1\n    repeat: false",
            "reply: 1\n    repeat: yes",
            "{}",
        ];
        for entry in entries {
            let script = format!("a:\n  - {entry}\n");
            let value = Document::parse(&script, "s.yaml").unwrap().value;
            let refused = schema.violations(&value);
            assert_eq!(roles(&script, "s.yaml").is_ok(), refused.is_empty(), "{script}{refused:?}");
        }
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        let script = r"
a: 3
b:
  - 4
  - {}
  - reply: {}
    garbage: x
  - reply: {}
    exit-code: 1
    repeat: true
  - fail: 0
    repeat: yes
  - fail: 1
    exit-code: 256
    stderr: 7
  - garbage: 5
  - hang: -1
    expct-prompt: x
  - reply: {}
    expect-prompt: [1]
  - reply: {}
    repeat: true
  - garbage: x
    repeat: true
";
        let problems = told(script);
        let problems: Vec<&str> = problems.lines().filter_map(|line| line.strip_prefix("s.yaml:")).collect();
        assert_eq!(
            problems,
            [
                "2:1: error[wrong-type]: role `a` must have a list of entries (begin each entry with `- `, such as `- reply: {…}`)",
                "4:5: error[wrong-type]: an entry is a mapping with one of `reply`, `garbage`, `fail`, `hang` (such as `- reply: {…}`)",
                "5:5: error[missing-key]: the entry says nothing: it needs one of `reply`, `garbage`, `fail`, `hang`",
                "6:5: error[ambiguous]: an entry does one thing, this one has `reply`, `garbage` (make an entry of each, in the order in which they happen)",
                "9:5: error[misplaced]: `exit-code` goes with `fail`",
                "11:5: error[wrong-type]: `fail` is the number of tries that fail, at least 1",
                "12:5: error[wrong-type]: `repeat` is true or false",
                "14:5: error[wrong-type]: `exit-code` is a number from 1 to 255",
                "15:5: error[wrong-type]: `stderr` is a text (put it in quotes)",
                "16:5: error[wrong-type]: `garbage` is a text (put it in quotes)",
                "17:5: error[wrong-type]: `hang` is a number of seconds, at most 86400",
                "18:5: error[unknown-key]: the key `expct-prompt` is not known here (did you mean `expect-prompt`?)",
                "20:5: error[wrong-type]: `expect-prompt` is a text or a list of texts (put numbers in quotes)",
                "22:5: error[unreachable]: only the last entry of a role can be repeated: what follows is never reached",
                "24:5: error[misplaced]: `repeat` goes with `reply`",
            ]
        );
    }
}
