//! The mock's script: the answers of each role, in order.
//!
//! ```yaml
//! planner:
//!   - reply: { plan: "rename it", steps: ["rename the function"] }   # the role's output itself
//! developer:
//!   - fail: 2                              # its first two tries end with exit code 1 …
//!     exit-code: 1
//!     stderr: "rate limit"
//!   - garbage: "All done!"                 # … the third gives no usable answer …
//!     feedback: ["Done, as I said."]       # … nor does its session on feedback …
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
//! Each `reply` is the answer of one visit. The entries before it are failed attempts of that visit, and every failed
//! attempt (a time limit, Ctrl-C, an `expect-prompt`) uses up one of them. A `reply` that fails stays: the next attempt
//! plays it again. A script that runs out is an error, unless its last entry has `repeat: true`.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_kit::{Error, Result};
use json_cas::nearest;
use serde_json::Value;

/// A parsed script.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MockScript {
    pub(super) file: String,
    pub(super) roles: BTreeMap<String, Vec<ScriptEntry>>,
}

/// One answer of a role.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptEntry {
    /// Its place: `file:line:column`.
    pub(super) place: String,
    /// The action.
    pub(super) act: ScriptedAct,
    /// Time before the action.
    pub(super) hang: Duration,
    /// Texts the prompt must contain.
    pub(super) expect_prompt: Vec<String>,
    /// Whether it also applies to all later visits.
    pub(super) repeat: bool,
}

/// Action of a role.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptedAct {
    /// The answer of a visit.
    Reply(ScriptedReply),
    /// An unusable answer; one attempt.
    Garbage(ScriptedGarbage),
    /// Failed attempts.
    Fail(ScriptedFailure),
    /// Only time passes; one attempt.
    Hang,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptedReply {
    /// The structured output itself.
    Value(Value),
    /// A text to read it from.
    Text(String),
}

/// An unusable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptedGarbage {
    /// The answer.
    pub(super) text: String,
    /// The session's answers to feedback, in order. After them it stays silent.
    pub(super) feedback: Vec<String>,
}

/// Failed attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptedFailure {
    /// Number of attempts.
    pub(super) times: usize,
    /// Exit code they end with.
    pub(super) exit_code: i32,
    /// Their stderr.
    pub(super) stderr: Option<String>,
}

impl MockScript {
    /// The action of a role, or of its branch if the script has one of its names, at visit `visit` (from 0) after `failed` failed attempts of that visit.
    ///
    /// # Errors
    /// `AgentFailed` if the script has no entry for it.
    pub(super) fn entry(&self, (branch, role): (&[String], &str), visit: usize, failed: usize) -> Result<&ScriptEntry> {
        let own = branch.iter().find_map(|name| self.roles.get(name));
        let entries = own.or_else(|| self.roles.get(role)).ok_or_else(|| self.no_role(role))?;
        let mut replies = 0;
        let mut failed = failed;
        for entry in entries {
            let tries = match &entry.act {
                ScriptedAct::Reply(_) if replies == visit => return Ok(entry),
                ScriptedAct::Reply(_) => {
                    replies += 1;
                    continue;
                }
                ScriptedAct::Fail(fail) => fail.times,
                ScriptedAct::Garbage(_) | ScriptedAct::Hang => 1,
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
        Error::agent_failed(format!("the script {} has no entries for role `{role}`{meant}", self.file))
    }

    fn runs_out(&self, role: &str, visit: usize, replies: usize) -> Error {
        let count = if replies == 1 { "1 reply".to_owned() } else { format!("{replies} replies") };
        let message =
            format!("the script {} has {count} for role `{role}`, this is its visit {}", self.file, visit + 1);
        Error::agent_failed(format!("{message}; add a `reply`, or `repeat: true` to the last one"))
    }
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
    feedback: ["Done, as I said."]
  - reply: { n: 1 }
  - hang: 0.5
  - reply: "---\nn: 2\n---\n"
    expect-prompt: n
    repeat: true
tester:
  - reply: [1]
"#;

    /// The line of the entry that is played, or why none is played.
    fn played(script: &str, role: &str, visit: usize, failed: usize) -> String {
        let script = MockScript::parse(script, "s.yaml").unwrap();
        match script.entry((&[], role), visit, failed) {
            Ok(entry) => entry.place.clone(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn entries_before_reply_are_its_failed_attempts() {
        let played_lines: Vec<String> = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 9), (1, 0), (1, 1), (2, 0), (7, 4)]
            .map(|(visit, failed)| played(SCRIPT, "coder", visit, failed))
            .into();
        let lines = [3, 3, 6, 8, 8, 9, 10, 10, 10].map(|line| format!("s.yaml:{line}:5"));
        assert_eq!(played_lines, lines);
    }

    #[test]
    fn a_script_that_runs_out_says_so() {
        assert_eq!(
            [played(SCRIPT, "tester", 1, 0), played(SCRIPT, "testr", 0, 0), played("a: [fail: 1]", "a", 0, 1)],
            [
                "the script s.yaml has 1 reply for role `tester`, this is its visit 2; add a `reply`, or `repeat: true` to the last one",
                "the script s.yaml has no entries for role `testr` (`tester` is there)",
                "the script s.yaml has 0 replies for role `a`, this is its visit 1; add a `reply`, or `repeat: true` to the last one",
            ]
        );
    }

    #[test]
    fn reply_is_value_unless_it_is_text() {
        let script = MockScript::parse(SCRIPT, "s.yaml").unwrap();
        let acts: Vec<&ScriptedAct> = script.roles["coder"].iter().map(|entry| &entry.act).collect();
        let fail = ScriptedFailure { times: 2, exit_code: 3, stderr: Some("rate limit".to_owned()) };
        let expected = [
            ScriptedAct::Fail(fail),
            ScriptedAct::Garbage(ScriptedGarbage {
                text: "All done!".to_owned(),
                feedback: vec!["Done, as I said.".to_owned()],
            }),
            ScriptedAct::Reply(ScriptedReply::Value(json!({"n": 1}))),
            ScriptedAct::Hang,
            ScriptedAct::Reply(ScriptedReply::Text("---\nn: 2\n---\n".to_owned())),
        ];
        assert_eq!(acts, expected.iter().collect::<Vec<_>>());
    }
}
