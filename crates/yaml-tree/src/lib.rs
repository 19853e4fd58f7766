//! YAML and JSON text as a tree in which every value knows its place: line and column for messages, bytes for edits.
//!
//! This is a separate crate because both store and core read YAML files: no other code depends on the YAML parser.
//!
//! A scalar keeps the text as written. The [`YamlNode`] interprets it by YAML's core schema; readers that know better (`0123456789012` is a
//! hash) use the text.
//!
//! ```
//! let root = yaml_tree::parse("agents:\n  coder: { command: claude }\n").unwrap().unwrap();
//! let command = root.get("agents").and_then(|agents| agents.get("coder")?.get("command")).unwrap();
//! assert_eq!(command.as_text(), Some("claude"));
//! assert_eq!((command.at.line, command.at.column), (2, 21));
//! ```

mod json;
mod json_value;
mod node;
mod scalar;
pub mod write;
mod yaml;

pub use json::parse as parse_json;
pub use json_value::{JsonError, parse as json_value};
pub use node::{MappingEntry, SyntaxError, TextPosition, YamlContent, YamlNode, YamlScalarStyle, YamlTag};
pub use scalar::keeps_digits;
pub use yaml::{MAX_DEPTH, parse};
