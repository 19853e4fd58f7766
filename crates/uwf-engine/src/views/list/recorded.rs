//! Cache of labels and places of threads, which lists read from their settings. Settings change, so an entry is valid as long as the
//! thread's record is the same file with the same size and time, and until the machine is restarted: after a power cut, a file may have
//! its size and time without its content.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uwf_core::label::ThreadLabels;
use uwf_core::thread::ThreadId;

use super::ThreadRow;
use super::memory::READ_DIRECTLY;
use crate::attempt::child_threads::kinship::ThreadKin;
use crate::attempt::recorded::boot_id;
use crate::attempt::settings::ThreadSettings;
use crate::root::cache_file;
use crate::root::file_sign::FileSign;
use crate::root::home::Home;
use crate::root::thread_branch::ThreadBranch;

/// Labels and place of a thread. Most threads have neither.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedFacts {
    #[serde(default, skip_serializing_if = "ThreadLabels::is_empty")]
    pub(super) labels: ThreadLabels,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<ThreadBranch>,
}

impl RecordedFacts {
    /// Its place, which is unknown for a thread that another machine began.
    pub(super) fn kin(&self) -> ThreadKin {
        ThreadKin { parent: self.parent.clone(), branch: self.branch.clone() }
    }
}

/// The settings of listed threads, each read once. A listing of many threads keeps them for the next one.
pub(super) struct RecordedFactsCache<'h> {
    home: &'h Home,
    /// File of the cache; none when few threads are asked for.
    path: Option<PathBuf>,
    /// Id of this boot; empty if the system has none.
    boot: String,
    known: HashMap<ThreadId, KnownRecord>,
    learned: bool,
}

/// The facts in a thread's record when it was last read.
#[derive(Debug, PartialEq)]
struct KnownRecord {
    sign: Option<FileSign>,
    /// None without readable settings.
    facts: Option<Arc<RecordedFacts>>,
    /// Whether this listing has seen that the record is still the same.
    is_checked: bool,
}

impl<'h> RecordedFactsCache<'h> {
    /// The cache for a listing that asks for so many threads.
    pub(super) fn load(home: &'h Home, asked: usize) -> RecordedFactsCache<'h> {
        let path = (asked > READ_DIRECTLY).then(|| home.recorded_facts_cache());
        let boot = path.as_ref().and_then(|_| boot_id().ok()).unwrap_or_default();
        let body = path.as_deref().and_then(cache_file::read);
        let known = body.and_then(|body| decode(&body, &boot)).unwrap_or_default();
        RecordedFactsCache { home, path, boot, known, learned: false }
    }

    /// The same for a search for damage. Without a boot id, it reads every record.
    fn for_proof(home: &'h Home, asked: usize) -> RecordedFactsCache<'h> {
        let mut cache = RecordedFactsCache::load(home, asked);
        if cache.boot.is_empty() {
            cache.known.clear();
        }
        cache
    }

    /// Whether the next listing gets what this one reads.
    pub(super) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// The facts of a thread; `None` without readable settings on this machine.
    pub(super) fn get(&mut self, id: &ThreadId) -> Option<&RecordedFacts> {
        if !self.known.get(id).is_some_and(|known| known.is_checked) {
            // Read before the settings, so that a change between the two is seen next time.
            let sign = FileSign::from_file(&self.home.record_file(id));
            match self.known.get_mut(id).filter(|known| known.sign == sign) {
                Some(known) => known.is_checked = true,
                None => {
                    let settings = ThreadSettings::load(self.home, id).ok().flatten();
                    let facts = settings.map(|ThreadSettings { labels, parent, branch, .. }| {
                        Arc::new(RecordedFacts { labels, parent, branch })
                    });
                    self.known.insert(id.clone(), KnownRecord { sign, facts, is_checked: true });
                    self.learned = true;
                }
            }
        }
        self.known.get(id)?.facts.as_deref()
    }

    /// Saves the facts, of these threads only if `all` has all threads of this machine. A failure only makes the next listing slower.
    pub(super) fn save(&self, all: Option<HashSet<ThreadId>>) {
        let Some(path) = self.path.as_ref().filter(|_| self.learned) else { return };
        let known = self.known.iter().filter(|(id, _)| all.as_ref().is_none_or(|all| all.contains(*id)));
        cache_file::write(self.home, path, &encode(&self.boot, known));
    }
}

/// The threads of these rows whose records have no readable settings. A listing of many threads proved most of them readable, so only
/// records that changed since are read.
pub(crate) fn without_settings<'r>(home: &Home, rows: &'r [ThreadRow]) -> Vec<&'r ThreadId> {
    let mut recorded = RecordedFactsCache::for_proof(home, rows.len());
    rows.iter().map(|row| &row.thread).filter(|id| recorded.get(id).is_none()).collect()
}

/// A line with the boot, then lines of an id, the four numbers of the sign, and the facts as JSON, separated by tabs. Without facts, nothing
/// follows the sign.
fn encode<'e>(boot: &str, known: impl Iterator<Item = (&'e ThreadId, &'e KnownRecord)>) -> Vec<u8> {
    let mut body = format!("boot\t{boot}\n");
    for (id, known) in known {
        let (Some(sign), Some(facts)) = (known.sign, &known.facts) else { continue };
        let FileSign { inode, bytes, seconds, nanos } = sign;
        let facts = match **facts == RecordedFacts::default() {
            true => String::new(),
            false => serde_json::to_string(&**facts).unwrap_or_default(),
        };
        body.push_str(&format!("{id}\t{inode}\t{bytes}\t{seconds}\t{nanos}\t{facts}\n"));
    }
    body.into_bytes()
}

/// The entries of this boot; `None` if the cache is of another one.
fn decode(body: &[u8], boot: &str) -> Option<HashMap<ThreadId, KnownRecord>> {
    let text = str::from_utf8(body).ok()?;
    let mut lines = text.lines();
    let is_of_boot = lines.next()?.strip_prefix("boot\t")? == boot;
    // Most threads have neither labels nor a place.
    let none = Arc::new(RecordedFacts::default());
    is_of_boot.then(|| lines.filter_map(|line| decode_line(line, &none)).collect())
}

fn decode_line(line: &str, none: &Arc<RecordedFacts>) -> Option<(ThreadId, KnownRecord)> {
    let mut fields = line.splitn(6, '\t');
    let id = fields.next()?.parse().ok()?;
    let (inode, bytes) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let (seconds, nanos) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let facts = match fields.next()? {
        "" => Arc::clone(none),
        json => Arc::new(serde_json::from_str(json).ok()?),
    };
    let sign = Some(FileSign { inode, bytes, seconds, nanos });
    Some((id, KnownRecord { sign, facts: Some(facts), is_checked: false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_facts_are_read_back() {
        let id = |last: u8| -> ThreadId { format!("01K0000000000000000000000{last}").parse().unwrap() };
        let branch = ThreadBranch {
            group: "g".to_owned(),
            name: "a\tb\n".to_owned(),
            item: Some("größer".into()),
            position: Some(2),
        };
        let labels: ThreadLabels = serde_json::from_value(serde_json::json!({ "team": "web" })).unwrap();
        let all = [
            RecordedFacts::default(),
            RecordedFacts { labels, ..RecordedFacts::default() },
            RecordedFacts { parent: Some(id(9)), branch: Some(branch), ..RecordedFacts::default() },
        ];
        let known: HashMap<_, _> = (0..)
            .zip(all)
            .map(|(index, facts)| {
                let sign = Some(FileSign { inode: 7, bytes: u64::MAX, seconds: -3, nanos: i64::from(index) });
                (id(index), KnownRecord { sign, facts: Some(Arc::new(facts)), is_checked: false })
            })
            .collect();
        let written = encode("this boot", known.iter());
        assert_eq!(decode(&written, "this boot"), Some(known));
        assert_eq!(decode(&written, ""), None, "it is of another boot");
    }
}
