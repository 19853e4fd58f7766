//! `write_file`

use std::io::Write;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, ReactTool, ReactToolContext, typed};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFileArguments {
    path: String,
    content: String,
}

/// Writes a whole file.
pub(super) const WRITE_FILE: ReactTool = ReactTool {
    name: "write_file",
    description: "Writes a text file of the workspace and replaces its earlier content. Creates missing directories.",
    parameters,
    run,
};

fn parameters() -> Value {
    super::arguments(
        &json!({
            "path": { "type": "string", "description": "relative to the workspace" },
            "content": { "type": "string", "description": "the whole content" },
        }),
        &["path", "content"],
    )
}

fn run(scene: &ReactToolContext<'_>, arguments: &Map<String, Value>) -> Answer {
    let WriteFileArguments { path, content } = typed(arguments)?;
    let mut file = scene.workspace.write(&path)?;
    file.set_len(0)
        .and_then(|()| file.write_all(content.as_bytes()))
        .map_err(|error| format!("cannot write `{path}`: {error}"))?;
    Ok(format!("wrote {} bytes to {path}", content.len()))
}
