//! Sandboxes of agents: a hostile program tries everything, with and without one.

#[cfg(target_os = "linux")]
mod with_tools;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, counting_workflow, processes, text};

use crate::fixtures::repository::{git, repository, start_in_worktree};

/// A program that tries everything that a sandbox prevents.
const HOSTILE: &str = include_str!("sandbox/hostile.sh");

/// The tries that succeed in every sandbox.
const NEEDED: [&str; 8] = [
    "write-workspace",
    "write-new-directory",
    "write-temporary-file",
    "read-other-file",
    "read-repository",
    "commit",
    "reopen-output",
    "use-null",
];

/// A home outside the directories of temporary files, which programs in a sandbox don't see. A clone may be in one of them; then it
/// is below the user's own home.
fn home() -> TestHome {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let is_hidden = ["/tmp", "/var/tmp", "/run", "/dev"].iter().any(|dir| built.starts_with(dir));
    let dir = if is_hidden { std::env::home_dir().unwrap() } else { built.to_owned() };
    TestHome::new_in(dir, uwf_testing::uwf_program())
}

/// The home directory of its user.
fn user_dir(home: &TestHome) -> PathBuf {
    home.root().parent().unwrap().to_owned()
}

/// A `bwrap` that does not work, as on a system without user namespaces.
fn break_bubblewrap(home: &TestHome) {
    home.script("bwrap", "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n");
}

/// Configures the agent `w` with a sandbox, or with none.
fn configure(home: &TestHome, sandbox: Option<&str>) {
    let sandbox = sandbox.map(|sandbox| format!(", sandbox: {sandbox}")).unwrap_or_default();
    let agent = format!("agents:\n  w: {{ command: worker, output: json{sandbox} }}\n");
    home.config(&format!("{agent}secrets: [A_SECRET]\ndefaultAgent: w\nkillGrace: 1\n"));
}

/// Whether Landlock works here. If not, a sandbox by Landlock must be refused.
fn has_landlock(home: &TestHome) -> bool {
    let findings = home.uwf(&["doctor", "--offline", "--format", "json"]);
    let report: Value = serde_json::from_str(&findings.stdout).unwrap();
    let found = report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "sandbox").unwrap().clone();
    found["message"].as_str().unwrap().starts_with("Landlock works")
}

/// A process of the same user, outside every sandbox.
struct Bystander(Child);

impl Bystander {
    fn start() -> Bystander {
        let mut command = Command::new("sleep");
        command.arg("600").env("PASSWORD", "of-bystander").stdin(Stdio::null()).process_group(0);
        Bystander(command.spawn().unwrap())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The tries of the hostile program, with their results.
struct Tries {
    home: TestHome,
    repository: PathBuf,
    before: String,
    ran: FinishedRun,
    results: BTreeMap<String, String>,
}

/// Lets the hostile program try everything in a worktree.
fn tries(home: TestHome, sandbox: Option<&str>) -> Tries {
    let user = user_dir(&home);
    fs::create_dir(user.join(".ssh")).unwrap();
    fs::write(user.join(".ssh/id_test"), "a key\n").unwrap();
    fs::write(user.join("notes.txt"), "notes\n").unwrap();
    fs::write(user.join(".gitconfig"), "[user]\n\tname = A Person\n\temail = a@example.org\n").unwrap();
    fs::write(home.root().join(".env"), "A_SECRET=hidden-value\n").unwrap();
    home.script("worker", HOSTILE);
    configure(&home, sandbox);
    home.put("count-rounds", &counting_workflow(1));
    let repository = repository(&home, "repo");
    let before = git(&home, &repository, &["config", "--list", "--local"]);
    let (other, _) = start_in_worktree(&home, &repository);
    // The other thread has a worktree by its first step.
    assert_eq!(home.uwf(&["thread", "show", &other]).code, Some(0));
    let (thread, worktree) = start_in_worktree(&home, &repository);
    let bystander = Bystander::start();
    let temporary = tempfile::NamedTempFile::new().unwrap();
    fs::write(temporary.path(), "of another program\n").unwrap();
    let targets = format!(
        "other={other}\nrepository={}\nprocess_id={}\ntemporary={}\n",
        repository.display(),
        bystander.0.id(),
        temporary.path().display()
    );
    fs::write(worktree.join("targets"), targets).unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    let report = fs::read_to_string(worktree.join("report")).unwrap_or_default();
    let results = report.lines().map(|line| line.split_once(' ').unwrap());
    let results = results.map(|(name, result)| (name.to_owned(), result.to_owned())).collect();
    Tries { home, repository, before, ran, results }
}

impl Tries {
    /// The names of the tries with a result.
    fn with(&self, result: &str) -> Vec<&str> {
        self.results.iter().filter(|(_, found)| *found == result).map(|(name, _)| name.as_str()).collect()
    }

    /// Checks that none of its processes is left.
    fn check_ended(&self) {
        let left = processes::of_home(&user_dir(&self.home));
        assert!(left.is_empty(), "{left:?}");
    }

    /// Checks that a sandbox was kept.
    fn check_kept(&self) {
        assert_eq!(self.ran.code, Some(0), "{}", self.ran.transcript());
        let mut done = self.with("done");
        let mut needed = NEEDED.to_vec();
        done.sort_unstable();
        needed.sort_unstable();
        assert_eq!(done, needed);
        let user = user_dir(&self.home);
        assert_eq!(fs::read_to_string(user.join("notes.txt")).unwrap(), "notes\n");
        assert!(!self.repository.join(".git/hooks/pre-commit").exists());
        assert_eq!(git(&self.home, &self.repository, &["config", "--list", "--local"]), self.before);
        self.check_ended();
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a sandbox of Linux")]
fn hostile_program_succeeds_without_sandbox() {
    let tries = tries(home(), None);
    assert_eq!(tries.ran.code, Some(0), "{}", tries.ran.transcript());
    assert_eq!(tries.with("refused"), [""; 0]);
    assert!(tries.results.len() > 30, "{:?}", tries.results);
    tries.check_ended();
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a sandbox of Linux")]
fn landlock_refuses_hostile_program() {
    let home = home();
    break_bubblewrap(&home);
    let works = has_landlock(&home);
    let tries = tries(home, Some("{}"));
    if works {
        tries.check_kept();
    } else {
        assert_eq!(tries.ran.code, Some(78), "{}", tries.ran.transcript());
        assert!(tries.ran.stderr.contains("its sandbox cannot be kept"), "{}", tries.ran.stderr);
        assert!(tries.results.is_empty(), "the program ran without its sandbox");
    }
}

/// An agent that notes the first signal and works on, with processes that don't heed signals.
const STUBBORN: &str = "#!/bin/sh
cat > /dev/null
trap 'echo told >> told' TERM
(trap '' TERM HUP INT; sleep 600; sleep 600) > /dev/null 2>&1 &
setsid sh -c 'trap \"\" TERM HUP INT; sleep 600; sleep 600' > /dev/null 2>&1 &
echo begun > begun
while :; do sleep 0.1; done
";

/// A stubborn agent is told to stop, and ended with all its processes: at its time limit, and when its thread is killed.
fn check_ends(home: &TestHome) {
    home.script("worker", STUBBORN);
    home.put("count-rounds", &counting_workflow(1));
    let ends = |thread: &str, end: &dyn Fn(), code: i32| {
        let mut step =
            home.command(&["thread", "step", thread]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        processes::until("the agent works", || home.work().join("begun").exists());
        end();
        assert_eq!(step.wait().unwrap().code(), Some(code));
        processes::until("no process is left", || processes::of_home(&user_dir(home)).is_empty());
        assert!(fs::read_to_string(home.work().join("told")).unwrap().starts_with("told\n"));
        ["begun", "told"].iter().for_each(|name| fs::remove_file(home.work().join(name)).unwrap());
    };
    let configured = |timeout: &str| {
        home.config(&format!(
            "agents:\n  w: {{ command: worker, output: json, sandbox: {{}}, timeout: {timeout} }}\ndefaultAgent: w\nkillGrace: 1\n"
        ));
    };
    configured("2");
    ends(&home.start("count-rounds", "count"), &|| (), 40);
    configured("0");
    let thread = home.start("count-rounds", "count");
    ends(&thread, &|| assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(0)), 11);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a sandbox of Linux")]
fn landlock_leaves_ending_to_keeper() {
    let home = home();
    break_bubblewrap(&home);
    if has_landlock(&home) {
        check_ends(&home);
    } else {
        configure(&home, Some("{}"));
        home.script("worker", STUBBORN);
        home.put("count-rounds", &counting_workflow(1));
        assert_eq!(home.uwf(&["thread", "step", &home.start("count-rounds", "count")]).code, Some(78));
    }
}

#[test]
fn missing_path_of_sandbox_is_hinted_at() {
    let home = home();
    home.script("worker", "#!/bin/sh\necho '{\"n\": 1}'\n");
    configure(&home, Some("{ write: [workspace, not-there] }"));
    home.put("count-rounds", &counting_workflow(1));
    let ran = home.uwf(&["thread", "step", &home.start("count-rounds", "count")]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    let hint = "hint: create the path, or remove it from `sandbox.write` of agent `w` in config.yaml";
    assert!(ran.stderr.contains(hint) && !ran.stderr.contains("bubblewrap"), "{}", ran.stderr);
}

#[test]
fn sandbox_that_cannot_be_kept_starts_no_agent() {
    let home = home();
    break_bubblewrap(&home);
    home.script("worker", "#!/bin/sh\ntouch ran\necho '{\"n\": 1}'\n");
    configure(&home, Some("{ network: [api.example.org] }"));
    home.put("count-rounds", &counting_workflow(1));
    let thread = home.start("count-rounds", "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    for words in [
        "agent `w` is not started, because its sandbox cannot be kept: bubblewrap: bwrap: No permissions to create a new namespace; \
         Landlock: it cannot limit the network to hosts",
        "hint: install bubblewrap (`apt-get install bubblewrap`)",
        "hint: to run the agent without it, remove `sandbox` from agent `w`",
    ] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    assert!(!home.work().join("ran").exists());
    let doctor = home.uwf(&["doctor", "--offline", "--format", "text"]);
    assert_eq!(doctor.code, Some(78));
    assert!(doctor.stdout.contains("✗ sandbox:w: cannot be kept in "), "{}", doctor.stdout);
}

#[test]
fn repository_without_worktree_names_ways_out() {
    let home = home();
    break_bubblewrap(&home);
    home.script("worker", "#!/bin/sh\necho '{\"n\": 1}'\n");
    configure(&home, Some("{ network: none }"));
    home.put("count-rounds", &counting_workflow(1));
    fs::write(user_dir(&home).join(".gitconfig"), "[user]\n\tname = A Person\n\temail = a@example.org\n").unwrap();
    let repository = repository(&home, "repo");
    let start = |more: &[&str]| {
        let start = [&["thread", "start", "count-rounds", "-p", "count"], more].concat();
        text(&FinishedRun::from(home.command(&start).current_dir(&repository).output().unwrap()).json(), "thread")
    };
    let ran = home.uwf(&["thread", "step", &start(&[])]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    let mut doctor = home.command(&["doctor", "--offline", "--format", "text"]);
    let doctor = FinishedRun::from(doctor.current_dir(&repository).output().unwrap());
    if !has_landlock(&home) {
        return;
    }
    assert!(ran.stderr.contains("so it cannot keep "), "{}", ran.stderr);
    for said in [&ran.stderr, &doctor.stdout] {
        assert!(said.contains("hint: start the thread with `--worktree`; or add `.git` to `sandbox.write`"), "{said}");
        assert!(said.contains("install bubblewrap (`apt-get install bubblewrap`)"), "{said}");
    }
    assert!(doctor.stdout.contains("Landlock works, but a git repository needs `--worktree`"), "{}", doctor.stdout);
    let ran = home.uwf(&["thread", "step", &start(&["--worktree"])]);
    assert_eq!(ran.code, Some(0), "the first way out: {}", ran.transcript());
}

#[test]
fn agents_inside_uwf_are_refused_sandbox() {
    let home = home();
    home.script("worker", "#!/bin/sh\ntouch ran\n");
    home.put("count-rounds", &counting_workflow(1));
    let thread = home.start("count-rounds", "count");
    for (agent, why) in [
        ("command: worker, output: step", "its program stores its steps itself (`output: step`)"),
        ("command: uwf-react", "the built-in agent `react` works in a process of uwf"),
        ("command: uwf-mock", "the built-in agent `mock` runs no program"),
    ] {
        home.config(&format!("agents:\n  w: {{ {agent}, sandbox: {{}} }}\ndefaultAgent: w\n"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(78), "{agent}: {}", ran.transcript());
        assert!(ran.stderr.contains(&format!("agent `w` cannot have a sandbox: {why}")), "{}", ran.stderr);
        let checked = home.uwf(&["config", "validate"]);
        assert_eq!(checked.code, Some(78), "{agent}: {}", checked.transcript());
        assert!(checked.stdout.contains(why), "{}", checked.transcript());
    }
    assert!(!home.work().join("ran").exists());
}

/// Lines with errors of a configuration.
fn errors(home: &TestHome, sandbox: &str) -> String {
    home.config(&format!("agents:\n  w:\n    command: worker\n    output: json\n    {sandbox}\ndefaultAgent: w\n"));
    home.script("worker", "#!/bin/sh\n");
    let ran = home.uwf(&["config", "validate", "--format", "text"]);
    format!("{}{}", ran.stdout, ran.stderr).replace(&*user_dir(home).to_string_lossy(), "<dir>")
}

#[test]
fn mistakes_in_sandbox_are_errors() {
    let home = home();
    for (sandbox, expected) in [
        ("sandbox:", "config.yaml:5:5: error[bad-value]: `sandbox` is empty"),
        ("sandbx: {}", "would run without a sandbox: `sandbx` is not a key"),
        ("sandbox: { wirte: [workspace] }", "did you mean `write`?"),
        ("sandbox: { write: [worksapce] }", "did you mean `workspace`?"),
        ("sandbox: { write: [/] }", "`/` is not a path for a sandbox"),
        ("sandbox: { network: nnone }", "`network` is `nnone`; it can be none"),
        ("sandbox: { network: [] }", "`network` lists no hosts"),
        ("sandbox: { network: }", "`network` is empty"),
        ("sandbox: { network: [\"https://a.example\"] }", "is a URL; write only the host"),
        ("sandbox: { secrets: { A_KEY: a.example } }", "the host of `A_KEY`, a.example, is not listed in `network`"),
        (
            "sandbox: { network: [a.example], secrets: { A_KEY: a.example } }\n    env: [A_KEY]",
            "`A_KEY` is also in `env`, where the agent can read it",
        ),
    ] {
        let found = errors(&home, sandbox);
        assert!(found.contains(expected), "{sandbox}\n{found}");
        assert!(found.contains("not valid, "), "{sandbox}\n{found}");
    }
    let found =
        errors(&home, "sandbox: { write: [workspace, ~/.cache], network: [\"*.example.org\", \"localhost:8080\"] }");
    assert!(!found.contains("error["), "{found}");
}

#[test]
fn project_cannot_remove_sandbox() {
    let home = home();
    break_bubblewrap(&home);
    // No mechanism but bubblewrap keeps this one.
    configure(&home, Some("{ network: [a.example] }"));
    home.script("worker", "#!/bin/sh\ntouch ran\necho '{\"n\": 1}'\n");
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("config.yaml"), "agents:\n  w: { command: worker, output: json }\n").unwrap();
    trust(&home, &project);
    home.put("count-rounds", &counting_workflow(1));
    let thread = home.start("count-rounds", "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(!home.work().join("ran").exists());
    let secrets = "agents:\n  w: { command: worker, output: json, sandbox: { network: [a.example], secrets: { K: a.example } } }\n";
    fs::write(project.join("config.yaml"), secrets).unwrap();
    let checked = home.uwf(&["config", "validate", "--format", "text"]);
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("a project cannot give secrets to agents"), "{said}");
}

fn trust(home: &TestHome, project: &Path) {
    let trusted = home.uwf(&["config", "trust", project.parent().unwrap().to_str().unwrap()]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.transcript());
}
