//! Whether the steps of active threads are in the store, and whether the nodes at both ends of each thread are readable.
//!
//! An examination of many threads keeps what it read of each. The next one reads a thread again only if the file of its head or of its start
//! has changed, or if the machine was restarted: after a power cut, a file may have its size and time without its content.

use std::collections::HashMap;
use std::path::PathBuf;

use json_cas::NodeHash;

use crate::attempt::recorded::boot_id;
use crate::root::cache_file;
use crate::root::file_sign::FileSign;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::views::list::{READ_DIRECTLY, ThreadRow};

/// Most steps of a thread that are kept. Longer threads are read each time, because the cache is read as a whole.
const MOST_STEPS: usize = 1000;

/// Words of an entry before its steps: head, start, both signs, and the number of steps.
const WORDS: usize = 11;

/// A thread whose head and start were read.
#[derive(Debug, Clone, PartialEq)]
struct ReadChain {
    start: NodeHash,
    /// Its head is the last one, or the start.
    steps: Vec<NodeHash>,
    /// The files of head and start.
    signs: [FileSign; 2],
}

/// The check of the threads of an examination.
pub(super) struct ChainCheck<'h> {
    home: &'h Home,
    /// All nodes of the store, sorted.
    nodes: &'h [NodeHash],
    /// File of the cache, with the id of this boot; `None` if each thread is read.
    cache: Option<(PathBuf, String)>,
    known: HashMap<NodeHash, ReadChain>,
    learned: bool,
}

impl<'h> ChainCheck<'h> {
    /// The check of this number of threads. `nodes` has all nodes of the store, sorted.
    pub(super) fn load(home: &'h Home, nodes: &'h [NodeHash], threads: usize) -> ChainCheck<'h> {
        let boot = boot_id().unwrap_or_default();
        let is_kept = threads > READ_DIRECTLY && !boot.is_empty() && home.files().is_ok();
        let cache = is_kept.then(|| (home.read_chains_cache(), boot));
        let body = cache.as_ref().and_then(|(path, boot)| Some((cache_file::read(path)?, boot)));
        let known = body.and_then(|(body, boot)| decode(&body, boot)).unwrap_or_default();
        ChainCheck { home, nodes, cache, known, learned: false }
    }

    /// Whether a step of a thread is missing, or its head or its start is unreadable, so that the thread can't continue.
    pub(super) fn finds_hole(&mut self, row: &ThreadRow) -> bool {
        if let Some(known) = self.known.get(&row.head)
            && self.signs(row.head, known.start) == Some(known.signs)
        {
            return self.lacks(&known.steps);
        }
        match self.read(row) {
            Some(steps) => self.lacks(&steps),
            // The thread may have been removed meanwhile.
            None => {
                self.home.heads().read(row.thread.as_str()).ok().flatten().is_some_and(|head| head.hash == row.head)
            }
        }
    }

    /// Saves what was read of the threads with these heads. A failure only makes the next examination slower.
    pub(super) fn save(&self, heads: impl Iterator<Item = NodeHash>) {
        let Some((path, boot)) = self.cache.as_ref().filter(|_| self.learned) else { return };
        cache_file::write(
            self.home,
            path,
            &encode(boot, heads.filter_map(|head| Some((head, self.known.get(&head)?)))),
        );
    }

    /// The steps of a thread; `None` if its nodes are unreadable.
    fn read(&mut self, row: &ThreadRow) -> Option<Vec<NodeHash>> {
        let thread = Thread::load_at(self.home, row.thread.clone(), row.head).ok()?;
        let steps: Vec<NodeHash> = thread.chain().ok()?.records().iter().map(|record| record.step).collect();
        let start = thread.start_hash;
        if self.cache.is_some()
            && steps.len() <= MOST_STEPS
            && let Some(signs) = self.signs(row.head, start)
        {
            self.known.insert(row.head, ReadChain { start, steps: steps.clone(), signs });
            self.learned = true;
        }
        Some(steps)
    }

    /// Whether one of these steps is missing.
    fn lacks(&self, steps: &[NodeHash]) -> bool {
        // A step may be newer than the list of nodes.
        let is_there = |step: &NodeHash| {
            self.nodes.binary_search(step).is_ok() || self.home.store().objects().contains(*step).unwrap_or(false)
        };
        !steps.iter().all(is_there)
    }

    fn signs(&self, head: NodeHash, start: NodeHash) -> Option<[FileSign; 2]> {
        let head_sign = self.sign(head)?;
        let start_sign = if start == head { head_sign } else { self.sign(start)? };
        Some([head_sign, start_sign])
    }

    /// The sign of a node's file; `None` if the node is in a pack.
    fn sign(&self, node: NodeHash) -> Option<FileSign> {
        FileSign::from_file(&self.home.files().ok()?.path(node))
    }
}

/// The length of the boot's id and the id, then the words of each entry and its steps, little-endian.
fn encode<'c>(boot: &str, known: impl Iterator<Item = (NodeHash, &'c ReadChain)>) -> Vec<u8> {
    let mut body = [&(boot.len() as u64).to_le_bytes(), boot.as_bytes()].concat();
    for (head, ReadChain { start, steps, signs }) in known {
        let of_sign =
            |FileSign { inode, bytes, seconds, nanos }| [inode, bytes, seconds.cast_unsigned(), nanos.cast_unsigned()];
        let words = [head.as_u64(), start.as_u64()].into_iter().chain(signs.map(of_sign).into_iter().flatten());
        let words = words.chain([steps.len() as u64]).chain(steps.iter().map(|step| step.as_u64()));
        words.for_each(|word| body.extend(word.to_le_bytes()));
    }
    body
}

/// The entries of this boot; `None` if the cache is of another one.
fn decode(body: &[u8], boot: &str) -> Option<HashMap<NodeHash, ReadChain>> {
    let body = body.strip_prefix(&(boot.len() as u64).to_le_bytes())?.strip_prefix(boot.as_bytes())?;
    let (words, _) = body.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (mut rest, mut known) = (words.as_slice(), HashMap::new());
    while let Some((fixed, after)) = rest.split_first_chunk::<WORDS>() {
        let &[head, start, .., count] = fixed;
        let Some((steps, after)) = usize::try_from(count).ok().and_then(|count| after.split_at_checked(count)) else {
            break;
        };
        let sign = |at: usize| FileSign {
            inode: fixed[at],
            bytes: fixed[at + 1],
            seconds: fixed[at + 2].cast_signed(),
            nanos: fixed[at + 3].cast_signed(),
        };
        let steps = steps.iter().map(|step| NodeHash::from_u64(*step)).collect();
        let chain = ReadChain { start: NodeHash::from_u64(start), steps, signs: [sign(2), sign(6)] };
        known.insert(NodeHash::from_u64(head), chain);
        rest = after;
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_chains_are_read_back() {
        let of = |number: u64| {
            let steps = (0..number).map(NodeHash::from_u64).collect();
            let signs = [
                FileSign { inode: number, bytes: u64::MAX, seconds: -3, nanos: 9 },
                FileSign { inode: 7, bytes: 0, seconds: i64::MAX, nanos: i64::MIN },
            ];
            (NodeHash::from_u64(number), ReadChain { start: NodeHash::from_u64(number * 2), steps, signs })
        };
        let known: HashMap<NodeHash, ReadChain> = [of(0), of(1), of(40)].into();
        let written = encode("this boot", known.iter().map(|(head, chain)| (*head, chain)));
        assert_eq!(decode(&written, "this boot"), Some(known));
        assert_eq!(decode(&written, "another"), None);
    }
}
