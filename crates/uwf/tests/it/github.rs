//! GitHub's forms and workflows: valid forms, a job for each part of `./test`, and a release built by the script that also runs here.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use uwf_testing::repository;

/// Reads a YAML file of `.github`.
fn yaml(path: &PathBuf) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let tree = yaml_tree::parse(&text).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
    tree.expect("the file is not empty").to_json(&mut |_, _| {})
}

/// The files of a directory of `.github`.
fn files(dir: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(repository().join(".github").join(dir))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_issue_form_has_what_github_requires() {
    let forms: Vec<PathBuf> =
        files("ISSUE_TEMPLATE").into_iter().filter(|path| !path.ends_with("config.yml")).collect();
    assert!(forms.len() >= 2);
    for path in forms {
        let form = yaml(&path);
        let name = path.display();
        assert!(form["name"].is_string() && form["description"].is_string(), "{name}");
        for field in form["body"].as_array().unwrap() {
            let kind = field["type"].as_str().unwrap();
            assert!(["textarea", "input", "dropdown", "checkboxes", "markdown"].contains(&kind), "{name}: {kind}");
            assert!(
                kind == "markdown" || field["id"].is_string() && field["attributes"]["label"].is_string(),
                "{name}"
            );
        }
    }
}

#[test]
fn release_workflow_uses_local_build_script() {
    let workflow = yaml(&repository().join(".github/workflows/release.yml"));
    let build = &workflow["jobs"]["build"];
    let steps = build["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["run"] == "scripts/release.sh \"$TARGET\""), "{steps:?}");
    let script = fs::read_to_string(repository().join("scripts/release.sh")).unwrap();
    let targets = build["strategy"]["matrix"]["include"].as_array().unwrap();
    assert_eq!(targets.len(), 2);
    for target in targets {
        assert!(script.contains(target["target"].as_str().unwrap()), "{target}");
    }
}

#[test]
fn every_part_has_a_job() {
    let script = fs::read_to_string(repository().join("test")).unwrap();
    let (_, after) = script.split_once("\nrest=(").unwrap();
    let parts: Vec<&str> = after.split_once(')').unwrap().0.split_whitespace().collect();
    assert!(parts.contains(&"browser"), "{parts:?}");
    let workflow = yaml(&repository().join(".github/workflows/test.yml"));
    let jobs = workflow["jobs"]["part"]["strategy"]["matrix"]["part"].as_array().unwrap();
    // Type checks for macOS need Debian, and this job has macOS itself.
    let systems = workflow["jobs"]["test"]["strategy"]["matrix"]["runner"].as_array().unwrap();
    assert!(systems.iter().any(|system| system.as_str().unwrap().starts_with("macos-")), "{systems:?}");
    let others: Vec<&str> = parts.iter().copied().filter(|part| *part != "macos").collect();
    assert_eq!(*jobs, others);
    for file in [".ci/run", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(repository().join(file)).unwrap();
        let missing: Vec<&&str> = parts.iter().filter(|part| !text.contains(&format!("--{part}"))).collect();
        assert!(missing.is_empty(), "{file} lacks {missing:?}");
    }
}
