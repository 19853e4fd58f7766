//! A thread for a job of GitHub Actions: a page for the summary of the job, and annotations of the files that outputs name.
//!
//! Source followed: GitHub's documentation of workflow commands and job summaries.

use serde_json::{Map, Value};

use super::embed::embed;
use super::inline::inline;
use super::page::MarkdownPage;
use crate::thread::Step;

/// Keys of a file's path, in the order of their rank.
const PATHS: [&str; 4] = ["file", "path", "filename", "filePath"];

/// Keys of the text of an annotation.
const TEXTS: [&str; 8] = ["message", "description", "comment", "problem", "finding", "issue", "text", "summary"];

/// Keys of the severity of a finding.
const SEVERITIES: [&str; 3] = ["severity", "level", "priority"];

/// Most annotations: GitHub shows ten of each kind for a step.
const MOST: usize = 30;

/// A page for the summary of a job: how the thread ended comes first, and each step is folded but the last.
pub fn summary(page: &MarkdownPage) -> String {
    let mut blocks = vec![format!("# {}\n", inline(&page.workflow)), format!("{}\n", page.standing.join(" · "))];
    blocks.extend(
        page.ending.as_ref().map(|ending| format!("## {}\n\n{}", inline(&ending.title), embed(&ending.text, 3))),
    );
    blocks.extend(page.task.as_ref().map(|task| folded(&task.text, false)));
    blocks.extend(page.input.as_ref().map(|input| folded(&input.text, false)));
    if let Some(older) = &page.older {
        blocks.push(format!("Steps {} to {} are left out: the summary of a job has 1 MiB.\n", older.first, older.last));
    }
    let last = page.sections.len().saturating_sub(1);
    blocks.extend(page.sections.iter().enumerate().map(|(at, section)| folded(&section.text, at == last)));
    blocks.join("\n")
}

/// A section whose heading unfolds it.
fn folded(section: &str, is_open: bool) -> String {
    let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
    let heading = heading.trim_start_matches('#').trim();
    let open = if is_open { " open" } else { "" };
    format!("<details{open}><summary>{heading}</summary>\n\n{}\n\n</details>\n", body.trim())
}

/// Workflow commands that annotate files, a line each: one for each object in an output that names a file and a line.
pub fn annotations(steps: &[Step]) -> Vec<String> {
    let mut found = Vec::new();
    for step in steps {
        add(&step.output, &step.role, &mut found);
    }
    // A finding that several roles repeat is shown once.
    let mut lines: Vec<String> = Vec::new();
    for line in found {
        if lines.len() < MOST && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn add(value: &Value, role: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(annotation(fields, role));
            fields.values().for_each(|field| add(field, role, found));
        }
        Value::Array(items) => items.iter().for_each(|item| add(item, role, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The annotation for an object with a file and a line; a path may contain the line, and the column: `src/a.rs:12:5`.
fn annotation(fields: &Map<String, Value>, role: &str) -> Option<String> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)?.as_str());
    let number = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)?.as_u64());
    let (path, mut numbers) = (text(&PATHS)?, Vec::new());
    let path = (0..2).fold(path, |path, _| match path.rsplit_once(':').map(|(path, end)| (path, end.parse::<u64>())) {
        Some((path, Ok(number))) => {
            numbers.insert(0, number);
            path
        }
        _ => path,
    });
    let line = number(&["line", "startLine", "lineNumber", "start_line"]).or(numbers.first().copied())?;
    let column = number(&["column", "col"]).or(numbers.get(1).copied());
    // Only files of the repository can be annotated.
    if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") || line == 0 {
        return None;
    }
    let message = text(&TEXTS).or_else(|| text(&["title"]))?;
    let mut properties = format!("file={},line={line}", property(path));
    for (name, number) in [("endLine", number(&["endLine", "end_line"])), ("col", column)] {
        if let Some(number) = number {
            properties.push_str(&format!(",{name}={number}"));
        }
    }
    properties.push_str(&format!(",title={}", property(text(&["title"]).unwrap_or(role))));
    Some(format!("::{} {properties}::{}", kind(text(&SEVERITIES)), data(message)))
}

/// The kind of an annotation; a finding without a known severity is a warning.
fn kind(severity: Option<&str>) -> &'static str {
    match severity.unwrap_or_default().to_ascii_lowercase().as_str() {
        "error" | "critical" | "high" | "blocker" | "major" | "p0" | "p1" => "error",
        "info" | "information" | "note" | "notice" | "low" | "minor" | "nit" | "suggestion" => "notice",
        _ => "warning",
    }
}

/// Escapes a message, so that it stays one line.
fn data(text: &str) -> String {
    text.trim().replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_become_annotations() {
        let output = json!({ "findings": [
            { "file": "src/a.rs", "line": 3, "endLine": 5, "severity": "High", "message": "50% wrong:\nsee a, b" },
            { "path": "src/b.rs:12", "comment": "unused", "title": "dead: code" },
            { "path": "src/b.rs:12:5", "comment": "unused" },
            { "file": "src/a.rs", "line": 3, "endLine": 5, "severity": "High", "message": "50% wrong:\nsee a, b" },
            { "file": "../../etc/passwd", "line": 1, "message": "x" },
            { "file": "/etc/passwd", "line": 1, "message": "x" },
            { "file": "src/c.rs", "message": "no line" },
            { "file": "src/c.rs", "line": 1 },
            { "file": "a\n::error::x", "line": 1, "severity": "nit", "message": "::set-env name=A::b" },
        ] });
        assert_eq!(
            annotations(&[Step::new(1, "reviewer", output)]),
            [
                "::error file=src/a.rs,line=3,endLine=5,title=reviewer::50%25 wrong:%0Asee a, b",
                "::warning file=src/b.rs,line=12,title=dead%3A code::unused",
                "::warning file=src/b.rs,line=12,col=5,title=reviewer::unused",
                "::notice file=a%0A%3A%3Aerror%3A%3Ax,line=1,title=reviewer::::set-env name=A::b",
            ]
        );
    }

    #[test]
    fn only_so_many_annotations_are_made() {
        let finding = |line: u64| json!({ "file": "a", "line": line, "message": "x" });
        let output = Value::Array((1..100).map(finding).collect());
        assert_eq!(annotations(&[Step::new(1, "reviewer", output)]).len(), MOST);
    }
}
