//! The examples with groups in worktrees, with programs in place of agents: real files, git and `make`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, repository};

use crate::fixtures::group_in_repository::{home_with_group, runs, script, thread_of, worktree_of};
use crate::fixtures::repository::{git, uwf_in};

/// A home with an example, and a repository whose tests count its broken files.
fn example(name: &str) -> (TestHome, PathBuf) {
    let (home, repo) = home_with_group(&fs::read_to_string(repository().join("examples").join(name)).unwrap());
    fs::write(repo.join("Makefile"), "test:\n\t@! grep -l broken *.txt\n").unwrap();
    for file in ["a.txt", "b.txt", "c.txt"] {
        fs::write(repo.join(file), format!("{file} is broken\n")).unwrap();
    }
    git(&home, &repo, &["add", "."]);
    git(&home, &repo, &["commit", "-q", "-m", "three broken files"]);
    (home, repo)
}

fn run(home: &TestHome, repo: &Path, name: &str) -> FinishedRun {
    uwf_in(home, repo, &["run", name, "-p", "Mend it."])
}

/// A script that repairs the file of its item.
const FIX: &str = "file=$(printf %s \"$UWF_ITEM\" | sed 's/.*\"file\":\"\\([^\"]*\\)\".*/\\1/'); \
                   sed -i s/broken/whole/ $file; printf -- '---\\nchange: %s is whole\\ndone: true\\n---\\n' $file";

fn plan(home: &TestHome, files: &[&str]) {
    let findings = files.iter().map(|file| format!("{{id: {}, file: {file}, problem: broken}}", &file[..1]));
    let findings: Vec<String> = findings.collect();
    script(home, "planner", &format!("printf -- '---\\nfindings: [{}]\\n---\\n'", findings.join(", ")));
}

#[test]
fn findings_are_fixed_at_once_and_merged() {
    let (home, repo) = example("fix-findings.yaml");
    plan(&home, &["a.txt", "b.txt", "c.txt"]);
    script(&home, "fixer", FIX);
    let ran = run(&home, &repo, "fix-findings");
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixer", "fixer", "fixer", "planner"]);
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    for file in ["a.txt", "b.txt", "c.txt"] {
        assert_eq!(fs::read_to_string(worktree.join(file)).unwrap(), format!("{file} is whole\n"));
    }
    assert_eq!(fs::read_to_string(repo.join("a.txt")).unwrap(), "a.txt is broken\n", "the repository stays");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('tests').passed"]), json!(true));
}

#[test]
fn failing_tests_lead_to_repair_of_merged_files() {
    let (home, repo) = example("fix-findings.yaml");
    plan(&home, &["a.txt", "b.txt"]);
    script(&home, "fixer", FIX);
    script(&home, "repairer", "sed -i s/broken/whole/ c.txt; printf -- '---\\nchange: c too\\n---\\n'");
    let ran = run(&home, &repo, "fix-findings");
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixer", "fixer", "planner", "repairer"]);
}

#[test]
fn files_of_the_best_change_are_kept() {
    let (home, repo) = example("best-of-three.yaml");
    script(
        &home,
        "developer",
        "for file in a.txt b.txt c.txt; do echo \"whole, by $UWF_BRANCH\" > $file; done; \
         printf -- '---\\nsummary: done\\ntestsPass: true\\n---\\n'",
    );
    script(&home, "judge", "printf -- '---\\nwhy: the smallest\\nwinner: 2\\n---\\n'");
    let ran = run(&home, &repo, "best-of-three");
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["developer", "developer", "developer", "judge"]);
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    assert_eq!(fs::read_to_string(worktree.join("b.txt")).unwrap(), "whole, by drafts.2\n");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('drafts').winner"]), json!(2));
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('tests').passed"]), json!(true));
}

#[test]
fn major_upgrades_wait_for_a_person() {
    let (home, repo) = example("upgrade-dependencies.yaml");
    home.config(
        "agents:\n  t: { command: player, output: text }\n  me: { command: uwf-human }\ndefaultAgent: t\n\
         agentOverrides: { upgrade-dependencies: { approver: me } }\n",
    );
    let makefile = "outdated:\n\t@echo http 1.8.2 2.0.0\ntest:\n\t@! grep -l broken *.txt\n";
    fs::write(repo.join("Makefile"), makefile).unwrap();
    git(&home, &repo, &["commit", "-q", "-a", "-m", "list outdated dependencies"]);
    script(&home, "planner", "printf -- '---\nupgrades: [{name: http, from: 1.8.2, to: 2.0.0, level: major}]\n---\n'");
    // Two test runs fail: each visit repairs one file.
    script(
        &home,
        "upgrader",
        "sed -i s/broken/whole/ $(grep -l broken *.txt | head -n 1); \
         printf -- '---\nupgraded: [http]\nheldBack: []\nsummary: Upgrade http\n---\n'",
    );
    let ran = uwf_in(&home, &repo, &["run", "upgrade-dependencies", "-p", "Upgrade.", "--set", "level=major"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert_eq!(runs(&home), ["planner", "upgrader", "upgrader", "upgrader"]);
    let thread = thread_of(&ran);
    let answered = uwf_in(&home, &repo, &["thread", "answer", &thread, "--data", r#"{"approved": true}"#]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    assert_eq!(home.json(&["thread", "show", &thread])["outcome"], json!("succeeded"));
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("c.txt")).unwrap(), "c.txt is whole\n");
}

#[test]
fn pages_are_translated_at_once_and_merged() {
    let (home, repo) = example("translate-docs.yaml");
    fs::create_dir(repo.join("docs")).unwrap();
    for page in ["a", "b"] {
        fs::write(repo.join(format!("docs/{page}.md")), format!("{page}\n")).unwrap();
    }
    let makefile = ".PHONY: docs\ndocs:\n\t@for page in docs/*.md; do test -s translations/$$page || exit 1; done\n";
    fs::write(repo.join("Makefile"), makefile).unwrap();
    git(&home, &repo, &["add", "."]);
    git(&home, &repo, &["commit", "-q", "-m", "two pages"]);
    script(&home, "glossary", "printf -- '---\nterms: [{term: thread, translation: fil}]\n---\n'");
    script(
        &home,
        "translator",
        "mkdir -p translations/docs; sed 's/^/French /' $UWF_ITEM > translations/$UWF_ITEM; \
         printf -- \"---\nfile: translations/$UWF_ITEM\nunclear: []\n---\n\"",
    );
    script(&home, "editor", "printf -- '---\nchanged: []\nfinished: true\n---\n'");
    let ran = uwf_in(&home, &repo, &["run", "translate-docs", "-p", "Translate.", "--set", "language=French"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["editor", "glossary", "translator", "translator"]);
    let worktree = worktree_of(&home, &thread_of(&ran));
    for page in ["a", "b"] {
        let translation = worktree.join(format!("translations/docs/{page}.md"));
        assert_eq!(fs::read_to_string(translation).unwrap(), format!("French {page}\n"));
    }
}
