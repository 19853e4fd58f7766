//! Test support: a separate storage root for every test, the real `uwf` process, and agents as scripts.
//!
//! A separate crate, so that it can't become part of the product. Fakes exist only at the process boundary.

pub mod azurite;
pub mod bucket;
pub mod campaign;
mod fed;
pub mod garbling_proxy;
pub mod hostile_machine;
pub mod installed;
pub mod llm_server;
pub mod machine;
pub mod nginx;
pub mod ntfy_server;
mod numbered;
pub mod platforms;
pub mod postgres;
pub mod processes;
pub mod proxy;
mod records;
pub mod s3_server;
pub mod server;
pub mod slack_server;
mod steady;

pub use fed::{FuzzTarget, dir_in_memory};
pub use numbered::numbered;
pub use steady::steady;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// An agent in Python that speaks the Agent Client Protocol and follows the script `acp.json` in its directory; the file
/// itself describes the script.
pub const SCRIPTED_ACP: &str = include_str!("../agents/scripted_acp.py");

/// A temporary storage root with a workspace, and the `uwf` for it.
pub struct TestHome {
    dir: TempDir,
    bin: PathBuf,
    platform: Option<&'static str>,
}

/// A copy of the files of a [`TestHome`].
pub struct HomeSnapshot(TempDir);

/// The `uwf` that cargo built for the tests that run.
///
/// `env!` would be the program of the build that compiled a test. `./test` builds two, with and without the optional features.
///
/// # Panics
/// If a test is started by neither `cargo test` nor `cargo nextest run`.
pub fn uwf_program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::env::var("CARGO_BIN_EXE_uwf").expect("CARGO_BIN_EXE_uwf, which cargo sets when it runs a test")
    })
}

/// Copies what is in a directory into another.
fn copy_all(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().expect("cp");
    assert!(status.success(), "{} cannot be copied", from.display());
}

/// Result of a finished `uwf` process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    /// Exit code; `None` if it was killed by a signal.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl FinishedRun {
    /// The report, parsed.
    ///
    /// # Panics
    /// If the command failed or printed no JSON.
    pub fn json(&self) -> Value {
        assert!(matches!(self.code, Some(0 | 10)), "exit {:?}\n{}{}", self.code, self.stdout, self.stderr);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {:?}", self.stdout))
    }

    /// The stdout of a failed command in a pipe: the output before the error object, and the object.
    pub fn error(&self) -> Option<(&str, Value)> {
        let line = self.stdout.lines().last().filter(|line| line.starts_with(r#"{"error":{"#))?;
        let object = serde_json::from_str(line).expect("an error object is JSON");
        Some((&self.stdout[..self.stdout.len() - line.len() - 1], object))
    }

    /// Exit code, stdout and stderr as one text for snapshots. It omits the error object of a failed command, which repeats stderr, but
    /// keeps other output.
    ///
    /// # Panics
    /// If the error object and stderr differ.
    pub fn transcript(&self) -> String {
        let code = self.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
        let stderr = if self.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", self.stderr) };
        let stdout = match self.error() {
            Some((before, mut object)) if self.code != Some(0) => {
                self.says_the_same(&object["error"].take());
                let known = object.as_object_mut().expect("it is an object");
                known.shift_remove("error");
                // The head and state of the thread are added to every failure that concerns one.
                let is_report = known.contains_key("head") && !known.contains_key("state");
                if is_report { format!("{before}{object}\n") } else { before.to_owned() }
            }
            _ => self.stdout.clone(),
        };
        format!("exit {code}\n{stdout}{stderr}")
    }

    fn says_the_same(&self, error: &Value) {
        let hints = error["hints"].as_array().expect("an error has hints").iter();
        for text in hints.chain([&error["message"]]).map(|text| text.as_str().expect("a text")) {
            assert!(self.stderr.contains(text), "stderr does not say {text:?}: {}", self.stderr);
        }
        assert_eq!(error["exitCode"].as_i64(), self.code.map(i64::from));
    }
}

impl From<Output> for FinishedRun {
    fn from(output: Output) -> FinishedRun {
        FinishedRun {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl TestHome {
    /// A new root for a program, mostly [`uwf_program`].
    ///
    /// # Panics
    /// If no temporary directory can be created.
    pub fn new(bin: impl Into<PathBuf>) -> TestHome {
        TestHome::in_temporary(TempDir::with_prefix("uwf-test-").expect("a temporary directory"), bin)
    }

    /// A new root in a directory, for a test of programs that don't see the system's temporary files.
    ///
    /// # Panics
    /// If no temporary directory can be created there.
    pub fn new_in(place: impl AsRef<Path>, bin: impl Into<PathBuf>) -> TestHome {
        TestHome::in_temporary(TempDir::with_prefix_in("uwf-test-", place).expect("a temporary directory"), bin)
    }

    fn in_temporary(dir: TempDir, bin: impl Into<PathBuf>) -> TestHome {
        for name in ["root", "work", "bin"] {
            fs::create_dir(dir.path().join(name)).expect("a directory in the temporary directory");
        }
        TestHome { dir, bin: bin.into(), platform: platforms::chosen() }
    }

    /// Keeps a copy of all files as they are now. Nothing may be at work.
    ///
    /// # Panics
    /// If a file cannot be copied.
    pub fn snapshot(&self) -> HomeSnapshot {
        let kept = TempDir::with_prefix("uwf-kept-").expect("a temporary directory");
        copy_all(self.dir.path(), kept.path());
        HomeSnapshot(kept)
    }

    /// Puts all files back as they were.
    ///
    /// # Panics
    /// If a file cannot be removed or copied.
    pub fn restore(&self, snapshot: &HomeSnapshot) {
        for entry in fs::read_dir(self.dir.path()).expect("the files of the home") {
            let path = entry.expect("a file of the home").path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                .expect("a file that can be removed");
        }
        copy_all(snapshot.0.path(), self.dir.path());
    }

    /// The storage root.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// The thread's files outside the index and the nodes, and its directory, sorted.
    ///
    /// # Panics
    /// If the directory of threads cannot be listed.
    pub fn records(&self, thread: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root().join("threads")).expect("threads have records");
        let paths = entries.map(|entry| entry.expect("it can be listed").path());
        let mut records: Vec<PathBuf> = paths
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(thread)))
            .collect();
        records.sort_unstable();
        records
    }

    /// The record of the thread.
    pub fn record_file(&self, thread: &str) -> PathBuf {
        self.root().join(format!("threads/{thread}.jsonl"))
    }

    /// Working directory of commands and threads.
    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// First directory on `PATH`.
    pub fn bin_dir(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// Writes `config.yaml`.
    pub fn config(&self, yaml: &str) {
        write(&self.root().join("config.yaml"), yaml);
    }

    /// Writes a file into the working directory; returns its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        write(&path, text);
        path
    }

    /// Installs an executable script on the `PATH` of every process of this home.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.bin_dir().join(name);
        write(&path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode for the script");
        path
    }

    /// A `uwf` process that is not started yet, with this root, this working directory, and a clean environment.
    pub fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(&self.bin);
        self.prepare(&mut command);
        command.args(args);
        command
    }

    /// Gives any process this home's environment and working directory.
    pub fn prepare(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs = vec![self.bin_dir()];
        dirs.extend(std::env::split_paths(&path));
        let path = std::env::join_paths(dirs).expect("a PATH of directories");
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .env("LANG", "C.UTF-8")
            .env("UNCAGED_WORKFLOW_STORAGE_ROOT", self.root())
            .current_dir(self.work())
            .stdin(Stdio::null());
        if let Some(platform) = self.platform {
            command.env(platforms::VARIABLE, platform);
        }
    }

    /// Runs `uwf` to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn uwf<A: AsRef<OsStr>>(&self, args: &[A]) -> FinishedRun {
        self.command(args).output().expect("uwf starts").into()
    }

    /// Runs `uwf` and parses its report.
    pub fn json<A: AsRef<OsStr>>(&self, args: &[A]) -> Value {
        self.uwf(args).json()
    }

    /// Stores a workflow; returns its hash.
    pub fn put(&self, name: &str, yaml: &str) -> String {
        let file = self.file(&format!("{name}.yaml"), yaml);
        text(&self.json(&["workflow".as_ref(), "put".as_ref(), file.as_os_str()]), "hash")
    }

    /// Starts a thread; returns its id.
    pub fn start(&self, workflow: &str, prompt: &str) -> String {
        text(&self.json(&["thread", "start", workflow, "-p", prompt]), "thread")
    }

    /// Installs `worker` as the only agent, `w`. `settings` is its configuration, such as `output: json`.
    pub fn worker(&self, settings: &str, script: &str) {
        self.script("worker", script);
        self.config(&format!("agents:\n  w: {{ command: worker, {settings} }}\ndefaultAgent: w\nkillGrace: 1\n"));
    }

    /// Stores the [`counting_workflow`] of this many rounds and starts a thread; returns its id.
    pub fn start_counting(&self, rounds: usize, prompt: &str) -> String {
        self.put("count-rounds", &counting_workflow(rounds));
        self.start("count-rounds", prompt)
    }

    /// [`FinishedRun::transcript`] without everything that differs from run to run: ids, times, and the temporary directory, which is `<dir>`.
    pub fn transcript<A: AsRef<OsStr>>(&self, args: &[A]) -> String {
        self.steady(&self.uwf(args).transcript())
    }

    /// A text without everything that differs from run to run.
    pub fn steady(&self, text: &str) -> String {
        steady(&text.replace(&*self.dir.path().to_string_lossy(), "<dir>"))
    }

    /// All data of the step at a thread's head, with references expanded: `output`, `detail` and more.
    pub fn last_step(&self, thread: &str) -> Value {
        let head = text(&self.json(&["thread", "show", thread]), "head");
        self.json(&["thread", "step-details", &head, "--format", "json"])
    }

    /// How the output of that step was obtained.
    pub fn last_detail(&self, thread: &str) -> Value {
        self.last_step(thread)["detail"].take()
    }

    /// The head of an active thread, straight from the index.
    pub fn head(&self, thread: &str) -> Option<String> {
        let index = fs::read_to_string(self.root().join("threads.yaml")).unwrap_or_default();
        let line = index.lines().find_map(|line| line.strip_prefix(&format!("{thread}: ")))?;
        Some(line.trim_matches('"').to_owned())
    }
}

/// A text of a report.
///
/// # Panics
/// If the report has no such text.
pub fn text(report: &Value, key: &str) -> String {
    report[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {report}")).to_owned()
}

/// The number of failed attempts in a detail, which also lists the stderr of a successful one.
pub fn failed_attempts(detail: &Value) -> usize {
    let attempts = detail["attempts"].as_array().map_or(&[][..], Vec::as_slice);
    attempts.iter().filter(|attempt| !attempt["error"].is_null()).count()
}

/// A workflow, `count-for-somebody`, with a role that [`counting_workflow`] can play.
pub const DELEGATING: &str = "name: count-for-somebody
description: somebody has it counted
roles:
  clerk:
    description: has it counted
    goal: Have it counted.
    meta: { type: object, properties: { n: { type: integer } }, required: [n] }
graph:
  $START: [ { role: clerk } ]
  clerk: [ { role: $END } ]
";

/// A workflow of one role `worker` whose output is `{n: integer}`, played `rounds` times.
pub fn counting_workflow(rounds: usize) -> String {
    format!(
        r#"name: count-rounds
description: one role that counts
roles:
  worker:
    description: counts
    goal: Count.
    meta:
      type: object
      properties: {{ n: {{ type: integer }} }}
      required: [n]
conditions:
  enough:
    description: it was played often enough
    expression: "$count(steps) >= {rounds}"
graph:
  $START: [ {{ role: worker }} ]
  worker:
    - {{ role: $END, condition: enough }}
    - {{ role: worker }}
"#
    )
}

/// The repository's root, where `examples/` and `docs/` are.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate lies in the repository")
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
