//! Conditions that must hold after every case.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use durable_files::TEMP_PREFIX;
use serde_json::Value;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::root::home::Home;
use uwf_testing::FinishedRun;

use crate::payments;
use crate::scenario::{Play, ROUNDS};
use crate::shape::{Shape, steps};
use crate::strace::{Case, Effect, Target};

/// Temporary files one killed command may leave: those of its largest batch of nodes, and one of an index.
const MAX_TEMPORARY: usize = 25;

/// How often the next command is given while others are still busy. It waits a quarter of a second itself.
const MAX_BUSY: usize = 80;

/// Exit code of a command that found somebody else busy.
const BUSY: i32 = 75;

/// Exit code of a command whose object is not there any more.
const NOT_FOUND: i32 = 69;

/// What holds right after a case: what is there is whole, and is the old or the new.
///
/// # Errors
/// What does not hold.
pub(crate) fn check_left(play: &Play, ran: &FinishedRun) -> Result<Shape, String> {
    let home = play.stage.engine();
    let shape = Shape::read(&home)?;
    shape.check_between(&play.before, &play.after)?;
    check_nodes(&home)?;
    if let Some(lost) = play.lost() {
        return Err(format!("node {lost} is gone"));
    }
    check_settings(&home, &shape)?;
    check_printed(play, &home, &shape, ran)?;
    payments::check(&play.stage, false)?;
    check_records(play, &shape)?;
    Ok(shape)
}

/// Gives the next command, if there is anything left to do, and checks that the end is what it would have been.
///
/// # Errors
/// What does not hold.
pub(crate) fn converge(play: &Play, shape: &Shape) -> Result<(), String> {
    if !play.is_done(shape) {
        if let Some(between) = play.scenario.between {
            let ran = patiently(play, &between(play))?;
            if ran.code != Some(0) {
                return Err(format!("the command in between: {ran:?}"));
            }
        }
        let ran = patiently(play, &(play.scenario.next)(play, shape))?;
        if ran.code != Some(0) {
            return Err(format!("the next command: {ran:?}"));
        }
    }
    let home = play.stage.engine();
    let shape = Shape::read(&home)?;
    if !play.is_done(&shape) {
        if let Some((found, wanted)) = play.checkouts().filter(|(found, wanted)| found != wanted) {
            return Err(format!("what is checked out is\n{found}\nand should be\n{wanted}"));
        }
        return Err(format!("it came to {shape:?}, not to {:?}", play.after));
    }
    check_nodes(&home)?;
    payments::check(&play.stage, true)?;
    if play.stage.has_agents() {
        let again = patiently(play, &play.args)?;
        if play.stage.has_agents() {
            return Err(format!("agents outlived {again:?}: {:?}", play.stage.processes()));
        }
    }
    play.let_go();
    check_leftovers(play, &shape)
}

/// Gives a command until nobody else is busy.
fn patiently(play: &Play, args: &[String]) -> Result<FinishedRun, String> {
    let mut tries = (0..MAX_BUSY).map(|_| play.stage.home().uwf(args));
    let ran = tries.find(|ran| ran.code != Some(BUSY));
    ran.ok_or_else(|| "somebody is busy for ever".to_owned())
}

/// The whole store, not only what heads lead to: nothing in it is broken, and nothing lacks what it refers to.
fn check_nodes(home: &Home) -> Result<(), String> {
    let report = home.store().verify(None).map_err(|error| error.to_string())?;
    if report.problems.is_empty() { Ok(()) } else { Err(format!("{:?}", report.problems)) }
}

/// A thread that can be seen can be stepped.
fn check_settings(home: &Home, shape: &Shape) -> Result<(), String> {
    if shape.damaged.is_some() {
        return Ok(());
    }
    for thread in shape.threads.keys() {
        let id = thread.parse().map_err(|_| format!("{thread} is no id"))?;
        let is_active = home.heads().read(thread).map_err(|error| error.to_string())?.is_some();
        if is_active && ThreadSettings::load(home, &id).map_err(|error| error.to_string())?.is_none() {
            return Err(format!("thread {thread} has no settings"));
        }
    }
    Ok(())
}

/// Records of a thread that is none, since its command ended before the head was set or after it was dropped: of one at
/// most.
fn check_records(play: &Play, shape: &Shape) -> Result<(), String> {
    if shape.damaged.is_some() {
        return Ok(());
    }
    // A thread has a directory, and files that are named like it up to their first point.
    let thread_of = |name: String| name.split('.').next().unwrap_or_default().to_owned();
    let records = fs::read_dir(play.stage.home().root().join("threads")).into_iter().flatten().flatten();
    let names = records.map(|record| record.file_name().to_string_lossy().into_owned());
    let threads = names.filter(|name| !name.starts_with(TEMP_PREFIX)).map(thread_of);
    let of_nobody: BTreeSet<String> = threads.filter(|thread| !shape.threads.contains_key(thread)).collect();
    if of_nobody.len() > 1 { Err(format!("records of threads that are none: {of_nobody:?}")) } else { Ok(()) }
}

/// What was told is so, and what was done is told.
fn check_printed(play: &Play, home: &Home, shape: &Shape, ran: &FinishedRun) -> Result<(), String> {
    if ran.stdout.is_empty() {
        return if ran.code == Some(0) { Err("exit 0, and no report".to_owned()) } else { Ok(()) };
    }
    let report: Value = serde_json::from_str(&ran.stdout).map_err(|error| format!("half a report: {error}"))?;
    if !ran.stdout.ends_with('\n') {
        return Err("a report that does not end".to_owned());
    }
    for key in ["hash", "head", "workflow", "step"] {
        let Some(Ok(hash)) = report[key].as_str().map(str::parse) else { continue };
        home.store().get(hash).map_err(|error| format!("`{key}` was printed, but {error}"))?;
    }
    // Of a thread that was removed no more is told than that. A failure names the thread it was asked about, whatever became of
    // it; only with its head does it say that the thread is there.
    let is_standing = report["archived"] != false && (report["error"].is_null() || !report["head"].is_null());
    let Some(thread) = report["thread"].as_str().filter(|_| is_standing) else { return Ok(()) };
    if !shape.threads.contains_key(thread) {
        return Err(format!("thread {thread} was printed and is not there"));
    }
    if ran.code == Some(0) && play.scenario.is_live && play.stage.has_agents() {
        return Err(format!("thread {thread} was ended and its agent was not: {:?}", play.stage.processes()));
    }
    let now = home.heads().read(thread).map_err(|error| error.to_string())?;
    match (report["head"].as_str(), now) {
        (Some(head), Some(now)) if report["role"].is_string() => {
            let is_there = steps(home, now.hash)?.iter().any(|(step, _)| step.to_string() == head);
            if is_there { Ok(()) } else { Err(format!("step {head} was printed and is not part of the thread")) }
        }
        _ => Ok(()),
    }
}

/// Nothing is left of the case once the next commands have run.
fn check_leftovers(play: &Play, shape: &Shape) -> Result<(), String> {
    if !play.stage.settles() {
        return Err(format!("still running: {:?}", play.stage.processes()));
    }
    let root = play.stage.home().root();
    let temporary = files(&root, &|name| name.starts_with(TEMP_PREFIX));
    if temporary.len() > MAX_TEMPORARY {
        return Err(format!("{} temporary files", temporary.len()));
    }
    if !temporary.is_empty() {
        clean(play, &temporary)?;
    }
    // The next step cleans up after the one before; a thread that has ended has none, and what could not be removed stays.
    let runs = play.args[0] == "run";
    if (runs || play.args[0] == "thread") && !(marks(play).is_empty() && attempts(&root).len() <= 1) {
        let next = patiently(play, &(play.scenario.next)(play, shape))?;
        // A run goes to the end, and a run of a thread that has ended is content with that.
        let has_ended = runs || next.code == Some(NOT_FOUND);
        let (marks, attempts) = (marks(play), attempts(&root));
        // The step before, the last one, and the summary; or each step of a run.
        let most = if has_ended { ROUNDS } else { 1 };
        if !marks.is_empty() || attempts.len() > most {
            return Err(format!("{marks:?} and output of {attempts:?} outlived the next command: {next:?}"));
        }
    }
    Ok(())
}

/// Attempts whose output files are there, of the thread that has the most: one of a child thread has its own.
fn attempts(root: &Path) -> BTreeSet<String> {
    let mut by_thread: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for path in files(&root.join("threads"), &|name| name.len() > 26) {
        let dir = path.parent().filter(|dir| dir.ends_with("attempts"));
        if let Some((dir, stem)) = dir.zip(path.file_stem()) {
            by_thread.entry(dir.to_owned()).or_default().insert(stem.to_string_lossy().into_owned());
        }
    }
    by_thread.into_values().max_by_key(BTreeSet::len).unwrap_or_default()
}

/// What cleans up removes temporary files of an age at which nobody can be writing them.
fn clean(play: &Play, temporary: &[PathBuf]) -> Result<(), String> {
    let old = SystemTime::now() - Duration::from_hours(2);
    for path in temporary {
        fs::File::open(path).and_then(|file| file.set_modified(old)).map_err(|error| error.to_string())?;
    }
    let ran = play.stage.home().uwf(&["cas", "reindex"]);
    let left = files(&play.stage.home().root(), &|name| name.starts_with(TEMP_PREFIX));
    if left.is_empty() { Ok(()) } else { Err(format!("{left:?} outlived {ran:?}")) }
}

fn marks(play: &Play) -> Vec<PathBuf> {
    let heads = play.stage.engine().heads().list().unwrap_or_default();
    // A child thread that has ended is never stepped again: a mark of it that could not be removed stays, and says nothing.
    let is_of_ended_child = |name: &str| {
        let thread = name.split('.').next().unwrap_or_default();
        name.ends_with(".open")
            && !play.args.iter().any(|arg| arg == thread)
            && !heads.iter().any(|(known, _)| known == thread)
    };
    // Of a thread that waits for a person, or was paused by one, that is how it should be.
    let is_wrong = |name: &str| !name.ends_with(".waiting") && !name.ends_with(".paused") && !is_of_ended_child(name);
    files(&play.stage.home().root().join("marks"), &is_wrong)
}

/// Files below a directory whose names are such.
fn files(dir: &Path, is_such: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, is_such));
        } else if is_such(&entry.file_name().to_string_lossy()) {
            found.push(path);
        }
    }
    found
}

/// The failure of a command is told as one: an exit code this command is documented to have when this process of it is
/// hit, one line that says what failed, nothing of a crash.
///
/// # Errors
/// What is not so.
pub(crate) fn check_told(play: &Play, case: &Case, ran: &FinishedRun) -> Result<(), String> {
    let told = || format!("exit {:?}\n{}{}", ran.code, ran.stdout, ran.stderr);
    if ran.code == Some(0) {
        return Ok(());
    }
    if !ran.code.is_some_and(|code| play.scenario.fails_with(case.place.target).contains(&code)) {
        return Err(format!("not an exit code of this failure: {}", told()));
    }
    // Where nothing can be written, nothing can be told.
    let lasts = matches!(case.effect, Effect::FromThenOn(_)) || case.place.target == Target::Everything;
    let is_mute = case.place.call == "write" && lasts;
    let errors = ran.stderr.lines().filter(|line| line.starts_with("error: ")).count();
    if (errors != 1 && !is_mute) || ran.stderr.contains("panicked") {
        return Err(format!("not one clear error: {}", told()));
    }
    Ok(())
}
