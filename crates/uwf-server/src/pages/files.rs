//! Files that differ between two steps or threads.

use std::path::Path;

use maud::{Markup, html};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::diff::{self, DiffOptions, DiffReport, DiffSubject, FileChange, FileSums};

use super::parts;

/// The differences between files, or why they are not known.
pub(super) fn compare(home: &Home, two: &[DiffSubject; 2], patch: bool, cwd: &Path) -> Result<DiffReport, String> {
    let wanted = DiffOptions { outputs: false, files: true, patch };
    diff::compare(home, &two[0], Some(&two[1]), wanted, cwd).map_err(|error| error.message)
}

/// The sums of the differences; `None` if they are not known.
pub(super) fn sums(home: &Home, two: &[DiffSubject; 2], cwd: &Path) -> Option<FileSums> {
    Some(compare(home, two, false, cwd).ok()?.files?.sums())
}

/// `+12 −3 in 4 files`
pub(super) fn in_words(sums: FileSums) -> String {
    format!("+{} −{} in {}", sums.added, sums.removed, parts::many(sums.files, "file"))
}

/// The section with the changed files, and the text of the differences or a link to it.
pub(super) fn section(compared: &Result<DiffReport, String>, title: &str) -> Markup {
    html! {
        section #files aria-labelledby="files-title" {
            h2 #files-title { (title) }
            @match compared.as_ref().map(|compared| compared.files.as_ref()) {
                Err(why) => p.quiet { (parts::sentence(why)) },
                Ok(None) => p.quiet { "They are unknown." },
                Ok(Some(files)) => {
                    @if files.changed.is_empty() { p { "They are the same." } } @else { (table(&files.changed)) }
                    @match &files.patch {
                        Some(patch) => (lines(&patch.text())),
                        None if !files.changed.is_empty() => p { a href="?patch=1#files" { "Show the differences" } },
                        None => {},
                    }
                }
            }
        }
    }
}

fn table(changed: &[FileChange]) -> Markup {
    let number = |count: Option<u64>| count.map_or_else(|| "binary".to_owned(), |count| count.to_string());
    html! {
        table.files {
            thead { tr { th scope="col" { "File" } th.number scope="col" { "Added" } th.number scope="col" { "Removed" } } }
            tbody {
                @for file in changed {
                    tr {
                        td { @if let Some(before) = &file.before { code { (before) } " → " } code { (file.path) } }
                        td.number { (number(file.added)) }
                        td.number { (number(file.removed)) }
                    }
                }
            }
        }
    }
}

/// A patch, with its added and removed lines marked.
fn lines(patch: &str) -> Markup {
    let is_header = |line: &str| line.starts_with("+++") || line.starts_with("---");
    html! {
        pre.patch {
            @for line in patch.split_inclusive('\n') {
                @if is_header(line) { b { (line) } }
                @else if line.starts_with('+') { ins { (line) } }
                @else if line.starts_with('-') { del { (line) } }
                @else if line.starts_with("@@") { span.quiet { (line) } }
                @else { (line) }
            }
        }
    }
}
