//! ntfy: messages with buttons on a topic. A button posts to the topic for replies; a person can also write a message there.

use std::sync::mpsc::Sender;
use std::time::Duration;

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::config::NtfyConfig;
use uwf_core::secret_search::SHORTEST;
use uwf_core::text::{beginning, ellipsize};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::root::messages::{
    MessageFiles, QuestionName, ReceivedMessage, ReceivedReply, ReplyContent, SentQuestion, SourcePosition,
};
use uwf_engine::verbs::notifier::NotifyMessage;
use uwf_llm::LineServer;

use super::backoff::ReconnectPause;
use super::{SourceNews, post, settings, wording};
use crate::error::CommandError;

/// Most buttons of a message.
const MAX_BUTTONS: usize = 3;

/// Longest label of a button, in characters.
const MAX_LABEL: usize = 40;

/// Bytes of a text. ntfy turns a message of more than 4,096 bytes into a file.
const MAX_TEXT: usize = 3000;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// Longest silence. ntfy sends a line every 45 seconds.
const IDLE: Duration = Duration::from_mins(2);

/// A topic, with the values of its settings.
#[derive(Debug, Clone)]
pub(crate) struct NtfyTopic {
    pub(super) rule: String,
    pub(super) source: Option<String>,
    pub(super) run: bool,
    server: String,
    topic: String,
    replies: Option<String>,
    /// The author of replies, for the record.
    author: String,
    token: Option<String>,
    reply_token: Option<String>,
    dashboard: Option<String>,
}

impl NtfyTopic {
    pub(super) fn new(home: &Home, config: &NtfyConfig) -> Result<NtfyTopic, CommandError> {
        let topic = settings::value(home, &config.topic)?;
        let replies = config.replies.as_ref().map(|replies| settings::value(home, replies)).transpose()?;
        for topic in [Some(&topic), replies.as_ref()].into_iter().flatten() {
            check(topic)?;
        }
        if replies.as_ref() == Some(&topic) {
            return Err(CommandError::new(ErrorKind::Config, "`topic` and `replies` of `ntfy` are one topic")
                .hint("name another topic for replies: uwf would take its own messages for answers"));
        }
        let token = |name: &Option<String>| name.as_ref().map(|name| settings::variable(home, name)).transpose();
        let shown = config.replies.as_ref().map(settings::shown);
        Ok(NtfyTopic {
            rule: format!("ntfy {} {}", config.server, settings::shown(&config.topic)),
            source: shown.as_ref().map(|replies| format!("ntfy {} {replies}", config.server)),
            run: config.run,
            server: config.server.clone(),
            topic,
            replies,
            author: format!("ntfy:{}", shown.unwrap_or_default()),
            token: token(&config.token_env)?,
            reply_token: token(&config.reply_token_env)?,
            dashboard: config.dashboard.clone(),
        })
    }

    /// Sends a message; `sent` is its question, if people can reply.
    pub(super) fn send(&self, message: &NotifyMessage, sent: Option<&SentQuestion>) -> Result<(), String> {
        let mut body = json!({ "title": message.title, "message": beginning(&message.text, MAX_TEXT) });
        if let Some(question) = &message.question {
            let by_reply = sent
                .zip(self.replies.as_ref())
                .map(|(sent, replies)| format!("send `{} YOUR ANSWER` to the topic {replies}", sent.code));
            let buttons = sent.map(|sent| self.buttons(&question.form.labels(), sent)).unwrap_or_default();
            let by_reply = (by_reply.as_deref(), buttons.len());
            let how = wording::how_to_answer(message, question, by_reply, self.dashboard.as_deref());
            let text = wording::question_text(message, question, buttons.len());
            body["message"] = format!("{}\n\n{how}", beginning(text, MAX_TEXT - how.len().min(1000))).into();
            if !buttons.is_empty() {
                body["actions"] = buttons.into();
            }
        }
        if let Some(dashboard) = &self.dashboard {
            body["click"] = format!("{}/threads/{}", dashboard.trim_end_matches('/'), message.thread).into();
        }
        self.publish(body)
    }

    fn buttons(&self, labels: &[&str], sent: &SentQuestion) -> Vec<Value> {
        let Some(replies) = &self.replies else { return Vec::new() };
        let button = |(position, label): (usize, &&str)| {
            let body = json!({ "uwf": sent.code, "head": sent.head, "option": position });
            let mut button = json!({
                "action": "http",
                "label": ellipsize(label, MAX_LABEL),
                "url": format!("{}/{replies}", self.server),
                "method": "POST",
                "body": body.to_string(),
                "clear": true,
            });
            if let Some(token) = &self.reply_token {
                button["headers"] = json!({ "Authorization": format!("Bearer {token}") });
            }
            button
        };
        labels.iter().enumerate().take(MAX_BUTTONS).map(button).collect()
    }

    /// Says something on the topic.
    pub(super) fn respond(&self, text: &str) -> Result<(), String> {
        self.publish(json!({ "title": "uwf", "message": beginning(text, MAX_TEXT) }))
    }

    fn publish(&self, mut body: Value) -> Result<(), String> {
        body["topic"] = self.topic.clone().into();
        let sent = post::post(&self.server, self.token.as_deref(), &body).map(drop);
        sent.map_err(|error| self.without_topics(&error.to_string()))
    }

    /// A message without the topics, which may be secret. A short one could be part of any word.
    fn without_topics(&self, text: &str) -> String {
        let topics = std::iter::once(&self.topic).chain(&self.replies).chain(&self.reply_token);
        topics
            .filter(|topic| topic.len() >= SHORTEST)
            .fold(text.to_owned(), |text, topic| text.replace(topic.as_str(), "…"))
    }

    /// Receives replies. Returns when the server refuses access.
    pub(super) fn listen(
        &self,
        files: &MessageFiles,
        mut position: SourcePosition,
        news: &Sender<SourceNews>,
    ) -> Result<(), CommandError> {
        let (Some(source), Some(replies)) = (&self.source, &self.replies) else { return Ok(()) };
        let server = LineServer::new(&self.server, self.token.as_deref(), CONNECT, IDLE)
            .map_err(|error| CommandError::new(ErrorKind::Config, self.without_topics(&error.to_string())))?;
        let mut backoff = ReconnectPause::new();
        loop {
            backoff.begin();
            let since = position.since.as_deref().unwrap_or("all");
            let url = format!("{}/{replies}/json?since={since}", self.server);
            let (why, asked) = match server.open(&url) {
                Ok(mut lines) => {
                    let _ = news.send(SourceNews::Said(format!("listening to {source}")));
                    let why = loop {
                        match lines.next_line() {
                            Ok(Some(line)) => match self.receive(&line, files, &mut position) {
                                Ok(true) => drop(news.send(SourceNews::Kept)),
                                Ok(false) => {}
                                Err(error) => break format!("cannot keep a reply: {}", error.error),
                            },
                            Ok(None) => break "the server has ended the connection".to_owned(),
                            Err(error) => break self.without_topics(&error.to_string()),
                        }
                    };
                    (why, None)
                }
                Err(error) if matches!(error.status(), Some(401 | 403)) => {
                    return Err(CommandError::new(ErrorKind::Config, self.without_topics(&error.to_string())).hint(
                        "`tokenEnv` of `ntfy` names the variable with a token that may read the topic for replies",
                    ));
                }
                Err(error) => (self.without_topics(&error.to_string()), post::retry_after(&error)),
            };
            let pause = backoff.pause(asked);
            let _ = news.send(SourceNews::Said(format!(
                "not connected to {source}: {why}; trying again in {:.1} s",
                pause.as_secs_f64()
            )));
            std::thread::sleep(pause);
        }
    }

    /// Keeps the reply in a line; false if it has none.
    fn receive(&self, line: &str, files: &MessageFiles, position: &mut SourcePosition) -> Result<bool, CommandError> {
        let Some((id, reply)) = self.parsed(line).filter(|(id, _)| !position.has(id)) else { return Ok(false) };
        let source = self.source.as_deref().unwrap_or_default();
        let message = ReceivedMessage { source, id: &id, since: Some(&id), reply: reply.as_ref() };
        files.receive(position, &message)?;
        Ok(reply.is_some())
    }

    /// The id of the message in a line, and the reply that it is. `None` for other lines.
    fn parsed(&self, line: &str) -> Option<(String, Option<ReceivedReply>)> {
        let message: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        // An id has the symbols of a topic.
        let id = text("id").filter(|id| NtfyConfig::is_topic(id) && text("event") == Some("message"))?;
        let (question, content) = parsed_reply(text("message").unwrap_or_default());
        let (source, by) = (self.source.clone().unwrap_or_default(), self.author.clone());
        let is_own = text("title") == Some("uwf");
        let reply = ReceivedReply { source, id: id.to_owned(), by, user: None, question, content, is_begun: false };
        Some((id.to_owned(), Some(reply).filter(|_| !is_own)))
    }
}

/// The question that a message is about, and the answer in it: the body of a button, or a code and a text.
fn parsed_reply(message: &str) -> (QuestionName, ReplyContent) {
    let of_button = || {
        let body: Value = serde_json::from_str(message).ok()?;
        let head: NodeHash = body["head"].as_str()?.parse().ok()?;
        let option = usize::try_from(body["option"].as_u64()?).ok()?;
        let code = body["uwf"].as_str()?.to_owned();
        Some((QuestionName::Code { code, head: Some(head), message: None }, ReplyContent::Option(option)))
    };
    of_button().unwrap_or_else(|| {
        let message = message.trim_start();
        let (code, text) = message.split_once(char::is_whitespace).unwrap_or((message, ""));
        let code = ellipsize(code.trim_end_matches(':'), MAX_LABEL).to_uppercase();
        (QuestionName::Code { code, head: None, message: None }, ReplyContent::Text(text.trim().to_owned()))
    })
}

/// Whether a text can be a topic or an id, and so a part of a URL.
fn check(topic: &str) -> Result<(), CommandError> {
    match NtfyConfig::is_topic(topic) {
        true => Ok(()),
        false => Err(CommandError::new(ErrorKind::Config, "a topic of `ntfy` is not valid")
            .hint("a topic has up to 64 letters, digits, `-` and `_`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_a_button_or_code_and_text() {
        let code = |code: &str| QuestionName::Code { code: code.to_owned(), head: None, message: None };
        let text = |text: &str| ReplyContent::Text(text.to_owned());
        for (message, question, content) in [
            ("7q2m-k3x  Looks\ngood ", code("7Q2M-K3X"), text("Looks\ngood")),
            ("7Q2M-K3X: {\"approved\": true}", code("7Q2M-K3X"), text("{\"approved\": true}")),
            ("7Q2M-K3X", code("7Q2M-K3X"), text("")),
            ("", code(""), text("")),
            ("{\"uwf\": 1}", code("{\"UWF\""), text("1}")),
        ] {
            assert_eq!(parsed_reply(message), (question, content), "{message}");
        }
        let head = NodeHash::from_u64(7);
        let pressed = json!({ "uwf": "7Q2M-K3X", "head": head, "option": 1 }).to_string();
        let question = QuestionName::Code { code: "7Q2M-K3X".to_owned(), head: Some(head), message: None };
        assert_eq!(parsed_reply(&pressed), (question, ReplyContent::Option(1)));
    }

    #[test]
    fn topics_are_parts_of_urls() {
        for (topic, fits) in
            [("my-topic_1", true), ("", false), ("a/b", false), ("a?x", false), (&"a".repeat(65), false)]
        {
            assert_eq!(check(topic).is_ok(), fits, "{topic}");
        }
    }
}
