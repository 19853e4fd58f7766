//! `hooks`: the threads that a signed POST to `/hooks/NAME` of `uwf serve --hooks` starts or answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::texts::{Expression, NotBlank};

/// A hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookConfig {
    /// `secretEnv`: the variable with the secret that signs deliveries.
    pub secret_env: String,
    /// `signature`: how deliveries are signed.
    pub signature: HookSignature,
    /// `when`: JSONata that decides which deliveries count; all by default.
    pub when: Option<String>,
    /// The effect of a delivery.
    pub action: HookAction,
}

/// How a delivery is signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookSignature {
    /// `X-Hub-Signature-256`, as GitHub, Gitea and Forgejo sign.
    #[default]
    Github,
    /// `webhook-signature` of the Standard Webhooks specification.
    Standard,
}

/// The effect of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// `start`: starts a thread.
    Start(HookStart),
    /// `answer`: answers a thread that waits for a person.
    Answer(HookAnswer),
}

/// The thread that a delivery starts. Texts that are JSONata read the payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "hook", extend("x-unknown" = "error"))]
pub struct HookStart {
    /// `workflow`: path, name or hash.
    #[schemars(with = "NotBlank")]
    pub workflow: String,
    /// `prompt`: JSONata for the task.
    #[schemars(with = "Expression")]
    pub prompt: String,
    /// `input`: JSONata for an object with the values of the workflow's input.
    #[schemars(with = "Option<Expression>")]
    pub input: Option<String>,
    /// `labels`: JSONata for the value of each label. A label without a value is left out.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, Expression>>", extend("propertyNames" = super::texts::label_keys()))]
    pub labels: BTreeMap<String, String>,
    /// `cwd`: directory that agents work in; the directory of the server by default.
    #[schemars(with = "Option<NotBlank>")]
    pub cwd: Option<String>,
    /// `run`: whether the thread runs at once.
    #[serde(default = "yes")]
    pub run: bool,
}

/// The thread that a delivery answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "hook", extend("x-unknown" = "error"))]
pub struct HookAnswer {
    /// `thread`: JSONata for the id of the thread, or for a label `KEY=VALUE` that only one waiting thread has.
    #[schemars(with = "Expression")]
    pub thread: String,
    /// `output`: JSONata for the output of the role, or the text that replies to an agent's question.
    #[schemars(with = "Expression")]
    pub output: String,
    /// `run`: whether the thread continues at once.
    #[serde(default = "yes")]
    pub run: bool,
}

fn yes() -> bool {
    true
}
