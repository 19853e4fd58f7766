//! What strangers and models write controls no terminal, whichever command shows it.

use serde_json::json;
use uwf_testing::{TestHome, text};

use crate::fixtures::terminal::session;
use crate::home;

/// Clears the screen, sets the title, answers as if typed, goes back and overwrites, turns the text around; by ESC, by
/// the C1 controls, by what only reorders, and by what a printer could take for marks of its own.
const ATTACK: &str = "x\u{F0005}\u{F0001}\u{200f}\u{200e}\u{61c}\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}P+q544e\u{1b}\\\u{9b}31m\u{9d}0;owned\u{9c}\u{8}\u{8}\rgone\u{7f}\u{202e}txt\u{2066}y";

fn assert_harmless(what: &str, shown: &str) {
    let mut rest = shown;
    while let Some(at) = rest.find('\u{1b}') {
        let sequence = &rest[at + 1..];
        let body = sequence.strip_prefix('[').unwrap_or_else(|| panic!("{what}: {shown:?}"));
        let end = body.find(|symbol: char| !symbol.is_ascii_digit() && symbol != ';').unwrap_or(body.len());
        // Colour, and clearing the line of a counter, are our own.
        assert!(matches!(&body[end..=end], "m" | "K"), "{what}: {shown:?}");
        assert!(end <= 2, "{what}: {shown:?}");
        rest = &body[end..];
    }
    let hostile: Vec<char> = shown
        .chars()
        .filter(|symbol| symbol.is_control() && !matches!(symbol, '\n' | '\t' | '\u{1b}'))
        .filter(|symbol| *symbol != '\r')
        .chain(shown.chars().filter(|symbol| {
            matches!(symbol, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        }))
        .collect();
    assert!(hostile.is_empty(), "{what}: {hostile:?} in {shown:?}");
    assert!(!shown.contains("\rgone"), "{what}: {shown:?}");
    // Nothing of a sequence is left over, but in data, where characters are replaced one by one.
    let is_data = ["json", "yaml"].iter().any(|format| what.contains(format)) || shown.starts_with(['{', '[', '"']);
    let residue = shown
        .match_indices("31m")
        .find(|(at, _)| shown[..*at].ends_with(['[', '\u{FFFD}']) && !shown[..*at].ends_with("\u{1b}["));
    assert!(is_data || residue.is_none(), "{what}: {shown:?}");
    assert!(!shown.contains("\u{F0005}\u{1b}") && !shown.contains("x\u{1b}[31m\u{1b}[1m"), "{what}: {shown:?}");
}

/// A home in which everything a stranger can write is the attack: description, goal, prompt, schema, what the agent says
/// and how it fails.
fn attacked() -> (TestHome, String) {
    let home = home();
    let quoted = json!(ATTACK).to_string();
    home.put(
        "be-hostile",
        &format!(
            "name: be-hostile\ndescription: {quoted}\nroles:\n  worker:\n    description: {quoted}\n    goal: {quoted}\n    procedure: {quoted}\n    output: {quoted}\n    meta: {{ type: object, title: {quoted}, description: {quoted}, properties: {{ s: {{ type: string, description: {quoted} }}, n: {{ type: integer }} }}, required: [s, n] }}\nconditions:\n  never: {{ description: {quoted}, expression: {expression} }}\ngraph:\n  $START: [ {{ role: worker }} ]\n  worker: [ {{ role: $END, condition: never }}, {{ role: worker }} ]\n",
            expression = json!(format!("steps[0].output.s = '{}'", "nothing")),
        ),
    );
    home.script("worker", "#!/bin/sh\ncat > /dev/null\ncat said >&2\ncat answer\nexit $(cat code)\n");
    home.config("agents:\n  w: { command: /bin/sh, args: [worker.sh], output: json }\n  h: { command: uwf-human }\ndefaultAgent: w\n");
    // Sessions at a terminal find no other programs.
    home.file("worker.sh", "#!/bin/sh\nread line\nwhile read line; do :; done\nwhile IFS= read -r line || [ -n \"$line\" ]; do printf '%s\\n' \"$line\" >&2; done < said\nwhile IFS= read -r line || [ -n \"$line\" ]; do printf '%s\\n' \"$line\"; done < answer\nread code < code\nexit $code\n");
    home.file("said", ATTACK);
    home.file("answer", &json!({"s": ATTACK, "n": 1, "extra": {ATTACK: ATTACK}}).to_string());
    home.file("code", "0\n");
    let thread = home.start("be-hostile", ATTACK);
    (home, thread)
}

pub(super) fn check(home: &TestHome, args: &[&str], code: i64) -> String {
    let session = session(home, args, &[]);
    assert_eq!(session.code, Some(code), "{args:?}: {:?}", session.shown);
    assert_harmless(&args.join(" "), &session.shown);
    session.shown
}

mod with_tools {
    use super::*;

    #[test]
    fn no_command_lets_a_terminal_be_controlled() {
        let (home, thread) = attacked();
        check(&home, &["thread", "step", &thread], 0);
        check(&home, &["thread", "run", &thread, "--steps", "1"], 30);
        let head = home.head(&thread).unwrap();
        let output = text(&home.json(&["cas", "get", &head])["payload"], "output");
        let type_of_output = text(&home.json(&["cas", "get", &output]), "type");
        for args in [
            vec!["thread", "list"],
            vec!["thread", "list", "--all"],
            vec!["thread", "show", &thread],
            vec!["thread", "show", &thread, "--format", "json"],
            vec!["thread", "steps", &thread],
            vec!["thread", "steps", &thread, "--format", "yaml"],
            vec!["thread", "read", &thread],
            vec!["thread", "step-details", &head],
            vec!["thread", "step-details", &head, "--format", "json"],
            vec!["thread", "step", &thread, "--dry-run"],
            vec!["thread", "eval", &thread, "steps.output"],
            vec!["cas", "get", &output, "--format", "yaml"],
            vec!["cas", "list"],
            vec!["cas", "refs", &head],
            vec!["cas", "walk", &head],
            vec!["cas", "schema", "list"],
            vec!["cas", "schema", "get", &type_of_output],
            vec!["workflow", "show", "be-hostile"],
            vec!["workflow", "list", "--format", "json"],
            vec!["workflow", "history", "be-hostile"],
            vec!["workflow", "graph", "be-hostile"],
            vec!["doctor", "--offline"],
            vec!["recover", "--dry-run"],
            vec!["agent", "context", &thread, "worker"],
        ] {
            let shown = check(&home, &args, 0);
            assert!(!shown.is_empty(), "{args:?}");
        }
    }

    /// Whoever answers is shown the schema, and what is wrong with an answer.
    #[test]
    fn no_question_lets_a_terminal_be_controlled() {
        let (home, thread) = attacked();
        check(&home, &["thread", "step", &thread, "--agent", "h"], 20);
        check(&home, &["thread", "show", &thread], 0);
        check(&home, &["thread", "answer", &thread, "--data", &json!({ATTACK: ATTACK}).to_string()], 41);
        let dialog = [("`s` (required)", "some text\r"), ("`n` (required)", "1\r")];
        let session = session(&home, &["thread", "answer", &thread], &dialog);
        assert_eq!(session.code, Some(0), "{:?}", session.shown);
        assert_harmless("thread answer", &session.shown);
    }

    #[test]
    fn no_failure_lets_a_terminal_be_controlled() {
        let (home, thread) = attacked();
        home.file("code", "3\n");
        let shown = check(&home, &["thread", "step", &thread], 40);
        assert!(shown.contains("gone"), "the last words are told: {shown:?}");
        home.file("code", "0\n");
        home.file("answer", &json!({"s": [ATTACK], ATTACK: ATTACK, "n": ATTACK}).to_string());
        check(&home, &["thread", "step", &thread], 41);
        check(&home, &["thread", "run", &thread], 41);
        check(&home, &["thread", "list"], 0);
        check(&home, &["thread", "show", &thread], 0);
        check(&home, &["thread", "read", &thread], 0);
        let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
        check(&home, &["thread", "step-details", &attempt], 0);
        check(&home, &["thread", "show", ATTACK], 64);
        check(&home, &["workflow", "show", ATTACK], 69);
        check(&home, &["thread", "step", &thread, "--agent", ATTACK], 78);
        check(&home, &["thread", "eval", &thread, ATTACK], 65);
        check(&home, &["thread", "list", "--state", ATTACK], 64);
        check(&home, &["thread", ATTACK], 64);
        check(&home, &["thread", "list", &format!("--{ATTACK}")], 64);
    }

    /// Error messages quote refused input on a terminal, too.
    #[test]
    fn a_refused_file_lets_no_terminal_be_controlled() {
        let home = home();
        let quoted = json!(ATTACK).to_string();
        home.file(
        "w.yaml",
        &format!("name: {quoted}\n{quoted}: 1\nroles:\n  {quoted}:\n    meta: {{ type: {quoted}, pattern: {quoted}, $ref: {quoted} }}\nconditions: {{ {quoted}: {{ expression: {quoted} }} }}\ngraph: {{ $START: [ {{ role: {quoted}, condition: {quoted} }} ] }}\n"),
    );
        check(&home, &["workflow", "put", "w.yaml"], 65);
        check(&home, &["workflow", "validate", "w.yaml", "--format", "json"], 65);
        home.config(&format!("agents:\n  w: {{ command: {quoted}, output: {quoted} }}\n{quoted}: {quoted}\n"));
        check(&home, &["config", "validate"], 78);
        check(&home, &["config", "get", ATTACK], 0);
    }
}
