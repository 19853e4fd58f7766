//! The agent that is one chat completion: the prompt is a user message, and the reply is the answer.
//!
//! If the role's schema has a place for prose, the model is asked for the output itself, in whatever way it supports (`structured: auto`).
//! The value then contains the model's whole answer, and it is valid or nearly so. A schema without such a place, such as a bare
//! verdict, leaves no room for reasons. The model is then asked for a text under a header, like any agent. Feedback is the next message of
//! the same conversation.

mod prose;

use std::sync::Arc;
use std::time::Instant;

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::{Agent, AgentContext, Result, TurnRecorder, submit};
use schemars::JsonSchema;
use serde::Deserialize;
use uwf_core::extract::self_contradiction_of;
use uwf_core::prompt::{AgentPrompt, AnswerForm};
use uwf_llm::{
    ChatMessage, ChatReply, ChatRequest, Error as LlmError, LlmClient, ModeCache, StructuredMode, ValueSpec, structured,
};

use crate::model::{self, ModelSettings};
use crate::model_exchange;
use crate::progress;
use crate::settings;

/// Name of the value in requests: the tool's or the schema's name.
const VALUE: &str = "submit";

/// Result of each call of a reply that gives different values.
const DIFFERING: &str = "not accepted: this message submits different values. Call `submit` once, with one value";

/// Its description for the model.
const VALUE_DESCRIPTION: &str = "Hands in the output of your role.";

/// Source of the trace: every exchange is recorded in full.
const SOURCE: &str = "wire";

/// The setting that lets the role's schema decide.
const AUTO: &str = "auto";

/// Settings in the `config` of the agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LlmAgentSettings {
    /// How the output is asked for. By default, auto: as a value in the best way the model has, or as text under a header when the role's
    /// schema has no place for prose and `output` is not json.
    #[schemars(with = "String", extend("enum" = ways()))]
    structured: OutputRequest,
    /// A text for the model before the prompt.
    system: Option<String>,
    #[serde(flatten)]
    model: ModelSettings,
}

/// How to ask for the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum OutputRequest {
    /// As the role's schema suggests.
    #[default]
    Auto,
    /// In this way.
    As(StructuredMode),
}

impl<'de> Deserialize<'de> for OutputRequest {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> std::result::Result<OutputRequest, D::Error> {
        match String::deserialize(source)?.as_str() {
            AUTO => Ok(OutputRequest::Auto),
            mode => mode.parse().map(OutputRequest::As).map_err(serde::de::Error::custom),
        }
    }
}

impl settings::BuiltInSettings for LlmAgentSettings {}

/// The values of the setting for asking for the output.
fn ways() -> Vec<&'static str> {
    [AUTO].into_iter().chain(StructuredMode::LADDER.map(StructuredMode::name)).collect()
}

/// The agent of one step.
#[derive(Default)]
pub struct LlmAgent {
    form: ModelRequest,
    session: Option<ChatSession>,
}

/// Requested form of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ModelRequest {
    /// A text: under a header, or one JSON object.
    #[default]
    Text,
    /// A value, in this way or in the best one available.
    Value(Option<StructuredMode>),
}

impl Agent for LlmAgent {
    fn prepare(&mut self, context: &AgentContext<'_>) -> Result<()> {
        let settings: LlmAgentSettings = settings::read(&context.opened()?.agent)?;
        let is_json = context.asked_form() == AnswerForm::Json;
        self.form = match settings.structured {
            OutputRequest::Auto if is_json || prose::has_place(context.schema().value()) => ModelRequest::Value(None),
            OutputRequest::Auto | OutputRequest::As(StructuredMode::PlainText) => ModelRequest::Text,
            OutputRequest::As(mode) => ModelRequest::Value(Some(mode)),
        };
        Ok(())
    }

    fn form(&self, context: &AgentContext<'_>) -> AnswerForm {
        match self.form {
            ModelRequest::Text => context.asked_form(),
            ModelRequest::Value(_) => AnswerForm::Json,
        }
    }

    fn system(&self, context: &AgentContext<'_>) -> Result<Option<String>> {
        settings::read(&context.opened()?.agent).map(|settings: LlmAgentSettings| settings.system)
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let session = self.session.insert(ChatSession::open(context, prompt)?);
        session.ask(context, self.form)
    }

    fn follow_up(&mut self, context: &AgentContext<'_>, text: &str) -> Result<Option<AgentAnswer>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        session.push_user_message(text);
        session.ask(context, self.form).map(Some)
    }
}

/// A conversation.
struct ChatSession {
    client: LlmClient,
    modes: ModeCache,
    /// The conversation so far, with the settings of the next request.
    request: ChatRequest,
    /// The messages as texts of the trace. The prompt consists of several.
    texts: Vec<Arc<str>>,
    recorder: TurnRecorder,
}

impl ChatSession {
    fn open(context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<ChatSession> {
        let agent = &context.opened()?.agent;
        let LlmAgentSettings { system, model, .. } = settings::read(agent)?;
        let home = context.thread().home();
        let texts = system.iter().cloned().chain(prompt.texts()).map(Into::into).collect();
        let messages = system.into_iter().map(ChatMessage::System).chain([ChatMessage::User(prompt.text())]).collect();
        let request = ChatRequest { messages, shared_ends: prompt.shared_ends(), ..model.request() };
        let client = model.client(home, agent)?;
        Ok(ChatSession {
            client,
            modes: model::modes(home),
            request,
            texts,
            recorder: TurnRecorder::begin(context, SOURCE)?,
        })
    }

    /// Adds the user's next message.
    fn push_user_message(&mut self, text: &str) {
        self.request.messages.push(ChatMessage::User(text.to_owned()));
        self.texts.push(text.into());
    }

    fn ask(&mut self, context: &AgentContext<'_>, form: ModelRequest) -> Result<AgentAnswer> {
        let begun = Instant::now();
        progress::line(&format!("[asking {}]", self.client.endpoint().model));
        let asked = AgentTurn::asked(self.texts.clone());
        self.recorder.under_way(&asked);
        let answer = match form {
            ModelRequest::Text => self.ask_for_text(),
            ModelRequest::Value(mode) => self.ask_for_value(context, mode),
        };
        progress::line("");
        let answer = answer.map_err(|error| {
            self.recorder.under_way(&AgentTurn { output: error.partial().to_owned(), ..asked });
            // A failure to save the partial reply comes first: the reply is worth more than the reason it broke off.
            let kept = context.redactor().and_then(|redactor| submit::keep(context, &redactor.text(error.partial())));
            kept.err().unwrap_or_else(|| model::failed(&error))
        })?;
        answer.turns.iter().for_each(|turn| self.recorder.turn(turn));
        Ok(AgentAnswer { duration_ms: model_exchange::millis(begun.elapsed()), ..answer })
    }

    fn ask_for_text(&mut self) -> std::result::Result<AgentAnswer, LlmError> {
        let reply = self.client.chat_with(&self.request, &mut model_exchange::hear)?;
        model::whole(&self.client, &reply)?;
        let turn = model_exchange::turn(self.texts.clone(), &reply, &[]);
        self.heard(&reply, Ok("received"));
        Ok(AgentAnswer {
            tokens: turn.tokens.clone(),
            turns: vec![turn],
            source: SOURCE.to_owned(),
            ..AgentAnswer::text(reply.text)
        })
    }

    fn ask_for_value(
        &mut self,
        context: &AgentContext<'_>,
        mode: Option<StructuredMode>,
    ) -> std::result::Result<AgentAnswer, LlmError> {
        let shape = ValueSpec { name: VALUE, description: VALUE_DESCRIPTION, schema: context.schema().value(), mode };
        let (value, attempts) =
            match structured(&self.client, &self.modes, &self.request, &shape, &mut model_exchange::hear) {
                Ok(found) => (Ok(found.value), found.attempts),
                // The model answered without a value; the text it wrote is read as any answer is.
                Err(none) if matches!(*none.error, LlmError::NoValue { .. } | LlmError::DifferingValues { .. }) => {
                    (Err(*none.error), none.attempts)
                }
                Err(failed) => {
                    let turns =
                        failed.attempts.iter().filter_map(|attempt| model_exchange::turn_of(&self.texts, attempt));
                    turns.for_each(|turn| self.recorder.turn(&turn));
                    return Err(*failed.error);
                }
            };
        let turns = attempts.iter().filter_map(|attempt| model_exchange::turn_of(&self.texts, attempt)).collect();
        let replies: Vec<&ChatReply> = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).collect();
        let tokens = model::total(replies.iter().map(|reply| reply.usage)).map(model::tokens);
        let Some(last) = replies.last().copied() else { return value.map(AgentAnswer::value) };
        let is_differing = matches!(value, Err(LlmError::DifferingValues { .. }));
        // A value that contradicts itself is read as a text, which says what is wrong with it.
        let contradicts_itself = |value: &serde_json::Value| self_contradiction_of(value, context.schema()).is_some();
        let raw = match &value {
            Ok(value) if last.text.trim().is_empty() => format!("{value:#}"),
            Ok(value) if contradicts_itself(value) => format!("{}\n\n{value:#}", last.text),
            Err(_) if is_differing => all_values(last),
            _ => last.text.clone(),
        };
        let value = value.ok().filter(|value| !contradicts_itself(value));
        let answer = AgentAnswer { turns, tokens, source: SOURCE.to_owned(), value, ..AgentAnswer::text(raw) };
        self.heard(last, if is_differing { Err(DIFFERING) } else { Ok("received") });
        Ok(answer)
    }

    /// Adds a reply to the conversation. Every call gets a result, because providers reject a conversation in which one is missing.
    fn heard(&mut self, reply: &ChatReply, result: std::result::Result<&str, &str>) {
        self.texts.push(model_exchange::said(reply, &[]).into());
        self.request.messages.push(reply.message());
        let (Ok(content) | Err(content)) = result;
        let results = reply.tool_calls.iter().map(|call| ChatMessage::Tool {
            id: call.id.clone(),
            content: content.to_owned(),
            is_error: result.is_err(),
        });
        self.request.messages.extend(results);
    }
}

/// The text of a reply, with the arguments of all its calls in blocks of their own.
fn all_values(reply: &ChatReply) -> String {
    let blocks = reply.tool_calls.iter().map(|call| format!("```json\n{}\n```", call.arguments));
    [reply.text.clone()]
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .chain(blocks)
        .collect::<Vec<_>>()
        .join("\n\n")
}
