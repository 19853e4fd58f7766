//! Runs an agent's program so that its run can be judged even if every process of uwf is killed meanwhile. The file of the run holds what
//! uwf noted before, and after it what the shell that waits for the program noted: how the program ended.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use agent_kit::spawn::without_secrets;
use agent_kit::{Error, Result};
use durable_files::regular;
use serde::{Deserialize, Serialize};
use uwf_engine::attempt::recorded::{AttemptOpening, AttemptOutputFiles, room_in};
use uwf_engine::attempt::{agent_process, program};
use uwf_engine::error::AtPath;

use crate::command;
use crate::sandbox::ProgramSandbox;

/// The shell that every system has there, also if `PATH` of an agent names no directory with one.
const SHELL: &str = "/bin/sh";

/// Runs a program, and adds its exit code to the file `$0`, after the shell's own words: it names the signal that ended the program. `exec`
/// finds no built-in command of the shell. A stop signal to the process group is for the program; the shell waits for it.
const WITH_EXIT_CODE: &str = r#"exec 3>&2 2>> "$0"
trap : HUP INT TERM
(exec "$@" 2>&3 3>&-)
code=$?
echo "$code" >> "$0"
exit "$code""#;

/// Exit code of a shell for a program that is there but cannot be started.
const NOT_STARTED: i32 = 126;

/// The same for a program that was not found.
pub(super) const NOT_FOUND: i32 = 127;

/// Added by a shell to the number of the signal that ended a program.
const SIGNALS: i32 = 128;

/// Exit code of a shell whose program was ended by the first signal.
const FIRST_SIGNAL: i32 = SIGNALS + 1;

/// The same for the last signal.
const LAST_SIGNAL: i32 = SIGNALS + 64;

/// A program to run, with its output.
pub(crate) struct ProgramStart<'p> {
    /// Its arguments.
    pub(crate) args: &'p [String],
    /// Its directory.
    pub(crate) dir: &'p Path,
    /// Its input.
    pub(crate) stdin: Stdio,
    /// Its stdout.
    pub(crate) stdout: File,
    /// Its stderr, if that is not the stderr of the attempt.
    pub(crate) stderr: Option<File>,
}

/// State before a run, with which the run is compared.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunBaseline {
    /// The session that it should continue.
    pub(crate) session: Option<String>,
    /// The file that it must create or change, if that exists.
    file: Option<FileStamp>,
}

/// A run that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EndedRun {
    /// State before it.
    pub(crate) baseline: RunBaseline,
    /// How it ended.
    pub(crate) status: ExitStatus,
}

/// Detects a change of a file: device, inode, size, and the times (seconds, nanoseconds) of its last change in content and in metadata.
/// Compare stamps only with each other, never with a clock: file system times are coarser than ours and may come from another machine.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp([i64; 4], [u64; 3]);

/// Runs the program of an attempt to its end. The keeper enforces time limits.
///
/// # Errors
/// `Config` if it cannot be started, `AgentFailed` if it cannot be waited for, `Io`.
pub(crate) fn run(
    opened: &AttemptOpening,
    files: &AttemptOutputFiles,
    baseline: RunBaseline,
    start: ProgramStart<'_>,
) -> Result<EndedRun> {
    let spec = &opened.agent;
    let noted = serde_json::to_string(&baseline).map_err(|error| Error::internal(error.to_string()))?;
    // It replaces the file of an earlier run of this attempt.
    regular::write(&files.run, format!("{noted}\n").as_bytes()).path_context("write", &files.run)?;
    let sandbox = ProgramSandbox::of_attempt(opened, &spec.command)?;
    let words = sandbox.as_ref().map_or_else(|| vec![spec.command.clone()], |sandbox| sandbox.words(&spec.command));
    let mut command = Command::new(SHELL);
    without_secrets(&mut command, opened);
    sandbox.iter().for_each(|sandbox| sandbox.set_variables(&mut command));
    command.args(["-c", WITH_EXIT_CODE]).arg(&files.run).args(words).args(start.args);
    command.current_dir(start.dir).stdin(start.stdin).stdout(start.stdout);
    if let Some(stderr) = start.stderr {
        command.stderr(stderr);
    }
    let mut process =
        command.spawn().map_err(|source| agent_process::cannot_start(&spec.command, start.args, start.dir, &source))?;
    let shell = process
        .wait()
        .map_err(|source| Error::agent_failed(format!("cannot wait for agent `{}`: {source}", spec.name)))?;
    if let Some(NOT_STARTED | NOT_FOUND) = shell.code()
        && let Err(why) = program::look_up(&spec.command, start.dir)
    {
        return Err(why.refusal(&spec.command));
    }
    // The shell may have been killed, or its line lost on a full disk.
    let status = ended(files).map_or_else(|| shell.code().map_or(shell, |code| status(code, None)), |run| run.status);
    Ok(EndedRun { baseline, status })
}

/// The newest run of an attempt, if its program has ended.
pub(crate) fn ended(files: &AttemptOutputFiles) -> Option<EndedRun> {
    let text = regular::read_to_string(&files.run, regular::MAX_TEXT).ok()?;
    let (baseline, rest) = text.split_once('\n')?;
    let (words, code) = rest.strip_suffix('\n')?.rsplit_once('\n').unwrap_or(("", rest));
    let status = status(code.trim().parse().ok()?, Some(words));
    Some(EndedRun { baseline: serde_json::from_str(baseline).ok()?, status })
}

/// How a program ended, by the exit code of the shell that ran it and the words of that shell, if they are known. A program may itself end
/// with such a code: the shell names a signal.
fn status(code: i32, words: Option<&str>) -> ExitStatus {
    let is_signal = (FIRST_SIGNAL..=LAST_SIGNAL).contains(&code) && words.is_none_or(|words| !words.trim().is_empty());
    ExitStatus::from_raw(if is_signal { code - SIGNALS } else { code << 8 })
}

impl RunBaseline {
    /// The state before a run, which should continue this session.
    pub(crate) fn before(opened: &AttemptOpening, session: Option<&str>) -> RunBaseline {
        let file = expected_file(opened).and_then(|path| FileStamp::from_path(&path));
        RunBaseline { session: session.map(str::to_owned), file }
    }

    /// Checks that the run created or changed the file that it must.
    pub(crate) fn check_file(&self, opened: &AttemptOpening) -> Result<()> {
        let Some(path) = expected_file(opened) else { return Ok(()) };
        let problem = match FileStamp::from_path(&path) {
            None => "does not exist",
            after if after == self.file => "was not written by this run",
            Some(_) => return Ok(()),
        };
        Err(Error::agent_failed(format!("the expected file {} {problem}", path.display())))
    }
}

/// The file that a run must create or change.
fn expected_file(opened: &AttemptOpening) -> Option<PathBuf> {
    let file = opened.agent.expect_file.as_ref()?;
    Some(opened.workspace.join(command::fill(file, opened, None)))
}

impl FileStamp {
    fn from_path(path: &Path) -> Option<FileStamp> {
        let meta = path.metadata().ok()?;
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        Some(FileStamp(times, [meta.dev(), meta.ino(), meta.size()]))
    }
}

/// Creates a program's output file and reserves space for an answer.
pub(crate) fn with_room(path: &Path) -> Result<File> {
    let file = agent_process::create(path)?;
    room_in(&file).path_context("reserve space for an answer in", path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_names_signals_that_ended_programs() {
        for (code, words, expected) in [
            (0, "", "exit status: 0"),
            (137, "", "exit status: 137"),
            (137, "Killed", "signal: 9 (SIGKILL)"),
            (130, "", "exit status: 130"),
            (141, "", "exit status: 141"),
            (200, "noise", "exit status: 200"),
        ] {
            assert_eq!(status(code, Some(words)).to_string(), expected, "{code} {words}");
        }
        assert_eq!(status(143, None).to_string(), "signal: 15 (SIGTERM)", "its words are lost");
    }
}
