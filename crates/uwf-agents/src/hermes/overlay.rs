//! A server of ours beside the user's configuration of hermes, without a change of that.
//!
//! hermes lays the configuration of a *managed scope* over that of its user, leaf by leaf: a directory meant for
//! administrators, `/etc/hermes`, or another one named by the environment. Where nobody uses it, an attempt has one of its
//! own that holds the server and nothing else. Where somebody does, it is left alone, and the server has to go another way.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use agent_kit::{Result, mcp};
use serde_json::json;
use uwf_engine::error::AtPath;

use super::installed::Hermes;

/// Variable that names the directory of the managed scope.
pub(super) const VARIABLE: &str = "HERMES_MANAGED_DIR";

/// The directory hermes looks for when the variable is not set.
const USUAL: &str = "/etc/hermes";

/// Its configuration in that directory.
const FILE: &str = "config.yaml";

impl Hermes<'_> {
    /// The directory that gives hermes the tool `submit`; `None` when it is not to have it, or not in this way.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn overlay(&self) -> Result<Option<PathBuf>> {
        let is_used = std::env::var_os(VARIABLE).is_some_and(|dir| !dir.is_empty()) || Path::new(USUAL).exists();
        if !self.settings.mcp || is_used {
            return Ok(None);
        }
        let Some(server) = mcp::launch(self.context) else { return Ok(None) };
        let attempts = self.context.thread().home().attempts_dir(&self.opened.thread);
        let dir = attempts.join(format!("{}.hermes", self.opened.attempt));
        // It works in the thread's workspace, so the path has to be whole.
        let dir = std::path::absolute(&dir).at("make absolute", &dir)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).at("create", &dir)?;
        let file = dir.join(FILE);
        let mut writing = std::fs::OpenOptions::new();
        writing.write(true).create(true).truncate(true).mode(0o600);
        // JSON is YAML.
        let config = json!({ "mcp_servers": { server.name: server.entry() } }).to_string();
        writing.open(&file).and_then(|mut file| file.write_all(config.as_bytes())).at("write", &file)?;
        Ok(Some(dir))
    }
}
