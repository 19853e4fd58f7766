//! The chain cache: for each thread a flat file of fixed-width records, one per step, so that no command walks 10,000 nodes.
//!
//! Records are in thread order and only appended. A reader trusts intact records up to the newest one that is the head or an ancestor of
//! it. The file can be deleted at any time. It is always read as a whole: 40 bytes a step.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use self::records::CachedChain;
pub use self::records::{Record, role_key};
use crate::error::{AtPath, Result};
use crate::root::home::Home;
use crate::thread::nodes;

mod records;

/// Maximum number of steps that [`count`] walks back.
pub const COUNTED: usize = 16;

/// Number of steps to fetch in one call, if the store supports that.
const AHEAD: usize = 256;

/// The steps of a thread, oldest first.
#[derive(Default)]
pub struct StepChain {
    records: Vec<Record>,
    /// Checksum of the last record in the cache.
    sum: u64,
}

impl StepChain {
    /// The chain that ends at `head` (`None`: no step yet). Reads the trusted part from the cache and the rest from the nodes, and adds
    /// the missing steps to the cache.
    pub fn load(home: &Home, thread: &ThreadId, head: Option<NodeHash>) -> Result<StepChain> {
        let Some(head) = head else { return Ok(StepChain::default()) };
        let path = home.chain_file(thread);
        let CachedChain { mut records, sum, is_whole } = records::read(&path).ok().flatten().unwrap_or_default();
        let cached = records.len();
        let missing = walk_back(home, head, &mut records)?;
        let kept = records.len();
        let is_kept = kept == cached && is_whole;
        records.extend(missing.into_iter().rev());
        if !is_kept {
            let sum = records::rewrite(&path, &records);
            return Ok(StepChain { records, sum });
        }
        let sum = records::append(&path, kept, sum, &records[kept..]);
        Ok(StepChain { records, sum })
    }

    /// Adds the next step to the cache. If that fails, the next reader updates the cache.
    pub(crate) fn append(&self, home: &Home, thread: &ThreadId, record: Record) {
        records::append(&home.chain_file(thread), self.records.len(), self.sum, &[record]);
    }

    /// The chain that ends at `head`, from the nodes alone: reads and writes no cache.
    pub(crate) fn walked(home: &Home, head: NodeHash) -> Result<StepChain> {
        let mut records = walk_back(home, head, &mut Vec::new())?;
        records.reverse();
        Ok(StepChain { records, sum: 0 })
    }

    /// A read-only chain of its first `steps` steps.
    pub(crate) fn first(&self, steps: usize) -> StepChain {
        StepChain { records: self.records.iter().take(steps).copied().collect(), sum: 0 }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has no step yet.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Record of step `index`, from 0; `None` beyond the last step.
    pub fn get(&self, index: usize) -> Option<Record> {
        self.records.get(index).copied()
    }

    /// All records, oldest first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Position of a step, from 0.
    pub fn position(&self, step: NodeHash) -> Option<usize> {
        self.records.iter().rposition(|record| record.step == step)
    }

    /// The last step before position `index` by the same role.
    pub(crate) fn last_before(&self, index: usize) -> Option<NodeHash> {
        let role = self.records.get(index)?.role;
        self.records[..index].iter().rfind(|record| record.role == role).map(|record| record.step)
    }

    /// How many steps a role has.
    pub fn count_of(&self, role: &str) -> usize {
        self.positions_of_role(role).count()
    }

    /// Position of the first step of a role.
    pub fn first_of(&self, role: &str) -> Option<usize> {
        self.positions_of_role(role).next()
    }

    /// Position of the last step of a role.
    pub fn last_of(&self, role: &str) -> Option<usize> {
        self.positions_of_role(role).next_back()
    }

    /// Positions of the steps of a role.
    pub(crate) fn positions_of_role(&self, role: &str) -> impl DoubleEndedIterator<Item = usize> {
        let role = role_key(role);
        self.records.iter().enumerate().filter(move |(_, record)| record.role == role).map(|(index, _)| index)
    }
}

/// Number of steps up to `head` (`None`: no step yet), if it is cheap to find: the cache is up to date, or there are few steps.
pub fn count(home: &Home, thread: &ThreadId, head: Option<NodeHash>) -> Result<Option<usize>> {
    let Some(head) = head else { return Ok(Some(0)) };
    if let Ok(Some(cached)) = records::read(&home.chain_file(thread))
        && cached.records.last().is_some_and(|record| record.step == head)
    {
        return Ok(Some(cached.records.len()));
    }
    let mut next = Some(head);
    for count in 0..=COUNTED {
        let Some(step) = next else { return Ok(Some(count)) };
        next = nodes::step_node(home.store(), step)?.0.prev;
    }
    Ok(None)
}

/// Whether the cache of a thread has a step. Reads only the cache and writes nothing.
pub(crate) fn has_cached(home: &Home, thread: &ThreadId, step: NodeHash) -> bool {
    cached(home, thread).any(|cached| cached == step)
}

/// The steps in the cache, newest first. Reads only the cache and writes nothing.
pub(crate) fn cached(home: &Home, thread: &ThreadId) -> impl Iterator<Item = NodeHash> {
    let cached = records::read(&home.chain_file(thread)).ok().flatten().unwrap_or_default();
    cached.records.into_iter().rev().map(|record| record.step)
}

/// The last step in the cache, even if it no longer belongs to the thread; skips damaged records at the end.
pub(crate) fn last_known(home: &Home, thread: &ThreadId) -> Result<Option<NodeHash>> {
    let path = home.chain_file(thread);
    let cached = records::read(&path).path_context("read", &path)?;
    Ok(cached.and_then(|cached| cached.records.last().map(|record| record.step)))
}

/// Collects records from `head` back to the newest cached one, newest first, and cuts the cache there. The common cases, with the cache
/// at the head or one step behind, need no search.
fn walk_back(home: &Home, head: NodeHash, records: &mut Vec<Record>) -> Result<Vec<Record>> {
    let mut missing = Vec::new();
    let mut next = Some(head);
    let mut known = None;
    while let Some(hash) = next {
        if records.last().is_some_and(|record| record.step == hash) {
            return Ok(missing);
        }
        if missing.len() == 1 {
            let positions: HashMap<NodeHash, usize> =
                records.iter().enumerate().map(|(index, record)| (record.step, index)).collect();
            known = Some(positions);
        }
        if let Some(index) = known.as_ref().and_then(|known| known.get(&hash)) {
            records.truncate(index + 1);
            return Ok(missing);
        }
        // Usually only the newest step is missing.
        if !missing.is_empty() {
            home.store().objects().chain(hash, AHEAD)?;
        }
        let (step, _) = nodes::step_node(home.store(), hash)?;
        missing.push(Record::from_step_node(hash, &step));
        next = step.prev;
    }
    records.clear();
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use uwf_core::node::{ContentNode, StepNode, TypedPayload};

    use super::records::RECORD;
    use super::*;

    const STEPS: usize = 40;

    struct Long {
        home: Home,
        thread: ThreadId,
        records: Vec<Record>,
        _dir: tempfile::TempDir,
    }

    impl Long {
        /// A thread with its cache; only its first step is by `planner`.
        fn new() -> Long {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::open(dir.path(), "uwf");
            crate::root::node_types::ensure(&home).unwrap();
            let mut drafts = vec![ContentNode { text: "an answer".to_owned() }.draft()];
            let output = drafts[0].hash();
            let mut records: Vec<Record> = Vec::new();
            for number in 0..STEPS {
                let role = if number == 0 { "planner" } else { "coder" }.to_owned();
                let prev = records.last().map(|record| record.step);
                let agent = "a".to_owned();
                let step = StepNode { start: NodeHash::from_u64(1), prev, role, output, detail: output, agent };
                let draft = step.draft();
                records.push(Record::from_step_node(draft.hash(), &step));
                drafts.push(draft);
            }
            home.store().put_all(&drafts).unwrap();
            let thread: ThreadId = "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap();
            let long = Long { home, thread, records, _dir: dir };
            assert_eq!(long.load().records(), long.records, "from the nodes");
            long
        }

        fn load(&self) -> StepChain {
            StepChain::load(&self.home, &self.thread, self.records.last().map(|record| record.step)).unwrap()
        }

        fn spoil(&self, record: usize) {
            let path = self.home.chain_file(&self.thread);
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[record * RECORD + 9] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }

    #[test]
    fn roles_are_found_first_last_and_counted() {
        let long = Long::new();
        let chain = long.load();
        assert_eq!((chain.len(), chain.get(2), chain.get(STEPS)), (STEPS, Some(long.records[2]), None));
        assert_eq!((chain.last_of("coder"), chain.last_of("planner")), (Some(STEPS - 1), Some(0)));
        assert_eq!((chain.first_of("coder"), chain.count_of("coder")), (Some(1), STEPS - 1));
        assert_eq!((chain.last_of("tester"), chain.count_of("tester")), (None, 0));
    }

    #[test]
    fn cache_behind_thread_is_updated() {
        let long = Long::new();
        let path = long.home.chain_file(&long.thread);
        let whole = std::fs::read(&path).unwrap();
        for behind in [1, 2, STEPS - 1] {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(((STEPS - behind) * RECORD) as u64).unwrap();
            assert_eq!(long.load().records(), long.records, "{behind} behind");
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{behind} behind");
        }
    }

    #[test]
    fn thread_shorter_than_cache_keeps_own_steps() {
        let long = Long::new();
        let head = long.records[2].step;
        let chain = StepChain::load(&long.home, &long.thread, Some(head)).unwrap();
        assert_eq!(chain.records(), &long.records[..3]);
        assert_eq!(last_known(&long.home, &long.thread).unwrap(), Some(head));
    }

    #[test]
    fn steps_are_counted_where_that_costs_little() {
        let long = Long::new();
        let of = |index: usize| count(&long.home, &long.thread, Some(long.records[index].step)).unwrap();
        assert_eq!(count(&long.home, &long.thread, None).unwrap(), Some(0));
        assert_eq!(of(STEPS - 1), Some(STEPS));
        std::fs::remove_file(long.home.chain_file(&long.thread)).unwrap();
        assert_eq!((of(0), of(COUNTED - 1)), (Some(1), Some(COUNTED)));
        assert_eq!((of(COUNTED), of(STEPS - 1)), (None, None));
    }

    #[test]
    fn a_step_that_is_appended_is_read_afterwards() {
        let mut long = Long::new();
        let record = Record { step: NodeHash::from_u64(7), ..long.records[1] };
        long.load().append(&long.home, &long.thread, record);
        long.records.push(record);
        assert_eq!(long.load().records(), long.records, "from the cache");
    }

    #[test]
    fn damaged_record_is_rebuilt_from_nodes() {
        let long = Long::new();
        for spoiled in [0, 3, STEPS - 2, STEPS - 1] {
            long.spoil(spoiled);
            assert_eq!(long.load().records(), long.records, "record {spoiled} was spoiled");
            assert_eq!(last_known(&long.home, &long.thread).unwrap(), long.records.last().map(|last| last.step));
        }
    }
}
