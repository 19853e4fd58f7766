//! Parses a mock's script and reports its errors with their places.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_kit::{Error, Result};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use uwf_core::document::{FileProblem, OneOrMany, SourceDocument};
use uwf_core::file_schema;

use super::script::{MockScript, ScriptEntry, ScriptedAct, ScriptedFailure, ScriptedGarbage, ScriptedReply};

/// Longest `hang`: a day. A longer one is probably a wrong unit.
const LONGEST_HANG: f64 = 86_400.0;

/// Default exit code of a failed attempt.
const EXIT_CODE: i32 = 1;

/// Entries of each role, by its name.
pub(super) type Roles = BTreeMap<String, RoleEntries>;

/// The acts of a role, in order.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct RoleEntries(
    #[schemars(extend("x-hint" = "begin each entry with `- `, such as `- reply: {…}`"))] Vec<EntryKeys>,
);

/// The keys of an entry.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(extend("x-hint" = "such as `- reply: {…}`"), transform = without_null)]
struct EntryKeys {
    #[serde(default, deserialize_with = "given")]
    reply: Option<Value>,
    garbage: Option<String>,
    feedback: Option<OneOrMany<String>>,
    #[schemars(range(min = 1))]
    fail: Option<usize>,
    #[schemars(range(min = 0, max = LONGEST_HANG))]
    hang: Option<f64>,
    expect_prompt: Option<OneOrMany<String>>,
    #[schemars(range(min = 1, max = 255))]
    exit_code: Option<i32>,
    stderr: Option<String>,
    repeat: Option<bool>,
}

/// Disallows null: a key in a script must have a value.
fn without_null(schema: &mut Schema) {
    let keys = schema.get_mut("properties").and_then(Value::as_object_mut);
    for key in keys.into_iter().flat_map(|keys| keys.values_mut()) {
        if let Some(types) = key["type"].as_array() {
            key["type"] = types.iter().find(|name| *name != "null").cloned().unwrap_or_default();
        } else if let Some(alternatives) = key.get_mut("anyOf").and_then(Value::as_array_mut) {
            alternatives.retain(|alternative| alternative["type"] != "null");
        }
    }
}

/// A value that is present, null included.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl MockScript {
    /// Parses a script. `file` is its name in messages.
    ///
    /// # Errors
    /// `Config` with every problem, each with line and column.
    pub(super) fn parse(text: &str, file: &str) -> Result<MockScript> {
        let document = SourceDocument::parse(text, file).map_err(|problems| refused(&problems))?;
        let (roles, mut problems) = document.read::<Roles>("a script");
        problems.extend(KeyConflictFinder::find(&document));
        problems.sort_by_key(|problem| (problem.line, problem.column));
        let Some(roles) = roles.filter(|_| problems.is_empty()) else { return Err(refused(&problems)) };
        let entries = |(role, RoleEntries(entries)): (String, RoleEntries)| {
            let at = SourceDocument::below("", &role);
            let place = |index: usize| document.place(&SourceDocument::below(&at, &index.to_string()));
            let entries = entries.into_iter().enumerate().map(|(index, keys)| keys.entry(place(index)));
            (role, entries.collect())
        };
        Ok(MockScript { file: file.to_owned(), roles: roles.into_iter().map(entries).collect() })
    }
}

fn refused(problems: &[FileProblem]) -> Error {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match &problem.hint {
            Some(hint) => format!("{problem} ({hint})"),
            None => problem.to_string(),
        })
        .collect();
    Error::config(lines.join("\n"))
}

impl EntryKeys {
    /// The entry at `place`.
    fn entry(self, place: String) -> ScriptEntry {
        let texts = |texts: Option<OneOrMany<String>>| texts.map(OneOrMany::into_vec).unwrap_or_default();
        let act = match (self.reply, self.garbage, self.fail) {
            (Some(Value::String(text)), ..) => ScriptedAct::Reply(ScriptedReply::Text(text)),
            (Some(value), ..) => ScriptedAct::Reply(ScriptedReply::Value(value)),
            (None, Some(text), _) => ScriptedAct::Garbage(ScriptedGarbage { text, feedback: texts(self.feedback) }),
            (None, None, Some(times)) => ScriptedAct::Fail(ScriptedFailure {
                times,
                exit_code: self.exit_code.unwrap_or(EXIT_CODE),
                stderr: self.stderr,
            }),
            (None, None, None) => ScriptedAct::Hang,
        };
        let hang = Duration::from_secs_f64(self.hang.unwrap_or_default());
        let repeat = self.repeat.unwrap_or_default();
        ScriptEntry { place, act, hang, expect_prompt: texts(self.expect_prompt), repeat }
    }
}

/// Finds keys that exclude each other.
struct KeyConflictFinder<'d> {
    document: &'d SourceDocument,
    known: Value,
    problems: Vec<FileProblem>,
}

impl KeyConflictFinder<'_> {
    fn find(document: &SourceDocument) -> Vec<FileProblem> {
        let known = file_schema::schema_of_file::<EntryKeys>("")["properties"].take();
        let mut combinations = KeyConflictFinder { document, known, problems: Vec::new() };
        combinations.roles();
        combinations.problems
    }

    fn roles(&mut self) {
        for (role, entries) in self.document.value.as_object().into_iter().flatten() {
            let pointer = SourceDocument::below("", role);
            let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
            for (index, entry) in entries.iter().enumerate() {
                let Value::Object(keys) = entry else { continue };
                let pointer = SourceDocument::below(&pointer, &index.to_string());
                self.entry(&pointer, keys);
                if keys.get("repeat") == Some(&Value::Bool(true)) && index + 1 < entries.len() {
                    let message = "only the last entry of a role can be repeated: the entries after it are never \
                                   reached";
                    self.error(&SourceDocument::below(&pointer, "repeat"), "unreachable", message.to_owned(), None);
                }
            }
        }
    }

    fn error(&mut self, pointer: &str, code: &'static str, message: String, hint: Option<&str>) {
        self.problems.push(self.document.error(pointer, code, message, hint.map(str::to_owned)));
    }

    fn entry(&mut self, pointer: &str, keys: &Map<String, Value>) {
        let has = |key: &str| keys.contains_key(key);
        let acts: Vec<&str> = ["reply", "garbage", "fail"].into_iter().filter(|act| has(act)).collect();
        match acts[..] {
            [] if has("hang") => {}
            // The unknown key may be a misspelt action.
            [] if keys.keys().any(|key| self.known.get(key).is_none()) => {}
            [] => {
                let message = format!(
                    "the entry says nothing: it needs one of {}",
                    in_code(&["reply", "garbage", "fail", "hang"])
                );
                self.error(pointer, "missing-key", message, None);
            }
            [_] => {}
            _ => {
                let message = format!("an entry does one thing, this one has {}", in_code(&acts));
                let hint = "make an entry of each, in the order in which they happen";
                self.error(pointer, "ambiguous", message, Some(hint));
            }
        }
        for (key, act) in [("exit-code", "fail"), ("stderr", "fail"), ("feedback", "garbage"), ("repeat", "reply")] {
            let is_off = key == "repeat" && keys.get(key) != Some(&Value::Bool(true));
            if has(key) && !is_off && acts != [act] {
                let at = SourceDocument::below(pointer, key);
                self.error(&at, "misplaced", format!("`{key}` goes with `{act}`"), None);
            }
        }
    }
}

fn in_code(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of a script; the schema must reject it as well.
    fn message_of_script(script: &str) -> String {
        let document = SourceDocument::parse(script, "s.yaml").unwrap();
        let schema = json_cas::CompiledSchema::compile(&super::super::schema()).unwrap();
        assert_ne!(schema.violations(&document.value), [], "{script}");
        MockScript::parse(script, "s.yaml").unwrap_err().message
    }

    #[test]
    fn schema_and_reader_agree_on_what_goes_together() {
        let schema = json_cas::CompiledSchema::compile(&super::super::schema()).unwrap();
        let entries = [
            "reply: ~",
            "reply: a\n    repeat: true",
            "garbage: x\n    feedback: y",
            "garbage: ~",
            "fail: 1\n    exit-code: 255",
            "fail: 1\n    stderr: x",
            "fail: 1\n    stderr: ~",
            "reply: 1\n    stderr: x",
            "reply: 1\n    exit-code: 2",
            "reply: 1\n    feedback: x",
            "hang: 1",
            "hang: 1\n    reply: 1",
            "hang: 1\n    fail: 1",
            "reply: 1\n    fail: 1",
            "expect-prompt: x",
            "rply: 1",
            "hang: 1\n    repeat: true",
            "hang: 1\n    repeat: false",
            "{}",
        ];
        for entry in entries {
            let script = format!("a:\n  - {entry}\n");
            let value = SourceDocument::parse(&script, "s.yaml").unwrap().value;
            let refused = schema.violations(&value);
            assert_eq!(MockScript::parse(&script, "s.yaml").is_ok(), refused.is_empty(), "{script}{refused:?}");
        }
    }

    #[test]
    fn problems_of_a_script_have_their_places() {
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
        let problems = message_of_script(script);
        let problems: Vec<&str> = problems.lines().filter_map(|line| line.strip_prefix("s.yaml:")).collect();
        assert_eq!(
            problems,
            [
                "2:4: error[wrong-type]: `a` must be a list, not a number (begin each entry with `- `, such as `- reply: {…}`)",
                "4:5: error[wrong-type]: each item of `b` must be a mapping, not a number (such as `- reply: {…}`)",
                "5:5: error[missing-key]: the entry says nothing: it needs one of `reply`, `garbage`, `fail`, `hang`",
                "6:5: error[ambiguous]: an entry does one thing, this one has `reply`, `garbage` (make an entry of each, in the order in which they happen)",
                "9:5: error[misplaced]: `exit-code` goes with `fail`",
                "10:5: error[unreachable]: only the last entry of a role can be repeated: the entries after it are \
                 never reached",
                "11:11: error[bad-value]: `fail` is 0; it must be a whole number of at least 1",
                "12:13: error[wrong-type]: `repeat` must be true or false, not a text",
                "14:16: error[bad-value]: `exit-code` is 256; it must be a whole number from 1 to 255",
                "15:13: error[wrong-type]: `stderr` must be a text, not a number (put it in quotes: \"7\")",
                "16:14: error[wrong-type]: `garbage` must be a text, not a number (put it in quotes: \"5\")",
                "17:11: error[bad-value]: `hang` is -1; it must be a number from 0 to 86400",
                "18:5: error[unknown-key]: the key `expct-prompt` is not known here (did you mean `expect-prompt`?)",
                "20:21: error[wrong-type]: each item of `expect-prompt` must be a text, not a number (put it in quotes: \"1\")",
                "22:5: error[unreachable]: only the last entry of a role can be repeated: the entries after it are \
                 never reached",
                "24:5: error[misplaced]: `repeat` goes with `reply`",
            ]
        );
    }
}
