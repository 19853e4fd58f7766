//! Messages to people: the questions that were sent, and the replies that were received and not handled yet.
//!
//! A reply is durable here before its sender's server learns that it arrived. A process that was killed handles it after its restart.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use durable_files::{FileLock, regular};
use json_cas::NodeHash;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::ids;

/// How long to wait for another process that records a question.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Size of the list of questions from which its older half is dropped.
const MOST_BYTES: u64 = 512 << 10;

/// Ids of received messages that are kept to recognize a message that arrives twice.
const MOST_IDS: usize = 500;

/// A question that was sent to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentQuestion {
    /// The rule of `notify` that sent it.
    pub rule: String,
    /// Short name of the question, for replies.
    pub code: String,
    /// The thread that asks.
    pub thread: ThreadId,
    /// Its head.
    pub head: NodeHash,
    /// The attempt whose agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// The message, once it was sent, if replies refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageName>,
}

/// The name of a message in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageName {
    /// Id of the channel.
    pub channel: String,
    /// Its time stamp, which names it there.
    pub ts: String,
}

/// A reply of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceivedReply {
    /// The source that it came from.
    pub source: String,
    /// Its name there, which is the same if it arrives again.
    pub id: String,
    /// Its author, for the record.
    pub by: String,
    /// Id of its author, if the source has users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The question that it answers.
    pub question: QuestionName,
    /// Its content.
    pub content: ReplyContent,
    /// Whether a process has begun to record it.
    #[serde(default)]
    pub is_begun: bool,
}

/// The question that a reply refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionName {
    /// The question with this code; a button also knows the head.
    Code {
        /// The code.
        code: String,
        /// The head.
        head: Option<NodeHash>,
        /// The message with the button.
        message: Option<MessageName>,
    },
    /// The question in this message.
    Message(MessageName),
}

/// The content of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyContent {
    /// The option at this position.
    Option(usize),
    /// A text.
    Text(String),
}

/// How far a source was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    /// Id of the newest message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Ids of the newest messages, oldest first.
    #[serde(default)]
    ids: Vec<String>,
}

impl SourcePosition {
    /// Whether a message was received before.
    pub fn has(&self, id: &str) -> bool {
        self.ids.iter().any(|known| known == id)
    }

    fn add(&mut self, id: &str) {
        self.ids.push(id.to_owned());
        let surplus = self.ids.len().saturating_sub(MOST_IDS);
        self.ids.drain(..surplus);
    }
}

/// A message that has arrived.
pub struct ReceivedMessage<'r> {
    /// Its source.
    pub source: &'r str,
    /// Its name there.
    pub id: &'r str,
    /// The position of the source after it, if the source has positions.
    pub since: Option<&'r str>,
    /// The reply in it.
    pub reply: Option<&'r ReceivedReply>,
}

/// The files of messages. Only their owner can read them.
#[derive(Debug, Clone)]
pub struct MessageFiles {
    dir: PathBuf,
    /// Held while a reply is kept and counted: none is handled before it counts as received.
    receiving: Arc<Mutex<()>>,
}

impl MessageFiles {
    /// The files of a storage root.
    pub fn of_home(home: &Home) -> MessageFiles {
        MessageFiles { dir: home.messages_dir(), receiving: Arc::default() }
    }

    fn sent_file(&self) -> PathBuf {
        self.dir.join("sent.jsonl")
    }

    fn inbox(&self) -> PathBuf {
        self.dir.join("inbox")
    }

    fn position_file(&self, source: &str) -> PathBuf {
        self.dir.join(format!("position-{}.json", json_cas::xxh64(source.as_bytes())))
    }

    /// Takes the lock of the process that receives replies; `None` if another process does.
    ///
    /// # Errors
    /// `Io`.
    pub fn listen(&self) -> Result<Option<FileLock>> {
        self.make()?;
        Ok(FileLock::acquire(&self.dir.join("listen.lock"), Duration::ZERO)?)
    }

    fn make(&self) -> Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        let inbox = self.inbox();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&inbox).path_context("create", &inbox)
    }

    /// Records a question that is about to be sent, or its message once it was sent.
    ///
    /// # Errors
    /// `Busy` if another process holds the list, `Io`.
    pub fn record_sent(&self, question: &SentQuestion) -> Result<()> {
        self.make()?;
        let path = self.sent_file();
        let _lock = FileLock::acquire(&self.dir.join("sent.lock"), LOCK_WAIT)?
            .ok_or_else(|| Error::busy(format!("another process holds {}", path.display())))?;
        if path.metadata().is_ok_and(|meta| meta.len() > MOST_BYTES) {
            let all = regular::read_to_string(&path, u64::MAX).path_context("read", &path)?;
            let lines: Vec<&str> = all.lines().collect();
            let newer: String = lines[lines.len() / 2..].iter().map(|line| format!("{line}\n")).collect();
            durable_files::replace_private(&path, newer.as_bytes())?;
        }
        Ok(durable_files::append(&path, &json(question))?)
    }

    /// The questions that were sent, newest first. Unreadable lines are left out.
    ///
    /// # Errors
    /// `Io`.
    pub fn sent(&self) -> Result<Vec<SentQuestion>> {
        let path = self.sent_file();
        let text = match regular::read(&path, 4 * MOST_BYTES) {
            Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.path_context("read", &path)?,
        };
        let lines = text.rsplit(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// How far a source was read. A damaged file counts as unread: a reply that arrives again is recognized by its question. Call this before
    /// replies are handled: a process that was killed may have kept replies without counting them as received.
    ///
    /// # Errors
    /// `Io`.
    pub fn position(&self, source: &str) -> Result<SourcePosition> {
        let path = self.position_file(source);
        let mut position = match regular::read(&path, regular::MAX_TEXT) {
            Err(missing) if missing.kind() == ErrorKind::NotFound => SourcePosition::default(),
            text => serde_json::from_slice(&text.path_context("read", &path)?).unwrap_or_default(),
        };
        let kept = self.kept()?;
        let new = kept.iter().filter(|(_, reply)| reply.source == source && !position.has(&reply.id));
        let new: Vec<&str> = new.map(|(_, reply)| reply.id.as_str()).collect();
        new.iter().for_each(|id| position.add(id));
        if !new.is_empty() {
            self.move_on(source, &position)?;
        }
        Ok(position)
    }

    /// Counts a message of a source as received, and keeps the reply in it until it is handled. Both are durable.
    ///
    /// # Errors
    /// `Io`. The message then arrives again.
    pub fn receive(&self, position: &mut SourcePosition, received: &ReceivedMessage<'_>) -> Result<()> {
        let _receiving = self.receiving.lock();
        self.make()?;
        if let Some(reply) = received.reply {
            self.write(&self.inbox().join(format!("{}.json", ids::new_ulid())), reply)?;
        }
        let mut next = position.clone();
        next.add(received.id);
        next.since = received.since.map(str::to_owned).or(next.since);
        self.move_on(received.source, &next)?;
        *position = next;
        Ok(())
    }

    fn move_on(&self, source: &str, position: &SourcePosition) -> Result<()> {
        Ok(durable_files::replace_private(&self.position_file(source), json(position).as_bytes())?)
    }

    fn write(&self, path: &Path, reply: &ReceivedReply) -> Result<()> {
        Ok(durable_files::replace_private(path, json(reply).as_bytes())?)
    }

    /// The replies that are not handled yet, oldest first. Other files are left out.
    ///
    /// # Errors
    /// `Io`.
    pub fn kept(&self) -> Result<Vec<(PathBuf, ReceivedReply)>> {
        let _receiving = self.receiving.lock();
        let inbox = self.inbox();
        let entries = match fs::read_dir(&inbox) {
            Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.path_context("read", &inbox)?,
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort_unstable();
        let read = |path: PathBuf| {
            let text = regular::read(&path, regular::MAX_TEXT).ok()?;
            Some((path, serde_json::from_slice(&text).ok()?))
        };
        Ok(paths.into_iter().filter_map(read).collect())
    }

    /// Records that a process begins to record a reply.
    ///
    /// # Errors
    /// `Io`.
    pub fn begin(&self, path: &Path, reply: &ReceivedReply) -> Result<()> {
        self.write(path, &ReceivedReply { is_begun: true, ..reply.clone() })
    }

    /// Removes a reply that was handled.
    ///
    /// # Errors
    /// `Io`.
    pub fn forget(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).path_context("remove", path)?;
        Ok(durable_files::sync_dir(&self.inbox())?)
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and texts are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, MessageFiles) {
        let dir = tempfile::tempdir().unwrap();
        let files = MessageFiles { dir: dir.path().join("messages"), receiving: Arc::default() };
        (dir, files)
    }

    fn question(code: &str) -> SentQuestion {
        SentQuestion {
            rule: "ntfy".to_owned(),
            code: code.to_owned(),
            thread: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
            head: NodeHash::from_u64(7),
            attempt: None,
            message: None,
        }
    }

    #[test]
    fn sent_questions_survive_torn_lines() {
        let (_dir, files) = files();
        assert_eq!(files.sent().unwrap(), []);
        files.record_sent(&question("A")).unwrap();
        fs::write(files.sent_file(), [fs::read(files.sent_file()).unwrap(), b"{\"rule\": \"nt".to_vec()].concat())
            .unwrap();
        files.record_sent(&question("B")).unwrap();
        let codes: Vec<String> = files.sent().unwrap().into_iter().map(|sent| sent.code).collect();
        assert_eq!(codes, ["B", "A"]);
    }

    #[test]
    fn older_half_of_a_long_list_is_dropped() {
        let (_dir, files) = files();
        files.record_sent(&question("first")).unwrap();
        let line = json(&question("more"));
        let most = usize::try_from(MOST_BYTES).unwrap() / line.len() + 2;
        fs::write(files.sent_file(), format!("{line}\n").repeat(most)).unwrap();
        files.record_sent(&question("last")).unwrap();
        let sent = files.sent().unwrap();
        assert!(sent.len() < most && sent[0].code == "last");
    }

    #[test]
    fn replies_are_kept_until_forgotten() {
        let (_dir, files) = files();
        let reply = |text: &str| ReceivedReply {
            source: "s".to_owned(),
            id: text.to_owned(),
            by: "ada".to_owned(),
            user: None,
            question: QuestionName::Code { code: "A".to_owned(), head: None, message: None },
            content: ReplyContent::Text(text.to_owned()),
            is_begun: false,
        };
        let mut position = files.position("s").unwrap();
        for text in ["1", "2"] {
            let (reply, since) = (&reply(text), Some(text));
            files
                .receive(&mut position, &ReceivedMessage { source: "s", id: text, since, reply: Some(reply) })
                .unwrap();
        }
        fs::write(files.inbox().join("0.json"), "damaged").unwrap();
        let kept = files.kept().unwrap();
        assert_eq!(kept.iter().map(|(_, kept)| kept.clone()).collect::<Vec<_>>(), [reply("1"), reply("2")]);
        files.begin(&kept[0].0, &kept[0].1).unwrap();
        files.forget(&kept[1].0).unwrap();
        assert_eq!(files.kept().unwrap()[0].1, ReceivedReply { is_begun: true, ..reply("1") });
        assert_eq!(files.kept().unwrap().len(), 1);
        assert_eq!(files.position("s").unwrap().since.as_deref(), Some("2"));
    }

    #[test]
    fn kept_reply_counts_as_received_after_a_kill() {
        let (_dir, files) = files();
        let question = QuestionName::Code { code: "A".to_owned(), head: None, message: None };
        let (source, id) = ("s".to_owned(), "7".to_owned());
        let content = ReplyContent::Option(0);
        let reply = ReceivedReply { source, id, by: "ada".to_owned(), user: None, question, content, is_begun: false };
        let message = ReceivedMessage { source: "s", id: "7", since: None, reply: Some(&reply) };
        files.receive(&mut SourcePosition::default(), &message).unwrap();
        // Killed after it was kept, before it was counted.
        fs::remove_file(files.position_file("s")).unwrap();
        assert!(files.position("s").unwrap().has("7"));
        files.forget(&files.kept().unwrap()[0].0).unwrap();
        assert!(files.position("s").unwrap().has("7"), "it is counted durably");
        assert!(!files.position("other").unwrap().has("7"));
    }

    #[test]
    fn only_newest_ids_are_remembered() {
        let (_dir, files) = files();
        files.make().unwrap();
        let mut position = SourcePosition::default();
        for id in 0..=MOST_IDS {
            position.add(&id.to_string());
        }
        files.move_on("s", &position).unwrap();
        let read = files.position("s").unwrap();
        assert!(!read.has("0") && read.has("1") && read.has(&MOST_IDS.to_string()));
        assert_eq!(files.position("other").unwrap(), SourcePosition::default());
    }
}
