//! A server of ours beside the user's configuration of hermes, without a change of that.
//!
//! hermes lays the configuration of a *managed scope* over that of its user, leaf by leaf: a directory meant for
//! administrators, `/etc/hermes`, or another one named by the environment. An attempt has one of its own that holds the
//! server and nothing else, where two things hold: nobody uses the managed scope, which is then left alone; and the user's
//! own configuration names servers, because hermes 0.19 looks there (and only there) whether it must look for any at all.
//! Otherwise the server must go another way.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use agent_kit::{Result, mcp};
use durable_files::regular;
use serde_json::json;
use uwf_core::document::Document;
use uwf_engine::error::AtPath;

use super::installed::Hermes;

/// Variable that names the directory of the managed scope.
pub(super) const VARIABLE: &str = "HERMES_MANAGED_DIR";

/// The directory hermes looks for when the variable is not set.
const USUAL: &str = "/etc/hermes";

/// Seconds hermes waits for its servers before it asks the model; its own 1.5 are few on a busy machine.
const DISCOVERY_TIMEOUT: u32 = 30;

/// Longest configuration of hermes that is looked at, bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// Its configuration, in that directory and in its home.
const FILE: &str = "config.yaml";

impl Hermes<'_, '_> {
    /// The directory that gives hermes the tool `submit`; `None` when it is not to have it, or not in this way.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn overlay(&self) -> Result<Option<PathBuf>> {
        let is_used = std::env::var_os(VARIABLE).is_some_and(|dir| !dir.is_empty()) || Path::new(USUAL).exists();
        if !self.settings.mcp || is_used || !self.names_servers() {
            return Ok(None);
        }
        let Some(server) = mcp::launch(self.context) else { return Ok(None) };
        let attempts = self.context.thread().home().attempts_dir(&self.opened.thread);
        let dir = attempts.join(format!("{}.hermes", self.opened.attempt));
        // It works in the thread's workspace, so the path must be whole.
        let dir = std::path::absolute(&dir).at("make absolute", &dir)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).at("create", &dir)?;
        let file = dir.join(FILE);
        let mut writing = std::fs::OpenOptions::new();
        writing.write(true).create(true).truncate(true).mode(0o600);
        // JSON is YAML.
        let config = json!({
            "mcp_servers": { server.name: server.entry() },
            "mcp_discovery_timeout": DISCOVERY_TIMEOUT,
        });
        regular::open_with(&mut writing, &file)
            .and_then(|mut file| file.write_all(config.to_string().as_bytes()))
            .at("write", &file)?;
        Ok(Some(dir))
    }

    /// Whether the user's configuration of hermes names MCP servers, be they switched off. One that cannot be read names
    /// none.
    fn names_servers(&self) -> bool {
        let mut text = String::new();
        let read =
            regular::open(&self.home_dir().join(FILE)).and_then(|file| file.take(MAX_CONFIG).read_to_string(&mut text));
        let config = read.ok().and_then(|_| Document::parse(&text, FILE).ok()).map(|document| document.value);
        config.is_some_and(|config| config["mcp_servers"].as_object().is_some_and(|servers| !servers.is_empty()))
    }
}
