//! `uwf skill install`: files that coding agents find, and that nobody's words are lost in.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::home;

const FILES: [&str; 3] = [".claude/skills/uwf/SKILL.md", ".agents/skills/uwf/SKILL.md", ".cursor/rules/uwf.mdc"];

fn outcomes(report: &Value) -> Vec<String> {
    report.as_array().unwrap().iter().map(|file| text(file, "outcome")).collect()
}

fn path(home: &TestHome, name: &str) -> PathBuf {
    home.work().join(name)
}

#[test]
fn files_are_written_where_tools_look() {
    let home = home();
    insta::assert_snapshot!(home.transcript(&["skill", "install", "--format", "text"]), @"
    exit 0
    wrote .claude/skills/uwf/SKILL.md
    wrote .agents/skills/uwf/SKILL.md
    wrote .cursor/rules/uwf.mdc
    ");
    let cli = home.uwf(&["skill", "cli"]).stdout;
    for name in FILES {
        let file = fs::read_to_string(path(&home, name)).unwrap();
        let (header, body) = file.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        assert!(body.contains(&cli), "{name}");
        let header = uwf_core::document::SourceDocument::parse(header, name).unwrap().value;
        let description = text(&header, "description");
        assert!(description.contains("uwf") && description.len() <= 1024, "{description}");
        if name.ends_with(".mdc") {
            assert_eq!(header["alwaysApply"], false);
        } else {
            // It must be called as its directory.
            assert_eq!(header["name"], "uwf");
        }
    }
}

#[test]
fn reinstall_keeps_current_files_and_updates_older_ones() {
    let home = home();
    assert_eq!(outcomes(&home.json(&["skill", "install"])), ["wrote", "wrote", "wrote"]);
    let before = fs::metadata(path(&home, FILES[0])).unwrap().modified().unwrap();
    assert_eq!(outcomes(&home.json(&["skill", "install"])), ["kept", "kept", "kept"]);
    assert_eq!(fs::metadata(path(&home, FILES[0])).unwrap().modified().unwrap(), before);
    // As an earlier version would have written it: other words, with the digest of those.
    let older = "---\nname: uwf\ndescription: older\n---\nolder\n";
    let digest = json_cas::hash_bytes(b"skill", older.as_bytes());
    let mark = "<!-- made by `uwf skill install`; renewed by it as long as nobody changes it: ";
    fs::write(path(&home, FILES[1]), format!("{older}\n{mark}{digest} -->\n")).unwrap();
    assert_eq!(outcomes(&home.json(&["skill", "install"])), ["kept", "renewed", "kept"]);
    assert!(!fs::read_to_string(path(&home, FILES[1])).unwrap().contains("older"));
}

#[test]
fn changed_skill_files_are_kept() {
    let home = home();
    home.json(&["skill", "install"]);
    let changed = fs::read_to_string(path(&home, FILES[0])).unwrap().replacen("## Rules", "## Our rules", 1);
    let appended = format!("{}our own words\n", fs::read_to_string(path(&home, FILES[2])).unwrap());
    for (name, words) in [(FILES[0], changed.as_str()), (FILES[2], &appended), (FILES[1], "all mine")] {
        let whole = fs::read_to_string(path(&home, name)).unwrap();
        fs::write(path(&home, name), words).unwrap();
        let ran = home.uwf(&["skill", "install"]);
        assert_eq!(ran.code, Some(64), "{}", ran.transcript());
        assert!(ran.stderr.contains(name) && ran.stderr.contains("--force"), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(path(&home, name)).unwrap(), words);
        let report = home.json(&["skill", "install", "--force"]);
        assert_eq!(outcomes(&report).iter().filter(|outcome| *outcome == "renewed").count(), 1);
        assert_eq!(fs::read_to_string(path(&home, name)).unwrap(), whole);
    }
}

/// With one file in the way, none is written.
#[test]
fn conflicting_file_prevents_all_writes() {
    let home = home();
    fs::create_dir_all(path(&home, ".cursor/rules")).unwrap();
    fs::write(path(&home, FILES[2]), "mine").unwrap();
    assert_eq!(home.uwf(&["skill", "install"]).code, Some(64));
    assert!(!path(&home, ".claude").exists() && !path(&home, ".agents").exists());
    assert_eq!(outcomes(&home.json(&["skill", "install", "--for", "claude", "--for", "codex"])), ["wrote", "wrote"]);
}

#[test]
fn a_directory_or_the_home_can_be_named() {
    let home = home();
    let report = home.json(&["skill", "install", "--dir", "project", "--for", "codex"]);
    assert_eq!(report, json!([{ "tool": "codex", "path": "project/.agents/skills/uwf/SKILL.md", "outcome": "wrote" }]));
    assert!(path(&home, "project/.agents/skills/uwf/SKILL.md").is_file());
    let person = home.work().parent().unwrap().to_owned();
    home.json(&["skill", "install", "--global"]);
    for name in [".claude/skills/uwf/SKILL.md", ".agents/skills/uwf/SKILL.md", ".cursor/skills/uwf/SKILL.md"] {
        assert!(person.join(name).is_file(), "{name}");
        assert!(fs::read_to_string(person.join(name)).unwrap().starts_with("---\nname: uwf\n"), "{name}");
    }
    let mut command = home.command(&["skill", "install", "--global", "--for", "claude"]);
    assert!(command.env("CLAUDE_CONFIG_DIR", person.join("elsewhere")).status().unwrap().success());
    assert!(person.join("elsewhere/skills/uwf/SKILL.md").is_file());
    assert_eq!(home.uwf(&["skill", "install", "--global", "--dir", "x"]).code, Some(64));
    assert_eq!(outcomes(&home.json(&["skill", "install", "--for", "codex", "--for", "codex"])), ["wrote"]);
    assert_eq!(home.uwf(&["skill", "install", "--for", "nobody"]).code, Some(64));
    assert_eq!(home.uwf(&["skill", "cli", "install"]).code, Some(64));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let home = home();
    home.file(".claude", "a file");
    let ran = home.uwf(&["skill", "install", "--for", "claude"]);
    assert_eq!(ran.code, Some(74), "{}", ran.transcript());
    assert!(ran.stderr.contains(".claude"), "{}", ran.stderr);
    let mut command = home.command(&["skill", "install", "--global"]);
    let ran: uwf_testing::FinishedRun = command.env_remove("HOME").output().unwrap().into();
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("hint: name a project: --dir DIR"), "{}", ran.stderr);
}

#[test]
fn two_at_once_write_whole_files() {
    let home = home();
    let running: Vec<_> = (0..6)
        .map(|_| home.command(&["skill", "install"]).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(outcomes(&home.json(&["skill", "install"])), ["kept", "kept", "kept"]);
}
