//! Gives hermes our server in addition to the user's configuration, which stays unchanged.
//!
//! hermes lays the configuration of a *managed scope* over the user's, leaf by leaf. The scope is a directory for administrators:
//! `/etc/hermes`, or another one named by the environment. An attempt gets a managed scope of its own that contains only the server, on two
//! conditions. First, the managed scope is unused; a scope in use is left alone. Second, the user's own configuration names servers: hermes
//! 0.19 looks only there to decide whether to look for servers at all. Otherwise the server must be passed another way.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use agent_kit::{Result, mcp};
use durable_files::regular;
use serde_json::json;
use uwf_core::document::SourceDocument;
use uwf_engine::error::AtPath;

use super::installed::HermesProgram;

/// Variable that names the directory of the managed scope.
pub(super) const VARIABLE: &str = "HERMES_MANAGED_DIR";

/// The directory hermes uses if the variable is not set.
const USUAL: &str = "/etc/hermes";

/// Seconds hermes waits for its servers before it asks the model. Its own 1.5 s are too short on a busy machine.
const DISCOVERY_TIMEOUT: u32 = 30;

/// Longest hermes configuration that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// The configuration file, in that directory and in hermes's home.
const FILE: &str = "config.yaml";

impl HermesProgram<'_, '_> {
    /// The directory that gives hermes the tool `submit`; `None` if it should not have it, or not in this way.
    pub(super) fn overlay(&self) -> Result<Option<PathBuf>> {
        let is_used = std::env::var_os(VARIABLE).is_some_and(|dir| !dir.is_empty()) || Path::new(USUAL).exists();
        if !self.settings.mcp || is_used || !self.names_servers() {
            return Ok(None);
        }
        let Some(server) = mcp::launch(self.context) else { return Ok(None) };
        let attempts = self.context.thread().home().attempts_dir(&self.opened.thread);
        let dir = attempts.join(format!("{}.hermes", self.opened.attempt));
        // hermes runs in the thread's workspace, so the path must be absolute.
        let dir = std::path::absolute(&dir).path_context("make absolute", &dir)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).path_context("create", &dir)?;
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
            .path_context("write", &file)?;
        Ok(Some(dir))
    }

    /// Whether the user's hermes configuration names MCP servers, disabled ones included. An unreadable configuration names none.
    fn names_servers(&self) -> bool {
        let mut text = String::new();
        let read =
            regular::open(&self.home_dir().join(FILE)).and_then(|file| file.take(MAX_CONFIG).read_to_string(&mut text));
        let config = read.ok().and_then(|_| SourceDocument::parse(&text, FILE).ok()).map(|document| document.value);
        config.is_some_and(|config| config["mcp_servers"].as_object().is_some_and(|servers| !servers.is_empty()))
    }
}
