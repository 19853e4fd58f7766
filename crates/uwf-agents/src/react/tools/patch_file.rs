//! `patch_file`

use std::fs::File;
use std::io::{Read, Seek, Write};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, ReactTool, ReactToolContext, typed};

/// Largest file to patch; a larger one is not source text.
const MAX_FILE: u64 = 8 << 20;

/// Number of places listed if the old text is not unique.
const MAX_PLACES: usize = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchFileArguments {
    path: String,
    old: String,
    new: String,
}

/// Replaces one place of a file.
pub(super) const PATCH_FILE: ReactTool = ReactTool {
    name: "patch_file",
    description: "Replaces a piece of a text file of the workspace. The old text must occur exactly once, letter by letter.",
    parameters,
    run,
};

fn parameters() -> Value {
    super::arguments(
        &json!({
            "path": { "type": "string", "description": "relative to the workspace" },
            "old": { "type": "string", "description": "text to be replaced, with enough around it to be unique" },
            "new": { "type": "string", "description": "replacement text" },
        }),
        &["path", "old", "new"],
    )
}

fn run(scene: &ReactToolContext<'_>, arguments: &Map<String, Value>) -> Answer {
    let PatchFileArguments { path, old, new } = typed(arguments)?;
    let mut file = scene.workspace.edit(&path)?;
    let text = whole(&mut file, &path)?;
    // Models write \n whatever line ending the file has.
    let has_crlf = !old.contains('\r') && !text.contains(&old) && text.contains("\r\n");
    let (old, new) = if has_crlf { (crlf(&old), crlf(&new)) } else { (old, new) };
    let at = only_place(&text, &old, &path)?;
    let patched = [&text[..at], &new, &text[at + old.len()..]].concat();
    file.rewind()
        .and_then(|()| file.write_all(patched.as_bytes()))
        .and_then(|()| file.set_len(patched.len() as u64))
        .map_err(|error| format!("cannot write `{path}`: {error}"))?;
    Ok(format!("patched {path} at line {}", line_of(&text, at)))
}

fn whole(file: &mut File, path: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read =
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| format!("cannot read `{path}`: {error}"))?;
    if read as u64 > MAX_FILE {
        return Err(format!("`{path}` is larger than {MAX_FILE} bytes; change it by a command"));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8 text"))
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// The position of the old text, if it occurs exactly once.
fn only_place(text: &str, old: &str, path: &str) -> Result<usize, String> {
    if old.is_empty() {
        return Err("`old` is empty; write_file writes a whole file".to_owned());
    }
    // Count overlapping places as well: they are just as ambiguous.
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(old) {
        places.push(from + found);
        let step = text[from + found..].chars().next().map_or(1, char::len_utf8);
        from += found + step;
        if places.len() > MAX_PLACES {
            break;
        }
    }
    match places.as_slice() {
        [] => Err(format!("the old text does not occur in `{path}`; read the file and copy it letter by letter")),
        [at] => Ok(*at),
        several => {
            let lines: Vec<String> = several.iter().take(MAX_PLACES).map(|at| line_of(text, *at).to_string()).collect();
            let more = if several.len() > MAX_PLACES { " and more" } else { "" };
            Err(format!(
                "the old text occurs more than once in `{path}` (lines {}{more}); include more of the surrounding text",
                lines.join(", ")
            ))
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
