//! YAML and JSON text as a tree in which every value knows its place: line and column for messages, bytes for edits.
//!
//! It is a crate because store and core both read YAML files: this is the one place that knows the YAML parser.
//!
//! A scalar stays the text that was written. What it stands for by YAML's core schema is asked of the [`Node`]; a reader
//! that knows better (`0123456789012` is a hash) takes the text.
//!
//! ```
//! let root = yaml_tree::parse("agents:\n  coder: { command: claude }\n").unwrap().unwrap();
//! let command = root.get("agents").and_then(|agents| agents.get("coder")?.get("command")).unwrap();
//! assert_eq!(command.as_text(), Some("claude"));
//! assert_eq!((command.at.line, command.at.column), (2, 21));
//! ```

mod json;
mod node;
mod scalar;
pub mod write;
mod yaml;

pub use json::parse as parse_json;
pub use node::{Data, Entry, Node, Position, Style, SyntaxError, Tag};
pub use yaml::{MAX_DEPTH, parse};
