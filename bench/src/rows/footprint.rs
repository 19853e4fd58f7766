//! Size of the binary, memory of a step.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Bench;
use crate::error::{Error, Result};
use crate::long::Long;
use crate::place::{Place, Player};
use crate::row::{Figure, Group, Row, Unit};

/// The most the release binary should have, millions of bytes.
const BINARY_MB: f64 = 12.0;

/// The most of it the HTTP client for models should have, millions of bytes.
const CLIENT_MB: f64 = 3.0;

/// Adds up a program's symbols by crate.
const SHARE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/share.py");

/// The most memory a step should take at its peak, millions of bytes.
const MEMORY_MB: f64 = 25.0;

/// How long the agent waits with its work done, so that all processes of the step can be looked at.
const HOLD: Duration = Duration::from_millis(300);

/// A program that tells the most memory a process and those it waited for had, in units of 1,024 bytes.
const TIME: &str = "/usr/bin/time";

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let uwf = &bench.programs.uwf;
    let size = fs::metadata(uwf).map_err(Error::at("look at", uwf))?.len();
    let mut rows = vec![Row::new("the binary uwf", Unit::Megabytes, size as f64 / 1e6).at_most(BINARY_MB)];
    if cfg!(debug_assertions) {
        rows[0].note = "a debug build".to_owned();
    }
    let client = client_bytes(&bench.programs.with_symbols).map(|bytes| bytes / 1e6);
    rows.push(Row::maybe("of it the HTTP client, by symbols".to_owned(), Unit::Megabytes, client).at_most(CLIENT_MB));
    for played in &long.players {
        let (length, at) = (bench.sizes.long(), &played.at[2]);
        let output = played.player.output();
        let cases = [
            (format!("a step at {length} steps, output: {output}, its largest process"), &at.returning),
            ("the same, a first visit".to_owned(), &at.first_visits[bench.sizes.runs + 3]),
        ];
        for (what, thread) in cases {
            let peak = largest(bench, &place.step(thread))?;
            rows.push(Row::maybe(what, Unit::Megabytes, peak.map(|bytes| bytes / 1e6)).at_most(MEMORY_MB));
        }
        if played.player == Player::Step {
            let sum = together(place.step(&at.returning))?;
            let what = "the same, all its processes together, each at its peak so far";
            rows.push(
                Row::maybe(what, Unit::Megabytes, sum.map(|bytes| bytes / 1e6))
                    .at_most(MEMORY_MB)
                    .note("window, keeper and agent, pages they share counted each time"),
            );
        }
    }
    Ok(Group { title: "Footprint".to_owned(), rows })
}

/// What the HTTP client has of a program, bytes; `Err` inside when that cannot be told here.
fn client_bytes(program: &Path) -> Figure {
    let output = Command::new("python3")
        .arg(SHARE)
        .arg(program)
        .arg("--client")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("python3 cannot be started: {error}"))?;
    if !output.status.success() {
        // The last line of what Python says of its end is the reason.
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.trim().lines().last().unwrap_or("it failed").to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("{SHARE} told {:?}", text.trim()))
}

/// Peak memory of the largest process of a command, bytes; `Err` inside when it cannot be told here.
fn largest(bench: &Bench<'_>, command: &Command) -> Result<Figure> {
    let told = bench.dir.join("time.log");
    let mut time = Command::new(TIME);
    time.args(["-f", "%M", "-o"]).arg(&told).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => time.env(name, value),
            None => time.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        time.current_dir(dir);
    }
    match time.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return Ok(Err(format!("{TIME} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Err(format!("{TIME} is not installed"))),
        Err(error) => return Ok(Err(format!("{TIME} cannot be started: {error}"))),
    }
    let text = fs::read_to_string(&told).map_err(Error::at("read", &told))?;
    Ok(text.trim().parse::<f64>().map(|kib| kib * 1024.0).map_err(|_| format!("{TIME} told {:?}", text.trim())))
}

/// Peaks of a step's processes, added up while its agent waits with its work done, bytes.
fn together(mut command: Command) -> Result<Figure> {
    if !Path::new("/proc/self/status").exists() {
        return Ok(Err("there is no /proc".to_owned()));
    }
    command.env("UWF_BENCH_HOLD_MS", HOLD.as_millis().to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(Error::at("start", command.get_program().as_ref()))?;
    let most = watch(&mut child);
    let status = child.wait().map_err(Error::at("wait for", command.get_program().as_ref()))?;
    if !status.success() {
        return Err(Error::Command {
            command: format!("{command:?}"),
            status: status.to_string(),
            stderr: String::new(),
        });
    }
    Ok(if most > 0.0 { Ok(most) } else { Err("no process was seen".to_owned()) })
}

fn watch(child: &mut Child) -> f64 {
    let begun = Instant::now();
    let mut most = 0.0f64;
    while begun.elapsed() < HOLD && matches!(child.try_wait(), Ok(None)) {
        // Not at once: for a moment after it was started, a process still has the memory of the one that started it.
        std::thread::sleep(Duration::from_millis(10));
        most = most.max(peaks(child.id()));
    }
    most
}

/// Peak memory of a process and all below it, bytes.
fn peaks(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    let below: f64 = children(pid).into_iter().map(peaks).sum();
    kib.unwrap_or(0.0) * 1024.0 + below
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect()
}
