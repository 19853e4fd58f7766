//! A thread's local settings: where it works, which agents it uses, how far it may go. Never part of a node, since
//! they are a choice of the machine it runs on.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Kind, Result};
use crate::home::Home;

/// Content of `threads/<id>/settings.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Directory agents of this thread work in, absolute.
    pub workspace: PathBuf,
    /// Role → agent alias, as given to `thread start --agent`.
    #[serde(default)]
    pub agents: BTreeMap<String, String>,
    /// Most steps this thread may have; the configuration's limit holds when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// The head the thread had when this record was made: what the index is rebuilt from while there is no attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Hash>,
    /// The thread whose role this one plays, for a child thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
}

impl Settings {
    /// Reads a thread's settings; `None` when this machine has no record of the thread.
    ///
    /// # Errors
    /// `Io` when the file cannot be read, `Data` when it is not what was written.
    pub fn load(home: &Home, thread: &ThreadId) -> Result<Option<Settings>> {
        let path = home.settings_file(thread);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.at("read", &path)?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            Error::new(Kind::Data, format!("{} is not readable: {error}", path.display()))
                .hint(format!("remove it, then give the workspace again: `uwf thread step {thread} --cwd DIR`"))
        })
    }

    /// The same for a thread that is begun at a head.
    pub(crate) fn begun_at(&self, head: Hash) -> Settings {
        Settings { begun_at: Some(head), ..self.clone() }
    }

    /// Writes a thread's settings durably, and with them the directory and the attempt record of the thread, so
    /// that later appends to that record need no directory sync.
    ///
    /// # Errors
    /// `Io`.
    pub fn save(&self, home: &Home, thread: &ThreadId) -> Result<()> {
        self.write(home, thread)?;
        Settings::dirs(home, thread).iter().try_for_each(|dir| json_cas::durable::sync_dir(dir)).map_err(Error::from)
    }

    /// The same for whoever still has to sync the entries of the directories [`Settings::dirs`].
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn write(&self, home: &Home, thread: &ThreadId) -> Result<()> {
        home.make_thread_dir(thread)?;
        let record = home.attempt_file(thread);
        fs::OpenOptions::new().create(true).append(true).open(&record).at("create", &record)?;
        let text = serde_json::to_vec(self).expect("settings are texts and numbers");
        json_cas::durable::replace_unsynced(&home.settings_file(thread), &text).map_err(Error::from)
    }

    /// The directories by whose entries a thread's settings are found.
    pub(crate) fn dirs(home: &Home, thread: &ThreadId) -> [PathBuf; 2] {
        [home.thread_dir(thread), home.threads_dir()]
    }
}
