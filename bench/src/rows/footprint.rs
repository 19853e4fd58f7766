//! Size of the program, memory of a step.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::long::LongStore;
use crate::place::BenchRoot;
use crate::row::{Figure, FigureGroup, FigureRow, FigureUnit};

/// A program that tells the most memory a process and those it waited for had, in units of 1,024 bytes.
const TIME: &str = "/usr/bin/time";

pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<FigureGroup> {
    let uwf = &bench.programs.uwf;
    let size = fs::metadata(uwf).map_err(Error::with_path("look at", uwf))?.len();
    let mut rows = vec![FigureRow::new("the program uwf", FigureUnit::Megabytes, size as f64 / 1e6)];
    if cfg!(debug_assertions) {
        rows[0].note = "a debug build".to_owned();
    }
    for played in &long.players {
        let (length, at) = (bench.sizes.long(), &played.at[2]);
        let output = played.player.output();
        let cases = [
            (format!("a step at {length} steps, output: {output}, its largest process"), &at.returning),
            ("the same, a first visit".to_owned(), &at.first_visits[bench.sizes.runs + 3]),
        ];
        for (what, thread) in cases {
            let peak = largest(bench, &place.step(thread))?;
            rows.push(FigureRow::maybe(what, FigureUnit::Megabytes, peak.map(|bytes| bytes / 1e6)));
        }
    }
    Ok(FigureGroup { title: "Footprint".to_owned(), rows })
}

/// Peak memory of the largest process of a command, bytes; `Err` inside when it cannot be told here.
fn largest(bench: &BenchSetup<'_>, command: &Command) -> Result<Figure> {
    let time_log = bench.dir.join("time.log");
    let mut time = Command::new(TIME);
    time.args(["-f", "%M", "-o"]).arg(&time_log).arg(command.get_program()).args(command.get_args());
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
    let text = fs::read_to_string(&time_log).map_err(Error::with_path("read", &time_log))?;
    Ok(text.trim().parse::<f64>().map(|kib| kib * 1024.0).map_err(|_| format!("{TIME} told {:?}", text.trim())))
}
