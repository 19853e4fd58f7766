//! The gallery in `examples/README.md`: each example with its graph, its costs, and a script that plays it.

use std::fs;
use std::path::PathBuf;

use uwf_testing::repository;

use crate::fixtures::mocked::{CONFIG, script};
use crate::fixtures::repository::{git, home_with_repository, uwf_in};
use crate::home;

/// Commands of the examples that every project defines for itself.
const MAKEFILE: &str = ".PHONY: docs\ntest outdated health docs:\n\t@echo passed\n";

fn examples() -> PathBuf {
    repository().join("examples")
}

/// Names of the examples.
fn names() -> Vec<String> {
    let files = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = files.filter(|name| !name.ends_with(".config.yaml"));
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".yaml")?.to_owned())).collect();
    names.sort_unstable();
    names
}

#[test]
fn gallery_has_at_least_ten_examples() {
    let names = names();
    assert!(names.len() >= 10, "{names:?}");
    let readme = fs::read_to_string(examples().join("README.md")).unwrap();
    for name in names {
        for part in [
            format!("\n## {name}\n"),
            format!("]({name}.yaml)"),
            format!("![Graph of {name}](graphs/{name}.svg)"),
            format!("\n| [{name}](#{name}) | "),
        ] {
            assert!(readme.contains(&part), "examples/README.md has no {part:?}");
        }
    }
}

#[test]
fn graphs_of_examples_are_current() {
    let home = home();
    let mut drawn = Vec::new();
    for name in names() {
        let path = examples().join(format!("{name}.yaml"));
        let graph = home.uwf(&["workflow", "graph", path.to_str().unwrap(), "--format", "svg"]).stdout;
        let stored = fs::read_to_string(examples().join(format!("graphs/{name}.svg"))).unwrap_or_default();
        assert!(
            stored == graph,
            "examples/graphs/{name}.svg is out of date; run: python3 scripts/gallery.py target/debug/uwf"
        );
        drawn.push(format!("{name}.svg"));
    }
    let mut stored: Vec<String> = fs::read_dir(examples().join("graphs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    stored.sort_unstable();
    drawn.sort_unstable();
    assert_eq!(stored, drawn);
}

/// Readers start from these scripts, and `scripts/gallery.py` measures the prompts with them.
#[test]
fn mock_scripts_play_the_examples() {
    let mut without = Vec::new();
    for name in names() {
        let Ok(replies) = fs::read_to_string(examples().join(format!("mock/{name}.yaml"))) else {
            without.push(name);
            continue;
        };
        let home = home_with_repository(1);
        let repo = home.work().join("repo");
        fs::write(repo.join("Makefile"), MAKEFILE).unwrap();
        fs::create_dir(repo.join("docs")).unwrap();
        fs::write(repo.join("docs/guide.md"), "# A page\n").unwrap();
        git(&home, &repo, &["add", "."]);
        git(&home, &repo, &["commit", "-q", "-m", "a project"]);
        let develop = "  develop: { command: uwf-workflow, args: [develop] }\n";
        let config = CONFIG.replacen("agents:\n", &format!("agents:\n{develop}"), 1);
        home.config(&format!("{config}agentOverrides: {{ resolve-issue: {{ developer: develop }} }}\n"));
        script(&home, &replies);
        home.json(&["workflow", "put", examples().join("develop.yaml").to_str().unwrap()]);
        let path = examples().join(format!("{name}.yaml"));
        let mut arguments = vec!["run", path.to_str().unwrap(), "-p", "Make it better."];
        match name.as_str() {
            "translate-docs" => arguments.extend(["--set", "language=French"]),
            "upgrade-dependencies" => arguments.extend(["--set", "level=major"]),
            _ => {}
        }
        let ran = uwf_in(&home, &repo, &arguments);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.transcript());
    }
    assert_eq!(without, ["check-release"], "its roles are commands");
}

mod with_tools {
    use std::process::Command;

    use super::*;

    /// Plays each example twice and counts the bytes of its prompts.
    #[test]
    fn costs_in_gallery_are_current() {
        let gallery = repository().join("scripts/gallery.py");
        let output =
            Command::new("python3").arg("-B").arg(gallery).arg(uwf_testing::uwf_program()).arg("--check").output();
        let output = output.unwrap();
        assert!(
            output.status.success(),
            "run: python3 scripts/gallery.py target/debug/uwf\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
