//! The example people try first: check-release, on real git repositories, with the configuration and the scripts as
//! they are shipped.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, repository, text};

use crate::home;

/// The longest a run may take, by the example's own promise.
const LIMIT: Duration = Duration::from_mins(1);

/// A git repository invented for a test, and the home whose configuration is the shipped one.
struct Released {
    home: TestHome,
    dir: PathBuf,
    commits: u64,
}

impl Released {
    fn new() -> Released {
        let home = home();
        let shipped = fs::read_to_string(repository().join("examples/check-release.config.yaml")).unwrap();
        home.config(&shipped);
        fs::create_dir(home.root().parent().unwrap().join("tmp")).unwrap();
        let dir = home.work().join("app");
        fs::create_dir(&dir).unwrap();
        let released = Released { home, dir, commits: 0 };
        released.git(&["init", "--quiet", "--initial-branch=main"]);
        released
    }

    /// Where clones are made.
    fn tmp(&self) -> PathBuf {
        self.home.root().parent().unwrap().join("tmp")
    }

    /// Runs git with an author and a date of its own, so that commits have the same hash in every run.
    fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        self.home.prepare(&mut command);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
            command.env(format!("GIT_{who}_DATE"), format!("{} +0000", 1_700_000_000 + self.commits * 60));
        }
        let done = command.args(args).current_dir(&self.dir).output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (name, content) in files {
            let path = self.dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    fn commit(&mut self, message: &str, files: &[(&str, &str)]) {
        self.write(files);
        self.commits += 1;
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// A uwf process whose temporary files are below this home. rustup must still find the real toolchains.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("TMPDIR", self.tmp());
        let real = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        for (name, default) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| real.join(default).into()));
        }
        command
    }

    /// Runs the workflow on a path; nothing temporary may be left.
    fn run(&self, path: &Path) -> FinishedRun {
        let workflow = repository().join("examples/check-release.yaml");
        let cwd = repository();
        let args = ["run", workflow.to_str().unwrap(), "--cwd", cwd.to_str().unwrap(), "-p", path.to_str().unwrap()];
        let begun = Instant::now();
        let ran = self.command(&args).output().unwrap().into();
        assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
        ran
    }

    /// Runs the workflow on the repository to its end. Gives the steps, oldest first.
    fn steps(&self) -> Vec<Value> {
        let ran = self.run(&self.dir);
        let steps = self.steps_of(&text(&ran.json(), "thread"));
        assert_eq!(fs::read_dir(self.tmp()).unwrap().count(), 0, "the clone is gone");
        steps
    }

    fn steps_of(&self, thread: &str) -> Vec<Value> {
        self.home.json(&["thread", "steps", thread])["steps"].as_array().unwrap()[1..].to_vec()
    }

    /// Every file of the repository, those of git included, with its size and its time.
    fn files(&self) -> BTreeMap<PathBuf, (u64, SystemTime)> {
        let (mut files, mut dirs) = (BTreeMap::new(), vec![self.dir.clone()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                let meta = entry.metadata().unwrap();
                files.insert(entry.path(), (meta.len(), meta.modified().unwrap()));
                if meta.is_dir() {
                    dirs.push(entry.path());
                }
            }
        }
        files
    }

    /// The text the report was read from, with what varies taken out.
    fn report(&self, steps: &[Value]) -> String {
        let detail = self.home.json(&["cas", "get", &text(steps.last().unwrap(), "detail")]);
        let raw = self.home.json(&["cas", "get", &text(&detail["payload"], "raw")]);
        let told = self.home.steady(&text(&raw["payload"], "text"));
        told.lines().map(without_seconds).collect::<Vec<_>>().join("\n")
    }
}

/// A row of the table of checks without the time the check took.
fn without_seconds(line: &str) -> String {
    let mut cells: Vec<&str> = line.split('|').collect();
    if cells.len() == 6 && cells[3].trim().parse::<f64>().is_ok() {
        cells[3] = " <s> ";
    }
    cells.join("|")
}

fn roles(steps: &[Value]) -> Vec<&str> {
    steps.iter().map(|step| step["role"].as_str().unwrap()).collect()
}

/// A Python project with one release behind it.
fn project() -> Released {
    let mut released = Released::new();
    released.commit(
        "chore: begin",
        &[
            ("pyproject.toml", "[project]\nname = \"app\"\nversion = \"1.0.0\"\n"),
            ("README.md", "# app\n\nTwo blanks  \nmake a line break here.\n"),
            ("LICENSE", "MIT\n"),
            ("CHANGELOG.md", "# Changes\n\n## 1.0.0\n\n- everything\n"),
            ("Makefile", ".PHONY: check\ncheck:\n\tpython3 -c 'import app'\n"),
            ("app.py", "def answer():\n    return 42\n"),
        ],
    );
    released.git(&["tag", "--annotate", "v1.0.0", "--message", "v1.0.0"]);
    released
}

#[test]
fn formatting_is_fixed_in_clone_and_rechecked() {
    let mut released = project();
    released.commit(
        "feat(api): question()",
        &[("app.py", "def answer():\n    return 42\n\n\ndef question():   \n    return None")],
    );
    released.commit("fix: answer | in words", &[("words.txt", "forty-two\t\n")]);
    released.commit(
        "chore: release 1.1.0",
        &[
            ("pyproject.toml", "[project]\nname = \"app\"\nversion = \"1.1.0\"\n"),
            ("CHANGELOG.md", "# Changes\n\n## 1.1.0\n\n- question()\n"),
        ],
    );
    released.write(&[("scratch.txt", "not committed   \n")]);
    let before = (released.files(), released.git(&["for-each-ref"]));
    let steps = released.steps();
    assert_eq!((released.files(), released.git(&["for-each-ref"])), before, "the repository was only read");

    assert_eq!(roles(&steps), ["survey", "check", "fix", "check", "report"]);
    let outputs: Vec<String> = steps.iter().map(|step| released.home.steady(&step["output"].to_string())).collect();
    insta::assert_snapshot!(outputs[0], @r#"{"repository":"<dir>/work/app","name":"app","branch":"main","head":"1b70419e190acb402a2d13d42985d826e3a49edd","lastTag":"v1.0.0","commits":3,"filesChanged":4,"insertions":8,"deletions":3,"languages":[{"name":"Python","files":1}],"version":"1.1.0","versionFile":"pyproject.toml","readme":"README.md","changelog":"CHANGELOG.md","licence":"LICENSE","uncommitted":["scratch.txt"],"formatChecks":["whitespace"],"quickChecks":["conflict markers","python syntax","make check"]}"#);
    let checks = [&steps[1]["output"], &steps[3]["output"]].map(|output| {
        let failed: Vec<&Value> =
            output["checks"].as_array().unwrap().iter().filter(|check| check["status"] == "failed").collect();
        json!([
            output["round"],
            output["formatting"],
            output["quick"],
            failed.iter().map(|check| &check["files"]).collect::<Vec<_>>()
        ])
    });
    assert_eq!(json!(checks), json!([[1, "off", "passed", [["app.py", "words.txt"]]], [2, "clean", "passed", []]]));
    insta::assert_snapshot!(released.report(&steps), @r#"
    ---
    verdict: "almost"
    version: "1.1.0"
    summary: "Almost ready: 2 things to do first."
    nextSteps: ["apply the formatting patch: `git apply <dir>/root/outputs/<id>/formatting.patch`", "commit or drop what is only in the working copy: scratch.txt"]
    patch: "<dir>/root/outputs/<id>/formatting.patch"
    ---
    # Release check: app 1.1.0

    **Almost ready: 2 things to do first.**

    | | |
    |---|---|
    | repository | <dir>/work/app, main at 1b70419e1 |
    | version | 1.1.0 (pyproject.toml), as its commits ask for |
    | since v1.0.0 | 3 commits by Ada, 4 files, +8 −3 |
    | files | 1 Python |
    | documents | README.md, CHANGELOG.md, LICENSE |

    ## What changed since v1.0.0

    ### Features

    - api: question() (ec5a879)

    ### Fixes

    - answer | in words (f4763b3)

    ### Inside

    - release 1.1.0 (1b70419)

    ## Checks

    | check | result | seconds | |
    |---|---|---|---|
    | whitespace | passed (was failed) | <s> |  |
    | conflict markers | passed | <s> |  |
    | python syntax | passed | <s> |  |
    | make check | passed | <s> |  |

    ## What was fixed

    Changed by whitespace, only in a temporary clone; the repository itself was not touched.

    ```
     app.py    | 4 ++--
     words.txt | 2 +-
     2 files changed, 3 insertions(+), 3 deletions(-)
    ```

    Take it over with

    ```sh
    git -C <dir>/work/app apply <dir>/root/outputs/<id>/formatting.patch
    ```

    ## Next steps

    1. apply the formatting patch: `git apply <dir>/root/outputs/<id>/formatting.patch`
    2. commit or drop what is only in the working copy: scratch.txt
    "#);

    released.git(&["apply", steps[4]["output"]["patch"].as_str().unwrap()]);
    let fixed = fs::read_to_string(released.dir.join("app.py")).unwrap();
    assert_eq!(fixed, "def answer():\n    return 42\n\n\ndef question():\n    return None\n", "the patch applies");
}

#[test]
fn clean_repository_is_ready_without_fix() {
    let mut released = project();
    released.commit(
        "fix: say it in words",
        &[
            ("pyproject.toml", "[project]\nname = \"app\"\nversion = \"1.0.1\"\n"),
            ("CHANGELOG.md", "# Changes\n\n## 1.0.1\n\n- words\n"),
        ],
    );
    let steps = released.steps();
    assert_eq!(roles(&steps), ["survey", "check", "report"]);
    let expected = json!({
        "verdict": "ready", "version": "1.0.1", "summary": "Ready: 1.0.1 can be released.", "nextSteps": [], "patch": null,
    });
    assert_eq!(steps[2]["output"], expected);
    assert!(!released.home.root().join("outputs").exists(), "there is no patch");
}

#[test]
fn failed_release_checks_explain_why() {
    let released = Released::new();
    let plain = released.home.work().join("plain");
    fs::create_dir(&plain).unwrap();
    let absent = released.home.work().join("absent");
    let told = [plain.as_path(), &released.dir, &absent].map(|path| {
        let ran = released.run(path);
        let thread = text(&released.home.json(&["thread", "list"])[0], "thread");
        let shown = released.home.json(&["thread", "show", &thread]);
        released.home.steady(&format!("{:?} {}: {}", ran.code, shown["state"], shown["why"]))
    });
    insta::assert_snapshot!(told.join("\n"), @r#"
    Some(40) "stuck": "agent `survey` exited with 1; its last words: <dir>/work/plain is not a git repository; the task must be the path of one"
    Some(40) "stuck": "agent `survey` exited with 1; its last words: <dir>/work/app has no commits yet, so there is nothing to release"
    Some(40) "stuck": "agent `survey` exited with 1; its last words: <dir>/work/absent is not a directory; the task must be the path of a git repository"
    "#);
    assert_eq!(fs::read_dir(released.tmp()).unwrap().count(), 0, "nothing was cloned");
}

#[test]
fn rust_is_formatted_by_its_own_formatter() {
    let mut released = Released::new();
    released.commit(
        "begin",
        &[
            ("Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n"),
            ("src/main.rs", "fn main() { println!(\"{}\",\n 42) }\n"),
        ],
    );
    let steps = released.steps();
    assert_eq!(roles(&steps), ["survey", "check", "fix", "check", "report"]);
    let checks = |step: &Value| -> Vec<String> {
        let checks = step["output"]["checks"].as_array().unwrap();
        checks
            .iter()
            .map(|check| {
                format!("{} {} {}", check["name"].as_str().unwrap(), check["status"].as_str().unwrap(), check["files"])
            })
            .collect()
    };
    assert_eq!(
        [checks(&steps[1]), checks(&steps[3])].map(|told| told.join("\n")),
        ["failed [\"src/main.rs\"]", "passed []"].map(|first| {
            format!(
                "cargo fmt {first}\nwhitespace passed []\nconflict markers passed []\nCargo.lock is current passed []"
            )
        })
    );
    let patch = fs::read_to_string(steps[2]["output"]["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("\n+    println!(\"{}\", 42)\n"), "{patch}");
    let next = &steps[4]["output"]["nextSteps"];
    let next: Vec<&str> = next.as_array().unwrap().iter().skip(1).map(|step| step.as_str().unwrap()).collect();
    assert_eq!(next, ["add a changelog", "add a licence: without one nobody may use it", "add a README"]);
}

/// A formatter that is never content with what it made itself.
const NEVER_CONTENT: &str = "#!/bin/sh\nif [ \"$1\" = -w ]; then echo '// more' >> main.go; else echo main.go; fi\n";

#[test]
fn unstable_formatter_gets_two_attempts() {
    let mut released = Released::new();
    released.home.script("gofmt", NEVER_CONTENT);
    released.commit("begin", &[("go.mod", "module app\n"), ("main.go", "package main\n")]);
    let steps = released.steps();
    assert_eq!(roles(&steps), ["survey", "check", "fix", "check", "fix", "check", "report"]);
    let report = &steps[6]["output"];
    assert_eq!(
        json!([report["verdict"], report["summary"]]),
        json!(["not-ready", "Not ready: formatting is still off after the formatters ran."])
    );
}

#[test]
fn quick_check_failures_and_hangs_are_distinguished() {
    let mut released = project();
    released.commit("break it", &[("check", "#!/bin/sh\nsleep 600\n"), ("app.py", "def answer(:\n    return 42\n")]);
    fs::set_permissions(released.dir.join("check"), fs::Permissions::from_mode(0o755)).unwrap();
    released.commit("make it run", &[]);
    let steps = released.steps();
    let checks = steps[1]["output"]["checks"].as_array().unwrap();
    let told: Vec<String> = checks
        .iter()
        .filter(|check| check["kind"] == "quick")
        .map(|check| format!("{} {}: {}", text(check, "name"), text(check, "status"), text(check, "note")))
        .collect();
    assert_eq!(told[..2], ["conflict markers passed: ", "python syntax failed: app.py: invalid syntax (line 1)"]);
    // How make words it differs from version to version.
    assert!(told[2].starts_with("make check failed: make: ***"), "{}", told[2]);
    assert_eq!(told[3..], ["./check skipped: it took too long"]);
    assert_eq!(steps.last().unwrap()["output"]["verdict"], "not-ready");
}

#[test]
fn deleted_clone_is_recreated_with_its_fixes() {
    let mut released = project();
    released.commit("feat: words", &[("words.txt", "forty-two \n")]);
    let workflow = repository().join("examples/check-release.yaml");
    let (workflow, cwd) = (workflow.to_str().unwrap(), repository());
    let args = ["thread", "start", workflow, "--cwd", cwd.to_str().unwrap(), "-p", released.dir.to_str().unwrap()];
    let thread = text(&FinishedRun::from(released.command(&args).output().unwrap()).json(), "thread");
    for _ in 0..5 {
        let ran = FinishedRun::from(released.command(&["thread", "step", &thread]).output().unwrap());
        ran.json();
        fs::remove_dir_all(released.tmp()).unwrap();
        fs::create_dir(released.tmp()).unwrap();
    }
    let steps = released.steps_of(&thread);
    assert_eq!(roles(&steps), ["survey", "check", "fix", "check", "report"]);
    assert_eq!(steps[3]["output"]["formatting"], "clean");
}

/// The script of the README, in the directory of the repository that is checked.
fn check_release_script(released: &Released) -> Command {
    let mut command = Command::new(repository().join("examples/check-release.sh"));
    released.home.prepare(&mut command);
    command.env("CHECK_RELEASE_ROOT", released.home.root()).env("TMPDIR", released.tmp()).current_dir(&released.dir);
    command
}

#[test]
fn an_installed_uwf_is_not_built_again() {
    let released = project();
    std::os::unix::fs::symlink(uwf_testing::uwf_program(), released.home.bin_dir().join("uwf")).unwrap();
    released.home.script("cargo", "#!/bin/sh\necho 'it builds' >&2\nexit 1\n");
    let ran = FinishedRun::from(check_release_script(&released).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(ran.stdout.contains("Almost ready: 1 thing to do first."), "{}", ran.stdout);
}

#[test]
fn readme_command_prints_report() {
    let released = project();
    let run = |path: &str| -> FinishedRun {
        let mut command = check_release_script(&released);
        command.env("UWF", uwf_testing::uwf_program());
        command.args(Some(path).filter(|path| !path.is_empty())).output().unwrap().into()
    };
    let ran = run("");
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(ran.stdout.contains("Almost ready: 1 thing to do first."), "{}", ran.stdout);
    assert!(ran.stderr.contains("uwf thread steps "), "{}", ran.stderr);
    let ran = run("nowhere");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(40), ""));
    assert!(
        ran.stderr.contains("/app/nowhere is not a directory; the task must be the path of a git repository"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_dir(released.tmp()).unwrap().count(), 0, "nothing is left");
}
