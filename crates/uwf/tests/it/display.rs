//! What text looks like on a terminal: it fits, and says what people want to know.

use insta::assert_snapshot;
use uwf_testing::{TestHome, counting_workflow};

use crate::review::{reviewing_home, step};
use crate::terminal::session_in;
use crate::{home, told};

/// Says `{"n": 1}`, after lines longer than any terminal on stderr, for a second.
const TALKING: &str = r#"#!/bin/sh
read -r line
i=0
while [ $i -lt 10 ]; do
  i=$((i+1))
  printf '\033[31mround %s of a very long story about 日本語 that never ends and never will\033[0m\n' $i >&2
  /bin/sleep 0.1
done
echo '{"n": 1}'
"#;

/// What a terminal shows, without colours.
fn plain(shown: &str) -> String {
    let mut parts = shown.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once(|symbol: char| symbol.is_ascii_alphabetic()).map_or("", |(_, text)| text)
    })
}

fn columns(line: &str) -> usize {
    line.chars().map(|symbol| if ('\u{2e80}'..='\u{ffff}').contains(&symbol) { 2 } else { 1 }).sum()
}

/// A home with a workflow of two rounds and an agent that talks while it works.
fn talking_home() -> TestHome {
    let home = home();
    home.put("count-rounds", &counting_workflow(2));
    let agent = home.script("talking", TALKING);
    home.config(&format!("agents:\n  w: {{ command: '{}', output: json }}\ndefaultAgent: w\n", agent.display()));
    home
}

#[test]
fn progress_stays_in_its_line() {
    let home = talking_home();
    let session = session_in(&home, 40, &["run", "count-rounds", "-p", "x", "--max-steps", "1"], &[]);
    assert_eq!(session.code, Some(30), "{}", session.shown);
    let live: Vec<String> = session.shown.split("\r\u{1b}[2K").skip(1).map(plain).collect();
    let told: Vec<&String> = live.iter().filter(|line| line.contains("never will")).collect();
    assert!(!told.is_empty(), "{live:?}");
    for line in told {
        assert!(line.starts_with("worker by w, ") && columns(line) < 40, "{line:?}");
        assert!(!line.contains("[31m") && !line.contains("[0m") && !line.contains('\n'), "{line:?}");
    }
}

#[test]
fn tables_fit_the_terminal() {
    let home = reviewing_home();
    let thread = home.start(
        "review-text",
        "日本語の長い文です。Write about cats, then about dogs, and about all other animals too.",
    );
    step(&home, &thread, 2);
    for width in [80, 100, 200] {
        let session = session_in(&home, width, &["thread", "steps", &thread], &[]);
        let table = plain(&session.shown);
        assert_eq!(table.lines().count(), 4, "{table}");
        assert!(table.lines().all(|line| columns(line) <= width), "{table}");
        assert!(table.contains("日本語"), "{table}");
    }
}

#[test]
fn as_many_steps_as_asked_for_are_no_error() {
    let home = talking_home();
    let thread = home.start("count-rounds", "x");
    home.script("talking", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let ran = home.steady(&home.uwf(&["run", &thread, "--max-steps", "1", "--format", "text"]).told());
    assert!(ran.contains("1 step done as asked; go on with: uwf run <id>\n"), "{ran}");
    assert!(ran.starts_with("exit 30\nnot done") && !ran.contains("error:"), "{ran}");
    let ran = home.uwf(&["run", &thread, "--max-steps", "5"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_finished_thread_needs_no_run() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 4);
    assert_snapshot!(told(&home, &["run", &thread]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":true,"reason":"end"}
    "##);
    assert_eq!(home.uwf(&["run", &thread, "--exit-code"]).code, Some(10));
    assert_eq!(home.uwf(&["run", "review-text", "-p", "again", "--exit-code"]).code, Some(10));
    let killed = home.start("review-text", "y");
    home.json(&["thread", "kill", &killed]);
    assert_eq!(home.uwf(&["run", &killed, "--exit-code"]).code, Some(69), "it did not come to its end");
}
