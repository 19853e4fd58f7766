//! A thread's local settings: where it works, which agents it uses, how far it may go. Never part of a node, since
//! they are a choice of the machine it runs on.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::beginning;
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
        let read = || {
            let text = read_if_there(&path)?;
            text.map(|text| Settings::parse(&text).map_err(|error| unreadable(&path, thread, &error))).transpose()
        };
        if let Some(settings) = read()? {
            return Ok(Some(settings));
        }
        // Those of a thread whose command is about to give them their name, or was killed then.
        match beginning::settings(home, thread)? {
            Some(settings) => Ok(Some(settings)),
            // They may have got it between the two looks.
            None => read(),
        }
    }

    /// What the text of a settings file says.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Settings> {
        serde_json::from_slice(text)
    }

    /// The text of a settings file.
    pub(crate) fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("settings are texts and numbers")
    }

    /// These settings, as those of a thread that is begun at a head.
    pub(crate) fn begun_at(&self, head: Hash) -> Settings {
        Settings { begun_at: Some(head), ..self.clone() }
    }

    /// Writes a thread's settings durably, and with them the directory and the attempt record of the thread, so
    /// that later appends to that record need no directory sync.
    ///
    /// # Errors
    /// `Io`.
    pub fn save(&self, home: &Home, thread: &ThreadId) -> Result<()> {
        home.make_thread_dir(thread)?;
        make_record(home, thread)?;
        json_cas::durable::replace(&home.settings_file(thread), &self.text())?;
        Ok(json_cas::durable::sync_dir(&home.threads_dir())?)
    }
}

/// Makes the attempt record of a thread whose directory is there.
pub(crate) fn make_record(home: &Home, thread: &ThreadId) -> Result<()> {
    let record = home.attempt_file(thread);
    fs::OpenOptions::new().create(true).append(true).open(&record).at("create", &record).map(drop)
}

/// A file of settings; `None` when there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some).at("read", path),
    }
}

fn unreadable(path: &Path, thread: &ThreadId, error: &serde_json::Error) -> Error {
    Error::new(Kind::Data, format!("{} is not readable: {error}", path.display()))
        .hint(format!("remove it, then give the workspace again: `uwf thread step {thread} --cwd DIR`"))
}
