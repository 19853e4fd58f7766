//! `write_file`

use std::io::Write;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, Scene, Tool, typed};

/// Writes a whole file.
pub(super) struct WriteFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

impl Tool for WriteFile {
    fn name(&self) -> &'static str {
        "write_file"
    }

    fn description(&self) -> &'static str {
        "Writes a text file of the workspace, in place of what was in it. Missing directories are made."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "relative to the workspace" },
                "content": { "type": "string", "description": "the whole content" },
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        })
    }

    fn run(&self, scene: &Scene<'_>, arguments: &Map<String, Value>) -> Answer {
        let Arguments { path, content } = typed(arguments)?;
        let mut file = scene.workspace.write(&path)?;
        file.set_len(0)
            .and_then(|()| file.write_all(content.as_bytes()))
            .map_err(|error| format!("cannot write `{path}`: {error}"))?;
        Ok(format!("wrote {} bytes to {path}", content.len()))
    }
}
