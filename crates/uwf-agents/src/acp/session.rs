//! One session with an agent. It is opened once and prompted as often as needed; requests of the agent are answered in between.

mod permission_requests;
mod prompt_state;
mod tokens;

use std::time::{Duration, Instant};

use agent_kit::json_rpc::JsonRpcMessage;
use agent_kit::{AgentContext, AgentTurn, TurnRecorder, json_rpc, mcp, submitted_value};
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;
use uwf_core::thread::QuestionReply;
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::attempt::redactor::SecretRedactor;
use uwf_engine::error::{Error, ErrorKind, Result};
use uwf_llm::FinishReason;

use self::prompt_state::AcpPromptState;
use super::SOURCE;
use super::client::{AcpClient, AcpEvent};
use super::messages::{self, AcpFailure, AcpMessage};
use super::permission::{self, PermissionDecision};
use super::progress::AcpProgress;
use super::session_options::{self, SessionOption};
use super::settings::AcpLaunch;
use super::usage::AcpTokenCounts;

/// Version of the protocol. All agents that were measured speak it.
const PROTOCOL_VERSION: u64 = 1;

/// Time for each request before the first prompt. The slowest agent measured took 16 s on a busy machine.
const STARTUP_LIMIT: Duration = Duration::from_mins(3);

/// Time for an agent to answer a cancelled prompt; shorter than the grace between TERM and KILL.
const CANCEL_WAIT: Duration = Duration::from_millis(800);

/// Error code of agents that need a login.
const AUTH_REQUIRED: i64 = -32000;

/// An open session.
pub(super) struct AcpSession {
    client: AcpClient,
    settings: AcpLaunch,
    /// The agent, for error messages.
    name: String,
    id: Option<String>,
    next_request: u64,
    progress: AcpProgress,
    /// Counts and cost of the session before the next prompt, if the agent has reported them each time.
    counts: Option<AcpTokenCounts>,
    dollars: Option<f64>,
    /// The model, if the agent reports it.
    model: Option<String>,
    recorder: TurnRecorder,
    /// Earlier requests for permission at this step that a person has replied to, and did not count yet.
    replies: Vec<QuestionReply>,
}

/// Result of a prompt.
#[derive(Debug)]
pub(super) struct AcpPromptResult {
    /// The answer.
    pub(super) answer: String,
    /// Everything that was reported. Its tokens cover only this prompt, as far as they are known.
    pub(super) turn: AgentTurn,
}

impl AcpSession {
    /// Starts the agent and opens a session in the attempt's workspace: the `earlier` one if the agent still has it, otherwise a new one.
    /// The session id shows which.
    ///
    /// # Errors
    /// `Config` if it cannot be started or lacks a requested feature, `AgentFailed` if it fails before a session is open.
    pub(super) fn open(
        context: &AgentContext<'_>,
        opened: &AttemptOpening,
        settings: AcpLaunch,
        earlier: Option<&str>,
    ) -> Result<AcpSession> {
        let again = settings.clone();
        let client = AcpClient::start(&settings, opened)?;
        let mut session = AcpSession {
            client,
            settings,
            name: opened.agent.name.clone(),
            id: None,
            next_request: 0,
            progress: AcpProgress::new(),
            counts: Some(AcpTokenCounts::default()),
            dollars: Some(0.0),
            model: None,
            recorder: TurnRecorder::begin(context, SOURCE)?,
            replies: context.replies()?,
        };
        session.client.hold();
        let done = session.set_up(context, opened, earlier);
        session.client.release();
        match done {
            // Loading the earlier session may have crashed it.
            Err(error) if earlier.is_some() && error.kind == ErrorKind::AgentFailed => {
                session.progress.line(&format!("started a new session, because the earlier one failed: {error}"));
                drop(session);
                AcpSession::open(context, opened, again, None)
            }
            done => done.map(|()| session),
        }
    }

    /// The agent's id of the session.
    pub(super) fn id(&self) -> Option<String> {
        self.id.clone()
    }

    /// Sends a prompt, given in parts, and listens until its turn ends. With `saves`, text is saved while it arrives.
    ///
    /// # Errors
    /// `AgentFailed` if the turn does not end well, `Waiting` if a person must answer something, `Interrupted` or `Terminated` if this
    /// process was asked to stop.
    pub(super) fn prompt(
        &mut self,
        context: &AgentContext<'_>,
        input: Vec<String>,
        saves: bool,
    ) -> Result<AcpPromptResult> {
        let cap = context
            .attempt()
            .map_or(usize::MAX, |attempt| usize::try_from(attempt.opened.output_cap).unwrap_or(usize::MAX));
        let text = input.concat();
        let input = input.into_iter().map(Into::into).collect();
        let mut listening = AcpPromptState { input, saves, ..AcpPromptState::new(context, context.redactor()?, cap) };
        self.recorder.under_way(&listening.turn(None));
        let params = json!({ "sessionId": self.id, "prompt": [{ "type": "text", "text": text }] });
        self.progress.line(&format!("prompt of {} bytes", text.len()));
        self.client.hold();
        let reply = self.request("session/prompt", params, None, &mut listening);
        // A turn that ends badly was paid for as well.
        let tokens = match &reply {
            Ok(reply) => self.tokens(reply, &mut listening),
            Err(_) => self.cost_so_far(&listening),
        };
        let done = reply.and_then(|reply| self.turn_ended(&reply, &listening)).inspect_err(|_| {
            self.recorder.under_way(&listening.turn(tokens.clone()));
            // Report why the turn failed rather than why saving it failed.
            if let Err(lost) = listening.save() {
                self.progress.line(&format!("could not save the agent's messages: {lost}"));
            }
        });
        // Release only after everything is saved: a second signal may follow.
        self.client.release();
        done?;
        if saves {
            self.deny_unrepeated(&mut listening);
        }
        let turn = listening.turn(tokens);
        self.recorder.turn(&turn);
        Ok(AcpPromptResult { answer: listening.transcript.answer().to_owned(), turn })
    }

    fn set_up(&mut self, context: &AgentContext<'_>, opened: &AttemptOpening, earlier: Option<&str>) -> Result<()> {
        let mut listening = AcpPromptState::new(context, SecretRedactor::default(), 0);
        let mut ask = |session: &mut AcpSession, method: &str, params: Value| {
            session.request(method, params, Some(STARTUP_LIMIT), &mut listening)
        };
        let initialized = ask(
            self,
            "initialize",
            json!({
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
                "clientInfo": { "name": "uwf", "title": "uwf", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        let version = initialized.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(PROTOCOL_VERSION) {
            let version = version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
            return Err(
                self.failed(format!("speaks {version} of the Agent Client Protocol, uwf speaks {PROTOCOL_VERSION}"))
            );
        }
        if let Some(method) = self.settings.auth_method.clone() {
            ask(self, "authenticate", json!({ "methodId": method }))?;
        }
        let server = if self.settings.mcp { mcp::launch(context) } else { None };
        let servers: Vec<Value> = server.iter().map(mcp::McpServerLaunch::acp).collect();
        let opening = json!({ "cwd": opened.workspace, "mcpServers": servers });
        let can_load = initialized.pointer("/agentCapabilities/loadSession").and_then(Value::as_bool) == Some(true);
        let mut loaded = None;
        if let Some(id) = earlier.filter(|_| can_load) {
            let mut loading = opening.clone();
            loading["sessionId"] = Value::from(id);
            match ask(self, "session/load", loading) {
                Ok(reply) => loaded = Some((id.to_owned(), reply)),
                Err(error) if error.kind != ErrorKind::AgentFailed => return Err(error),
                Err(error) => self.progress.line(&format!("session {id} is gone: {error}")),
            }
        }
        let (id, new) = match loaded {
            Some(loaded) => {
                // Its counts before this visit are unknown.
                (self.counts, self.dollars) = (None, None);
                loaded
            }
            None => {
                let new = ask(self, "session/new", opening)?;
                let Some(id) = new.get("sessionId").and_then(Value::as_str).map(str::to_owned) else {
                    return Err(self.failed("opened a session without an id".to_owned()));
                };
                (id, new)
            }
        };
        let id = id.as_str();
        self.id = Some(id.to_owned());
        self.recorder.session(SOURCE, Some(id));
        self.reports_model(session_options::current_model(&new));
        self.progress.line(&format!("session {id}"));
        for choice in self.choices(&new)? {
            ask(self, choice.method, choice.params(id))?;
            self.progress.line(&format!("{}: {}", choice.what, choice.value));
        }
        Ok(())
    }

    /// The options to set in the new session.
    fn choices(&mut self, new: &Value) -> Result<Vec<SessionOption>> {
        let mut choices = Vec::new();
        if let Some(mode) = self.settings.mode.clone() {
            match session_options::mode(new, &mode.id) {
                Ok(choice) => choices.push(choice),
                Err(offered) if mode.required => return Err(self.not_offered("mode", &mode.id, &offered)),
                Err(_) => {
                    self.progress.line(&format!("mode {} is not offered: permissions are given one by one", mode.id));
                }
            }
        }
        if let Some(model) = self.settings.model.clone() {
            let choice =
                session_options::model(new, &model).map_err(|offered| self.not_offered("model", &model, &offered))?;
            choices.push(choice);
        }
        Ok(choices)
    }

    fn not_offered(&self, what: &str, asked: &str, offered: &[String]) -> Error {
        let message = format!("agent `{}` has no {what} `{asked}` to choose", self.name);
        match offered {
            [] => Error::config(format!("{message}; it offers none over this protocol"))
                .hint(format!("leave out `{what}`, and set it in the agent's own configuration")),
            offered => Error::config(format!("{message}; it offers {}", offered.join(", "))),
        }
    }

    /// Sends a request and waits for the reply.
    fn request(
        &mut self,
        method: &str,
        params: Value,
        limit: Option<Duration>,
        listening: &mut AcpPromptState<'_, '_>,
    ) -> Result<Value> {
        let id = self.next_request;
        self.next_request += 1;
        self.client.send(&json_rpc::request(id, method, params));
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match self.client.next(listening.patience(left), true) {
                AcpEvent::Message(AcpMessage::Rpc(JsonRpcMessage::Reply { id: answered, result }))
                    if messages::request_number(&answered) == Some(id) =>
                {
                    return result.map_err(|error| self.refused(method, &messages::failure(&error)));
                }
                AcpEvent::Message(message) => self.hear(message, listening)?,
                AcpEvent::TooLong(bytes) => self.progress.line(&format!("a message of {bytes} bytes was skipped")),
                AcpEvent::Ended => {
                    let how = self.client.how_it_ended(method);
                    return Err(self.failed(how).with_last_words(&self.client.last_words()));
                }
                AcpEvent::Stopped(signal) => return Err(self.stop(signal, id, listening)),
                // Only a save is due.
                AcpEvent::Silence if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
                AcpEvent::Silence => {
                    let limit = limit.unwrap_or_default().as_secs();
                    return Err(self.failed(format!("did not answer `{method}` within {limit} s")));
                }
            }
            self.save_now_and_then(listening)?;
        }
    }

    /// Saves and records the reports so far, in case this process does not live until the turn ends.
    fn save_now_and_then(&mut self, listening: &mut AcpPromptState<'_, '_>) -> Result<()> {
        if listening.is_save_due() {
            listening.save()?;
            self.recorder.under_way(&listening.turn(self.cost_so_far(listening)));
            listening.mark_saved();
        }
        Ok(())
    }

    /// Whether an update is about another session: an agent may have several, for example for sub-agents.
    fn is_other(&self, params: &Value) -> bool {
        let id = params.get("sessionId").and_then(Value::as_str);
        self.id.as_deref().zip(id).is_some_and(|(own, id)| own != id)
    }

    /// Handles any message that is not the awaited reply.
    fn hear(&mut self, message: AcpMessage, listening: &mut AcpPromptState<'_, '_>) -> Result<()> {
        let message = match message {
            AcpMessage::Rpc(message) => message,
            AcpMessage::Noise(line) => {
                self.progress.line(&format!("printed: {line}"));
                return Ok(());
            }
        };
        match message {
            JsonRpcMessage::Notification { method, params } if method == "session/update" && self.is_other(&params) => {
                self.progress.line("an update of another session");
            }
            JsonRpcMessage::Notification { method, params } if method == "session/update" => {
                let at_ms = listening.elapsed_ms();
                let seen = params.get("update").and_then(|update| listening.transcript.update(update, at_ms));
                // Nothing is kept while a session is being set up.
                listening.has_news = !listening.input.is_empty();
                if let Some(seen) = seen {
                    self.progress.seen(&seen);
                }
            }
            JsonRpcMessage::Notification { method, .. } => self.progress.line(&format!("told: {method}")),
            JsonRpcMessage::Request { id, method, params } if method == "session/request_permission" => {
                // A reply also counts in a run without further questions.
                let by_person = self.decision_of_person(&params, listening);
                let decision = by_person.unwrap_or_else(|| permission::decide(self.settings.permissions, &params));
                self.client.send(&json_rpc::reply(&id, decision.outcome()));
                let asked = permission::what(&params);
                // A request that waits for a person is not denied.
                let is_denied =
                    !matches!(decision, PermissionDecision::Ask(_)) && permission::denies(&decision, &params);
                if let Some(call) = params.get("toolCall").filter(|_| is_denied) {
                    let at_ms = listening.elapsed_ms();
                    listening.transcript.deny(call, at_ms);
                }
                match decision {
                    PermissionDecision::Ask(asked) => return Err(self.ask_a_person(&asked, &params, listening)),
                    PermissionDecision::Pick(option) => {
                        self.progress.line(&format!("asked: {asked}; answered: {option}"));
                    }
                    PermissionDecision::NoneFits => self.progress.line(&format!("asked: {asked}; no option fits")),
                }
            }
            JsonRpcMessage::Request { id, method, .. } => {
                self.client.send(&messages::unsupported(&id, &method));
                self.progress.line(&format!("asked for {method}, which is not supported"));
            }
            JsonRpcMessage::Reply { .. } => self.progress.line("a reply without a request"),
        }
        Ok(())
    }

    /// This process was asked to stop: cancels the turn and saves the text so far.
    fn stop(&mut self, signal: i32, request: u64, listening: &mut AcpPromptState<'_, '_>) -> Error {
        self.progress.line("cancelled");
        // Save first: there may be no time later.
        let saved = listening.save();
        self.recorder.under_way(&listening.turn(self.cost_so_far(listening)));
        self.cancel(Some(request), listening);
        let kind = if signal == SIGINT { ErrorKind::Interrupted } else { ErrorKind::Terminated };
        saved.err().unwrap_or_else(|| Error::new(kind, format!("agent `{}` was stopped on request", self.name)))
    }

    /// Cancels the turn and listens briefly for its last messages.
    fn cancel(&mut self, request: Option<u64>, listening: &mut AcpPromptState<'_, '_>) {
        self.client.send(&json_rpc::notification("session/cancel", json!({ "sessionId": self.id })));
        let deadline = Instant::now() + CANCEL_WAIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.client.next(Some(left), false) {
                AcpEvent::Message(AcpMessage::Rpc(JsonRpcMessage::Reply { id, .. }))
                    if request.is_none() || messages::request_number(&id) == request =>
                {
                    return;
                }
                AcpEvent::Message(AcpMessage::Rpc(JsonRpcMessage::Notification { method, params }))
                    if method == "session/update" && !self.is_other(&params) =>
                {
                    let at_ms = listening.elapsed_ms();
                    params.get("update").and_then(|update| listening.transcript.update(update, at_ms));
                }
                AcpEvent::Message(AcpMessage::Rpc(JsonRpcMessage::Request { id, .. })) => {
                    self.client.send(&json_rpc::reply(&id, PermissionDecision::NoneFits.outcome()));
                }
                AcpEvent::Message(_) | AcpEvent::TooLong(_) => {}
                AcpEvent::Ended | AcpEvent::Stopped(_) | AcpEvent::Silence => return,
            }
        }
    }

    /// Whether a turn ended well.
    fn turn_ended(&mut self, reply: &Value, listening: &AcpPromptState<'_, '_>) -> Result<()> {
        let reason = reply.get("stopReason").and_then(Value::as_str).unwrap_or_default();
        self.progress.line(&format!("turn ended: {reason}"));
        let cut_off = match (reason, FinishReason::from_provider_word(reason)) {
            ("max_turn_requests", _) => Some("reached its limit of model requests in one turn".to_owned()),
            ("refusal", _) => return Err(self.failed("refused to continue".to_owned())),
            ("cancelled", _) => return Err(self.failed("cancelled the turn without being asked".to_owned())),
            (_, FinishReason::Stop) => None,
            (_, cut @ FinishReason::Length(_)) => cut.fault(),
            ("", none) => return Err(self.failed(none.fault().unwrap_or_default())),
            (other, _) => return Err(self.failed(format!("ended its turn with `{other}`, an unknown reason"))),
        };
        // An accepted output is complete, however the turn after it ended.
        match cut_off {
            Some(why) if submitted_value::take(listening.context)?.is_none() => Err(self.failed(why)),
            _ => Ok(()),
        }
    }

    fn refused(&self, method: &str, failure: &AcpFailure) -> Error {
        let error = self.failed(format!("answered `{method}` with an error: {}", failure.message));
        let error = error.with_last_words(&failure.message);
        if failure.code == AUTH_REQUIRED {
            return error.hint("log in with the agent's own command, or pass its key in `env`");
        }
        error
    }

    fn failed(&self, what: String) -> Error {
        Error::agent_failed(format!("agent `{}` {what}", self.name))
    }
}
