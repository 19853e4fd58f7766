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
fn page_matches_help() {
    let home = home();
    let help = home.uwf(&["cas", "put", "--help"]);
    assert_eq!(help.code, Some(0));
    assert!(page().contains("## `uwf cas put`"));
    assert!(help.stdout.contains("Examples:\n  uwf cas put content"), "{}", help.stdout);
}

/// Commands whose tests are in a file with another name.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cas gc", "gc"),
    ("cas get", "cas"),
    ("thread label", "labels"),
    ("thread take", "groups_copies"),
    ("cas has", "cas"),
    ("cas hash", "cas_put"),
    ("cas list", "cas"),
    ("cas put-text", "cas_put"),
    ("cas refs", "cas"),
    ("cas rm", "gc"),
    ("cas schema get", "cas"),
    ("cas schema list", "cas"),
    ("cas schema put", "cas_put"),
    ("cas walk", "cas"),
    ("config list", "config_get"),
    ("config path", "config_get"),
    ("connect", "gateway"),
    ("gateway list", "gateway"),
    ("gateway revoke", "gateway"),
    ("gateway token", "gateway"),
    ("notify listen", "notify_ntfy"),
    ("agent mcp", "with_tools/agent_mcp"),
    ("thread repair", "hostile/record"),
    ("thread resume", "thread_pause"),
    ("thread run", "run"),
    ("top", "with_tools/top"),
    ("workflow rollback", "workflow_history"),
    ("schedule create", "schedule"),
    ("schedule list", "schedule"),
    ("schedule rm", "schedule"),
    ("schedule show", "schedule"),
    ("schedule start", "schedule"),
];

/// The file of a command that is not listed there.
fn own_file(command: &str) -> String {
    command.replace([' ', '-'], "_")
}

#[test]
fn every_command_has_test_file() {
    let page = page();
    let headings = page.lines().filter_map(|line| line.strip_prefix("## `uwf ")?.strip_suffix('`'));
    // A group by itself only has help.
    let is_group = |command: &str| page.contains(&format!("\n## `uwf {command} "));
    let commands: Vec<&str> = headings.filter(|command| !is_group(command)).collect();
    assert!(commands.len() > 40, "{commands:?}");
    let tests = |file: &str| {
        let paths = ["it", "features"].map(|target| repository().join(format!("crates/uwf/tests/{target}/{file}.rs")));
        paths.into_iter().find(|path| path.exists())
    };
    for command in &commands {
        let listed = ELSEWHERE.iter().find(|(listed, _)| listed == command);
        let file = listed.map_or_else(|| own_file(command), |(_, file)| (*file).to_owned());
        let text = tests(&file).map(|path| fs::read_to_string(path).unwrap()).unwrap_or_default();
        assert!(
            !text.is_empty(),
            "`uwf {command}` has no tests in {file}.rs: write them, or list their file in ELSEWHERE"
        );
        let word = command.rsplit(' ').next().unwrap();
        assert!(text.contains(&format!("\"{word}\"")), "`uwf {command}` is never called in {file}.rs");
    }
    for (command, _) in ELSEWHERE {
        assert!(commands.contains(command), "ELSEWHERE lists `uwf {command}`, which is no command");
        assert!(tests(&own_file(command)).is_none(), "ELSEWHERE lists `uwf {command}`, which has a file of its own");
    }
}
