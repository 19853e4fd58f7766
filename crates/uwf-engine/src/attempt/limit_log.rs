//! Programs that wait silently for the end of a usage limit. opencode repeats a request that the provider rejected with 429 after the time that
//! the provider names, which may be hours, and reports nothing meanwhile. With `--print-logs`, its stderr has the error.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use uwf_core::failure_class::{FailureClass, FailureNotice};

/// Silence after which such a wait ends the agent. Limits per minute are over by then.
pub(super) const PATIENCE: Duration = Duration::from_mins(5);

/// Mark of a logged error.
const ERROR: &str = "level=ERROR";

/// Mark of a request for something beside the work, such as a title.
const BESIDE: &str = "small=true";

/// Whether an agent waits for the end of a usage limit: the last error in its log is one, and no other of its files is newer. `read` reads
/// the log.
pub(super) fn awaits_end(log: &Path, files: &[PathBuf], read: impl FnOnce(&Path) -> Option<String>) -> bool {
    let written = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    let Some(logged) = written(log) else { return false };
    let is_earlier = |time: SystemTime| time <= logged;
    files.iter().filter_map(|path| written(path)).all(is_earlier) && read(log).is_some_and(|log| ends_with_limit(&log))
}

fn ends_with_limit(log: &str) -> bool {
    let line = log.lines().rfind(|line| !line.trim().is_empty() && !line.contains(BESIDE));
    line.and_then(limit_in).is_some()
}

/// The provider's words in the last usage limit of a log.
pub(super) fn last_limit(log: &str) -> Option<&str> {
    log.lines().rev().find_map(limit_in)
}

fn limit_in(line: &str) -> Option<&str> {
    let line = line.trim();
    let words = line.split_once("error=\"").map_or(line, |(_, words)| words.split('"').next().unwrap_or(words));
    let is_limit = line.contains(ERROR) && FailureNotice::read(words).class == FailureClass::UsageLimit;
    is_limit.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: &str = "timestamp=2026-11-30T10:13:20.013Z level=ERROR run=3 message=\"stream error\" small=false agent=build \
                         error.error=\"AI_APICallError: You have reached your usage limit.\"\n";

    #[test]
    fn last_error_of_the_work_counts() {
        let title = LIMIT.replace("small=false", "small=true").replace("AI_APICallError", "AI_RetryError");
        let ended = format!("{LIMIT}{title}\n");
        assert!(ends_with_limit(LIMIT) && ends_with_limit(&ended));
        assert_eq!(last_limit(LIMIT), Some("AI_APICallError: You have reached your usage limit."));
        let overloaded = LIMIT.replace("You have reached your usage limit", "Overloaded");
        for log in [&format!("{LIMIT}I run the tests.\n"), &title, &overloaded, "FAILED: usage limit\n", ""] {
            assert!(!ends_with_limit(log), "{log}");
        }
    }
}
