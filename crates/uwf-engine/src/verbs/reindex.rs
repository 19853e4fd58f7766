//! `cas reindex`: deletes all derived data and derives it again.

use std::path::Path;
use std::time::Duration;

use json_cas::NodeHash;
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::root::type_index::TypeIndex;
use crate::thread::load::Thread;
use crate::views::list;

/// Age from which a temporary file counts as left over: no write takes that long.
const STALE: Duration = Duration::from_hours(1);

/// Results of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReindexReport {
    /// Nodes in the type index.
    pub nodes: usize,
    /// Threads whose chain of steps was written.
    pub threads: usize,
    /// Steps in those chains.
    pub steps: usize,
    /// Temporary files of crashed writers that were removed.
    pub temp_files: usize,
    /// Unreadable data, one line each.
    pub problems: Vec<String>,
}

/// Deletes and rebuilds `cache/`, and removes stale temporary files. Passes `progress` the number of nodes and threads done.
///
/// # Errors
/// `Io`, and errors of index and history as a whole. Single unreadable nodes and threads are in the report.
pub fn reindex(home: &Home, progress: &mut dyn FnMut(usize)) -> Result<ReindexReport> {
    remove_cache(&home.cache_dir())?;
    let mut done = ReindexReport::default();
    types(home, &mut done, progress)?;
    chains(home, &mut done, progress)?;
    // A listing of many threads caches the contents of their heads.
    list::list(home, &list::ThreadFilter::default())?;
    done.temp_files = sweep(home);
    Ok(done)
}

fn remove_cache(dir: &Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        // Another process may be writing into it, and its data is valid.
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::DirectoryNotEmpty) => {
            Ok(())
        }
        other => Ok(other.path_context("remove", dir)?),
    }
}

fn types(home: &Home, done: &mut ReindexReport, progress: &mut dyn FnMut(usize)) -> Result<()> {
    let mut index = TypeIndex::load(home);
    for node in home.store().objects().list(None)? {
        match index.type_of(node) {
            Ok(_) => done.nodes += 1,
            Err(error) => done.problems.push(error.to_string()),
        }
        progress(done.nodes);
    }
    index.save();
    Ok(())
}

fn chains(home: &Home, done: &mut ReindexReport, progress: &mut dyn FnMut(usize)) -> Result<()> {
    let active =
        home.heads().list()?.into_iter().filter_map(|(name, head)| Some((name.parse::<ThreadId>().ok()?, head)));
    let finished = history::all(home)?.into_iter().map(|line| (line.thread, line.head));
    for (id, head) in active.chain(finished) {
        match length(home, &id, head) {
            Ok(steps) => {
                done.threads += 1;
                done.steps += steps;
            }
            Err(error) => done.problems.push(format!("thread {id}: {}", error.message)),
        }
        progress(done.nodes + done.threads);
    }
    Ok(())
}

/// The length of a chain. Loading the chain also writes it.
fn length(home: &Home, id: &ThreadId, head: NodeHash) -> Result<usize> {
    Ok(Thread::load_at(home, id.clone(), head)?.chain()?.len())
}

/// Removes stale temporary files from directories of durable writes. Returns how many.
fn sweep(home: &Home) -> usize {
    // A file that can't be removed now only costs space.
    home.dirs_with_temporary_files()
        .iter()
        .filter(|dir| dir.is_dir())
        .filter_map(|dir| durable_files::remove_leftovers(dir, STALE).ok())
        .sum()
}
