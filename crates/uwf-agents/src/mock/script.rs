//! The mock's script: what each role says, in the order in which it is asked.
//!
//! ```yaml
//! planner:
//!   - reply: { plan: "rename it", steps: ["rename the function"] }   # the role's output itself
//! developer:
//!   - fail: 2                              # its first two tries end with exit code 1 …
//!     exit-code: 1
//!     stderr: "rate limit"
//!   - garbage: "All done!"                 # … the third gives no usable answer …
//!   - hang: 5                              # … the fourth says nothing for 5 s and then fails …
//!   - reply: |                             # … and the fifth is the answer of the first visit
//!       ---
//!       summary: renamed
//!       ---
//!       Done.
//!   - reply: { summary: "renamed, with a test" }
//!     expect-prompt: ["approved: false"]   # the prompt of the second visit must contain this
//!     hang: 0.5                            # seconds until it answers
//! reviewer:
//!   - reply: { approved: false }
//!   - reply: { approved: true }
//!     repeat: true                         # also the answer of every visit to come
//! ```
//!
//! Each `reply` is the answer of one visit. The entries before it are failed tries of that visit. A script that runs
//! out is an error, unless its last entry has `repeat: true`.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_kit::{Error, Kind, Result};
use serde_json::{Map, Value};
use uwf_core::workflow::{Document, Problem, nearest};

/// Longest `hang`: a day. A longer one is a slip of the unit.
const LONGEST_HANG: f64 = 86_400.0;

/// Exit code of a failed try that names none.
const EXIT_CODE: i32 = 1;

const KEYS: [&str; 8] = ["reply", "garbage", "fail", "hang", "expect-prompt", "exit-code", "stderr", "repeat"];

/// A script that was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    file: String,
    roles: BTreeMap<String, Vec<Entry>>,
}

/// One thing a role does when it is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Where it stands: `file:line:column`.
    pub(super) place: String,
    /// What it does.
    pub(super) act: Act,
    /// Time before it does it.
    pub(super) hang: Duration,
    /// Texts the prompt must contain.
    pub(super) expect_prompt: Vec<String>,
    /// Whether it stands for all visits to come, too.
    pub(super) repeat: bool,
}

/// What a role does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    /// The answer of a visit.
    Reply(Reply),
    /// An answer that is no use; one try.
    Garbage(String),
    /// Failed tries.
    Fail(Fail),
    /// Nothing but time passes; one try.
    Hang,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    /// The structured output itself.
    Value(Value),
    /// A text to read it from.
    Text(String),
}

/// Failed tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fail {
    /// How many.
    pub(super) times: usize,
    /// Exit code they end with.
    pub(super) exit_code: i32,
    /// Their last words.
    pub(super) stderr: Option<String>,
}

impl Script {
    /// Reads a script. `file` is its name in messages.
    ///
    /// # Errors
    /// `Config` with every problem, each with line and column.
    pub(super) fn parse(text: &str, file: &str) -> Result<Script> {
        let document = Document::parse(text, file).map_err(|problems| refused(&problems))?;
        let mut reader = Reader { document: &document, problems: Vec::new() };
        let roles = reader.roles();
        if reader.problems.is_empty() {
            Ok(Script { file: file.to_owned(), roles })
        } else {
            Err(refused(&reader.problems))
        }
    }

    /// What a role does at its visit `visit` (from 0) after `failed` tries of that visit have failed.
    ///
    /// # Errors
    /// `AgentFailed` when the script has nothing for it.
    pub(super) fn entry(&self, role: &str, visit: usize, failed: usize) -> Result<&Entry> {
        let entries = self.roles.get(role).ok_or_else(|| self.no_role(role))?;
        let mut replies = 0;
        let mut failed = failed;
        for entry in entries {
            let tries = match &entry.act {
                Act::Reply(_) if replies == visit => return Ok(entry),
                Act::Reply(_) => {
                    replies += 1;
                    continue;
                }
                Act::Fail(fail) => fail.times,
                Act::Garbage(_) | Act::Hang => 1,
            };
            if replies == visit {
                if failed < tries {
                    return Ok(entry);
                }
                failed -= tries;
            }
        }
        match entries.last().filter(|last| last.repeat) {
            Some(last) => Ok(last),
            None => Err(self.runs_out(role, visit, replies)),
        }
    }

    fn no_role(&self, role: &str) -> Error {
        let known: Vec<&str> = self.roles.keys().map(String::as_str).collect();
        let meant = nearest::nearest(role, known.iter().copied())
            .map(|near| format!(" (`{near}` is there)"))
            .unwrap_or_default();
        Error::new(Kind::AgentFailed, format!("the script {} has no entries for role `{role}`{meant}", self.file))
    }

    fn runs_out(&self, role: &str, visit: usize, replies: usize) -> Error {
        let count = if replies == 1 { "1 reply".to_owned() } else { format!("{replies} replies") };
        let told = format!("the script {} has {count} for role `{role}`, this is its visit {}", self.file, visit + 1);
        Error::new(Kind::AgentFailed, format!("{told}; add a `reply`, or `repeat: true` to the last one"))
    }
}

fn refused(problems: &[Problem]) -> Error {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match &problem.hint {
            Some(hint) => format!("{problem} ({hint})"),
            None => problem.to_string(),
        })
        .collect();
    Error::new(Kind::Config, lines.join("\n"))
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

    fn roles(&mut self) -> BTreeMap<String, Vec<Entry>> {
        let Value::Object(roles) = &self.document.value else {
            self.error("", "wrong-type", "a script is a mapping of roles, each with a list of entries", None);
            return BTreeMap::new();
        };
        roles.iter().map(|(role, entries)| (role.clone(), self.entries(role, entries))).collect()
    }

    fn entries(&mut self, role: &str, entries: &Value) -> Vec<Entry> {
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
                self.error(
                    &at,
                    "unreachable",
                    "only the last entry of a role can be repeated: what follows is never reached",
                    None,
                );
            }
            entries.push(entry);
        }
        entries
    }

    fn entry(&mut self, pointer: &str, item: &Value) -> Option<Entry> {
        let Value::Object(fields) = item else {
            let hint = "such as `- reply: {…}`";
            self.error(pointer, "wrong-type", format!("an entry is a mapping with one of {}", acts()), Some(hint));
            return None;
        };
        let before = self.problems.len();
        self.unknown_keys(pointer, fields);
        let hang = self.hang(pointer, fields);
        let expect_prompt = self.expect_prompt(pointer, fields);
        let repeat = self.repeat(pointer, fields);
        let act = self.act(pointer, fields)?;
        if repeat && !matches!(act, Act::Reply(_)) {
            self.error(&Document::below(pointer, "repeat"), "misplaced", "`repeat` goes with `reply`", None);
        }
        let place = self.document.place(pointer);
        (self.problems.len() == before).then_some(Entry { place, act, hang, expect_prompt, repeat })
    }

    fn unknown_keys(&mut self, pointer: &str, fields: &Map<String, Value>) {
        for key in fields.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let hint = match nearest::nearest(key, KEYS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", KEYS.join(", ")),
            };
            self.error(
                &Document::below(pointer, key),
                "unknown-key",
                format!("the key `{key}` is not known here"),
                Some(&hint),
            );
        }
    }

    fn act(&mut self, pointer: &str, fields: &Map<String, Value>) -> Option<Act> {
        let given: Vec<&str> =
            ["reply", "garbage", "fail"].into_iter().filter(|key| fields.contains_key(*key)).collect();
        let act = match given[..] {
            ["reply"] => Some(Act::Reply(match &fields["reply"] {
                Value::String(text) => Reply::Text(text.clone()),
                value => Reply::Value(value.clone()),
            })),
            ["garbage"] => self.text(pointer, fields, "garbage").map(Act::Garbage),
            ["fail"] => self.fail(pointer, fields).map(Act::Fail),
            [] if fields.contains_key("hang") => Some(Act::Hang),
            [] => {
                self.error(pointer, "missing-key", format!("the entry says nothing: it needs one of {}", acts()), None);
                None
            }
            _ => {
                let told = format!("an entry does one thing, this one has {}", in_code(&given));
                self.error(
                    pointer,
                    "ambiguous",
                    told,
                    Some("make an entry of each, in the order in which they happen"),
                );
                None
            }
        };
        if given[..] != ["fail"] {
            for key in ["exit-code", "stderr"].into_iter().filter(|key| fields.contains_key(*key)) {
                self.error(&Document::below(pointer, key), "misplaced", format!("`{key}` goes with `fail`"), None);
            }
        }
        act
    }

    fn fail(&mut self, pointer: &str, fields: &Map<String, Value>) -> Option<Fail> {
        let times = fields["fail"].as_u64().filter(|times| *times > 0).and_then(|times| usize::try_from(times).ok());
        if times.is_none() {
            let at = Document::below(pointer, "fail");
            self.error(&at, "wrong-type", "`fail` is the number of tries that fail, at least 1", None);
        }
        let exit_code = match fields.get("exit-code") {
            None => Some(EXIT_CODE),
            Some(code) => {
                code.as_i64().filter(|code| (1..=255).contains(code)).and_then(|code| i32::try_from(code).ok())
            }
        };
        if exit_code.is_none() {
            self.error(
                &Document::below(pointer, "exit-code"),
                "wrong-type",
                "`exit-code` is a number from 1 to 255",
                None,
            );
        }
        let stderr = if fields.contains_key("stderr") { self.text(pointer, fields, "stderr") } else { None };
        Some(Fail { times: times?, exit_code: exit_code?, stderr })
    }

    fn hang(&mut self, pointer: &str, fields: &Map<String, Value>) -> Duration {
        let Some(value) = fields.get("hang") else { return Duration::ZERO };
        let seconds = value.as_f64().filter(|seconds| (0.0..=LONGEST_HANG).contains(seconds));
        seconds.map(Duration::from_secs_f64).unwrap_or_else(|| {
            let told = format!("`hang` is a number of seconds, at most {LONGEST_HANG}");
            self.error(&Document::below(pointer, "hang"), "wrong-type", told, None);
            Duration::ZERO
        })
    }

    fn expect_prompt(&mut self, pointer: &str, fields: &Map<String, Value>) -> Vec<String> {
        let texts = match fields.get("expect-prompt") {
            None => Some(Vec::new()),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        texts.unwrap_or_else(|| {
            let at = Document::below(pointer, "expect-prompt");
            self.error(
                &at,
                "wrong-type",
                "`expect-prompt` is a text or a list of texts",
                Some("put numbers in quotes"),
            );
            Vec::new()
        })
    }

    fn repeat(&mut self, pointer: &str, fields: &Map<String, Value>) -> bool {
        let Some(value) = fields.get("repeat") else { return false };
        value.as_bool().unwrap_or_else(|| {
            self.error(&Document::below(pointer, "repeat"), "wrong-type", "`repeat` is true or false", None);
            false
        })
    }

    fn text(&mut self, pointer: &str, fields: &Map<String, Value>, key: &str) -> Option<String> {
        let text = fields[key].as_str().map(str::to_owned);
        if text.is_none() {
            self.error(
                &Document::below(pointer, key),
                "wrong-type",
                format!("`{key}` is a text"),
                Some("put it in quotes"),
            );
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
    use serde_json::json;

    use super::*;

    const SCRIPT: &str = r#"
coder:
  - fail: 2
    exit-code: 3
    stderr: "rate limit"
  - garbage: "All done!"
  - reply: { n: 1 }
  - hang: 0.5
  - reply: "---\nn: 2\n---\n"
    expect-prompt: n
    repeat: true
tester:
  - reply: [1]
"#;

    /// The line of the entry that is played, or why there is none.
    fn played(script: &str, role: &str, visit: usize, failed: usize) -> String {
        let script = Script::parse(script, "s.yaml").unwrap();
        match script.entry(role, visit, failed) {
            Ok(entry) => entry.place.clone(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn entries_before_a_reply_are_the_failed_tries_of_its_visit() {
        let told: Vec<String> = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 9), (1, 0), (1, 1), (2, 0), (7, 4)]
            .map(|(visit, failed)| played(SCRIPT, "coder", visit, failed))
            .into();
        let lines = [3, 3, 6, 7, 7, 8, 9, 9, 9].map(|line| format!("s.yaml:{line}:5"));
        assert_eq!(told, lines);
    }

    #[test]
    fn a_script_that_runs_out_says_so() {
        assert_eq!(
            [played(SCRIPT, "tester", 1, 0), played(SCRIPT, "tests", 0, 0), played("a: [fail: 1]", "a", 0, 1)],
            [
                "the script s.yaml has 1 reply for role `tester`, this is its visit 2; add a `reply`, or `repeat: true` to the last one",
                "the script s.yaml has no entries for role `tests` (`tester` is there)",
                "the script s.yaml has 0 replies for role `a`, this is its visit 1; add a `reply`, or `repeat: true` to the last one",
            ]
        );
    }

    #[test]
    fn a_reply_is_a_value_unless_it_is_a_text() {
        let script = Script::parse(SCRIPT, "s.yaml").unwrap();
        let acts: Vec<&Act> = script.roles["coder"].iter().map(|entry| &entry.act).collect();
        let fail = Fail { times: 2, exit_code: 3, stderr: Some("rate limit".to_owned()) };
        let expected = [
            Act::Fail(fail),
            Act::Garbage("All done!".to_owned()),
            Act::Reply(Reply::Value(json!({"n": 1}))),
            Act::Hang,
            Act::Reply(Reply::Text("---\nn: 2\n---\n".to_owned())),
        ];
        assert_eq!(acts, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        let script = r#"
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
"#;
        let told = Script::parse(script, "s.yaml").unwrap_err().message;
        assert_eq!(told.lines().collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
