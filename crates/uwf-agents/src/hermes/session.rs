//! The session hermes keeps of a run: its id, and how to read it.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use agent_kit::Result;
use agent_kit::context::is_session_id;
use durable_files::regular;

use super::installed::HermesProgram;
use crate::progress;
use crate::trace::{MAX_TRACE_BYTES, ParsedTrace, TraceFormat};

/// Time for an export, which reads one session from a local database.
const EXPORT_LIMIT: Duration = Duration::from_mins(2);

/// The words before the id.
const MARK: &str = "session_id:";

/// The session id in hermes's output, which current versions print on stderr and earlier ones on stdout. The last id counts.
pub(super) fn id(stderr: &str, stdout: &str) -> Option<String> {
    let last = |text: &str| text.lines().rev().find_map(id_in).map(str::to_owned);
    last(stderr).or_else(|| last(stdout))
}

fn id_in(line: &str) -> Option<&str> {
    let id = line.trim().strip_prefix(MARK)?.trim();
    // Check the id, because it becomes part of a path and a command line.
    is_session_id(id).then_some(id)
}

/// Whether a line only reports the session.
pub(super) fn is_about_it(line: &str) -> bool {
    id_in(line).is_some() || line.starts_with("↻ Resumed session")
}

/// A text without the lines that only report the session.
pub(super) fn without_id(stdout: &str) -> String {
    if !stdout.lines().any(is_about_it) {
        return stdout.to_owned();
    }
    stdout.split_inclusive('\n').filter(|line| !is_about_it(line)).collect()
}

impl HermesProgram<'_, '_> {
    /// hermes's record of a session; `None` if it is unavailable, which is reported on stderr.
    pub(super) fn session(&self, id: &str) -> Result<Option<ParsedTrace>> {
        let export = self.export(id)?;
        if let Some(trace) = export.as_deref().and_then(|text| trace_of(text, id)) {
            return Ok(Some(trace));
        }
        let file = self.home_dir().join("sessions").join(format!("session_{id}.json"));
        let kept = read(&file).and_then(|text| trace_of(&text, id));
        if kept.is_none() {
            progress::line(&format!("hermes: session {id} can be neither exported nor read from {}", file.display()));
        }
        Ok(kept.map(|trace| ParsedTrace { source: "session-file".to_owned(), ..trace }))
    }

    /// Runs `hermes sessions export - --session-id ID`. Some versions take `-` as a file name, so it runs in a directory where such a file
    /// does no harm.
    fn export(&self, id: &str) -> Result<Option<String>> {
        let scratch = self.context.thread().home().attempts_dir(&self.opened.thread);
        let mut export = self.program()?.limit(Some(EXPORT_LIMIT));
        export.command().args(["sessions", "export", "-", "--session-id", id]).current_dir(&scratch);
        let ran = match export.run(|_| {}, || {}) {
            Ok(ran) if ran.status.success() => ran,
            // Without the session, stdout still has the answer.
            Ok(_) | Err(_) => return Ok(None),
        };
        if ran.stdout.contains("\"messages\"") {
            return Ok(Some(ran.stdout));
        }
        let file = scratch.join("-");
        let text = read(&file);
        // The file may not exist, and the next attempt cleans the directory.
        let _ = std::fs::remove_file(file);
        Ok(text)
    }
}

fn trace_of(text: &str, id: &str) -> Option<ParsedTrace> {
    let trace = TraceFormat::Hermes.read(text);
    (trace.session_id.as_deref() == Some(id) && !trace.turns.is_empty()).then_some(trace)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    regular::open(path).ok()?.take(MAX_TRACE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_on_either_stream() {
        let new = Some("20261122_021459_fa0b62".to_owned());
        assert_eq!(id("\nsession_id: 20261122_021459_fa0b62\n", "---\nn: 1\n---\n"), new);
        assert_eq!(id("a warning\n", "session_id: old\n---\nn: 1\n---\nsession_id: 20261122_021459_fa0b62\n"), new);
        for none in [
            "session_id: \n",
            "session_id: ../../x\n",
            "the session_id: abc\n",
            "session_id: a b\n",
            "session_id: -x\n",
        ] {
            assert_eq!(id(none, ""), None, "{none}");
        }
    }

    #[test]
    fn the_id_is_no_part_of_the_answer() {
        assert_eq!(without_id("---\nn: 1\n---\nDone.\n\nsession_id: abc\n"), "---\nn: 1\n---\nDone.\n\n");
        assert_eq!(without_id("no\r\nid"), "no\r\nid");
    }
}
