//! The task of a document's writer.

use std::path::{Path, PathBuf};

use agent_kit::{Error, Result};
use serde_json::Value;

/// The task of a thread that writes a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DocumentTask {
    /// The text to write, or the change to make.
    pub(super) prompt: String,
    /// The document to change; without it, a new one is written.
    pub(super) input: Option<PathBuf>,
}

impl DocumentTask {
    /// Reads a thread's prompt: JSON `{"prompt": …, "inputDocx": …}`, or plain text. Paths are relative to the thread's workspace.
    ///
    /// # Errors
    /// `AgentFailed` if the JSON has no prompt or names a missing document.
    pub(super) fn read(text: &str, workspace: &Path) -> Result<DocumentTask> {
        let written = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
        let Some(written) = written else {
            return Ok(DocumentTask { prompt: text.to_owned(), input: None });
        };
        let prompt = written.get("prompt").and_then(Value::as_str).filter(|prompt| !prompt.trim().is_empty());
        let prompt = prompt.ok_or_else(|| refused("the task is JSON without a text `prompt`"))?.to_owned();
        let input = match written.get("inputDocx") {
            None | Some(Value::Null) => None,
            Some(Value::String(path)) if path.is_empty() => None,
            Some(Value::String(path)) => Some(document(&workspace.join(path))?),
            Some(other) => {
                return Err(refused(&format!("`inputDocx` of the task is {other}, not the path of a document")));
            }
        };
        Ok(DocumentTask { prompt, input })
    }
}

fn document(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    Err(refused(&format!("the document to be changed, {}, does not exist", path.display())))
}

fn refused(why: &str) -> Error {
    Error::agent_failed(why).hint(
        "start a thread with a plain text, or with JSON: {\"prompt\": \"…\", \"inputDocx\": \"report.docx\"}; paths are relative to its workspace",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_json_or_a_plain_text() {
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("a.docx"), "x").unwrap();
        let read = |text: &str| DocumentTask::read(text, here.path());
        let task = |prompt: &str, input: Option<&str>| DocumentTask {
            prompt: prompt.to_owned(),
            input: input.map(|name| here.path().join(name)),
        };
        assert_eq!(read("write {this}").unwrap(), task("write {this}", None));
        assert_eq!(read("[1]").unwrap(), task("[1]", None));
        assert_eq!(read(r#"{"prompt": "p"}"#).unwrap(), task("p", None));
        assert_eq!(read(r#"{"prompt": "p", "inputDocx": null}"#).unwrap(), task("p", None));
        assert_eq!(read(r#"{"prompt": "p", "inputDocx": "a.docx"}"#).unwrap(), task("p", Some("a.docx")));
        for (text, why) in [
            (r#"{"inputDocx": "a.docx"}"#, "the task is JSON without a text `prompt`"),
            (r#"{"prompt": "p", "inputDocx": 3}"#, "`inputDocx` of the task is 3, not the path of a document"),
        ] {
            assert_eq!(read(text).unwrap_err().message, why);
        }
        assert!(
            read(r#"{"prompt": "p", "inputDocx": "b.docx"}"#).unwrap_err().message.ends_with("b.docx, does not exist")
        );
    }
}
