//! The text itself: YAML and JSON, strict and bounded.

use proptest::prelude::*;
use serde_json::json;
use uwf_core::workflow::{DraftSchema, check};

use super::{lines, problems_of, sound};

/// A workflow around the meta schema `meta`, written as YAML flow on line 4.
fn with_meta(meta: &str) -> String {
    format!(
        "name: solve-it\nroles:\n  a:\n    meta: {meta}\ngraph: {{ $START: [ {{ role: a }} ], a: [ {{ role: $END }} ] }}\n"
    )
}

#[track_caller]
fn meta_of(text: &str) -> DraftSchema {
    sound(text).roles.remove("a").expect("the role is there").meta
}

#[test]
fn words_of_other_yaml_versions_are_texts() {
    let meta =
        meta_of(&with_meta("{ enum: [no, on, yes, off, n, null, ~, true, 12, 1.5, 0x10, '12', 007, 2026-11-05] }"));
    let expected =
        json!({"enum": ["no", "on", "yes", "off", "n", null, null, true, 12, 1.5, 16, "12", "007", "2026-11-05"]});
    assert_eq!(meta, DraftSchema::Inline(expected));
}

#[test]
fn number_like_hash_stays_hash() {
    for hash in ["0000000000000", "1234567890123", "12345678901E5", "'0123456789012'", "0abcdefghjkmn"] {
        let DraftSchema::Stored(found) = meta_of(&with_meta(hash)) else { panic!("{hash} is a hash") };
        assert_eq!(found.to_string(), hash.trim_matches('\'').to_uppercase());
    }
    insta::assert_snapshot!(problems_of(&with_meta("12345")), @r"
    w.yaml:4:11: error[wrong-type]: `meta` is `12345`, which is neither a JSON Schema nor the hash of one
        a hash has 13 symbols of 0-9 and A-Z without I, L, O and U
    ");
}

#[test]
fn bom_and_carriage_returns_change_nothing() {
    let text = with_meta("{ type: object }").replace("    meta", "    goal: |\n      one\n      two\n    meta");
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(sound(&windows), sound(&text));
    assert_eq!(sound(&text).roles["a"].goal, "one\ntwo\n");
}

#[test]
fn json_is_read_as_json() {
    let text = "\u{feff}{\n\t\"name\": \"solve-it\", \"description\": \"a \\ud83d\\ude00 b\\/c\",\r\n\t\"roles\": { \"a\": { \"meta\": { \"const\": -1.5e3 } } },\n\
                \t\"graph\": { \"$START\": [ { \"role\": \"a\" } ], \"a\": [ { \"role\": \"$END\", \"condition\": null } ] }\n}\n";
    let draft = sound(text);
    assert_eq!(draft.description, "a 😀 b/c");
    assert_eq!(draft.roles["a"].meta, DraftSchema::Inline(json!({"const": -1500.0})));
}

#[test]
fn json_problems_have_places_too() {
    let text = "{\n  \"name\": \"solve-it\",\n  \"name\": \"b\",\n  \"roles\": { \"a\": { \"goal\": 1, \"meta\": {} } },\n  \"graph\": { \"$START\": [ { \"role\": \"b\" } ] }\n}";
    insta::assert_snapshot!(problems_of(text), @r#"
    w.yaml:3:3: error[duplicate-key]: the key `name` is here a second time; the first is at line 2
    w.yaml:4:29: error[wrong-type]: `goal` must be a text, not a number
        put it in quotes: "1"
    w.yaml:5:36: error[unknown-role]: role `b` is not defined
        roles: `a`
    "#);
    let broken = |text: &str| lines(&check(text, "w.json", None).problems);
    let found = [
        broken("{\n  \"name\": \"x\",\n}"),
        broken("{\"name\": x}"),
        broken("{\"name\": \"x\" \"y\"}"),
        broken("{\"name\": \"x"),
        broken("{\"name\": \"\\ud800\"}"),
        broken("{\"name\": 1e999}"),
        broken("{\"name\": 1} 2"),
        broken("{\"name\""),
        broken(&"[".repeat(100_000)),
        broken(" \n"),
        broken("name: x"),
    ];
    insta::assert_snapshot!(found.join("\n"), @r#"
    w.json:3:1: error[syntax]: not valid JSON: found `}` where a key in double quotes should be
    w.json:1:10: error[syntax]: not valid JSON: `x` is not a value; quote it if it is a text
    w.json:1:14: error[syntax]: not valid JSON: found `"` where `,` or `}` should be
    w.json:1:10: error[syntax]: not valid JSON: this text is never closed
    w.json:1:10: error[syntax]: not valid JSON: a text that is not valid: unexpected end of hex escape
    w.json:1:10: error[syntax]: not valid JSON: `1e999` is not a value; quote it if it is a text
    w.json:1:13: error[syntax]: not valid JSON: found `2` where the end should be
    w.json:1:8: error[syntax]: not valid JSON: the text ends where `:` should be
    w.json:1:129: error[syntax]: not valid JSON: nested deeper than 128 levels
    w.json:1:1: error[empty-file]: the file is empty
    w.json:1:1: error[syntax]: not valid JSON: `name` is not a value; quote it if it is a text
    "#);
}

#[test]
fn invalid_yaml_gives_one_error_with_position() {
    let found: Vec<String> = [
        "",
        "# nothing\n",
        "~",
        "name: a\n---\nname: b\n",
        "name: a\nname: b\nname: c\n",
        "name: 'a\n",
        "name: solve: it\n",
        "name:\n\tx: y\n",
        "name: @x\n",
        "? [a]\n: b\n",
        "? {a: b}\n: b\n",
        "name: !secret x\n",
        "a: &a [*a]\n",
        "a: *b\n",
        "<<: 5\n",
        "[name]\n",
        "just text",
    ]
    .iter()
    .map(|text| {
        lines(
            &check(text, "w.yaml", None)
                .problems
                .into_iter()
                .filter(|p| !["missing-key", "unknown-key"].contains(&p.code))
                .collect::<Vec<_>>(),
        )
    })
    .collect();
    insta::assert_snapshot!(found.join("\n"), @"
    w.yaml:1:1: error[empty-file]: the file is empty
    w.yaml:1:1: error[empty-file]: the file is empty
    w.yaml:1:1: error[empty-file]: the file is empty
    w.yaml:2:1: error[many-documents]: a second document starts here
        keep one document per file
    w.yaml:2:1: error[duplicate-key]: the key `name` is here a second time; the first is at line 1
    w.yaml:3:1: error[duplicate-key]: the key `name` is here a second time; the first is at line 1
    w.yaml:1:7: error[syntax]: not valid YAML: while scanning a quoted scalar, found unexpected end of stream
    w.yaml:1:12: error[syntax]: not valid YAML: mapping values are not allowed in this context
        quote a text that contains `: `, or check the indentation
    w.yaml:2:2: error[syntax]: not valid YAML: tabs disallowed within this context (block indentation)
        indent with spaces; YAML does not allow tabs there
    w.yaml:1:7: error[syntax]: not valid YAML: unexpected character: `@'
        quote texts that start with a special character
    w.yaml:1:3: error[complex-key]: a key must be a text
    w.yaml:1:3: error[complex-key]: a key must be a text
    w.yaml:1:7: error[tag]: the tag `!secret` means nothing here
        quote the text if the `!` belongs to it
    w.yaml:1:8: error[bad-alias]: this alias is inside the value that it refers to
    w.yaml:1:4: error[syntax]: not valid YAML: while parsing node, found unknown anchor
    w.yaml:1:5: error[bad-merge]: `<<` takes a mapping or a list of mappings
    w.yaml:1:1: error[wrong-type]: a workflow file must be a mapping, not a list
    w.yaml:1:1: error[wrong-type]: a workflow file must be a mapping, not a text
    ");
}

#[test]
fn file_content_cannot_forge_messages() {
    let forged = "name: solve-it\n\"roles\\nw.yaml:9:9: error[x]: y\\e[2J\\u2028\": 1\n";
    let problems = check(forged, "w.yaml", None).problems;
    let told: Vec<String> = problems.iter().map(ToString::to_string).filter(|line| line.contains("[unknown")).collect();
    let expected = r"w.yaml:2:1: warning[unknown-key]: the key `roles\nw.yaml:9:9: error[x]: y\u{1b}[2J\u{2028}` is not known here and is ignored";
    assert_eq!(told, [expected]);
    let long = check(&format!("{}: 1\n", "k".repeat(1000)), "w.yaml", None).problems;
    assert!(long.iter().any(|problem| problem.message.len() > 1000), "what is not absurd is told in full");
    let absurd = check(&format!("'{}': 1\n", "k ".repeat(100_000)), "w.yaml", None).problems;
    assert!(absurd.iter().all(|problem| problem.message.chars().count() <= 2001), "{absurd:?}");
}

#[test]
fn merged_keys_are_those_the_mapping_lacks() {
    let text = "
name: solve-it
roles:
  a: &a { goal: one, procedure: first, meta: { type: object } }
  b: { <<: *a, goal: two }
  c: { goal: three, <<: [ { goal: x, output: from list }, *a ] }
graph:
  $START: [ { role: a } ]
  a: [ { role: b } ]
  b: [ { role: c } ]
  c: [ { role: $END } ]
";
    let roles = sound(text).roles;
    let texts = |name: &str| [roles[name].goal.as_str(), &roles[name].procedure, &roles[name].output];
    assert_eq!(texts("b"), ["two", "first", ""]);
    assert_eq!(texts("c"), ["three", "first", "from list"]);
    assert_eq!(roles["c"].meta, DraftSchema::Inline(json!({"type": "object"})));
}

#[test]
fn bombs_are_refused_quickly() {
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let previous = format!("*a{}, ", n - 1).repeat(9);
        aliases.push_str(&format!("a{n}: &a{n} [{previous}]\n"));
    }
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(50_000));
    let tower = (1..200).fold(String::from("a0: &a0 [x]\n"), |text, n| text + &format!("a{n}: &a{n} [*a{}]\n", n - 1));
    let found = [
        problems_of(&aliases),
        problems_of(&long),
        problems_of(&tower),
        problems_of(&"[".repeat(200)),
        problems_of(&"- ".repeat(20_000)),
        problems_of(&format!("name: {}", "x".repeat(2 << 20))),
    ];
    insta::assert_snapshot!(found.join("\n"), @r"
    w.yaml:6:20: error[too-big]: the file holds too many values here, aliases expanded
    w.yaml:2:641: error[too-big]: the file holds too many values here, aliases expanded
    w.yaml:128:14: error[too-deep]: nested deeper than 128 levels
    w.yaml:1:129: error[too-deep]: nested deeper than 128 levels
    w.yaml:1:257: error[too-deep]: nested deeper than 128 levels
    w.yaml:1:1: error[too-big]: the file has 2097158 bytes; at most 1048576 are read
    ");
}

#[test]
fn huge_file_of_mistakes_is_answered_in_time() {
    let mut text =
        String::from("name: solve-it\nroles: { a: { meta: true } }\nmoderator:\n- { from: __start__, to: a }\n");
    for n in 0..4_000 {
        text.push_str(&format!("- {{ from: a, to: role{n}, when: 'steps[-1].x = {n}' }}\n"));
    }
    let parsed = check(&text, "w.yaml", None);
    assert!(parsed.draft.is_none());
    let last = parsed.problems.last().map(ToString::to_string);
    assert_eq!(
        last.as_deref(),
        Some("w.yaml:1:1: error[too-many]: there are more than 200 problems; these are some of them")
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = check(&text, "w.yaml", None);
        let _ = check(&text, "w.json", None);
    }

    #[test]
    fn nor_does_a_text_of_yaml_symbols(text in "[a-c$&*<:,\\-\\[\\]{}'\"|>!%@#?~ \n\t0-9.]{0,80}") {
        let parsed = check(&text, "w.yaml", None);
        prop_assert!(parsed.draft.is_some() || parsed.has_errors());
    }

    #[test]
    fn nor_does_a_workflow_with_a_hole(cut in 0_usize..600, len in 0_usize..40) {
        let text = "name: solve-it\nroles:\n  worker: &w\n    goal: |\n      work\n    meta: { type: object, properties: { ok: { type: boolean } } }\n  other: *w\nconditions:\n  again: { description: d, expression: 'steps[-1].output.ok = false' }\ngraph:\n  $START: [ { role: worker } ]\n  worker:\n    - { role: other, condition: again }\n    - role: $END\n  other: [ { role: $END } ]\n";
        let end = (cut + len).min(text.len());
        let holed = format!("{}{}", &text[..cut.min(text.len())], &text[end.max(cut.min(text.len()))..]);
        let parsed = check(&holed, "w.yaml", None);
        prop_assert!(parsed.draft.is_some() || parsed.has_errors());
        for problem in &parsed.problems {
            prop_assert!(problem.line >= 1 && problem.line <= holed.lines().count() + 1 && problem.column >= 1, "{}", problem);
        }
    }
}
