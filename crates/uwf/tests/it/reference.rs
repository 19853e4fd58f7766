//! The reference page is what the command says of itself.

use std::fs;

use uwf_testing::repository;

use crate::home;

fn page() -> String {
    let ran = home().uwf(&["reference"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout
}

#[test]
fn the_page_in_docs_is_current() {
    let path = repository().join("docs/reference.md");
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page(),
        "docs/reference.md is out of date; run: cargo run -p uwf -- reference > docs/reference.md"
    );
}

#[test]
fn every_command_has_examples() {
    let page = page();
    let sections: Vec<&str> = page.split("\n## `").skip(1).collect();
    assert!(sections.len() > 30, "the page has a section for each command, not {}", sections.len());
    let without: Vec<&str> = sections
        .iter()
        .filter(|section| !section.contains("\nExamples:\n"))
        .filter_map(|section| section.lines().next())
        .collect();
    assert_eq!(without, Vec::<&str>::new(), "commands without examples in their help");
}

#[test]
fn no_line_is_wider_than_a_page() {
    let page = page();
    let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 125).collect();
    assert_eq!(wide, Vec::<&str>::new());
}

#[test]
fn what_is_in_the_page_is_what_help_says() {
    let home = home();
    let help = home.uwf(&["cas", "put", "--help"]);
    assert_eq!(help.code, Some(0));
    assert!(page().contains("## `uwf cas put`"));
    assert!(help.stdout.contains("Examples:\n  uwf cas put content"), "{}", help.stdout);
}
