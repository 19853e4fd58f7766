//! Every link between pages of the documentation leads somewhere, and every page is in the book.

use std::fs;
use std::path::{Path, PathBuf};

use uwf_testing::repository;

/// How a page of the book names a file outside it: a relative link would lead nowhere once the book is built.
const REPOSITORY: &str = "https://github.com/uncaged/uwf/blob/main/";

/// How `llms.txt` names a file: models read Markdown, not pages of GitHub.
const RAW: &str = "https://raw.githubusercontent.com/uncaged/uwf/main/";

/// The pages of this repository: those in its root, in `docs/`, and the README of each directory.
fn pages() -> Vec<PathBuf> {
    let mut dirs = vec![repository()];
    let mut pages = Vec::new();
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_ours = !name.starts_with("target") && !name.starts_with('.') && name != "node_modules";
            if path.is_dir() && !path.is_symlink() && is_ours {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// A page without its fenced blocks and without code within lines.
fn prose(page: &str) -> String {
    let mut in_fence = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Where the links of a page lead.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let parts = prose.split("](").skip(1);
    parts.filter_map(|part| Some(part.split_once(')')?.0.to_owned())).collect()
}

/// The anchors GitHub and mdBook give the headings of a page.
fn anchors(page: &str) -> Vec<String> {
    let mut in_fence = false;
    let headings = page.lines().filter_map(|line| {
        in_fence ^= line.starts_with("```");
        let title = line.trim_start_matches('#').strip_prefix(' ')?;
        (line.starts_with('#') && !in_fence).then_some(title)
    });
    let slug = |title: &str| {
        let symbols = title.to_lowercase().replace(' ', "-");
        symbols.chars().filter(|symbol| symbol.is_alphanumeric() || matches!(symbol, '-' | '_')).collect()
    };
    headings.map(slug).collect()
}

/// What is wrong with a link of a page.
fn problem(page: &Path, link: &str) -> Option<String> {
    let in_book = page.starts_with(repository().join("docs"));
    let (target, is_relative) = match link.strip_prefix(REPOSITORY) {
        Some(path) => (repository().join(path), false),
        None if link.contains("://") => return None,
        None => (page.parent().unwrap().join(link), true),
    };
    let target = target.to_string_lossy().into_owned();
    let (path, anchor) = match link.strip_prefix('#') {
        Some(anchor) => (page.to_string_lossy().into_owned(), Some(anchor.to_owned())),
        None => match target.split_once('#') {
            Some((path, anchor)) => (path.to_owned(), Some(anchor.to_owned())),
            None => (target, None),
        },
    };
    let Ok(path) = fs::canonicalize(path) else { return Some("there is no such file".to_owned()) };
    if in_book && is_relative && !path.starts_with(repository().join("docs")) {
        return Some(format!("it leaves the book: write {REPOSITORY}…"));
    }
    let anchor = anchor?;
    let is_there = anchors(&fs::read_to_string(path).unwrap()).contains(&anchor);
    (!is_there).then(|| format!("there is no heading #{anchor}"))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for page in pages() {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            looked_at += 1;
            if let Some(problem) = problem(&page, &link) {
                wrong.push(format!("{}: {link}: {problem}", page.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(looked_at > 100, "{looked_at} links are too few to be all");
}

#[test]
fn claude_is_sent_to_the_page_for_agents() {
    let page = fs::read_to_string(repository().join("CLAUDE.md")).unwrap();
    assert!(page.lines().any(|line| line == "@AGENTS.md"), "{page}");
    assert!(repository().join("AGENTS.md").exists());
}

#[test]
fn every_file_that_guides_a_contributor_is_there() {
    let mut missing = Vec::new();
    let mut looked_at = 0;
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md", "README.md", "bench/README.md"] {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        let words = text.split('`').skip(1).step_by(2).flat_map(|code| code.split(['{', ' ']).next());
        let is_path = |word: &&str| {
            ["crates/", "scripts/", "docs/", "examples/", "fuzz/"].iter().any(|dir| word.starts_with(dir))
        };
        // Where the reader puts in a name.
        for path in words.filter(is_path).filter(|path| !path.contains("NAME") && !path.contains("frobnicate")) {
            looked_at += 1;
            if !repository().join(path).exists() {
                missing.push(format!("{page}: {path}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(looked_at > 20, "{looked_at} paths are too few to be all");
}

/// Names of the functions of all crates, tests too.
fn functions() -> Vec<String> {
    let mut dirs = vec![repository().join("crates")];
    let mut names = Vec::new();
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.is_symlink() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(path).unwrap();
                names.extend(text.split("fn ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
            }
        }
    }
    names
}

/// The tests a page names: sentences in backticks, which `…` may begin or end.
fn named_tests(page: &str) -> Vec<&str> {
    let is_sentence = |word: &&str| {
        let bare = word.trim_matches('…');
        bare.matches('_').count() > 2 && bare.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    page.split('`').skip(1).step_by(2).filter(is_sentence).collect()
}

#[test]
fn every_test_that_shows_a_promise_is_there() {
    let functions = functions();
    let mut missing = Vec::new();
    let mut looked_at = 0;
    for page in ["security", "reliability", "reliability-crash", "reliability-concurrency", "reliability-fuzzing"] {
        let text = fs::read_to_string(repository().join(format!("docs/internals/{page}.md"))).unwrap();
        for name in named_tests(&text) {
            looked_at += 1;
            let is_named = |function: &String| match (name.strip_prefix('…'), name.strip_suffix('…')) {
                (Some(end), _) => function.ends_with(end),
                (_, Some(start)) => function.starts_with(start),
                _ => function == name,
            };
            if !functions.iter().any(is_named) {
                missing.push(format!("{page}.md: {name}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(looked_at > 40, "{looked_at} names are too few to be all");
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let page = repository().join("docs/README.md");
    assert_eq!(problem(&page, "guide/nothing.md").as_deref(), Some("there is no such file"));
    assert_eq!(problem(&page, "guide/faq.md#nothing").as_deref(), Some("there is no heading #nothing"));
    assert!(problem(&page, "../README.md").unwrap().starts_with("it leaves the book"));
    assert_eq!(problem(&page, &format!("{REPOSITORY}README.md#install")), None);
    assert_eq!(problem(&page, "https://example.org/nothing"), None);
}

#[test]
fn every_documentation_page_is_in_summary() {
    let docs = repository().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = links(&summary).iter().map(|link| docs.join(link)).collect();
    let missing: Vec<PathBuf> =
        pages().into_iter().filter(|page| page.starts_with(&docs) && !page.ends_with("SUMMARY.md")).collect();
    let missing: Vec<_> = missing.iter().filter(|page| !listed.contains(page)).collect();
    assert_eq!(missing, Vec::<&PathBuf>::new());
}

/// The form is described at <https://llmstxt.org>: a title, a summary, and sections of links.
#[test]
fn llms_txt_lists_every_documentation_page() {
    let text = fs::read_to_string(repository().join("llms.txt")).unwrap();
    let (title, rest) = text.split_once("\n\n").unwrap();
    assert!(title.starts_with("# ") && rest.starts_with("> "), "{text}");
    let (_, sections) = text.split_once("\n## ").unwrap();
    for line in sections.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with("## ")) {
        assert!(line.starts_with("- [") && line.contains("): "), "neither a link nor a heading: {line}");
    }
    let links = links(sections);
    let listed: Vec<&str> =
        links.iter().map(|link| link.strip_prefix(RAW).unwrap_or_else(|| panic!("{link}"))).collect();
    let dangling: Vec<&&str> = listed.iter().filter(|path| !repository().join(path).is_file()).collect();
    assert_eq!(dangling, Vec::<&&str>::new());
    let docs = repository().join("docs");
    let pages = pages().into_iter().filter(|page| page.starts_with(&docs) && !page.ends_with("SUMMARY.md"));
    let missing: Vec<PathBuf> =
        pages.filter(|page| !listed.iter().any(|path| repository().join(path) == **page)).collect();
    assert_eq!(missing, Vec::<PathBuf>::new());
    let unique: std::collections::BTreeSet<&&str> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
}
