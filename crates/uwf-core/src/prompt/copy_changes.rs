//! The files that a copy of a group changed, for the role that picks a copy.

use super::fence::{head, push_fenced};
use crate::text::one_line;

/// Most files in the list of a copy.
const MOST_FILES: usize = 50;

/// The largest share of a copy's bytes that its list of files takes, as a divisor.
const LIST_SHARE: usize = 4;

/// The changes of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyChanges {
    /// Name of the copy.
    pub name: String,
    /// The commits that `git diff` compares: `COMMIT..BRANCH`.
    pub range: String,
    /// The files that it changed.
    pub files: Vec<ChangedFile>,
    /// The output of `git diff`.
    pub diff: String,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// Its earlier path, if it was renamed.
    pub before: Option<String>,
    /// Number of added and removed lines; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

impl ChangedFile {
    fn line(&self) -> String {
        let lines = self.lines.map_or_else(|| "binary".to_owned(), |(added, removed)| format!("+{added} -{removed}"));
        let before = self.before.as_deref().map(|before| format!(", renamed from `{}`", one_line(before)));
        format!("- `{}` ({lines}{})\n", one_line(&self.path), before.unwrap_or_default())
    }
}

impl CopyChanges {
    /// The command that shows all of the changes, in the repository.
    fn command(&self) -> String {
        format!("git diff {}", self.range)
    }

    /// The number of files and of lines, such as `2 files changed, +10 -3`.
    #[must_use]
    pub fn summary(&self) -> String {
        let files = match self.files.len() {
            0 => return "no files changed".to_owned(),
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let lines = self.files.iter().filter_map(|file| file.lines);
        let (added, removed) = lines.fold((0, 0), |all, file| (all.0 + file.0, all.1 + file.1));
        format!("{files} changed, +{added} -{removed}")
    }

    /// Adds the list of files and the diff, in about `bytes`.
    pub(super) fn push(&self, to: &mut String, bytes: usize) {
        if self.files.is_empty() {
            to.push_str("\nThis copy changed no files.\n");
            return;
        }
        to.push_str(&format!("\nThis copy: {}. Files:\n\n", self.summary()));
        let before = to.len();
        for (shown, file) in self.files.iter().enumerate() {
            let line = file.line();
            if shown == MOST_FILES || to.len() - before + line.len() > bytes / LIST_SHARE {
                to.push_str(&format!("- and {} more: `git diff --stat {}`\n", self.files.len() - shown, self.range));
                break;
            }
            to.push_str(&line);
        }
        to.push('\n');
        let (start, left_out) = head(&self.diff, bytes.saturating_sub(to.len() - before));
        push_fenced(to, "diff", start);
        if left_out > 0 {
            to.push_str(&format!(
                "[… {left_out} bytes of the diff left out; in your working directory, `{}` shows the whole diff]\n",
                self.command()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::copies_part;
    use super::*;
    use crate::thread::BranchOutput;

    fn copy(name: &str) -> BranchOutput {
        BranchOutput { name: name.to_owned(), output: json!({ "ok": true }), message: None }
    }

    fn changes(name: &str, files: usize, lines: usize) -> CopyChanges {
        CopyChanges {
            name: name.to_owned(),
            range: format!("abc..uwf/{name}"),
            files: (0..files)
                .map(|file| ChangedFile { path: format!("file-{file}"), before: None, lines: Some((1, 2)) })
                .collect(),
            diff: "+a line\n".repeat(lines),
        }
    }

    #[test]
    fn copies_share_room_for_diffs_equally() {
        let all = [changes("1", 90, 10_000), changes("2", 1, 2), changes("3", 0, 0)];
        let text = copies_part(&[copy("1"), copy("2"), copy("3")], &all, 4_000);
        assert!(text.len() < 8_000, "{}", text.len());
        for part in [
            "This copy: 90 files changed, +90 -180.",
            "- `file-0` (+1 -2)\n",
            "more: `git diff --stat abc..uwf/1`\n",
            "bytes of the diff left out; in your working directory, `git diff abc..uwf/1` shows the whole diff]",
            "- `file-0` (+1 -2)\n\n```diff\n+a line\n+a line\n```\n",
            "This copy changed no files.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("uwf/2"), "nothing is left out of it: {text}");
    }

    #[test]
    fn renames_and_binaries_are_named() {
        let file = |path: &str, before: Option<&str>, lines| {
            ChangedFile { path: path.to_owned(), before: before.map(str::to_owned), lines }.line()
        };
        assert_eq!(file("a\nb", None, None), "- `a b` (binary)\n");
        assert_eq!(file("new", Some("old"), Some((0, 3))), "- `new` (+0 -3, renamed from `old`)\n");
    }
}
