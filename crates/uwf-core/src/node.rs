//! Node types: the kinds of node in a thread, and the shape of each payload.
//!
//! The schemas are the files in `schemas/`. Their hashes are pinned below and never change. A new field needs a new type beside the old
//! one. Only the type hash decides a node's kind, never a title.

mod payloads;
mod tokens;

use json_cas::{NodeDraft, NodeHash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::payloads::TypedPayload;
pub use self::tokens::TokenCounts;
use crate::number;
use crate::outcome;

/// The kind of a node, by the hash of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// A workflow: roles, conditions, graph.
    Workflow,
    /// The first node of a thread.
    StartNode,
    /// One completed role.
    StepNode,
    /// How a thread ended.
    ThreadEnd,
    /// A text.
    Content,
    /// An agent instance: same settings, same hash.
    Agent,
    /// One attempt at a step: a failed one, or without `error` the successful one if its agent wrote to stderr.
    Attempt,
    /// How an output was obtained.
    ReactSession,
    /// One exchange with a model or a command.
    ReactTurn,
    /// One tool call of a turn.
    ReactToolCall,
    /// A turn as an earlier implementation recorded it.
    HermesTurn,
    /// A session as an earlier implementation recorded it.
    HermesDetail,
    /// A raw text as an earlier implementation recorded it.
    HermesRaw,
}

/// A node type of this project: its kind, pinned hash and schema text.
#[derive(Debug, Clone, Copy)]
pub struct NodeType {
    /// Kind of its nodes.
    pub kind: NodeKind,
    /// Pinned hash of the schema node.
    pub hash: NodeHash,
    /// The schema, as JSON.
    pub schema: &'static str,
}

macro_rules! own_types {
    ($($name:ident = $kind:ident, $hash:literal, $file:literal;)*) => {
        $(
            #[doc = concat!("Type hash of `", stringify!($kind), "` nodes.")]
            pub const $name: NodeHash = NodeHash::literal($hash);
        )*
        /// Every node type this project writes.
        pub const OWN_TYPES: &[NodeType] = &[
            $(NodeType { kind: NodeKind::$kind, hash: $name, schema: include_str!(concat!("../schemas/", $file, ".json")) },)*
        ];
    };
}

own_types! {
    WORKFLOW = Workflow, "996P5D51CY7P6", "workflow";
    WORKFLOW_WITH_SETTINGS = Workflow, "7ACY84ACJ8AT7", "workflow-with-settings";
    WORKFLOW_EXTENDED = Workflow, "ED6QN50K76W37", "workflow-extended";
    WORKFLOW_RESOLVING = Workflow, "7P6V8E44J1NKS", "workflow-resolving";
    START_NODE = StartNode, "DP275P26Y59DC", "start-node";
    START_WITH_INPUT = StartNode, "C7MBYB1DN3TGW", "start-with-input";
    STEP_NODE = StepNode, "CKDHDKMZ3XG9X", "step-node";
    THREAD_END = ThreadEnd, "FN9R4JQF9JB9Z", "thread-end";
    END_WITH_OUTCOME = ThreadEnd, "CA51B31HK0CJP", "end-with-outcome";
    CONTENT = Content, "FXEFD3A3K4P94", "content";
    AGENT = Agent, "FY8K6VTXE2Q3S", "agent";
    ATTEMPT = Attempt, "A0B8EAC74XR4W", "attempt";
    TRACED_ATTEMPT = Attempt, "668EMGAMRHHNP", "traced-attempt";
    REACT_SESSION = ReactSession, "3JJXX03EK0Q9J", "react-session";
    RESUMED_SESSION = ReactSession, "9QRHCCNM0J9FQ", "resumed-session";
    SESSION_WITH_CACHE_WRITES = ReactSession, "4KJZ87NTZVXAM", "session-with-cache-writes";
    ATTEMPT_WITH_CACHE_WRITES = Attempt, "CJJCGZNTK1P3R", "attempt-with-cache-writes";
    REACT_TURN = ReactTurn, "FM5698SPFQ2XS", "react-turn";
    REACT_TOOL_CALL = ReactToolCall, "0JH93PCDMMDP8", "react-tool-call";
}

/// Type hashes of the same kinds of node in other json-cas stores. uwf reads and continues such nodes, and writes new nodes under
/// [`OWN_TYPES`].
pub const FOREIGN_TYPES: &[(NodeKind, NodeHash)] = &[
    (NodeKind::Workflow, NodeHash::literal("0KZQB61FPVDKS")),
    (NodeKind::Workflow, NodeHash::literal("2XY1PEX26ZD0Y")),
    (NodeKind::Workflow, NodeHash::literal("7K4MG7ZQ4JV1R")),
    (NodeKind::StartNode, NodeHash::literal("120VN86QG7052")),
    (NodeKind::StartNode, NodeHash::literal("FPVH9K1XJ2DZA")),
    (NodeKind::StepNode, NodeHash::literal("9C2318PXN2HYE")),
    (NodeKind::StepNode, NodeHash::literal("CBEFGCN0R5996")),
    (NodeKind::HermesTurn, NodeHash::literal("05HQB8BWV4KTW")),
    (NodeKind::HermesTurn, NodeHash::literal("DFFKB1YH8GW30")),
    (NodeKind::HermesDetail, NodeHash::literal("EKYATKXH392BP")),
    (NodeKind::HermesDetail, NodeHash::literal("7Y5GGF20ZT543")),
    (NodeKind::HermesRaw, NodeHash::literal("CXXS1KVSC0YVJ")),
    (NodeKind::HermesRaw, NodeHash::literal("EKSHZEHT9H71V")),
];

impl NodeKind {
    /// The kind of a type hash, whether own or foreign; `None` for any other type, for example a role's schema.
    pub fn from_type_hash(type_hash: NodeHash) -> Option<NodeKind> {
        OWN_TYPES
            .iter()
            .map(|own| (own.kind, own.hash))
            .chain(FOREIGN_TYPES.iter().copied())
            .find(|(_, hash)| *hash == type_hash)
            .map(|(kind, _)| kind)
    }

    /// The name of the kind, for readers.
    pub fn title(self) -> &'static str {
        match self {
            NodeKind::Workflow => "Workflow",
            NodeKind::StartNode => "StartNode",
            NodeKind::StepNode => "StepNode",
            NodeKind::ThreadEnd => "thread-end",
            NodeKind::Content => "content",
            NodeKind::Agent => "agent",
            NodeKind::Attempt => "attempt",
            NodeKind::ReactSession => "react-session",
            NodeKind::ReactTurn => "react-turn",
            NodeKind::ReactToolCall => "react-tool-call",
            NodeKind::HermesTurn => "hermes-turn",
            NodeKind::HermesDetail => "hermes-detail",
            NodeKind::HermesRaw => "hermes-raw-output",
        }
    }
}

/// First node of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNode {
    /// The workflow, which never changes.
    pub workflow: NodeHash,
    /// The task, never empty.
    pub prompt: String,
    /// Child threads only: the parent's head when the child was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeHash>,
    /// Child threads only: number of threads above.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    pub depth: Option<u32>,
    /// The values that the thread was started with besides its task, in a node whose type is the workflow's [`input`] schema.
    ///
    /// [`input`]: crate::workflow::Workflow::input
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<NodeHash>,
}

/// One completed role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepNode {
    /// The thread's start node.
    pub start: NodeHash,
    /// The previous step, `None` for the first.
    pub prev: Option<NodeHash>,
    /// The role that was played.
    pub role: String,
    /// A value that is valid under the role's schema, in a node whose type is that schema.
    pub output: NodeHash,
    /// How the output was obtained: a react-session, a content node, or the last step of a child thread.
    pub detail: NodeHash,
    /// The agent: the configured command of an alias (`uwf-hermes`, `codex`), or the whole command line from `--agent`. Alias, arguments
    /// and settings are in the detail.
    pub agent: String,
}

/// How a thread ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEnd {
    /// The thread's start node.
    pub start: NodeHash,
    /// The last step, `None` if the thread has no steps.
    pub last_step: Option<NodeHash>,
    /// Completed or killed.
    pub status: EndStatus,
    /// Why: `end`, `no-match`, `killed`.
    pub reason: String,
    /// 0 succeeded, 11 another outcome of the workflow, 130 killed, 1 stopped by the supervisor.
    #[serde(with = "number::nearest")]
    pub return_code: i32,
    /// A summary of the thread, if a model was available to write it.
    pub summary: Option<String>,
    /// The outcome and its condition. Absent if the workflow names no outcomes.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<EndMeaning>,
}

/// The outcome of a thread whose workflow names outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndMeaning {
    /// See [`crate::outcome`].
    pub outcome: String,
    /// Name of the condition of the transition that was taken; `None` if it had none.
    pub condition: Option<String>,
}

impl ThreadEnd {
    /// The outcome, also of an end that names none.
    #[must_use]
    pub fn outcome(&self) -> &str {
        match &self.meaning {
            Some(meaning) => &meaning.outcome,
            None => match self.status {
                EndStatus::Completed if self.reason == outcome::NO_MATCH => outcome::NO_MATCH,
                EndStatus::Completed => outcome::SUCCEEDED,
                EndStatus::Killed if self.reason.starts_with(outcome::BY_SUPERVISOR) => outcome::STOPPED,
                EndStatus::Killed => outcome::KILLED,
            },
        }
    }
}

/// The two ways a thread ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    /// The graph reached its end.
    Completed,
    /// The thread was killed.
    Killed,
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentNode {
    /// The text.
    pub text: String,
}

/// An agent instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentNode {
    /// Alias in the configuration, or the command line.
    pub name: String,
    /// Program.
    pub command: String,
    /// Its arguments, before thread and role.
    pub args: Vec<String>,
    /// Other settings, never a secret.
    pub config: Map<String, Value>,
    /// Version the agent reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Model alias that was passed to it; otherwise the model that its program reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One attempt at a step: a failed one, or the successful one if its agent wrote to stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptNode {
    /// The role.
    pub role: String,
    /// Agent node.
    pub agent: NodeHash,
    /// Content node: the agent's output.
    pub raw: NodeHash,
    /// Content node: the agent's stderr.
    pub stderr: NodeHash,
    /// Exit code, `None` if the agent was ended by a signal or never started.
    #[serde(default, with = "number::nearest_if_any")]
    pub exit_code: Option<i32>,
    /// Why the attempt failed; `None` if it succeeded. If the agent asked a person something, [`ASKED`] and the question.
    pub error: Option<String>,
}

/// Prefix of `error` for an attempt that did not fail: its agent asked a person something.
pub const ASKED: &str = "asked a person: ";

impl AttemptNode {
    /// Whether the attempt failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.error.as_ref().is_some_and(|error| !error.starts_with(ASKED))
    }
}

/// A failed attempt at a step, with a trace of the agent's turns. A separate type beside [`AttemptNode`], whose schema is pinned. Readers of
/// attempts read both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TracedAttempt {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: AttemptNode,
    /// React-turn nodes in order. The last one may be of an unfinished exchange.
    pub turns: Vec<NodeHash>,
    /// Tokens of all turns, `None` if they were not counted.
    pub tokens: Option<TokenCounts>,
    /// Source of the trace, as in a session.
    pub source: String,
    /// The agent's own session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// How an output was obtained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReactSession {
    /// Agent node.
    pub agent: NodeHash,
    /// The role that was played.
    pub role: String,
    /// React-turn nodes in order.
    pub turns: Vec<NodeHash>,
    /// Content node: the agent's raw text.
    pub raw: NodeHash,
    /// Attempt nodes: the failed attempts at the same position, oldest first, then the successful one if its agent wrote to stderr.
    pub attempts: Vec<NodeHash>,
    /// All tokens, `None` if they were not counted.
    #[serde(default, with = "number::known")]
    pub total_tokens: Option<u64>,
    /// Tokens by kind, `None` if they were not counted.
    pub tokens: Option<TokenCounts>,
    /// Wall time of the agent, milliseconds.
    #[serde(with = "number::nearest")]
    pub duration_ms: u64,
    /// Source of the trace: `wire`, `session-file`, `acp`, `stdout`…
    pub source: String,
    /// Rung of the extraction ladder that gave the output.
    pub extracted_by: ExtractedBy,
    /// The agent's own session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Always-allowed keys that the role's schema lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<Map<String, Value>>,
    /// Each rung tried, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extraction: Vec<RungResult>,
}

impl ReactSession {
    fn without_cache_writes(&self) -> ReactSession {
        ReactSession { tokens: TokenCounts::without_cache_writes(self.tokens.clone()), ..self.clone() }
    }
}

/// The source of a session in which a command's exit code is the output. Its text is part of the output.
pub const COMMAND_SOURCE: &str = "exit";

/// The key of denied tool calls in the `extras` of a session: a list of texts. The header of an answer cannot have it.
pub const DENIED_CALLS: &str = "denied";

/// The key of the person who gave the answer, in the `extras` of a session. The header of an answer cannot have it.
pub const ANSWERED_BY: &str = "answeredBy";

/// The key of an agent's questions to a person with the replies, in the `extras` of a session: a list of
/// [`QuestionReply`](crate::thread::QuestionReply). The header of an answer cannot have it.
pub const EXCHANGES: &str = "exchanges";

/// The source of a session about a branch that failed, in the thread of a group that continues without it.
pub const GROUP_SOURCE: &str = "play";

/// A session in which the agent resumed its session from an earlier visit of its role. A separate type beside [`ReactSession`], whose
/// schema is pinned. Readers of sessions read both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumedSession {
    /// The session, with the turns of this visit only.
    #[serde(flatten)]
    pub session: ReactSession,
    /// Always true. A session that started fresh is a [`ReactSession`].
    pub resumed: bool,
}

/// The result of one rung of the extraction ladder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RungResult {
    /// `submit`, `frontmatter`, `json`, `text`, `feedback`, `llm`.
    pub rung: String,
    /// The errors; empty if the rung gave the output.
    pub errors: Vec<String>,
    /// Each tolerance applied, in words.
    pub fixes: Vec<String>,
}

/// How an output was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractedBy {
    /// Passed as a value: by the tool `submit`, by `agent submit`, or by an agent that prints JSON.
    Submit,
    /// Read from the answer's frontmatter.
    Frontmatter,
    /// Requested again in the same session.
    Feedback,
    /// Read from the text by a model.
    Llm,
}

/// One exchange with a model or a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReactTurn {
    /// Content nodes that together are the input, in order.
    pub input: Vec<NodeHash>,
    /// Content node: the response.
    pub output: NodeHash,
    /// React-tool-call nodes.
    pub tool_calls: Vec<NodeHash>,
    /// Token counts, `None` if they were not counted.
    pub tokens: Option<TokenCounts>,
    /// Milliseconds from input to output.
    #[serde(with = "number::nearest")]
    pub latency_ms: u64,
}

/// One tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReactToolCall {
    /// Name of the tool.
    pub name: String,
    /// Content node: arguments as the model wrote them.
    pub arguments: NodeHash,
    /// Content node: the tool's answer.
    pub result: NodeHash,
    /// Duration in milliseconds.
    #[serde(with = "number::nearest")]
    pub duration_ms: u64,
}

/// Drafts of every own schema node, in the order of [`OWN_TYPES`].
pub fn schema_drafts() -> Vec<NodeDraft> {
    OWN_TYPES
        .iter()
        .map(|own| {
            let schema: Value = serde_json::from_str(own.schema).expect("pinned schema files are JSON");
            NodeDraft::new(json_cas::bootstrap::HASH, schema).expect("pinned schema files are representable").trusted()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_hashes_are_those_of_the_files() {
        let pinned: Vec<String> = OWN_TYPES.iter().map(|own| format!("{} {}", own.kind.title(), own.hash)).collect();
        let made: Vec<String> = OWN_TYPES
            .iter()
            .zip(schema_drafts())
            .map(|(own, draft)| format!("{} {}", own.kind.title(), draft.hash()))
            .collect();
        assert_eq!(pinned, made);
    }
}
