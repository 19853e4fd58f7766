//! Resolves what a person typed to a thread id: the whole id, a unique beginning or end of one, or `@` for the newest.

use json_cas::nearest;
use serde::Deserialize;
use uwf_core::thread::{ID_LEN, ThreadId, is_symbol};

use crate::error::{Error, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::root::missing_thread::ALL_THREADS;
use crate::root::project_files::ProjectRoot;
use crate::root::record;

/// Stands for the newest thread; a number after it counts back: `@2` is the second newest.
pub const NEWEST: char = '@';

/// Shortest beginning or end that is looked up.
pub const MIN_SYMBOLS: usize = 4;

/// Most threads listed when several match.
const MAX_SHOWN: usize = 5;

/// The thread that a person typed. `@` is the newest of the project, if there is one.
///
/// # Errors
/// `Usage` when the text cannot be a thread, `NotFound` without a match, `Usage` when it is not unique.
pub fn resolve(home: &Home, project: Option<&ProjectRoot>, typed: &str) -> Result<ThreadId> {
    // A listing on a narrow terminal shows ids like this.
    let typed = typed.trim_start_matches('…');
    if let Ok(id) = typed.parse() {
        return Ok(id);
    }
    if let Some(place) = typed.strip_prefix(NEWEST) {
        return newest(home, project, typed, place);
    }
    if typed.len() < MIN_SYMBOLS || typed.len() > ID_LEN || !typed.bytes().all(is_symbol) {
        return Err(Error::usage(format!(
            "`{typed}` is not a thread id; give at least {MIN_SYMBOLS} symbols of the start or the end of one"
        )));
    }
    let wanted = typed.to_ascii_uppercase();
    let ids = all(home)?;
    let mut matches: Vec<&String> = ids.iter().filter(|id| id.starts_with(&wanted) || id.ends_with(&wanted)).collect();
    matches.dedup();
    match matches.as_slice() {
        [one] => Ok(one.parse()?),
        [] => {
            let near = nearest::nearest(&wanted, ids.iter().map(|id| &id[ID_LEN - wanted.len()..]));
            Err(Error::not_found(format!("no thread begins or ends with `{typed}`"))
                .hint(near.map_or_else(|| ALL_THREADS.to_owned(), |near| format!("did you mean …{near}?"))))
        }
        several => {
            let shown = several.iter().take(MAX_SHOWN).map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
            let more = if several.len() > MAX_SHOWN { ", …" } else { "" };
            Err(Error::usage(format!("`{typed}` is not unique: {shown}{more}")).hint("give more symbols"))
        }
    }
}

/// The newest thread of a project or of all, or the thread at a place counted from it. Child threads don't count: no person began them. Threads with an unknown
/// start come last.
fn newest(home: &Home, project: Option<&ProjectRoot>, typed: &str, place: &str) -> Result<ThreadId> {
    let place = if place.is_empty() { Some(1) } else { place.parse::<usize>().ok().filter(|place| *place > 0) };
    let Some(place) = place else {
        return Err(
            Error::usage(format!("`{typed}` names no thread")).hint("@ is the newest thread, @2 the one before")
        );
    };
    let mut ids: Vec<ThreadId> = all(home)?.iter().filter_map(|id| id.parse().ok()).collect();
    ids.sort_by_cached_key(|id| (record::started_at(home, id), id.clone()));
    let mut count = 0;
    let mut is_of_project = project.map(|project| project.membership(home));
    let mut is_here = |id: &ThreadId| is_of_project.as_mut().is_none_or(|is_of_project| is_of_project(id));
    for id in ids.into_iter().rev().filter(|id| is_here(id) && !is_child(home, id)) {
        count += 1;
        if count == place {
            return Ok(id);
        }
    }
    Err(few_threads(typed, project, count))
}

/// Whether a thread plays a role of another thread, if its record here says so.
fn is_child(home: &Home, id: &ThreadId) -> bool {
    #[derive(Deserialize)]
    struct ParentSetting {
        parent: Option<ThreadId>,
    }
    let Ok(record) = record::read(home, id) else { return false };
    let settings = record::settings_line(&record).and_then(|line| serde_json::from_slice::<ParentSetting>(line).ok());
    settings.is_some_and(|settings| settings.parent.is_some())
}

fn few_threads(typed: &str, project: Option<&ProjectRoot>, count: usize) -> Error {
    let error = |why: &str| Error::not_found(format!("`{typed}` names no thread: {why}"));
    if let Some(project) = project {
        let dir = project.dir().display();
        let threads = match count {
            0 => "no thread".to_owned(),
            1 => "only one thread".to_owned(),
            _ => format!("{count} threads"),
        };
        return error(&format!("the project {dir} has {threads}"))
            .hint("`uwf thread list --all` lists the threads of all projects");
    }
    match count {
        0 => error("no thread exists yet").hint("`uwf thread start WORKFLOW -p 'TEXT'` starts one"),
        1 => error("only one thread exists"),
        _ => error(&format!("there are {count}")),
    }
}

/// How many symbols at the end distinguish all these threads.
pub fn distinct_suffix<'i>(ids: impl IntoIterator<Item = &'i str>) -> usize {
    let mut reversed: Vec<Vec<u8>> = ids.into_iter().map(|id| id.bytes().rev().collect()).collect();
    reversed.sort_unstable();
    let shared = |pair: &[Vec<u8>]| pair[0].iter().zip(&pair[1]).take_while(|(a, b)| a == b).count();
    reversed.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(MIN_SYMBOLS)
}

/// The ids of all threads, active and finished, sorted.
pub fn all(home: &Home) -> Result<Vec<String>> {
    let active = home.heads().list()?.into_iter().map(|(id, _)| id);
    let finished = history::all(home)?.into_iter().map(|line| line.thread.to_string());
    let mut ids: Vec<String> = active.chain(finished).filter(|id| id.len() == ID_LEN).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_suffix_is_as_short_as_possible() {
        assert_eq!(distinct_suffix([]), 4);
        assert_eq!(distinct_suffix(["01AAAAAAAB"]), 4);
        assert_eq!(distinct_suffix(["01AAAAAAAB", "02AAAAAAAB", "03CAAAAAAB"]), 9);
        assert_eq!(distinct_suffix(["01AAAAAAAB", "01AAAAAAAC"]), 4);
    }
}
