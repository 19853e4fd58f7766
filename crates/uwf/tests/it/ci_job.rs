//! `actions/run.sh`, which the action for GitHub and the component for GitLab run: jobs that start a thread and continue it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use uwf_testing::{TestHome, repository};

use crate::fixtures::review::damage;
use crate::home;

/// A coder, then a person who approves.
const WORKFLOW: &str = "\
name: change-and-approve
roles:
  coder:
    goal: Change it.
    meta:
      type: object
      properties: { findings: { type: array } }
      required: [findings]
  approver:
    goal: Say whether it can be merged.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
graph:
  $START: [ { role: coder } ]
  coder: [ { role: approver } ]
  approver:
    - { role: $END, condition: approved }
    - { role: $END, outcome: rejected }
conditions:
  approved: { expression: 'steps[-1].output.approved' }
";

/// Its answer has lines that GitHub would take for commands.
const CODER: &str = "#!/bin/sh\ncat > /dev/null\necho ran >> \"$HOME/runs\"\necho '::error::not a command' >&2\n\
     echo '{\"findings\": [{\"file\": \"src/a.rs\", \"line\": 7, \"message\": \"too long\"}]}'\n";

/// A runner: a clean home, and a storage root that jobs hand on.
struct Runner {
    home: TestHome,
}

impl Runner {
    fn new() -> Runner {
        let home = home();
        let coder = home.script("coder", CODER);
        let person = "agents:\n  person: { command: uwf-human }\n";
        home.config(&format!(
            "{person}  coder: {{ command: '{}', output: json }}\ndefaultAgent: coder\nagentOverrides: {{ change-and-approve: {{ approver: person }} }}\n",
            coder.display()
        ));
        Runner { home }
    }

    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.home.work().join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("flow.yaml"), WORKFLOW).unwrap();
        dir
    }

    /// A job with its checkout in this directory.
    fn command(&self, checkout: &Path, environment: &[(&str, &str)]) -> Command {
        let program = Path::new(uwf_testing::uwf_program());
        let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let mut command = Command::new(repository().join("actions/run.sh"));
        command.env_clear().env("PATH", path).env("HOME", self.home.work()).current_dir(checkout);
        command.env("WORKFLOW_STORAGE_ROOT", self.home.root());
        command.envs([("UWF_WORKFLOW", "flow.yaml"), ("UWF_PROMPT", "- change it\nplease")]);
        command.envs(environment.iter().copied());
        command
    }

    fn job(&self, checkout: &Path, environment: &[(&str, &str)]) -> Output {
        self.command(checkout, environment).output().unwrap()
    }

    /// A job of GitHub, without the files that steps write to.
    fn github_command(&self, checkout: &Path) -> Command {
        self.command(checkout, &[("GITHUB_ACTIONS", "true")])
    }

    fn github(&self, checkout: &Path, more: &[(&str, &str)]) -> (Output, String, String) {
        let (output, summary) = (checkout.join("github-output"), checkout.join("summary.md"));
        let of = |path: &Path| path.to_str().unwrap().to_owned();
        let (output_file, summary_file) = (of(&output), of(&summary));
        let own =
            [("GITHUB_ACTIONS", "true"), ("GITHUB_OUTPUT", &*output_file), ("GITHUB_STEP_SUMMARY", &*summary_file)];
        let ran = self.job(checkout, &[&own[..], more].concat());
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        (ran, read(&output), read(&summary))
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.home.work().join("runs")).unwrap_or_default().lines().count()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn later_job_at_another_path_continues() {
    let runner = Runner::new();
    let first = runner.dir("first/repo");
    let (ran, output, summary) = runner.github(&first, &[]);
    assert_eq!(ran.status.code(), Some(0), "a thread that waits is no failure: {}", text(&ran.stderr));
    assert!(output.contains("\nstate=waiting\n") && output.contains("\nexit-code=20\n"), "{output}");
    assert!(summary.contains("# change-and-approve") && summary.contains("Waiting"), "{summary}");
    // The runner of the next job has another path, and the old one is gone.
    let second = runner.dir("second/repo");
    fs::remove_dir_all(&first).unwrap();
    let (again, ..) = runner.github(&second, &[]);
    assert_eq!((again.status.code(), runner.runs()), (Some(0), 1), "{}", text(&again.stderr));
    let (ran, output, _) = runner.github(&second, &[("UWF_ANSWER", "approved: true")]);
    assert_eq!(ran.status.code(), Some(0), "{}{}", text(&ran.stdout), text(&ran.stderr));
    assert!(output.ends_with("state=completed\noutcome=succeeded\nexit-code=0\n"), "{output}");
    assert_eq!(runner.runs(), 1, "the coder was not paid again");
    let (_, output, _) = runner.github(&second, &[]);
    assert_eq!(output.matches("thread=").count(), 3);
    assert_eq!(runner.runs(), 2, "after the end, a new thread starts");
}

#[test]
fn failed_outcome_fails_the_job() {
    let runner = Runner::new();
    let checkout = runner.dir("repo");
    runner.github(&checkout, &[]);
    let (ran, output, _) = runner.github(&checkout, &[("UWF_ANSWER", "approved: false")]);
    assert_eq!(ran.status.code(), Some(11), "{}", text(&ran.stderr));
    assert!(output.ends_with("state=completed\noutcome=rejected\nexit-code=11\n"), "{output}");
}

#[test]
fn lines_of_agents_are_no_commands() {
    let runner = Runner::new();
    let checkout = runner.dir("repo");
    let (ran, ..) = runner.github(&checkout, &[]);
    let stdout = text(&ran.stdout);
    let mut lines = stdout.lines();
    let token = lines.next().unwrap().strip_prefix("::stop-commands::").unwrap();
    assert!(token.len() > 20, "{stdout}");
    let rest: Vec<&str> = lines.skip_while(|line| *line != format!("::{token}::")).collect();
    assert_eq!(rest[1..], ["::warning file=src/a.rs,line=7,title=coder::too long"], "{stdout}");
}

#[test]
fn last_words_of_failed_agent_are_no_commands() {
    let runner = Runner::new();
    runner.home.script("coder", "#!/bin/sh\ncat > /dev/null\necho '::error::not a command' >&2\nexit 3\n");
    let checkout = runner.dir("repo");
    // A runner reads both streams as one.
    let log = fs::File::create(checkout.join("log")).unwrap();
    let mut job = runner.github_command(&checkout);
    let status = job.stdout(log.try_clone().unwrap()).stderr(log).status().unwrap();
    let log = fs::read_to_string(checkout.join("log")).unwrap();
    assert_eq!(status.code(), Some(40), "{log}");
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("no {text} in {log}"));
    let token = log.strip_prefix("::stop-commands::").unwrap().lines().next().unwrap();
    assert!(at("::error::not a command") < at(&format!("\n::{token}::\n")), "{log}");
}

#[test]
fn unreadable_thread_of_earlier_job_starts_no_other() {
    let runner = Runner::new();
    let checkout = runner.dir("repo");
    runner.github(&checkout, &[]);
    let kept = || fs::read_to_string(runner.home.root().join("ci-thread")).unwrap();
    let thread = kept();
    let head = runner.home.json(&["thread", "show", thread.trim()])["head"].take();
    damage(&runner.home, head.as_str().unwrap());
    let (ran, ..) = runner.github(&checkout, &[]);
    assert!(ran.status.code().is_some_and(|code| code > 0), "{}", text(&ran.stderr));
    assert_eq!((runner.runs(), kept()), (1, thread));
}

#[test]
fn job_without_report_fails() {
    let runner = Runner::new();
    let checkout = runner.dir("repo");
    let (ran, ..) = runner.github(&checkout, &[("GITHUB_STEP_SUMMARY", "/nonexistent/summary.md")]);
    assert!(ran.status.code().is_some_and(|code| code > 0), "{}", text(&ran.stderr));
}

#[test]
fn gitlab_job_leaves_report_and_variables() {
    let runner = Runner::new();
    let checkout = runner.dir("repo");
    let ran = runner.job(&checkout, &[("GITLAB_CI", "true")]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let variables = fs::read_to_string(checkout.join("uwf.env")).unwrap();
    assert!(variables.contains("\nUWF_STATE=waiting\n") && variables.ends_with("UWF_EXIT_CODE=20\n"), "{variables}");
    assert!(fs::read_to_string(checkout.join("uwf.md")).unwrap().contains("too long"));
}

#[test]
fn job_without_task_says_so() {
    let runner = Runner::new();
    let checkout = runner.dir("repo");
    let ran = runner.job(&checkout, &[("UWF_PROMPT", "")]);
    assert_eq!((ran.status.code(), text(&ran.stderr).as_str()), (Some(64), "run.sh: UWF_PROMPT is not set\n"));
    let ran = runner.job(&checkout, &[("UWF_WORKFLOW", "missing.yaml")]);
    assert!(ran.status.code().is_some_and(|code| code > 0) && !runner.home.root().join("ci-thread").exists());
}

/// Reads the documents of a YAML file.
fn yaml(path: &str) -> Value {
    let text = fs::read_to_string(repository().join(path)).unwrap();
    let last = text.rsplit("\n---\n").next().unwrap();
    yaml_tree::parse(last).unwrap().unwrap().to_json(&mut |_, _| {})
}

#[test]
fn action_and_component_pass_what_the_script_reads() {
    let script = fs::read_to_string(repository().join("actions/run.sh")).unwrap();
    let action = yaml("actions/run/action.yml");
    let run = action["runs"]["steps"].as_array().unwrap().iter().find(|step| step["id"] == "run").unwrap();
    let component = yaml("templates/run.yml");
    for variables in [&run["env"], &component["uwf"]["variables"]] {
        let mut names: Vec<&str> = variables.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["UWF_ANSWER", "UWF_ARGUMENTS", "UWF_PROMPT", "UWF_WORKFLOW", "WORKFLOW_STORAGE_ROOT"]);
        assert!(names.iter().all(|name| script.contains(&format!("#   {name} "))), "{names:?}");
    }
    for name in action["outputs"].as_object().unwrap().keys() {
        assert!(script.contains(&format!("\"{name}=$")), "the script prints no {name}");
    }
    assert_eq!(component["uwf"]["artifacts"]["reports"]["dotenv"], "uwf.env");
    let line = component["uwf"]["script"][0].as_str().unwrap();
    let ran = |path: &str| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("own.sh"), "echo own\n").unwrap();
        let fake = dir.path().join("curl");
        fs::write(&fake, "#!/bin/sh\necho \"echo fetched $4\" > \"$3\"\n").unwrap();
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
        let path_variable = format!("{}:/usr/bin:/bin", dir.path().display());
        let mut command = Command::new("bash");
        command.args(["-ec", &line.replace("$[[ inputs.script ]]", path)]).current_dir(dir.path());
        text(&command.env("PATH", path_variable).output().unwrap().stdout)
    };
    let address = "https://example.org/run.sh";
    assert_eq!((ran("own.sh"), ran(address)), ("own\n".to_owned(), format!("fetched {address}\n")));
}
