//! The configuration of an older store, in the same file as its names. uwf reads only the names.

use durable_files::regular;
use uwf_core::document::{FileProblem, SourceDocument};

use crate::root::home::Home;

/// The key of the configuration.
const KEY: &str = "config";

/// A warning about `config:` in the `workflow.yaml` of an older store; `None` if it has none.
pub fn unread(home: &Home) -> Option<FileProblem> {
    let path = home.oldest_registry_file();
    let text = String::from_utf8(regular::read(&path, regular::MAX_TEXT).ok()?).ok()?;
    let document = SourceDocument::parse(&text, &path.display().to_string()).ok()?;
    document.value.get(KEY).filter(|config| !config.is_null())?;
    let message = "`config` is not read: this version has its configuration in config.yaml".to_owned();
    let hint = format!("move its keys to {}, then remove it here", home.config_file().display());
    Some(document.warning(&SourceDocument::below("", KEY), "older-config", message, Some(hint)))
}
