//! Slack: messages with buttons in a channel. Replies arrive through Socket Mode, a WebSocket that this machine opens.

mod envelope;
mod markup;

use std::sync::mpsc::Sender;
use std::time::Duration;

use serde_json::{Value, json};
use uwf_core::config::SlackConfig;
use uwf_core::text::ellipsize;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::root::messages::{MessageFiles, MessageName, ReceivedMessage, SentQuestion, SourcePosition};
use uwf_engine::verbs::notifier::NotifyMessage;
use uwf_llm::TextSocket;

use self::envelope::SocketEnvelope;
use super::backoff::ReconnectPause;
use super::{SourceNews, post, settings, wording};
use crate::error::CommandError;

/// Most buttons of a message.
const MAX_BUTTONS: usize = 25;

/// Longest label of a button, in characters.
const MAX_LABEL: usize = 75;

/// Bytes of a text. Slack allows 3,000 characters in a section.
const MAX_TEXT: usize = 2900;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// Longest silence. Slack sends a ping every few seconds.
const IDLE: Duration = Duration::from_mins(2);

/// Errors of Slack after which waiting does not help.
const FINAL: [&str; 9] = [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
    "missing_scope",
    "no_permission",
    "ekm_access_denied",
];

/// A channel, with the values of its settings.
#[derive(Debug, Clone)]
pub(crate) struct SlackChannel {
    pub(super) rule: String,
    pub(super) source: Option<String>,
    pub(super) run: bool,
    pub(super) users: Vec<String>,
    server: String,
    channel: String,
    bot_token: String,
    app_token: Option<String>,
    dashboard: Option<String>,
}

/// Why a call of Slack's API failed.
struct SlackFailure {
    why: String,
    is_final: bool,
    retry_after: Option<Duration>,
}

impl SlackChannel {
    pub(super) fn new(home: &Home, config: &SlackConfig) -> Result<SlackChannel, CommandError> {
        let app_token = config.app_token_env.as_ref().map(|name| settings::variable(home, name)).transpose()?;
        Ok(SlackChannel {
            rule: format!("slack {} {}", config.server, config.channel),
            source: config.app_token_env.as_ref().map(|name| format!("slack {} ${name}", config.server)),
            run: config.run,
            users: config.users.clone(),
            server: config.server.clone(),
            channel: config.channel.clone(),
            bot_token: settings::variable(home, &config.bot_token_env)?,
            app_token,
            dashboard: config.dashboard.clone(),
        })
    }

    fn call(&self, method: &str, token: &str, body: &Value) -> Result<Value, SlackFailure> {
        let temporary = |why: String, retry_after| SlackFailure { why, is_final: false, retry_after };
        let reply = post::post(&format!("{}/api/{method}", self.server), Some(token), body)
            .map_err(|error| temporary(error.to_string(), post::retry_after(&error)))?;
        let reply: Value =
            serde_json::from_str(&reply).map_err(|_| temporary(format!("{method}: the response is not JSON"), None))?;
        if reply["ok"] == true {
            return Ok(reply);
        }
        let word = ellipsize(reply["error"].as_str().unwrap_or("no reason"), MAX_LABEL).into_owned();
        let is_final = FINAL.contains(&word.as_str());
        Err(SlackFailure { why: format!("{method}: {word}"), is_final, retry_after: None })
    }

    fn post_message(&self, body: &Value) -> Result<MessageName, String> {
        let reply = self.call("chat.postMessage", &self.bot_token, body).map_err(|failure| failure.why)?;
        match (reply["channel"].as_str(), reply["ts"].as_str()) {
            (Some(channel), Some(ts)) => Ok(MessageName { channel: channel.to_owned(), ts: ts.to_owned() }),
            _ => Err("chat.postMessage: the response names no message".to_owned()),
        }
    }

    /// Sends a message; `sent` is its question, if people can reply.
    pub(super) fn send(&self, message: &NotifyMessage, sent: Option<&SentQuestion>) -> Result<MessageName, String> {
        let title = markup::escaped_within(&message.title, MAX_LABEL * 2);
        let question = message.question.as_ref();
        let buttons = question.zip(sent).map(|(question, sent)| buttons(&question.form.labels(), sent));
        let buttons = buttons.unwrap_or_default();
        let count = buttons.len();
        let text = question.map_or(&*message.text, |question| wording::question_text(message, question, count));
        let mut blocks = vec![section(&format!("*{title}*")), section(&markup::escaped_within(text, MAX_TEXT))];
        blocks.retain(|block| block["text"]["text"] != "");
        if let Some(question) = question {
            if !buttons.is_empty() {
                blocks.push(json!({ "type": "actions", "elements": buttons }));
            }
            let by_reply = sent.map(|_| "reply in the thread of this message");
            let how = wording::how_to_answer(message, question, (by_reply, count), self.dashboard.as_deref());
            blocks.push(context(&how));
        } else if let Some(dashboard) = &self.dashboard {
            blocks.push(context(&format!("{}/threads/{}", dashboard.trim_end_matches('/'), message.thread)));
        }
        self.post_message(&json!({
            "channel": self.channel,
            "text": title,
            "blocks": blocks,
            "unfurl_links": false,
            "unfurl_media": false,
        }))
    }

    /// Says something below a message, or in the channel.
    pub(super) fn respond(&self, text: &str, at: Option<&MessageName>) -> Result<(), String> {
        let mut body = json!({
            "channel": at.map_or(self.channel.as_str(), |at| at.channel.as_str()),
            "text": markup::escaped_within(text, MAX_TEXT),
            "unfurl_links": false,
            "unfurl_media": false,
        });
        if let Some(at) = at {
            body["thread_ts"] = at.ts.clone().into();
        }
        self.post_message(&body).map(drop)
    }

    /// Replaces an answered question, so that its buttons disappear.
    pub(super) fn close(&self, message: &MessageName, text: &str) -> Result<(), String> {
        let body = json!({
            "channel": message.channel,
            "ts": message.ts,
            "text": markup::escaped_within(text, MAX_TEXT),
            "blocks": [section(&markup::escaped_within(text, MAX_TEXT))],
        });
        self.call("chat.update", &self.bot_token, &body).map(drop).map_err(|failure| failure.why)
    }

    /// Receives replies. Returns when Slack refuses access.
    pub(super) fn listen(
        &self,
        files: &MessageFiles,
        mut position: SourcePosition,
        news: &Sender<SourceNews>,
    ) -> Result<(), CommandError> {
        let (Some(source), Some(token)) = (&self.source, &self.app_token) else { return Ok(()) };
        let mut backoff = ReconnectPause::new();
        loop {
            backoff.begin();
            let failure = match self.call("apps.connections.open", token, &json!({})) {
                Ok(opened) => {
                    let url = opened["url"].as_str().unwrap_or_default();
                    let why = match TextSocket::connect(url, CONNECT, IDLE) {
                        Ok(socket) => self.receive_all(socket, files, &mut position, news),
                        Err(why) => why,
                    };
                    SlackFailure { why, is_final: false, retry_after: None }
                }
                Err(failure) => failure,
            };
            if failure.is_final {
                return Err(CommandError::new(ErrorKind::Config, format!("{source} refuses: {}", failure.why))
                    .hint("`appTokenEnv` of `slack` names the variable with an app-level token (xapp-…) with the scope connections:write"));
            }
            let pause = backoff.pause(failure.retry_after);
            let _ = news.send(SourceNews::Said(format!(
                "not connected to {source}: {}; trying again in {:.1} s",
                failure.why,
                pause.as_secs_f64()
            )));
            std::thread::sleep(pause);
        }
    }

    /// Receives replies until the connection ends. Returns why it ended.
    fn receive_all(
        &self,
        mut socket: TextSocket,
        files: &MessageFiles,
        position: &mut SourcePosition,
        news: &Sender<SourceNews>,
    ) -> String {
        let source = self.source.as_deref().unwrap_or_default();
        loop {
            let text = match socket.receive() {
                Ok(Some(text)) => text,
                Ok(None) => return "Slack has closed the connection".to_owned(),
                Err(why) => return why,
            };
            let Some(envelope) = SocketEnvelope::parse(&text, source) else { continue };
            match envelope {
                SocketEnvelope::Hello => drop(news.send(SourceNews::Said(format!("listening to {source}")))),
                SocketEnvelope::Disconnect => return "Slack asks to connect again".to_owned(),
                SocketEnvelope::Event { id, reply } => {
                    let reply = reply.filter(|reply| !position.has(&reply.id));
                    if let Some(reply) = &reply {
                        let message = ReceivedMessage { source, id: &reply.id, since: None, reply: Some(reply) };
                        // Without an acknowledgement, Slack sends it again.
                        if let Err(error) = files.receive(position, &message) {
                            return format!("cannot keep a reply: {}", error.message);
                        }
                    }
                    if let Err(why) = socket.send(json!({ "envelope_id": id }).to_string()) {
                        return why;
                    }
                    if reply.is_some() {
                        let _ = news.send(SourceNews::Kept);
                    }
                }
            }
        }
    }
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

fn context(text: &str) -> Value {
    let text = markup::escaped_within(text, MAX_TEXT);
    json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": text }] })
}

fn buttons(labels: &[&str], sent: &SentQuestion) -> Vec<Value> {
    let button = |(position, label): (usize, &&str)| {
        let value = json!({ "uwf": sent.code, "head": sent.head, "option": position });
        json!({
            "type": "button",
            "action_id": format!("uwf-{position}"),
            "text": { "type": "plain_text", "text": ellipsize(label, MAX_LABEL) },
            "value": value.to_string(),
        })
    };
    labels.iter().enumerate().take(MAX_BUTTONS).map(button).collect()
}
