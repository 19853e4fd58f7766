//! The chain cache: for each thread a flat file of fixed-width records, so that no command walks 10,000 nodes, and most
//! read no more of the file than its end.
//!
//! Records are in thread order and only appended. The file is trusted up to the first record that is not whole, and only
//! as far as its last record is the head or an ancestor of it; it can be deleted at any time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;

use durable_files::regular;
use json_cas::Hash;
use uwf_core::thread::ThreadId;

use self::records::Block;
pub use self::records::{Record, role_key};
use crate::error::{AtPath, Error, Kind, Result};
use crate::home::Home;
use crate::load;

mod records;

/// Newest records that are read at once: a step that only goes on needs no more.
pub const NEWEST: usize = 16;

/// Oldest records that are read without those behind them: prompts of any length of thread show the first steps.
const OLDEST: usize = 16;

/// Least records that are read when those are not enough.
const BLOCK: usize = 256;

/// Records that are looked through at a time; their bytes should fit into the nearest cache.
const SCANNED: usize = 512;

/// The steps of a thread. Those it is asked for are read, from the newest back to them.
pub struct Chain<'h> {
    home: &'h Home,
    thread: ThreadId,
    head: Option<Hash>,
    len: usize,
    read: RefCell<Read>,
}

/// The newest records of a chain, oldest first, without a gap.
#[derive(Default)]
struct Read {
    records: Vec<Record>,
    /// Where the older ones are; `None` when there are none.
    older: Option<File>,
    /// The checksum before the first record that was read.
    sum_before: u64,
    /// The checksum of the last one.
    sum: u64,
}

impl<'h> Chain<'h> {
    /// The chain that ends at `head` (`None`: no step yet), from the cache as far as it can be trusted, the rest from
    /// the nodes; what was missing is added to the cache.
    ///
    /// # Errors
    /// Those of reading StepNodes.
    pub fn load(home: &'h Home, thread: &ThreadId, head: Option<Hash>) -> Result<Chain<'h>> {
        let mut chain = Chain { home, thread: thread.clone(), head, len: 0, read: RefCell::default() };
        let Some(head) = head else { return Ok(chain) };
        let (read, len) = match up_to_date(home, thread, head)? {
            Some(found) => found,
            None => {
                let read = whole(home, thread, head)?;
                let len = read.records.len();
                (read, len)
            }
        };
        chain.len = len;
        chain.read = RefCell::new(read);
        Ok(chain)
    }

    /// The chain once it goes on with a step, which [`push`] adds to the cache.
    ///
    /// # Errors
    /// `Io` when the process has no room for another open file.
    pub(crate) fn followed_by(&self, record: Record) -> Result<Chain<'h>> {
        let read = self.read.borrow();
        let path = self.home.chain_file(&self.thread);
        let older = read.older.as_ref().map(File::try_clone).transpose().at("read", &path)?;
        let records = read.records.iter().copied().chain([record]).collect();
        let sum = records::sum_of(&[record], self.len, read.sum);
        let read = Read { records, older, sum_before: read.sum_before, sum };
        let (home, thread, head) = (self.home, self.thread.clone(), Some(record.step));
        Ok(Chain { home, thread, head, len: self.len + 1, read: RefCell::new(read) })
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no step yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Record of step `index`, from 0; `None` behind the last.
    ///
    /// # Errors
    /// Those of reading StepNodes, where the cache is found damaged.
    pub fn get(&self, index: usize) -> Result<Option<Record>> {
        if index >= self.len {
            return Ok(None);
        }
        if let Some(record) = self.oldest(index) {
            return Ok(Some(record));
        }
        self.read_back_to(index)?;
        let read = self.read.borrow();
        Ok(Some(read.records[index - (self.len - read.records.len())]))
    }

    /// One of the oldest records, unless it is among those read or the beginning of the cache is damaged. The checksums
    /// go from the first record on, so the beginning proves itself without the records behind it.
    fn oldest(&self, index: usize) -> Option<Record> {
        let read = self.read.borrow();
        let older = read.older.as_ref().filter(|_| index < OLDEST && index < self.len - read.records.len())?;
        let Block { records, chained } = records::block(older, 0, index + 1).ok()?;
        records.last().copied().filter(|_| chained.is_whole)
    }

    /// All records, oldest first.
    ///
    /// # Errors
    /// As [`Chain::get`].
    pub fn records(&self) -> Result<Vec<Record>> {
        self.read_back_to(0)?;
        Ok(self.read.borrow().records.clone())
    }

    /// How often a role was played.
    ///
    /// # Errors
    /// As [`Chain::get`].
    pub fn count_of(&self, role: &str) -> Result<usize> {
        let mut count = 0;
        self.go_back(role, |positions| {
            count += positions.len();
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// Position of the first step of a role.
    ///
    /// # Errors
    /// As [`Chain::get`].
    pub fn first_of(&self, role: &str) -> Result<Option<usize>> {
        let mut first = None;
        self.go_back(role, |positions| {
            first = positions.first().copied().or(first);
            ControlFlow::Continue(())
        })?;
        Ok(first)
    }

    /// Position of the last step of a role.
    ///
    /// # Errors
    /// As [`Chain::get`].
    pub fn last_of(&self, role: &str) -> Result<Option<usize>> {
        let mut last = None;
        self.go_back(role, |positions| {
            last = positions.last().copied();
            last.map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
        })?;
        Ok(last)
    }

    /// Shows the positions of a role's steps, part by part, the newest part first, until that is enough. Records that were
    /// not read before are not kept.
    fn go_back(&self, role: &str, mut visit: impl FnMut(&[usize]) -> ControlFlow<()>) -> Result<()> {
        let role = role_key(role);
        let positions = |end: usize, records: &[Record]| -> Vec<usize> {
            let places = (end - records.len()..end).zip(records);
            places.filter(|(_, record)| record.role == role).map(|(position, _)| position).collect()
        };
        let (mut end, mut sum) = {
            let read = self.read.borrow();
            if visit(&positions(self.len, &read.records)).is_break() {
                return Ok(());
            }
            (self.len - read.records.len(), read.sum_before)
        };
        while end > 0 {
            let from = end.saturating_sub(SCANNED);
            let older =
                self.read.borrow().older.as_ref().and_then(|file| records::positions(file, from, end, role).ok());
            let Some((found, older)) = older.filter(|(_, older)| older.is_whole && older.sum == sum) else {
                self.mend()?;
                let _ = visit(&positions(end, &self.read.borrow().records[..end]));
                return Ok(());
            };
            if visit(&found).is_break() {
                return Ok(());
            }
            (end, sum) = (from, older.sum_before);
        }
        Ok(())
    }

    /// Reads older records until that of step `index` is among those read.
    fn read_back_to(&self, index: usize) -> Result<()> {
        let mut read = self.read.borrow_mut();
        let first = self.len - read.records.len();
        if index >= first {
            return Ok(());
        }
        // At least doubled each time: going back through all of them moves each only a few times.
        let from = index.min(first.saturating_sub(read.records.len().max(BLOCK)));
        let older = read.older.as_ref().and_then(|file| records::block(file, from, first).ok());
        if let Some(Block { records, chained }) =
            older.filter(|older| older.chained.is_whole && older.chained.sum == read.sum_before)
        {
            read.records.splice(0..0, records);
            read.sum_before = chained.sum_before;
            return Ok(());
        }
        drop(read);
        self.mend()
    }

    /// Reads everything anew: older records of the cache are damaged, and the nodes know better.
    fn mend(&self) -> Result<()> {
        let Some(head) = self.head else { return Ok(()) };
        let read = whole(self.home, &self.thread, head)?;
        if read.records.len() != self.len {
            let message = format!("the cache of thread {} had a wrong number of steps; it was made anew", self.thread);
            return Err(Error::new(Kind::Internal, message).hint("try again"));
        }
        *self.read.borrow_mut() = read;
        Ok(())
    }
}

/// Number of steps up to `head` (`None`: no step yet) where that costs little: the cache is up to date, or there are few steps.
///
/// # Errors
/// Those of reading StepNodes.
pub fn count(home: &Home, thread: &ThreadId, head: Option<Hash>) -> Result<Option<usize>> {
    let Some(head) = head else { return Ok(Some(0)) };
    if let Some((_, len)) = up_to_date(home, thread, head)? {
        return Ok(Some(len));
    }
    let mut next = Some(head);
    for count in 0..=NEWEST {
        let Some(step) = next else { return Ok(Some(count)) };
        next = load::step_node(home.store(), step)?.0.prev;
    }
    Ok(None)
}

/// Adds the newest step to a thread's cache, behind those before it; a cache of another length is left alone, the next
/// reader brings it up to date. Failure costs time later, nothing else.
pub fn push(home: &Home, thread: &ThreadId, before: &Chain<'_>, record: Record) {
    records::append(&home.chain_file(thread), before.len, before.read.borrow().sum, &[record]);
}

/// The last step the cache has, be it the thread's or not; where its end is damaged, the last before that.
///
/// # Errors
/// `Io` when there is a cache that cannot be read.
pub(crate) fn last_known(home: &Home, thread: &ThreadId) -> Result<Option<Hash>> {
    let path = home.chain_file(thread);
    let records = match newest(home, thread) {
        Some((read, _)) => Some(read.records),
        None => records::all(&path).at("read", &path)?.map(|all| all.records),
    };
    Ok(records.and_then(|records| records.last().map(|record| record.step)))
}

/// The newest records of a cache whose end is whole, and how many it has.
fn newest(home: &Home, thread: &ThreadId) -> Option<(Read, usize)> {
    let file = regular::open(&home.chain_file(thread)).ok()?;
    let len = records::count(&file).ok()??;
    let from = len.saturating_sub(NEWEST);
    let Block { records, chained } = records::block(&file, from, len).ok()?;
    let older = (from > 0).then_some(file);
    chained.is_whole.then_some((Read { records, older, sum_before: chained.sum_before, sum: chained.sum }, len))
}

/// The newest records up to `head`, and how many there are, where the end of the cache is whole and the head or a few steps
/// before it; then those steps are added to it.
fn up_to_date(home: &Home, thread: &ThreadId, head: Hash) -> Result<Option<(Read, usize)>> {
    let Some((mut read, len)) = newest(home, thread) else { return Ok(None) };
    let mut missing = Vec::new();
    let mut next = Some(head);
    while let Some(step) = next.filter(|step| read.records.last().is_none_or(|known| known.step != *step)) {
        if missing.len() == NEWEST {
            return Ok(None);
        }
        let (node, _) = load::step_node(home.store(), step)?;
        missing.push(Record::of(step, &node));
        next = node.prev;
    }
    if next.is_none() {
        return Ok(None);
    }
    missing.reverse();
    if !missing.is_empty() {
        records::append(&home.chain_file(thread), len, read.sum, &missing);
        read.sum = records::sum_of(&missing, len, read.sum);
    }
    let len = len + missing.len();
    read.records.extend(missing);
    Ok(Some((read, len)))
}

/// All records up to `head`: from the cache as far as it can be trusted, the rest from the nodes. The cache is as long
/// afterwards, if it can be written.
fn whole(home: &Home, thread: &ThreadId, head: Hash) -> Result<Read> {
    let path = home.chain_file(thread);
    let Block { mut records, chained } = records::all(&path).ok().flatten().unwrap_or_default();
    let cached = records.len();
    let missing = walk_back(home, head, &mut records)?;
    let kept = records.len();
    let is_kept = kept == cached && chained.is_whole;
    let sum = if is_kept { chained.sum } else { records::sum_of(&records, 0, 0) };
    records.extend(missing.into_iter().rev());
    let new = &records[kept..];
    if !is_kept {
        records::rewrite(&path, &records);
    } else if !new.is_empty() {
        records::append(&path, kept, sum, new);
    }
    let sum = records::sum_of(new, kept, sum);
    Ok(Read { records, older: None, sum_before: 0, sum })
}

/// Collects records from `head` back to the newest one the cache has, newest first, and cuts the cache there. The
/// common cases, cache at the head or one step behind, cost no search.
fn walk_back(home: &Home, head: Hash, records: &mut Vec<Record>) -> Result<Vec<Record>> {
    let mut missing = Vec::new();
    let mut next = Some(head);
    let mut known = None;
    while let Some(hash) = next {
        if records.last().is_some_and(|record| record.step == hash) {
            return Ok(missing);
        }
        if missing.len() == 1 {
            let positions: HashMap<Hash, usize> =
                records.iter().enumerate().map(|(index, record)| (record.step, index)).collect();
            known = Some(positions);
        }
        if let Some(index) = known.as_ref().and_then(|known| known.get(&hash)) {
            records.truncate(index + 1);
            return Ok(missing);
        }
        let (step, _) = load::step_node(home.store(), hash)?;
        missing.push(Record::of(hash, &step));
        next = step.prev;
    }
    records.clear();
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use uwf_core::node::{Content, Payload, StepNode};

    use super::records::RECORD;
    use super::*;
    use crate::put;

    /// Steps: more than are read at once, and than are looked through at a time.
    const STEPS: usize = SCANNED + 3 * BLOCK + 5;

    struct Long {
        home: Home,
        thread: ThreadId,
        records: Vec<Record>,
        _dir: tempfile::TempDir,
    }

    impl Long {
        /// A thread whose first step is the only one of `planner`, with its cache.
        fn new() -> Long {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::open(dir.path(), "uwf");
            put::ensure_types(&home).unwrap();
            let mut drafts = vec![Content { text: "an answer".to_owned() }.draft()];
            let output = drafts[0].hash();
            let mut records: Vec<Record> = Vec::new();
            for number in 0..STEPS {
                let role = if number == 0 { "planner" } else { "coder" }.to_owned();
                let prev = records.last().map(|record| record.step);
                let agent = "a".to_owned();
                let step = StepNode { start: Hash::from_u64(1), prev, role, output, detail: output, agent };
                let draft = step.draft();
                records.push(Record::of(draft.hash(), &step));
                drafts.push(draft);
            }
            home.store().put_all(&drafts).unwrap();
            let thread: ThreadId = "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap();
            let long = Long { home, thread, records, _dir: dir };
            assert_eq!(long.load().records().unwrap(), long.records, "from the nodes");
            long
        }

        fn load(&self) -> Chain<'_> {
            Chain::load(&self.home, &self.thread, self.records.last().map(|record| record.step)).unwrap()
        }

        fn spoil(&self, record: usize) {
            let path = self.home.chain_file(&self.thread);
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[record * RECORD + 9] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }

    #[test]
    fn no_more_is_read_than_is_asked_for() {
        let long = Long::new();
        let chain = long.load();
        let read = || chain.read.borrow().records.len();
        assert_eq!((chain.len(), read()), (STEPS, NEWEST));
        assert_eq!(chain.last_of("coder").unwrap(), Some(STEPS - 1));
        assert_eq!(chain.last_of("planner").unwrap(), Some(0));
        assert_eq!(chain.first_of("coder").unwrap(), Some(1));
        assert_eq!(chain.count_of("coder").unwrap(), STEPS - 1);
        assert_eq!(chain.last_of("tester").unwrap(), None);
        assert_eq!(read(), NEWEST, "looking through them keeps none");
        assert_eq!(chain.get(2).unwrap(), Some(long.records[2]));
        assert_eq!(read(), NEWEST, "the first steps are read without those between");
        for index in [STEPS - NEWEST - 1, STEPS - BLOCK - 1, STEPS - 3 * BLOCK, OLDEST, 7, 0, STEPS - 1] {
            assert_eq!(chain.get(index).unwrap(), Some(long.records[index]));
        }
        assert_eq!(chain.get(STEPS).unwrap(), None);
        assert_eq!(chain.records().unwrap(), long.records);
    }

    #[test]
    fn a_cache_that_is_a_few_steps_behind_is_not_read_whole() {
        let long = Long::new();
        let path = long.home.chain_file(&long.thread);
        for behind in [1, NEWEST, NEWEST + 1] {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(((STEPS - behind) * RECORD) as u64).unwrap();
            let chain = long.load();
            let is_whole = chain.read.borrow().records.len() == STEPS;
            assert_eq!((chain.len(), is_whole), (STEPS, behind > NEWEST), "{behind} behind");
            assert_eq!(chain.records().unwrap(), long.records, "{behind} behind");
            let (cached, len) = newest(&long.home, &long.thread).unwrap();
            assert_eq!((cached.records.last(), len), (long.records.last(), STEPS), "the cache is up to date again");
        }
    }

    #[test]
    fn steps_are_counted_where_that_costs_little() {
        let long = Long::new();
        let of = |index: usize| count(&long.home, &long.thread, Some(long.records[index].step)).unwrap();
        assert_eq!(count(&long.home, &long.thread, None).unwrap(), Some(0));
        assert_eq!(of(STEPS - 1), Some(STEPS));
        std::fs::remove_file(long.home.chain_file(&long.thread)).unwrap();
        assert_eq!((of(0), of(NEWEST - 1)), (Some(1), Some(NEWEST)));
        assert_eq!((of(NEWEST), of(STEPS - 1)), (None, None));
    }

    #[test]
    fn a_chain_that_goes_on_is_the_one_that_is_read_afterwards() {
        let mut long = Long::new();
        let record = Record { step: Hash::from_u64(7), ..long.records[1] };
        let followed = {
            let chain = long.load();
            push(&long.home, &long.thread, &chain, record);
            chain.followed_by(record).unwrap().records().unwrap()
        };
        long.records.push(record);
        assert_eq!(followed, long.records);
        assert_eq!(long.load().records().unwrap(), long.records, "from the cache");
    }

    #[test]
    fn damage_is_found_wherever_it_is_met() {
        let long = Long::new();
        for spoiled in [0, 3, SCANNED, STEPS - BLOCK - 1, STEPS - NEWEST - 1, STEPS - NEWEST, STEPS - 1] {
            let asks: [&dyn Fn(&Chain<'_>); 5] = [
                &|chain| assert_eq!(chain.get(0).unwrap(), Some(long.records[0])),
                &|chain| assert_eq!(chain.get(spoiled).unwrap(), Some(long.records[spoiled])),
                &|chain| assert_eq!(chain.first_of("planner").unwrap(), Some(0)),
                &|chain| assert_eq!(chain.count_of("coder").unwrap(), STEPS - 1),
                &|chain| assert_eq!(chain.last_of("planner").unwrap(), Some(0)),
            ];
            for ask in asks {
                long.spoil(spoiled);
                ask(&long.load());
                assert_eq!(long.load().records().unwrap(), long.records, "record {spoiled} was spoiled");
            }
        }
    }
}
