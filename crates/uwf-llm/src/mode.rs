//! The modes of asking a model for a JSON value, and a cache of the mode that worked.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use crate::endpoint::{LlmWireFormat, ModelEndpoint};

/// Largest cache file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A way of asking for a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredMode {
    /// A tool that must be called, with the schema as its arguments.
    ForcedTool,
    /// The same tool, which the prompt says to call: some reasoning models cannot be forced.
    ToolAuto,
    /// `response_format: json_schema`, with the strict copy of the schema if there is one.
    JsonSchema,
    /// `response_format: json_object`, with the schema in the prompt.
    JsonObject,
    /// Only the schema in the prompt.
    PlainText,
}

impl StructuredMode {
    /// All modes, most reliable first.
    pub const LADDER: [StructuredMode; 5] = [
        StructuredMode::ForcedTool,
        StructuredMode::ToolAuto,
        StructuredMode::JsonSchema,
        StructuredMode::JsonObject,
        StructuredMode::PlainText,
    ];

    /// Its name in configuration, cache and traces.
    pub fn name(self) -> &'static str {
        match self {
            StructuredMode::ForcedTool => "tool",
            StructuredMode::ToolAuto => "tool_auto",
            StructuredMode::JsonSchema => "json_schema",
            StructuredMode::JsonObject => "json_object",
            StructuredMode::PlainText => "text",
        }
    }

    /// The modes to try at an endpoint, starting with `first`. Anthropic has no JSON without a schema.
    pub(crate) fn from(first: StructuredMode, wire: LlmWireFormat) -> impl Iterator<Item = StructuredMode> {
        let known = move |mode: &StructuredMode| wire == LlmWireFormat::OpenAi || *mode != StructuredMode::JsonObject;
        StructuredMode::LADDER.into_iter().skip_while(move |mode| *mode != first).filter(known)
    }
}

impl fmt::Display for StructuredMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StructuredMode {
    type Err = String;

    fn from_str(text: &str) -> Result<StructuredMode, String> {
        StructuredMode::LADDER.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let names = StructuredMode::LADDER.map(StructuredMode::name).join(", ");
            format!("`{text}` is not a mode of structured output; there are {names}")
        })
    }
}

/// Suffix of a model's name in the file for the mode that worked with lookups ([`crate::LookupTools`]).
const WITH_LOOKUPS: &str = " with lookups";

/// The mode that worked with each model: a small JSON file `{base URL: {model: mode}}` that can be deleted at any time. Missing and broken
/// files count as empty. Two processes that write at once may lose one entry, which is learned again.
///
/// Lookups have a separate entry, which is never a better mode than the one without lookups. Without an entry, lookups begin with that
/// mode.
#[derive(Debug, Clone)]
pub struct ModeCache {
    path: PathBuf,
}

impl ModeCache {
    /// The cache in a file. Its directory is created when there is an entry to save.
    pub fn new(path: impl Into<PathBuf>) -> ModeCache {
        ModeCache { path: path.into() }
    }

    /// The mode that last worked with a model, with or without lookups.
    pub fn get(&self, endpoint: &ModelEndpoint, lookups: bool) -> Option<StructuredMode> {
        let all = self.read();
        let models = all.get(&endpoint.base_url)?;
        let learned = |lookups: bool| models.get(key(endpoint, lookups))?.as_str()?.parse().ok();
        learned(lookups).or_else(|| learned(false))
    }

    /// Saves the mode that worked. The file is replaced as a whole.
    ///
    /// # Errors
    /// If it cannot be written, which the caller can ignore.
    pub fn remember(&self, endpoint: &ModelEndpoint, lookups: bool, mode: StructuredMode) -> io::Result<()> {
        let mut all = self.read();
        let models = all.entry(&endpoint.base_url).or_insert_with(|| json!({}));
        if !models.is_object() {
            *models = json!({});
        }
        models[key(endpoint, lookups)] = json!(mode.name());
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mut file = NamedTempFile::new_in(dir)?;
        file.write_all(format!("{:#}\n", Value::Object(all)).as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn read(&self) -> Map<String, Value> {
        // A FIFO or a device in its place would block.
        let is_ours = self.path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
        let text = if is_ours { std::fs::read(&self.path).unwrap_or_default() } else { Vec::new() };
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

fn key(endpoint: &ModelEndpoint, lookups: bool) -> String {
    format!("{}{}", endpoint.model, if lookups { WITH_LOOKUPS } else { "" })
}
