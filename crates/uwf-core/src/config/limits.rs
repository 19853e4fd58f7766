//! Limits and switches, each with its default and the reason.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::ThreadLimits;

/// Longest time without output from an agent. A healthy coding agent can be silent while a test suite runs; half an hour leaves room for
/// that and still ends a hang. The whole run has no default limit, because a fixed limit kills healthy long runs.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_mins(30);

/// Steps of one thread: far more than a planned process takes, so that the limit stops only an endless loop.
pub(crate) const DEFAULT_MAX_STEPS: u64 = 1000;

/// Depth of child threads: enough for a workflow that calls a workflow that calls a workflow. A deeper chain is probably an unintended
/// recursion, and each level multiplies the cost.
pub(crate) const DEFAULT_MAX_DEPTH: u32 = 3;

/// Branches of one group: more than a person reviews, and few enough that a list of unexpected length costs little.
pub(crate) const DEFAULT_MAX_BRANCHES: u64 = 64;

/// Agents of branches at work at the same time: groups within groups multiply, and most accounts and machines bear this many.
pub(crate) const DEFAULT_PARALLEL: u32 = 8;

/// Most agents at work at the same time. Each has two processes of uwf.
pub(super) const MAX_PARALLEL: u32 = 1000;

/// Bytes of one prompt: some 25,000 tokens at four bytes each. This leaves a model room to work, and is below the 131,072 bytes at which
/// the system rejects an argument.
pub const DEFAULT_PROMPT_BUDGET: usize = 100_000;

/// Bytes kept of an agent's stdout, and of its stderr: more than any answer needs, and little enough to protect the disk.
pub(crate) const DEFAULT_OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// Largest limit of an output stream. Everything that is kept can be read as an answer, so one limit serves both. A node can have four
/// times as many bytes.
pub(crate) const MAX_OUTPUT_CAP: u64 = 128 * 1024 * 1024;

/// Time between TERM and KILL for an agent: enough to write a session file.
pub const DEFAULT_KILL_GRACE: Duration = Duration::from_secs(5);

/// Times an agent's session gets feedback about its answer: once, and once more.
pub(crate) const DEFAULT_FEEDBACK_ROUNDS: u32 = 2;

/// Times a model is asked to extract the output when everything else failed.
pub(crate) const DEFAULT_LLM_ROUNDS: u32 = 2;

/// A prompt below this many bytes has no room for the format of the answer and the task.
pub(super) const MIN_PROMPT_BUDGET: u64 = 1000;

/// Most rounds of feedback or extraction. Each costs a model call, so a larger number is a mistake.
pub(super) const MAX_ROUNDS: u32 = 10;

/// No agent is known to run longer.
const DAY: Duration = Duration::from_hours(24);

/// Code of the warning of [`long_timeout`].
pub const LONG_TIMEOUT: &str = "long-timeout";

/// Message and hint about a limit of more than a day, which was probably meant in milliseconds.
#[must_use]
pub fn long_timeout(key: &str, written: &str, limit: Duration) -> Option<(String, String)> {
    if limit <= DAY {
        return None;
    }
    let message = format!("`{key}` is more than a day: a number is counted in seconds");
    let hint = match written.parse::<u64>() {
        Ok(number) => format!("if milliseconds are meant, write `{number}ms`; a day is `24h`"),
        Err(_) => "a day is `24h`; 0 means no limit".to_owned(),
    };
    Some((message, hint))
}

/// The limits; in the file each is a top-level key.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigLimits {
    /// `maxSteps`, by default `DEFAULT_MAX_STEPS`, `maxTime`, `maxTokens`, `maxCost`: limits of one thread.
    pub thread: ThreadLimits,
    /// `maxDepth`: depth of child threads, `DEFAULT_MAX_DEPTH`.
    pub max_depth: u32,
    /// `maxBranches`: branches of one group, `DEFAULT_MAX_BRANCHES`.
    pub max_branches: u64,
    /// `parallel`: agents of branches at work on this machine at the same time, `DEFAULT_PARALLEL`.
    pub parallel: u32,
    /// `supervisorInterval`: steps between two checks by the supervisor; `None` (absent or 0) means never.
    pub supervisor_interval: Option<u64>,
    /// `promptBudget`: bytes of one prompt, `DEFAULT_PROMPT_BUDGET`.
    pub prompt_budget: usize,
    /// `outputCap`: bytes kept of each output stream of an agent, `DEFAULT_OUTPUT_CAP`, at most
    /// `MAX_OUTPUT_CAP`.
    pub output_cap: u64,
    /// `killGrace`: time between TERM and KILL, `DEFAULT_KILL_GRACE`.
    pub kill_grace: Duration,
}

impl Default for ConfigLimits {
    fn default() -> ConfigLimits {
        ConfigLimits {
            thread: ThreadLimits { max_steps: Some(DEFAULT_MAX_STEPS), ..ThreadLimits::default() },
            max_depth: DEFAULT_MAX_DEPTH,
            max_branches: DEFAULT_MAX_BRANCHES,
            parallel: DEFAULT_PARALLEL,
            supervisor_interval: None,
            prompt_budget: DEFAULT_PROMPT_BUDGET,
            output_cap: DEFAULT_OUTPUT_CAP,
            kill_grace: DEFAULT_KILL_GRACE,
        }
    }
}

/// Whether agents may ask a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuestionPolicy {
    /// Yes: the thread waits for the reply.
    #[default]
    Person,
    /// No: the runs are unattended.
    Never,
}

impl QuestionPolicy {
    /// Whether agents may ask.
    #[must_use]
    pub fn asks(self) -> bool {
        self == QuestionPolicy::Person
    }

    /// Its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            QuestionPolicy::Person => "person",
            QuestionPolicy::Never => "never",
        }
    }
}

/// The stages of reading an answer that are used, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractRungs {
    /// `extract.submit`: offer agents the tool `submit` and accept its value; on by default. Records of older attempts lack it.
    #[serde(default = "on")]
    pub submit: bool,
    /// `extract.frontmatter`: read the answer's frontmatter; on by default.
    pub frontmatter: bool,
    /// `extract.feedback`: rounds of feedback to the same session, `DEFAULT_FEEDBACK_ROUNDS`; 0 for none.
    pub feedback: u32,
    /// `extract.llm`: calls of the extraction model, `DEFAULT_LLM_ROUNDS`; 0 for none.
    pub llm: u32,
}

impl Default for ExtractRungs {
    fn default() -> ExtractRungs {
        ExtractRungs { submit: on(), frontmatter: true, feedback: DEFAULT_FEEDBACK_ROUNDS, llm: DEFAULT_LLM_ROUNDS }
    }
}

const fn on() -> bool {
    true
}
