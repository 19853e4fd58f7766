//! The README and the guide as their readers follow them: each file they show is written, each command is run, in the
//! order of the page, and what is printed is what the page shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use uwf_testing::{TestHome, repository};

use crate::home;

/// What a page calls the storage root when it shows a file in it.
const ROOT: &str = "~/.uncaged/workflow/";

/// A fenced block.
struct Block<'p> {
    /// What stands behind the opening fence.
    info: &'p str,
    text: &'p str,
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut rest = page;
    let mut found = Vec::new();
    while let Some(start) = rest.find("\n```") {
        let (info, after) = rest[start + 4..].split_once('\n').expect("a fence is a line");
        let end = after.find("```\n").expect("a fence is closed");
        found.push(Block { info, text: &after[..end] });
        rest = &after[end + 4..];
    }
    found
}

/// The file a block shows: its first line, or the one below `#!`, is a comment that is nothing but its name.
fn file_name(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    let first = lines.next()?;
    let line = if first.starts_with("#!") { lines.next()? } else { first };
    let name = line.strip_prefix("# ")?;
    let is_name = !name.contains(' ') && name.contains('.');
    is_name.then_some(name)
}

/// Does all a page says. A block of `console` has commands behind `$ ` and what they print, where `…` stands for
/// any lines, or within a line for any text; a block of `sh` has commands whose output is not shown. Blocks marked `not-run` are for other places.
fn follow(home: &TestHome, page: &str) {
    fs::create_dir_all(home.bin_dir()).unwrap();
    let uwf = home.bin_dir().join("uwf");
    if !uwf.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_uwf"), uwf).unwrap();
    }
    let text = fs::read_to_string(repository().join(page)).unwrap();
    for Block { info, text } in blocks(&text) {
        if info.contains("not-run") {
            continue;
        }
        if let Some(name) = file_name(text) {
            write(home, name, text);
        } else if info == "console" {
            console(home, page, text);
        } else if info == "sh" {
            run(home, page, text);
        }
    }
}

fn write(home: &TestHome, name: &str, text: &str) {
    if let Some(name) = name.strip_prefix(ROOT) {
        fs::write(home.root().join(name), text).unwrap();
        return;
    }
    let path = home.work().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn console(home: &TestHome, page: &str, text: &str) {
    let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let is_continued = commands.last().is_some_and(|(command, shown)| command.ends_with('\\') && shown.is_empty());
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), Vec::new()));
        } else if is_continued {
            let (command, _) = commands.last_mut().unwrap();
            command.push('\n');
            command.push_str(line);
        } else {
            commands.last_mut().unwrap_or_else(|| panic!("{page}: a console begins with a command")).1.push(line);
        }
    }
    for (command, shown) in commands {
        let printed = run(home, page, &command);
        let (want, got) = (steady(home, &shown.join("\n")), steady(home, &printed));
        assert!(is_shown(&want, &got), "{page}: $ {command}\n--- the page shows\n{want}\n--- it prints\n{got}");
    }
}

/// Runs commands as somebody at a terminal would; returns what was printed.
fn run(home: &TestHome, page: &str, command: &str) -> String {
    let mut shell = Command::new("sh");
    home.prepare(&mut shell);
    let script = format!("set -e\nexec 2>&1\n{command}\n");
    let shell = shell.args(["-c", &script]).env("UWF_FORMAT", "text").env("NO_COLOR", "1").stdin(Stdio::null());
    let output = shell.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{page}: $ {command}\n{printed}");
    printed
}

/// Whether a line of a page is the one that was printed; `…` in it stands for any text, also none.
fn is_line(page: &str, printed: &str) -> bool {
    let Some((before, after)) = page.split_once('…') else { return page == printed };
    printed.strip_prefix(before).is_some_and(|rest| {
        rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| is_line(after, &rest[at..]))
    })
}

/// Whether a page shows what was printed; a line `…` stands for any lines, also none.
fn is_shown(page: &str, printed: &str) -> bool {
    fn matches(page: &[&str], printed: &[&str]) -> bool {
        match (page, printed) {
            ([], printed) => printed.is_empty(),
            (["…", page @ ..], printed) => (0..=printed.len()).any(|skip| matches(page, &printed[skip..])),
            ([_, ..], []) => false,
            ([line, page @ ..], [first, printed @ ..]) => is_line(line, first) && matches(page, printed),
        }
    }
    let lines = |text: &'_ str| -> Vec<String> { text.trim().lines().map(|line| line.trim_end().to_owned()).collect() };
    let (page, printed) = (lines(page), lines(printed));
    let page: Vec<&str> = page.iter().map(String::as_str).collect();
    let printed: Vec<&str> = printed.iter().map(String::as_str).collect();
    matches(&page, &printed)
}

/// A text without what differs from run to run: ids, hashes, digests, times of day and durations.
fn steady(home: &TestHome, text: &str) -> String {
    let text = home.steady(text);
    let words = text.split_inclusive(|symbol: char| !symbol.is_ascii_alphanumeric() && symbol != '.');
    let mut out: Vec<String> = Vec::new();
    for word in words {
        let bare = word.trim_end_matches(|symbol: char| !symbol.is_ascii_alphanumeric());
        let rest = &word[bare.len()..];
        let is_hash = bare.len() == 13 && bare.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        let is_digest = bare.len() == 64 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_duration = word == "s" || bare == "s";
        if is_hash || is_digest {
            out.push(format!("<hash>{rest}"));
        } else if is_duration && out.last().is_some_and(|last| last.trim_end().parse::<f64>().is_ok()) {
            *out.last_mut().unwrap() = "<n> ".to_owned();
            out.push(word.to_owned());
        } else {
            out.push(word.to_owned());
        }
    }
    out.concat()
}

#[test]
fn the_readme_does_what_it_says() {
    follow(&home(), "README.md");
}

#[test]
fn the_tutorial_does_what_it_says() {
    follow(&home(), "docs/guide/tutorial.md");
}

#[test]
fn the_page_about_agents_does_what_it_says() {
    follow(&home(), "docs/guide/agents.md");
}

#[test]
fn the_page_about_workflows_does_what_it_says() {
    follow(&home(), "docs/guide/workflows.md");
}

#[test]
fn the_page_about_operating_does_what_it_says() {
    follow(&home(), "docs/guide/operating.md");
}

#[test]
fn the_page_about_agents_that_drive_uwf_does_what_it_says() {
    follow(&home(), "docs/guide/for-agents.md");
}

#[test]
fn the_page_about_steering_does_what_it_says() {
    follow(&home(), "docs/guide/steering.md");
}

#[test]
fn the_page_about_the_dashboard_does_what_it_says() {
    follow(&home(), "docs/guide/dashboard.md");
}

#[test]
fn the_reference_of_the_api_does_what_it_says() {
    follow(&home(), "docs/reference/http-api.md");
}

#[test]
fn the_guide_to_tracing_holds() {
    follow(&home(), "docs/guide/tracing.md");
}

#[test]
fn the_page_about_isolating_does_what_it_says() {
    follow(&home(), "docs/guide/isolating.md");
}

#[test]
fn the_page_about_keeping_does_what_it_says() {
    follow(&home(), "docs/guide/keeping.md");
}

#[test]
fn the_questions_and_answers_do_what_they_say() {
    follow(&home(), "docs/guide/faq.md");
}

#[test]
fn what_a_page_leaves_out_is_any_lines() {
    assert!(is_shown("a\n…\nd", "a\nb\nc\nd"));
    assert!(is_shown("a\n…", "a"));
    assert!(is_shown("set x in …/config.yaml", "set x in /tmp/root/config.yaml"));
    assert!(!is_shown("set x in …/config.yaml", "set x in /tmp/root/config.yml"));
    assert!(!is_shown("a\n…\nd", "a\nb"));
    assert!(!is_shown("a", "a\nb"));
}

#[test]
fn only_what_varies_in_a_page_is_replaced() {
    let text = "✓ writer, 0.1 s\nhead 7NT9C7HSDN96H, step `7687YAJ8TMMX4`: 3 steps, 12 s";
    assert_eq!(steady(&home(), text), "✓ writer, <n> s\nhead <hash>, step `<hash>`: 3 steps, <n> s");
}

mod with_tools {
    use super::*;

    #[test]
    fn the_page_about_watching_does_what_it_says() {
        follow(&home(), "docs/guide/watching.md");
    }

    #[test]
    fn the_page_about_explaining_does_what_it_says() {
        follow(&home(), "docs/guide/explaining.md");
    }

    /// Draws the README's picture again and compares it with the committed one.
    #[test]
    fn the_picture_of_the_readme_is_of_a_real_run() {
        let script = repository().join("scripts/readme-picture.py");
        let output = Command::new("python3").arg(script).arg(env!("CARGO_BIN_EXE_uwf")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stored = fs::read_to_string(repository().join("docs/run.svg")).unwrap_or_default();
        assert!(
            stored == String::from_utf8(output.stdout).unwrap(),
            "docs/run.svg is out of date; run: python3 scripts/readme-picture.py target/debug/uwf > docs/run.svg"
        );
    }
}
