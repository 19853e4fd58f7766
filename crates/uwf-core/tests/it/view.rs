//! Texts of agents inside pages, judged by a markdown parser of somebody else's.

use proptest::prelude::*;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};
use uwf_core::view;

/// Headings of a document at its top level, with their texts.
fn headings(markdown: &str) -> Vec<(HeadingLevel, String)> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut found: Vec<(HeadingLevel, String)> = Vec::new();
    let (mut depth, mut inside) = (0, false);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                found.push((level, String::new()));
                inside = true;
                depth = 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(end) => {
                depth -= 1;
                inside &= !(matches!(end, TagEnd::Heading(_)) && depth == 0);
            }
            Event::Text(text) | Event::Code(text) if inside => found.last_mut().expect("inside one").1.push_str(&text),
            _ => {}
        }
    }
    found
}

/// Asserts that a part of a page ends where it ends, and that its headings are no higher than they may be.
fn assert_contained(part: &str, highest: HeadingLevel) {
    let page = format!("## Before\n\n{part}\n## After\n\ntext\n");
    let headings = headings(&page);
    let ours = |title: &str| (HeadingLevel::H2, title.to_owned());
    assert_eq!(headings.first(), Some(&ours("Before")), "{page}");
    assert_eq!(headings.last(), Some(&ours("After")), "{page}");
    for (level, text) in &headings[1..headings.len() - 1] {
        assert!(*level >= highest, "`{text}` is a heading of level {level} in:\n{page}");
    }
}

/// Lines that matter to markdown, and some that do not.
fn line() -> impl Strategy<Value = String> {
    let indent = prop::sample::select(vec!["", "", "", " ", "  ", "   ", "    ", "\t", "> ", "- ", "1. ", "  - "]);
    let content = prop::sample::select(vec![
        "",
        "",
        "text",
        "more text",
        "# one",
        "## two",
        "###### six",
        "#hash",
        "===",
        "---",
        "- - -",
        "***",
        "```",
        "```sh",
        "````",
        "~~~",
        "~~~ x",
        "`code`",
        "``` x ```",
        "- item",
        "2. second",
        "> quote",
        "| a | b |",
        "|---|---|",
        "<!-- open",
        "-->",
        "<!-- a -->",
        "<details>",
        "</details>",
        "<div>",
        "</div>",
        "<pre>",
        "</pre>",
        "<script>",
        "</script>",
        "<b>bold</b>",
        "<?php",
        "?>",
        "<!DOCTYPE x>",
        "<![CDATA[",
        "]]>",
        "<T>",
        "[a]: /b",
        "\\",
        "text\\",
        "# ",
        "#",
        "=",
        "-",
        "--",
        "a | b",
        "\u{1b}[1m# x",
    ]);
    (indent, content).prop_map(|(indent, content)| format!("{indent}{content}"))
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(line(), 0..12).prop_map(|lines| lines.join("\n"))
}

/// Outputs with such texts in them.
fn output() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![text().prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    let value = leaf.prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(line(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    });
    prop::collection::btree_map(line(), value, 0..4).prop_map(|map| json!(map))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_breaks_out_of_its_section(text in text()) {
        assert_contained(&view::embed(&text, 3), HeadingLevel::H3);
    }

    #[test]
    fn no_output_breaks_out_of_its_section(output in output()) {
        assert_contained(&view::output(&output), HeadingLevel::H4);
    }

    #[test]
    fn no_name_breaks_out_of_its_line(text in text()) {
        let line = view::inline(&text);
        prop_assert!(!line.contains('\n'));
        assert_contained(&format!("by {line} and others\n"), HeadingLevel::H3);
        assert_contained(&format!("by {} and others\n", view::sentence(&text)), HeadingLevel::H3);
    }
}
