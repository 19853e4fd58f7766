//! Files that differ between two steps or threads.

use std::path::Path;

use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::diff::{self, ComparedFiles, DiffOptions, DiffReport, DiffSubject, FileChange, FileSums};

use super::parts;

/// Changed lines that are unfolded for a decision.
const UNFOLDED: u64 = 400;

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
            (listed(compared))
        }
    }
}

/// The changed files with their differences, for a person who decides about them.
pub(super) fn folded(compared: &Result<DiffReport, String>) -> Markup {
    let sums = compared.as_ref().ok().and_then(|compared| compared.files.as_ref()).map(ComparedFiles::sums);
    html! {
        details #files open[sums.is_some_and(|sums| sums.added + sums.removed <= UNFOLDED)] {
            summary { "Files changed" @if let Some(sums) = sums { " " b { (in_words(sums)) } } }
            (listed(compared))
        }
    }
}

/// A link to a thread's changed files. A script shows them below it, because finding them takes too long for a list of threads.
pub(super) fn on_request(thread: &ThreadId, head: NodeHash) -> Markup {
    html! {
        details #{"files-" (thread) "-" (head)} data-load data-keep {
            summary { "Files changed" }
            p.small { a href={"/threads/" (thread) "?patch=1#files"} { "Steps and changed files" } }
        }
    }
}

fn listed(compared: &Result<DiffReport, String>) -> Markup {
    html! {
        @match compared.as_ref().map(|compared| compared.files.as_ref()) {
            Err(why) => p.quiet { (parts::sentence(why)) },
            Ok(None) => p.quiet { "They are unknown." },
            Ok(Some(files)) => {
                @if files.changed.is_empty() { p { "No files changed." } } @else { (table(&files.changed)) }
                @match &files.patch {
                    Some(patch) => (lines(&patch.text())),
                    None if !files.changed.is_empty() => p { a href="?patch=1#files" { "Show the differences" } },
                    None => {},
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
                @else if ["@@", "diff --git ", "index "].iter().any(|start| line.starts_with(start)) { span.quiet { (line) } }
                @else { (line) }
            }
        }
    }
}
