//! The README and the guide in a pipe, as scripts follow them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{self, Child, ChildStdout, Stdio};

use uwf_testing::{TestHome, repository};

use crate::fixtures::pages::{self, Command, Shell};
use crate::home;

/// Stands before the exit code of a command.
const CODE: u8 = 1;

/// Stands after it.
const READY: u8 = 2;

/// A shell without a terminal.
struct Pipe<'p> {
    page: &'p str,
    shell: Child,
    printed: BufReader<ChildStdout>,
}

impl Pipe<'_> {
    fn open<'p>(home: &TestHome, page: &'p str) -> Pipe<'p> {
        let mut shell = process::Command::new("sh");
        pages::prepare(home, &mut shell);
        let mut shell = shell.env("UWF_FORMAT", "text").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(shell.stdout.take().unwrap());
        Pipe { page, shell, printed }
    }

    fn run_one(&mut self, command: &str) -> String {
        let mut commands = self.shell.stdin.as_ref().unwrap();
        writeln!(commands, "{{ {command}\n}} < /dev/null 2>&1; printf '\\{CODE}%s\\{READY}' $?").unwrap();
        let mut printed = Vec::new();
        self.printed.read_until(READY, &mut printed).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let ended = printed.trim_end_matches(char::from(READY)).rsplit_once(char::from(CODE));
        let (printed, code) = ended.unwrap_or_else(|| panic!("{}: $ {command}\nthe shell ended\n{printed}", self.page));
        assert_eq!(code, "0", "{}: $ {command}\n{printed}", self.page);
        printed.to_owned()
    }
}

impl Shell for Pipe<'_> {
    fn is_terminal(&self) -> bool {
        false
    }

    fn run(&mut self, commands: &[Command<'_>]) -> Vec<String> {
        commands.iter().map(|command| self.run_one(&command.typed)).collect()
    }
}

impl Drop for Pipe<'_> {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn follow(home: &TestHome, page: &str) {
    pages::follow(home, page, &mut Pipe::open(home, page));
}

#[test]
fn every_page_with_commands_is_followed_here() {
    let here = include_str!("pages.rs");
    let forgotten = |page: &String| pages::has_commands(page) && !here.contains(&format!("\"{page}\""));
    let forgotten: Vec<String> = pages::all().into_iter().filter(forgotten).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

#[test]
fn the_readme_does_what_it_says() {
    follow(&home(), "README.md");
}

#[test]
fn the_tutorial_does_what_it_says() {
    let home = home();
    follow(&home, "docs/guide/tutorial.md");
    assert!(!home.root().with_file_name(".uncaged").exists(), "the reader's own storage root is not touched");
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
fn for_agents_page_works_as_written() {
    follow(&home(), "docs/guide/for-agents.md");
}

#[test]
fn the_page_about_steering_does_what_it_says() {
    follow(&home(), "docs/guide/steering.md");
}

#[test]
fn dashboard_page_works_as_written() {
    follow(&home(), "docs/guide/dashboard.md");
}

#[test]
fn http_api_reference_works_as_written() {
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
fn files_of_coming_from_page_are_valid() {
    follow(&home(), "docs/guide/coming-from.md");
}

#[test]
fn the_questions_and_answers_do_what_they_say() {
    follow(&home(), "docs/guide/faq.md");
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
    fn readme_picture_matches_real_run() {
        let script = repository().join("scripts/readme-picture.py");
        let output = process::Command::new("python3").arg(script).arg(uwf_testing::uwf_program()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stored = fs::read_to_string(repository().join("docs/run.svg")).unwrap_or_default();
        assert!(
            stored == String::from_utf8(output.stdout).unwrap(),
            "docs/run.svg is out of date; run: python3 scripts/readme-picture.py target/debug/uwf > docs/run.svg"
        );
    }
}
