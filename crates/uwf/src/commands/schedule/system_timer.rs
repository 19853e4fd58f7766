//! Timers of systemd and lines of a crontab, for the schedules of this machine.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{ErrorKind as IoErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_engine::root::machine_schedules::MachineTimer;

use super::cron_times::CronTimes;
use super::log_file;
use crate::error::CommandError;

/// The command of a timer.
pub(super) struct TimedCommand<'c> {
    /// Name of the schedule.
    pub(super) name: &'c str,
    /// The storage root.
    pub(super) root: &'c Path,
    /// The directory of its agents.
    pub(super) directory: &'c Path,
    /// The file of this program.
    pub(super) program: PathBuf,
    /// `PATH` of today, with the programs of the agents.
    pub(super) path: OsString,
}

/// The state of a timer, by systemd or cron.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimerStatus {
    /// Its threads will be started, the next one at this time, if it is known.
    Active(Option<String>),
    /// The timer does not exist or does not run, with the reason.
    Inactive(String),
}

/// The timer that this machine has: systemd if it manages this user's services, else cron.
pub(super) fn available() -> Result<MachineTimer, CommandError> {
    if run(Command::new("systemctl").args(["--user", "show-environment"])).is_ok_and(|output| output.status.success()) {
        return Ok(MachineTimer::Systemd);
    }
    if crontab().is_ok() {
        return Ok(MachineTimer::Cron);
    }
    Err(CommandError::new(
        ErrorKind::Config,
        "this machine cannot start schedules: systemd does not manage your services, and cron is not installed",
    )
    .hint("install cron, or use a Temporal server: --on temporal"))
}

/// Creates the timer of a schedule and lets it run.
pub(super) fn create(timer: MachineTimer, times: &CronTimes, command: &TimedCommand<'_>) -> Result<(), CommandError> {
    for path in [command.root, command.directory, &command.program, Path::new(&command.path)] {
        if path.to_str().is_none_or(|text| text.contains(char::is_control)) {
            return Err(CommandError::new(ErrorKind::Config, format!("{path:?} can't be written into a timer"))
                .hint("its name must be UTF-8 without control characters"));
        }
    }
    match timer {
        MachineTimer::Systemd => create_units(times, command),
        MachineTimer::Cron => {
            check_zone(times)?;
            let mut lines = without_block(&crontab()?, command);
            let _ = writeln!(lines, "{}\n{} {}", marker(command), times.fields, cron_command(command));
            write_crontab(&lines)
        }
    }
}

/// Removes the timer of a schedule, if it exists. The timer of another storage root stays.
pub(super) fn remove(timer: MachineTimer, command: &TimedCommand<'_>) -> Result<(), CommandError> {
    match timer {
        MachineTimer::Systemd => {
            let files = unit_files(command)?;
            if files.iter().any(|file| file.exists()) && other_owner(command)?.is_none() {
                // A timer that systemd does not know is no reason to keep its files.
                let _ = run(Command::new("systemctl").args(["--user", "disable", "--now", &unit(command, "timer")]));
                for file in files.iter().filter(|file| file.exists()) {
                    std::fs::remove_file(file).map_err(|error| {
                        CommandError::new(ErrorKind::Io, format!("cannot remove {}: {error}", file.display()))
                    })?;
                }
                systemctl(&["daemon-reload"])?;
            }
            Ok(())
        }
        MachineTimer::Cron => {
            let before = match crontab() {
                // A line of a program that is no longer installed starts nothing.
                Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
                crontab => crontab?,
            };
            let after = without_block(&before, command);
            if after == before { Ok(()) } else { write_crontab(&after) }
        }
    }
}

/// Asks systemd or cron whether it starts the threads of a schedule.
pub(super) fn status(timer: MachineTimer, times: &CronTimes, command: &TimedCommand<'_>) -> TimerStatus {
    match timer {
        MachineTimer::Systemd => unit_status(command),
        MachineTimer::Cron => match crontab() {
            Err(error) => TimerStatus::Inactive(error.error),
            Ok(table) => {
                // `PATH` is of the day on which the schedule was created.
                let [before, after] = around_path(command);
                let begin = format!("{} {before}", times.fields);
                // Until 2026-11, each run replaced the file.
                let ends = [after.replace(" >>", " >"), after];
                let is_its = |line: &str| {
                    line.strip_prefix(&begin).is_some_and(|rest| ends.iter().any(|end| rest.ends_with(end)))
                };
                match table.lines().any(is_its) {
                    true => TimerStatus::Active(times.next(Timestamp::now())),
                    false if has_marker(&table, command) => {
                        TimerStatus::Inactive("its line in your crontab was changed".to_owned())
                    }
                    false => TimerStatus::Inactive("your crontab has no such line".to_owned()),
                }
            }
        },
    }
}

/// The timer with the name of a schedule and its owner in words, if it is not this storage root. A unit of systemd has only the name of the
/// schedule, a line of cron also its root.
pub(super) fn other(timer: MachineTimer, command: &TimedCommand<'_>) -> Result<Option<String>, CommandError> {
    match timer {
        MachineTimer::Systemd => Ok(other_owner(command)?.map(|owner| format!("{} {owner}", unit(command, "timer")))),
        MachineTimer::Cron => Ok(None),
    }
}

/// A warning about what keeps the timer of a user from running.
pub(super) fn warning(timer: MachineTimer) -> Option<String> {
    if timer == MachineTimer::Cron {
        return None;
    }
    let shown = run(Command::new("loginctl").args(["show-user", "--property", "Linger", "--value", "self"])).ok()?;
    (String::from_utf8_lossy(&shown.stdout).trim() == "no").then(|| {
        "systemd runs your timers only while you are logged in; `loginctl enable-linger` keeps them running".to_owned()
    })
}

fn create_units(times: &CronTimes, command: &TimedCommand<'_>) -> Result<(), CommandError> {
    let [timer, service] = unit_files(command)?;
    if let Some(owner) = other_owner(command)? {
        let error = format!("{} {owner}", unit(command, "timer"));
        let hint = format!("choose another name; if nothing uses that timer, remove {}", service.display());
        return Err(CommandError::new(ErrorKind::Config, error).hint(hint));
    }
    let directory = timer.parent().unwrap_or(Path::new("/"));
    let calendar: String = times.calendar().iter().map(|time| format!("OnCalendar={time}\n")).collect();
    let TimedCommand { name, root, directory: workspace, program, path } = command;
    let note = format!("[Unit]\nDescription=uwf schedule {name}\n");
    // `Persistent` makes up for a time at which the machine was off.
    let timer_text =
        format!("{note}\n[Timer]\n{calendar}Persistent=true\nAccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n");
    // 20: a thread that waits for a person has not failed. `process`: agents outlive uwf, so that nothing paid for is lost.
    let service_text = format!(
        "{note}\n[Service]\nType=oneshot\nWorkingDirectory={}\nEnvironment={}\nEnvironment={}\nExecStart={} schedule start {name}\nSuccessExitStatus=20\nKillMode=process\n",
        specifiers(&workspace.display().to_string()),
        root_setting(root),
        quoted(&format!("PATH={}", Path::new(path).display())),
        quoted(&program.display().to_string()).replace('$', "$$"),
    );
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&service, service_text))
        .and_then(|()| std::fs::write(&timer, timer_text));
    let made = written
        .map_err(|error| CommandError::new(ErrorKind::Io, format!("cannot write to {}: {error}", directory.display())))
        .and_then(|()| systemctl(&["daemon-reload"]))
        .and_then(|()| systemctl(&["enable", "--now", &unit(command, "timer")]));
    if made.is_err() {
        let _ = remove(MachineTimer::Systemd, command);
    }
    made
}

/// The owner of the service with the name of a schedule in words, if it is not this storage root.
fn other_owner(command: &TimedCommand<'_>) -> Result<Option<String>, CommandError> {
    let [_, service] = unit_files(command)?;
    let text = match std::fs::read_to_string(&service) {
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
        text => text
            .map_err(|error| CommandError::new(ErrorKind::Io, format!("cannot read {}: {error}", service.display())))?,
    };
    let settings = || text.lines().filter_map(|line| line.strip_prefix("Environment="));
    if settings().any(|setting| setting == root_setting(command.root)) {
        return Ok(None);
    }
    let named = format!("\"{}=", ROOT_VARIABLES[0]);
    let root = settings().find_map(|setting| setting.strip_prefix(&named)?.strip_suffix('"')).map(unquoted);
    let same =
        |root: &String| Path::new(root).canonicalize().is_ok_and(|root| command.root.canonicalize().ok() == Some(root));
    Ok(match root {
        Some(root) if same(&root) => None,
        Some(root) => Some(format!("belongs to a schedule of the storage root {root}")),
        None => Some("was not created by uwf".to_owned()),
    })
}

/// The variable with the storage root in a unit file.
fn root_setting(root: &Path) -> String {
    quoted(&format!("{}={}", ROOT_VARIABLES[0], root.display()))
}

fn unit_status(command: &TimedCommand<'_>) -> TimerStatus {
    match other_owner(command) {
        Ok(None) => {}
        Ok(Some(owner)) => return TimerStatus::Inactive(format!("{} {owner}", unit(command, "timer"))),
        Err(error) => return TimerStatus::Inactive(error.error),
    }
    let unit = unit(command, "timer");
    let properties = "--property=ActiveState,NextElapseUSecRealtime";
    let shown = match run(Command::new("systemctl").args(["--user", "show", &unit, properties])) {
        Ok(shown) if shown.status.success() => String::from_utf8_lossy(&shown.stdout).into_owned(),
        Ok(shown) => return TimerStatus::Inactive(last_line(&shown)),
        Err(error) => return TimerStatus::Inactive(error.error),
    };
    let value = |key: &str| shown.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned();
    match value("ActiveState=") {
        state if state == "active" => {
            TimerStatus::Active(Some(value("NextElapseUSecRealtime=")).filter(|next| !next.is_empty()))
        }
        state if state.is_empty() => TimerStatus::Inactive(format!("systemd does not know {unit}")),
        state => TimerStatus::Inactive(format!("{unit} is {state}")),
    }
}

/// The files of the timer and its service.
fn unit_files(command: &TimedCommand<'_>) -> Result<[PathBuf; 2], CommandError> {
    let configured = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let directory = configured
        .or_else(|| std::env::home_dir().map(|home| home.join(".config")))
        .ok_or_else(|| CommandError::new(ErrorKind::Config, "neither HOME nor XDG_CONFIG_HOME is set"))?
        .join("systemd/user");
    Ok(["timer", "service"].map(|kind| directory.join(unit(command, kind))))
}

fn unit(command: &TimedCommand<'_>, kind: &str) -> String {
    format!("uwf-{}.{kind}", command.name)
}

/// A word of a unit file, in which systemd expands nothing.
fn quoted(text: &str) -> String {
    format!("\"{}\"", specifiers(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// The text of a word that [`quoted`] wrote.
fn unquoted(word: &str) -> String {
    word.replace("\\\"", "\"").replace("\\\\", "\\").replace("%%", "%")
}

fn specifiers(text: &str) -> String {
    text.replace('%', "%%")
}

fn systemctl(args: &[&str]) -> Result<(), CommandError> {
    let output = run(Command::new("systemctl").arg("--user").args(args))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(CommandError::new(
            ErrorKind::Io,
            format!("`systemctl --user {}` failed: {}", args.join(" "), last_line(&output)),
        )),
    }
}

/// The lines of the user's crontab. A user without one has no lines.
fn crontab() -> Result<String, CommandError> {
    let output = run(Command::new("crontab").arg("-l"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        // A new line is written together with all others, and these must stay as they are.
        true => String::from_utf8(output.stdout).map_err(|_| {
            CommandError::new(ErrorKind::Config, "your crontab is not UTF-8, so uwf would damage it")
                .hint("change its encoding with `crontab -e`")
        }),
        false if said.contains("no crontab") => Ok(String::new()),
        false => Err(CommandError::new(ErrorKind::Io, format!("`crontab -l` failed: {}", last_line(&output)))),
    }
}

fn write_crontab(table: &str) -> Result<(), CommandError> {
    let mut child = Command::new("crontab")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started("crontab", &error))?;
    // A crontab that ends early says why.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(table.as_bytes()));
    let output = child.wait_with_output().map_err(|error| not_started("crontab", &error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(CommandError::new(ErrorKind::Io, format!("`crontab -` failed: {}", last_line(&output)))
            .hint("the crontab is unchanged")),
    }
}

/// The comment above the line of a schedule. The storage root is part of it, because several have schedules of the same name.
fn marker(command: &TimedCommand<'_>) -> String {
    format!("# uwf schedule {} of {}", command.name, command.root.display())
}

fn has_marker(table: &str, command: &TimedCommand<'_>) -> bool {
    let marker = marker(command);
    table.lines().any(|line| line == marker)
}

/// A crontab without the line of a schedule.
fn without_block(table: &str, command: &TimedCommand<'_>) -> String {
    let marker = marker(command);
    let mut lines = table.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line == marker {
            lines.next();
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The command of a line. Cron would send the output as mail, so it goes to a file.
fn cron_command(command: &TimedCommand<'_>) -> String {
    let [before, after] = around_path(command);
    format!("{before}{}{after}", crontab_text(&shell_word(Path::new(&command.path))))
}

/// The command of a line before and after the value of `PATH`.
fn around_path(command: &TimedCommand<'_>) -> [String; 2] {
    let TimedCommand { name, root, directory, program, path: _ } = command;
    let log = log_file::path(root, name);
    let before = format!("cd {} && PATH=", shell_word(directory));
    let (root, program, log) = (shell_word(root), shell_word(program), shell_word(&log));
    let after = format!(" {}={root} {program} schedule start {name} >>{log} 2>&1", ROOT_VARIABLES[0]);
    [before, after].map(|text| crontab_text(&text))
}

fn shell_word(path: &Path) -> String {
    shlex::try_quote(&path.display().to_string()).map(Cow::into_owned).unwrap_or_default()
}

/// A text of a crontab, in which an unescaped `%` is a line break.
fn crontab_text(text: &str) -> String {
    text.replace('%', "\\%")
}

/// Refuses times in another zone than cron's: its lines can't name one.
fn check_zone(times: &CronTimes) -> Result<(), CommandError> {
    let own = TimeZone::system();
    let own = own.iana_name().unwrap_or("UTC");
    let is_utc = |zone: &str| matches!(zone, "UTC" | "Etc/UTC" | "Etc/UCT" | "UCT" | "Universal" | "Zulu");
    if times.zone == own || (is_utc(&times.zone) && is_utc(own)) {
        return Ok(());
    }
    let CronTimes { zone, fields, .. } = times;
    Err(CommandError::new(ErrorKind::Config, format!("cron uses the time zone of this machine, {own}, not {zone}"))
        .hint(format!("convert the times to {own}, and leave CRON_TZ out: --cron '{fields}' with other hours")))
}

fn run(command: &mut Command) -> Result<Output, CommandError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).output().map_err(|error| not_started(&program, &error))
}

fn not_started(program: &str, error: &std::io::Error) -> CommandError {
    match error.kind() {
        IoErrorKind::NotFound => CommandError::new(ErrorKind::NotFound, format!("program `{program}` is not on PATH")),
        _ => CommandError::new(ErrorKind::Io, format!("cannot start `{program}`: {error}")),
    }
}

fn last_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.trim().lines().last().map_or_else(|| output.status.to_string(), str::to_owned)
}
