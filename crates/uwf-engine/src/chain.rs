//! The chain cache: for each thread a flat file of fixed-width records, so that no command walks 10,000 nodes, and most
//! read no more of the file than its end.
//!
//! A record is 40 bytes, little-endian u64s: the StepNode, its output, its detail, XXH64 of the role's name, and a checksum
//! of the last word of the record before (0 for the first), its position and these four. Records are in thread order and
//! only appended. The file is trusted up to the first record that is not whole, and only as far as its last record is the
//! head or an ancestor of it; it can be deleted at any time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use json_cas::Hash;
use uwf_core::node::StepNode;
use uwf_core::thread::ThreadId;

use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::load;

/// Words of a record, the checksum being the last.
const WORDS: usize = 5;

/// Bytes of a record.
const RECORD: usize = WORDS * 8;

/// Newest records that are read at once.
const BLOCK: usize = 256;

/// Records that are looked through at a time.
const SCANNED: usize = 2048;

/// One step as the cache knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The StepNode.
    pub step: Hash,
    /// Its output.
    pub output: Hash,
    /// Its detail.
    pub detail: Hash,
    /// [`role_key`] of its role.
    pub role: u64,
}

impl Record {
    /// The record of a StepNode.
    pub fn of(hash: Hash, step: &StepNode) -> Record {
        Record { step: hash, output: step.output, detail: step.detail, role: role_key(&step.role) }
    }
}

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

/// How a role is named in a record.
pub fn role_key(role: &str) -> u64 {
    json_cas::xxh64(role.as_bytes()).as_u64()
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
        if let Some((read, len)) = newest(home, thread)
            && read.records.last().is_some_and(|record| record.step == head)
        {
            chain.len = len;
            chain.read = RefCell::new(read);
        } else {
            let read = whole(home, thread, head)?;
            chain.len = read.records.len();
            chain.read = RefCell::new(read);
        }
        Ok(chain)
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
        self.read_back_to(index)?;
        let read = self.read.borrow();
        Ok(Some(read.records[index - (self.len - read.records.len())]))
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
        let key = role_key(role);
        let mut count = 0;
        self.go_back(|_, record| {
            count += usize::from(record.role == key);
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// Position of the first step of a role.
    ///
    /// # Errors
    /// As [`Chain::get`].
    pub fn first_of(&self, role: &str) -> Result<Option<usize>> {
        let key = role_key(role);
        let mut first = None;
        self.go_back(|position, record| {
            if record.role == key {
                first = Some(position);
            }
            ControlFlow::Continue(())
        })?;
        Ok(first)
    }

    /// Position of the last step of a role.
    ///
    /// # Errors
    /// As [`Chain::get`].
    pub fn last_of(&self, role: &str) -> Result<Option<usize>> {
        let key = role_key(role);
        let mut last = None;
        self.go_back(|position, record| {
            if record.role == key {
                last = Some(position);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(last)
    }

    /// Shows all records, the newest first, until that is enough. Those that were not read before are not kept.
    fn go_back(&self, mut visit: impl FnMut(usize, Record) -> ControlFlow<()>) -> Result<()> {
        let mut visit_all = |end: usize, records: &[Record]| {
            (end - records.len()..end).zip(records).rev().try_for_each(|(position, record)| visit(position, *record))
        };
        let (mut end, mut sum) = {
            let read = self.read.borrow();
            if visit_all(self.len, &read.records).is_break() {
                return Ok(());
            }
            (self.len - read.records.len(), read.sum_before)
        };
        while end > 0 {
            let from = end.saturating_sub(SCANNED);
            let older = self.read.borrow().older.as_ref().and_then(|file| block(file, from, end).ok());
            let Some(older) = older.filter(|older| older.is_whole && older.sum == sum) else {
                self.mend()?;
                let _ = visit_all(end, &self.read.borrow().records[..end]);
                return Ok(());
            };
            if visit_all(end, &older.records).is_break() {
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
        let older = read.older.as_ref().and_then(|file| block(file, from, first).ok());
        if let Some(older) = older.filter(|older| older.is_whole && older.sum == read.sum_before) {
            read.records.splice(0..0, older.records);
            read.sum_before = older.sum_before;
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

/// Adds the newest step to a thread's cache, behind those before it; a cache of another length is left alone, the next
/// reader brings it up to date. Failure costs time later, nothing else.
pub fn push(home: &Home, thread: &ThreadId, before: &Chain<'_>, record: Record) {
    append(home, thread, before.len, before.read.borrow().sum, &[record]);
}

/// The last step the cache has, be it the thread's or not.
pub(crate) fn last_known(home: &Home, thread: &ThreadId) -> Option<Hash> {
    let newest = newest(home, thread).map(|(read, _)| read.records);
    let records = newest.or_else(|| trusted(home, thread).map(|trusted| trusted.records))?;
    records.last().map(|record| record.step)
}

/// The newest records of a cache whose end is whole, and how many it has.
fn newest(home: &Home, thread: &ThreadId) -> Option<(Read, usize)> {
    let file = File::open(home.chain_file(thread)).ok()?;
    let bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let len = bytes / RECORD;
    let from = len.saturating_sub(BLOCK);
    let block = block(&file, from, len).ok()?;
    let is_whole = block.is_whole && bytes % RECORD == 0;
    let older = (from > 0).then_some(file);
    is_whole.then_some((Read { records: block.records, older, sum_before: block.sum_before, sum: block.sum }, len))
}

/// All records up to `head`: from the cache as far as it can be trusted, the rest from the nodes. The cache is as long
/// afterwards, if it can be written.
fn whole(home: &Home, thread: &ThreadId, head: Hash) -> Result<Read> {
    let Block { mut records, sum, is_whole, .. } = trusted(home, thread).unwrap_or_default();
    let cached = records.len();
    let missing = walk_back(home, head, &mut records)?;
    let kept = records.len();
    let is_kept = kept == cached && is_whole;
    let sum = if is_kept { sum } else { sum_of(&records, 0, 0) };
    records.extend(missing.into_iter().rev());
    let new = &records[kept..];
    if !is_kept {
        rewrite(home, thread, &records);
    } else if !new.is_empty() {
        append(home, thread, kept, sum, new);
    }
    let sum = sum_of(new, kept, sum);
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

/// What of a cache can be trusted; `None` when there is none.
fn trusted(home: &Home, thread: &ThreadId) -> Option<Block> {
    let bytes = std::fs::read(home.chain_file(thread)).ok()?;
    Some(decode(&bytes, 0, 0))
}

/// Records that stand one behind the other, up to the first that is damaged.
#[derive(Default)]
struct Block {
    records: Vec<Record>,
    sum_before: u64,
    sum: u64,
    /// Whether none is damaged.
    is_whole: bool,
}

/// The records from `first` up to `end` of a cache.
fn block(file: &File, first: usize, end: usize) -> io::Result<Block> {
    // The record before is read too: its checksum is part of the next one's.
    let mut bytes = vec![0; (end - first + usize::from(first > 0)) * RECORD];
    let from = first.saturating_sub(1) * RECORD;
    file.read_exact_at(&mut bytes, from as u64)?;
    let (before, bytes) = bytes.split_at(if first > 0 { RECORD } else { 0 });
    let sum_before = if before.is_empty() { 0 } else { words(before)[WORDS - 1] };
    Ok(decode(bytes, first, sum_before))
}

/// The records of a part of a cache that begins with record `first`.
fn decode(bytes: &[u8], first: usize, sum_before: u64) -> Block {
    let mut block =
        Block { records: Vec::with_capacity(bytes.len() / RECORD), sum_before, sum: sum_before, is_whole: true };
    for chunk in bytes.chunks(RECORD) {
        if chunk.len() < RECORD {
            block.is_whole = false;
            break;
        }
        let [step, output, detail, role, sum] = words(chunk);
        let (step, output, detail) = (Hash::from_u64(step), Hash::from_u64(output), Hash::from_u64(detail));
        let record = Record { step, output, detail, role };
        if sum != checksum(block.sum, first + block.records.len(), record) {
            block.is_whole = false;
            break;
        }
        block.records.push(record);
        block.sum = sum;
    }
    block
}

fn words(record: &[u8]) -> [u64; WORDS] {
    std::array::from_fn(|word| {
        let bytes = record[word * 8..(word + 1) * 8].try_into().expect("a record holds words of eight bytes");
        u64::from_le_bytes(bytes)
    })
}

/// The last word of the record at a position, behind one with this last word. It is computed for every record each time it
/// is read, so it is a few multiplications: it has to notice accidents, not forgers. Each word changes it reversibly, so one
/// that is wrong alone never goes unnoticed, and zeros do not sum up to zero. With the position in it, the last record
/// tells whether any is missing or there twice.
fn checksum(before: u64, position: usize, record: Record) -> u64 {
    let Record { step, output, detail, role } = record;
    [position as u64, step.as_u64(), output.as_u64(), detail.as_u64(), role].into_iter().fold(before, |sum, word| {
        // The odd constant of splitmix64: the golden ratio in 64 bits.
        let mixed = (sum ^ word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 32)
    })
}

/// The last word of the last of these records, the first of which stands at a position behind one with this last word.
fn sum_of(records: &[Record], first: usize, before: u64) -> u64 {
    (first..).zip(records).fold(before, |sum, (position, record)| checksum(sum, position, *record))
}

/// Records from a position on, behind one with this last word, as bytes.
fn encode(records: &[Record], first: usize, mut sum: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.len() * RECORD);
    for (position, record) in (first..).zip(records) {
        sum = checksum(sum, position, *record);
        for word in [record.step.as_u64(), record.output.as_u64(), record.detail.as_u64(), record.role, sum] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}

/// Appends behind exactly as many records as are known; the cache is a help, so failures are silent.
fn append(home: &Home, thread: &ThreadId, known: usize, sum: u64, records: &[Record]) {
    let path = home.chain_file(thread);
    let open = || OpenOptions::new().append(true).create(true).open(&path);
    let file = open().or_else(|error| {
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        open()
    });
    let Ok(mut file) = file else { return };
    let size = file.metadata().map(|meta| meta.len()).unwrap_or(u64::MAX);
    if size == (known * RECORD) as u64 {
        let _ = file.write_all(&encode(records, known, sum));
    }
}

fn rewrite(home: &Home, thread: &ThreadId, records: &[Record]) {
    let path = home.chain_file(thread);
    let Some(dir) = path.parent() else { return };
    if std::fs::create_dir_all(dir).is_err() {
        return;
    }
    // Not durable on purpose: it can be derived.
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        file.write_all(&encode(records, 0, 0))?;
        Ok(file)
    });
    if let Ok(file) = written {
        let _ = file.persist(&path);
    }
}

#[cfg(test)]
mod tests {
    use uwf_core::node::{Content, Payload};

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
        assert_eq!((chain.len(), read()), (STEPS, BLOCK));
        assert_eq!(chain.last_of("coder").unwrap(), Some(STEPS - 1));
        assert_eq!(chain.last_of("planner").unwrap(), Some(0));
        assert_eq!(chain.first_of("coder").unwrap(), Some(1));
        assert_eq!(chain.count_of("coder").unwrap(), STEPS - 1);
        assert_eq!(chain.last_of("tester").unwrap(), None);
        assert_eq!(read(), BLOCK, "looking through them keeps none");
        for index in [STEPS - BLOCK - 1, STEPS - 3 * BLOCK, 7, 0, STEPS - 1] {
            assert_eq!(chain.get(index).unwrap(), Some(long.records[index]));
        }
        assert_eq!(chain.get(STEPS).unwrap(), None);
        assert_eq!(chain.records().unwrap(), long.records);
    }

    #[test]
    fn damage_is_found_wherever_it_is_met() {
        let long = Long::new();
        for spoiled in [0, 3, SCANNED, STEPS - BLOCK - 1, STEPS - BLOCK, STEPS - 1] {
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
