//! The part of a history that conditions read.

use std::collections::BTreeSet;

/// The part of a thread's history that one or more conditions read, so that only this part is loaded.
///
/// The analysis prefers too much to too little: if it can't determine what an expression reads, it sets [`all`](HistoryReads::all). The start
/// (workflow, prompt, input), the thread's id and depth, and the number of steps are always available and not part of this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryReads {
    /// Every step. Then the other fields don't matter, except [`details`](HistoryReads::details) and
    /// [`outcomes`](HistoryReads::outcomes).
    pub all: bool,
    /// Number of newest steps, without gaps.
    pub last: usize,
    /// Number of oldest steps, without gaps.
    pub first: usize,
    /// The first output of these roles.
    pub first_of: BTreeSet<String>,
    /// The newest output of these roles.
    pub last_of: BTreeSet<String>,
    /// Whether the total number of steps is read. ([`ThreadHistory::total`](super::ThreadHistory::total) is always filled; this field is for reports.)
    pub counts: bool,
    /// The number of steps of these roles.
    pub count_of: BTreeSet<String>,
    /// How the outputs of these steps were obtained, and the rest of their headers. Both are stored in the details.
    pub details: bool,
    /// The outcomes of the child threads that played these steps' roles.
    pub outcomes: bool,
    /// The branches of the newest step of each group, which are stored in the threads of the groups.
    pub branches: bool,
    /// The usage of the thread so far, which is stored in the details of all its steps.
    pub usage: bool,
}

impl HistoryReads {
    /// Only what is always available.
    #[must_use]
    pub fn none() -> HistoryReads {
        HistoryReads::default()
    }

    /// Every step with all its parts, for expressions whose reads are unknown.
    #[must_use]
    pub fn everything() -> HistoryReads {
        HistoryReads {
            all: true,
            details: true,
            outcomes: true,
            branches: true,
            usage: true,
            ..HistoryReads::default()
        }
    }

    /// Adds the reads of `other`.
    pub fn union(&mut self, other: &HistoryReads) {
        self.all |= other.all;
        self.last = self.last.max(other.last);
        self.first = self.first.max(other.first);
        self.first_of.extend(other.first_of.iter().cloned());
        self.last_of.extend(other.last_of.iter().cloned());
        self.counts |= other.counts;
        self.count_of.extend(other.count_of.iter().cloned());
        self.details |= other.details;
        self.outcomes |= other.outcomes;
        self.branches |= other.branches;
        self.usage |= other.usage;
    }

    /// Positions (0 = oldest) of the steps to put into [`ThreadHistory::steps`](super::ThreadHistory::steps) of a thread
    /// with `total` steps, ascending.
    #[must_use]
    pub fn positions(&self, total: usize) -> Vec<usize> {
        let first = self.first.min(total);
        let last = self.last.min(total);
        if self.all || first + last >= total {
            return (0..total).collect();
        }
        (0..first).chain(total - last..total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_both_ends_without_repetition() {
        let reads = HistoryReads { first: 2, last: 3, ..HistoryReads::none() };
        assert_eq!(reads.positions(10), [0, 1, 7, 8, 9]);
        assert_eq!(reads.positions(5), [0, 1, 2, 3, 4]);
        assert_eq!(reads.positions(4), [0, 1, 2, 3]);
        assert_eq!(reads.positions(0), Vec::<usize>::new());
        assert_eq!(HistoryReads::none().positions(3), Vec::<usize>::new());
        assert_eq!(HistoryReads::everything().positions(3), [0, 1, 2]);
        let huge = HistoryReads { last: u32::MAX as usize, ..HistoryReads::none() };
        assert_eq!(huge.positions(2), [0, 1]);
    }

    #[test]
    fn a_union_covers_both() {
        let mut reads = HistoryReads { last: 1, first: 3, counts: true, ..HistoryReads::none() };
        reads.last_of.insert("coder".into());
        let mut other = HistoryReads { last: 2, details: true, ..HistoryReads::none() };
        other.last_of.insert("tester".into());
        other.count_of.insert("coder".into());
        reads.union(&other);
        assert_eq!(
            reads,
            HistoryReads {
                all: false,
                last: 2,
                first: 3,
                first_of: BTreeSet::new(),
                last_of: ["coder".into(), "tester".into()].into(),
                counts: true,
                count_of: ["coder".into()].into(),
                details: true,
                outcomes: false,
                branches: false,
                usage: false,
            }
        );
    }
}
