//! Editing the text of a config: what was asked for changes, nothing else does.

use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_core::config::edit::{self, EditError, KeyPath};

const ORIGIN: &str = "config.yaml";

fn path(text: &str) -> KeyPath {
    text.parse().expect("a path")
}

#[track_caller]
fn set(text: &str, at: &str, value: Value) -> String {
    edit::set(text, ORIGIN, &path(at), &value).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn unset(text: &str, at: &str) -> String {
    let edited = edit::unset(text, ORIGIN, &path(at)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    edited.unwrap_or_else(|| panic!("nothing at {at}"))
}

const COMMENTED: &str = "\
# our agents
agents:   # by name
  # writes code
  coder:
      command: codex   # the one we pay for
      args: [exec, \"-\"]

      env:
      - OPENAI_API_KEY
  judge: { command: 'claude', output: text } # cheap

defaultAgent:  coder
futureKey: |
  kept as
  it is
# the end
";

#[test]
fn one_value_changes_and_every_other_byte_stays() {
    for (at, value, from, to) in [
        ("agents.coder.command", json!("goose"), "command: codex   #", "command: goose   #"),
        ("defaultAgent", json!("judge"), "defaultAgent:  coder", "defaultAgent:  judge"),
        ("agents.coder.args", json!(["-x", 5]), "[exec, \"-\"]", "[-x, 5]"),
        ("agents.coder.env", json!([]), "env:\n      - OPENAI_API_KEY\n", "env: []\n"),
        ("agents.judge.command", json!("claude two"), "'claude'", "'claude two'"),
        ("agents.judge.timeout", json!("30m"), "output: text }", "output: text, timeout: 30m }"),
        ("agents.judge", json!("x"), "{ command: 'claude', output: text } #", "x #"),
        ("futureKey", json!(true), "futureKey: |\n  kept as\n  it is\n", "futureKey: true\n"),
        ("agents.coder.config.a.b", json!(1), "API_KEY\n", "API_KEY\n      config:\n        a:\n          b: 1\n"),
        ("agents.new.command", json!("c"), "# cheap\n", "# cheap\n  new:\n    command: c\n"),
        ("maxSteps", json!(5), "  it is\n", "  it is\nmaxSteps: 5\n"),
    ] {
        assert!(COMMENTED.contains(from), "{from}");
        assert_eq!(set(COMMENTED, at, value), COMMENTED.replacen(from, to, 1), "{at}");
    }
}

#[test]
fn removing_a_key_removes_only_its_lines() {
    for (at, from, to) in [
        ("agents.coder.command", "      command: codex   # the one we pay for\n", ""),
        ("agents.coder.env", "      env:\n      - OPENAI_API_KEY\n", ""),
        ("agents.judge.command", "{ command: 'claude', output", "{ output"),
        ("agents.judge.output", "'claude', output: text }", "'claude' }"),
        ("futureKey", "futureKey: |\n  kept as\n  it is\n", ""),
    ] {
        assert!(COMMENTED.contains(from), "{from}");
        assert_eq!(unset(COMMENTED, at), COMMENTED.replacen(from, to, 1), "{at}");
    }
    assert!(matches!(edit::unset(COMMENTED, ORIGIN, &path("agents.nobody")), Ok(None)));
    assert_eq!(unset("a:\n  b: {c: 1}\n", "a.b.c"), "a:\n  b: null\n");
    assert_eq!(unset("# x\na: 1\n", "a"), "# x\n");
}

#[test]
fn files_that_say_nothing_yet() {
    for (text, expected) in [
        ("", "a:\n  b: 1\n"),
        ("# only a comment", "# only a comment\na:\n  b: 1\n"),
        ("---\n", "---\na:\n  b: 1\n"),
        ("\u{feff}", "\u{feff}a:\n  b: 1\n"),
        ("a:\n", "a:\n  b: 1\n"),
        ("a: ~ # none\nc: 2\n", "a: # none\n  b: 1\nc: 2\n"),
        ("a: # none", "a: # none\n  b: 1"),
        ("a: {}", "a: { b: 1 }"),
        ("{}", "{ \"a\": {\"b\": 1} }"),
        ("{a, c: 1}", "{a: { b: 1 }, c: 1}"),
        ("c: 1\r\n", "c: 1\r\na:\r\n  b: 1\r\n"),
        ("c: 1", "c: 1\na:\n  b: 1\n"),
    ] {
        assert_eq!(set(text, "a.b", json!(1)), expected, "{text:?}");
    }
}

#[test]
fn json_stays_json() {
    let text = "{\n  \"agents\": {\n    \"a\": {\"command\": \"x\"}\n  },\n  \"maxSteps\": 3\n}\n";
    let edited = set(text, "agents.b.command", json!("y"));
    assert_eq!(edited, text.replace("\"x\"}\n", "\"x\"},\n    \"b\": {\"command\": \"y\"}\n"));
    let edited = set(&edited, "maxSteps", json!(4));
    assert_eq!(serde_json::from_str::<Value>(&edited).expect("still JSON")["maxSteps"], json!(4));
}

#[test]
fn texts_are_read_back_as_texts() {
    for text in [
        "",
        " ",
        "no",
        "Yes",
        "null",
        "~",
        "true",
        "12",
        "1.5",
        "0123",
        "2026-11-05",
        "12:30",
        "1_000",
        ".inf",
        "a: b",
        "a #b",
        "#a",
        "- a",
        "{a}",
        "[a]",
        "*a",
        "&a",
        "!a",
        "@a",
        "`a`",
        "%a",
        "a:",
        ":a",
        "'a'",
        "\"a\"",
        "a\nb",
        "a\tb",
        "\u{7f}",
        "\u{2028}",
        "é ü",
        "https://example.com:8080/v1?q=1",
        "30m",
        "a, b",
        "a]",
        "{prompt}",
        "-t",
        "--",
        "?",
        "? a",
        "\\",
        "\u{feff}a",
        "😀",
        "<<",
    ] {
        for place in
            ["a: 1 # c\n", "{a: 1, b: 2}\n", "a: '1'\n", "a: \"1\"\n", "a: >\n  1\n", "b: 1\n", "a:\n", "{\"a\": 1}"]
        {
            let edited = set(place, "a", json!(text));
            assert_eq!(edit::values(&edited, ORIGIN).expect("readable")["a"], json!(text), "{edited:?}");
        }
        if !text.is_empty() && !text.contains('"') {
            let edited = edit::set("x: 1\n", ORIGIN, &KeyPath::from_keys(&[text]), &json!(1));
            assert!(edited.is_ok() || text == "<<", "{text:?}: {edited:?}");
        }
    }
}

#[test]
fn impossible_edits_report_line() {
    let told = |text: &str, at: &str| edit::set(text, ORIGIN, &path(at), &json!(7)).expect_err("no edit").to_string();
    insta::assert_snapshot!(told("a: 1\nb: x\n", "b.c.d"), @"line 2: `b` is a text or number, which has no keys");
    insta::assert_snapshot!(told("a:\n  args: [x]\n", "a.args.0"), @"line 2: `a.args` is a list, which has no keys");
    insta::assert_snapshot!(told("a: &x { p: 1 }\nb: *x\n", "b.p"), @"line 2: `b` is an alias, which has no keys");
    insta::assert_snapshot!(told("a: &x { p: 1 }\nb: *x\n", "a.p"), @"line 1: `a.p` is written in a way that cannot be edited without changing something else");
    insta::assert_snapshot!(told("a: 1\na: 2\n", "a"), @"config.yaml:2:1: error[duplicate-key]: the key `a` is here a second time; the first is at line 1");
    insta::assert_snapshot!(told("- a\n", "a"), @"line 1: `the file` is a list, which has no keys");
}

#[test]
fn aliases_that_are_not_touched_are_no_hindrance() {
    let text = "a: &x { p: 1 }\nb: *x\nc: { <<: *x }\n";
    assert_eq!(set(text, "b", json!(2)), "a: &x { p: 1 }\nb: 2\nc: { <<: *x }\n");
    assert_eq!(set(text, "c.p", json!(3)), "a: &x { p: 1 }\nb: *x\nc: { <<: *x, p: 3 }\n");
}

#[test]
fn leaves_are_what_get_finds() {
    let value = json!({"a": {"b.c": [1, 2]}, "d": null, "e": {}});
    let told: Vec<String> = edit::leaves(&value).iter().map(|(path, value)| format!("{path}={value}")).collect();
    assert_eq!(told, ["a.\"b.c\"=[1,2]", "d=null", "e={}"]);
    assert_eq!(edit::get(&value, &path("a.\"b.c\".1")), Some(&json!(2)));
    assert_eq!(edit::get(&value, &path("a.x")), None);
}

/// A value as somebody may have written it.
#[derive(Clone, Debug)]
enum Written {
    Inline(&'static str),
    Lines(&'static [&'static str]),
    Below(Vec<Line>),
}

/// A key, what is written around it, and its value.
#[derive(Clone, Debug)]
struct Line {
    before: Option<&'static str>,
    trailing: bool,
    value: Written,
}

fn lines(depth: u32) -> BoxedStrategy<Vec<Line>> {
    let inline = prop::sample::select(vec![
        "1",
        "true",
        "text",
        "two words",
        "'single'",
        "\"double # no comment\"",
        "{ p: 1, q: [a, b] }",
        "[]",
        "{}",
        "~",
        "",
        "[ a ]",
        "{p: {q: 1}}",
        "\"a\\\n        b\"",
        "0123",
        "a#b",
    ])
    .prop_map(Written::Inline);
    let block = prop::sample::select(vec![
        &["|", "  some", "    text # none"][..],
        &[">-", "  folded", "", "  text"][..],
        &["", "  - a", "  - b: 1", "    c: 2"][..],
        &["", "- a", "- [b]"][..],
        &["plain", "  goes on"][..],
    ])
    .prop_map(Written::Lines);
    let value = if depth == 0 {
        prop_oneof![4 => inline, 1 => block].boxed()
    } else {
        prop_oneof![3 => inline, 1 => block, 2 => lines(depth - 1).prop_map(Written::Below)].boxed()
    };
    let before = prop::option::of(prop::sample::select(vec!["", "#", "same"]));
    let line = (before, any::<bool>(), value).prop_map(|(before, trailing, value)| Line { before, trailing, value });
    prop::collection::vec(line, 1..4).boxed()
}

/// Writes lines as a file; comments are numbered, keys are `k0`, `k1`, ….
fn write(lines: &[Line], indent: usize, comments: &mut usize, out: &mut String) {
    let margin = " ".repeat(indent);
    for (index, Line { before, trailing, value }) in lines.iter().enumerate() {
        let mut comment = |lead: &str| {
            *comments += 1;
            format!("{lead}# c{}\n", *comments)
        };
        match before {
            Some("") => out.push('\n'),
            Some("#") => out.push_str(&comment("")),
            Some(_) => out.push_str(&comment(&margin)),
            None => {}
        }
        let can_trail = !matches!(value, Written::Lines(["plain", ..]));
        let end = if *trailing && can_trail { comment("  ") } else { "\n".to_owned() };
        match value {
            Written::Inline(text) => out.push_str(&format!("{margin}k{index}: {text}{end}")),
            Written::Lines(text) => {
                out.push_str(&format!("{margin}k{index}: {}{end}", text[0]));
                for line in &text[1..] {
                    out.push_str(&if line.is_empty() { "\n".to_owned() } else { format!("{margin}{line}\n") });
                }
            }
            Written::Below(below) => {
                out.push_str(&format!("{margin}k{index}:{end}"));
                write(below, indent + 2, comments, out);
            }
        }
    }
}

fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.rsplit_once("# c")).map(|(_, number)| number).collect()
}

/// Every path there is, inner ones too.
fn paths(value: &Value, at: Option<&KeyPath>, found: &mut Vec<(KeyPath, bool)>) {
    let Value::Object(map) = value else { return };
    for (key, below) in map {
        let path = KeyPath::below(at, key);
        paths(below, Some(&path), found);
        found.push((path, below.is_array() || below.is_object()));
    }
}

fn with(value: &Value, parts: &[String], new: Option<&Value>) -> Value {
    let mut map = value.as_object().cloned().unwrap_or_default();
    let (first, rest) = parts.split_first().expect("a path");
    match (rest, new) {
        ([], Some(new)) => drop(map.insert(first.clone(), new.clone())),
        ([], None) => drop(map.shift_remove(first)),
        (rest, new) => drop(map.insert(first.clone(), with(map.get(first).unwrap_or(&Value::Null), rest, new))),
    }
    if map.is_empty() { Value::Null } else { Value::Object(map) }
}

fn new_value() -> BoxedStrategy<Value> {
    prop_oneof![
        "[ -~]{0,12}".prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!({"x": ["y", null, "no"], "z": {}})),
        Just(json!(null)),
        Just(json!([])),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn whatever_stands_there(file in lines(2), pick in any::<prop::sample::Index>(), below in 0_usize..3, new in new_value(), crlf in any::<bool>()) {
        let mut text = String::new();
        write(&file, 0, &mut 0, &mut text);
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let before = edit::values(&text, ORIGIN).expect("the file is readable");
        let mut known = Vec::new();
        paths(&before, None, &mut known);
        let (path, is_collection) = &known[pick.index(known.len())];
        let is_mapping = edit::get(&before, path).is_some_and(|value| value.is_object() || value.is_null());
        let is_new = below > 0 && is_mapping;
        let target = if is_new { ["new", "more"].iter().take(below).fold(path.clone(), |path, key| KeyPath::below(Some(&path), key)) } else { path.clone() };
        let edited = edit::set(&text, ORIGIN, &target, &new);
        let edited = edited.unwrap_or_else(|error| panic!("{error}: {target}\n{text}"));
        let read = edit::values(&edited, ORIGIN).expect("the edited file is readable");
        prop_assert_eq!(&read, &with(&before, target.parts(), Some(&new)), "{}\n{}", text, edited);
        if is_new || !is_collection {
            // What is added or replaced holds no comment of ours.
            prop_assert_eq!(comments(&edited), comments(&text), "{}: {}\n{}", target, text, edited);
        }
        prop_assert_eq!(edited.contains("\r\n"), text.contains("\r\n"));
        prop_assert!(!crlf || !edited.replace("\r\n", "").contains('\n'));

        match edit::unset(&edited, ORIGIN, &target) {
            Ok(removed) => {
                let removed = removed.expect("it was set");
                let read = edit::values(&removed, ORIGIN).expect("readable");
                prop_assert_eq!(read, with(&with(&before, target.parts(), Some(&new)), target.parts(), None), "{}\n{}", edited, removed);
            }
            // An indented comment after what goes would become part of the text block before it.
            Err(error) => prop_assert!(matches!(error, EditError::Entangled { .. }) && edited.contains(['|', '>']), "{}", error),
        }
    }

    #[test]
    fn any_text_is_edited_correctly_or_rejected(text in "[ab:#{}\\[\\], \n\t\"'&*|>!~?\\-\u{e9}]{0,40}", at in "[ab]") {
        match edit::set(&text, ORIGIN, &path(&at), &json!("v")) {
            Ok(edited) => prop_assert_eq!(&edit::values(&edited, ORIGIN).expect("readable")[&at], &json!("v")),
            Err(EditError::Unreadable(problems)) => prop_assert!(!problems.is_empty()),
            Err(EditError::NotAMapping { .. } | EditError::Entangled { .. }) => {}
        }
        let _ = edit::unset(&text, ORIGIN, &path(&at));
    }
}
