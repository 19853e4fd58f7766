//! What part of a history conditions look at.

use std::collections::BTreeSet;

/// What part of a thread's history one or more conditions look at, so that no more than that is loaded.
///
/// It errs on the side of too much: what an expression might read but the analysis can't pin down sets
/// [`all`](Reads::all). The start (workflow, prompt), the thread's id and depth, and the number of steps are
/// always at hand and not part of this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Every step. The other fields then need no attention, except [`details`](Reads::details).
    pub all: bool,
    /// This many of the newest steps, without gaps.
    pub last: usize,
    /// This many of the oldest steps, without gaps.
    pub first: usize,
    /// The first output of these roles.
    pub first_of: BTreeSet<String>,
    /// The newest output of these roles.
    pub last_of: BTreeSet<String>,
    /// The total number of steps. ([`History::total`](super::History::total) is always filled; this tells
    /// a reader of the report that the condition counts.)
    pub counts: bool,
    /// The number of steps of these roles.
    pub count_of: BTreeSet<String>,
    /// How the outputs of the steps asked for were obtained, and what else their headers said: that is in their details.
    pub details: bool,
    /// What the thread has used so far, which is in the details of all its steps.
    pub usage: bool,
}

impl Reads {
    /// Nothing but what is always at hand.
    #[must_use]
    pub fn none() -> Reads {
        Reads::default()
    }

    /// Every step with everything about it: what an arbitrary expression may read.
    #[must_use]
    pub fn everything() -> Reads {
        Reads { all: true, details: true, usage: true, ..Reads::default() }
    }

    /// Widens this to cover `other` as well.
    pub fn union(&mut self, other: &Reads) {
        self.all |= other.all;
        self.last = self.last.max(other.last);
        self.first = self.first.max(other.first);
        self.first_of.extend(other.first_of.iter().cloned());
        self.last_of.extend(other.last_of.iter().cloned());
        self.counts |= other.counts;
        self.count_of.extend(other.count_of.iter().cloned());
        self.details |= other.details;
        self.usage |= other.usage;
    }

    /// Positions (0 = oldest) of the steps to put into [`History::steps`](super::History::steps) of a thread
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
        let reads = Reads { first: 2, last: 3, ..Reads::none() };
        assert_eq!(reads.positions(10), [0, 1, 7, 8, 9]);
        assert_eq!(reads.positions(5), [0, 1, 2, 3, 4]);
        assert_eq!(reads.positions(4), [0, 1, 2, 3]);
        assert_eq!(reads.positions(0), Vec::<usize>::new());
        assert_eq!(Reads::none().positions(3), Vec::<usize>::new());
        assert_eq!(Reads::everything().positions(3), [0, 1, 2]);
        let huge = Reads { last: u32::MAX as usize, ..Reads::none() };
        assert_eq!(huge.positions(2), [0, 1]);
    }

    #[test]
    fn a_union_covers_both() {
        let mut reads = Reads { last: 1, first: 3, counts: true, ..Reads::none() };
        reads.last_of.insert("coder".into());
        let mut other = Reads { last: 2, details: true, ..Reads::none() };
        other.last_of.insert("tester".into());
        other.count_of.insert("coder".into());
        reads.union(&other);
        assert_eq!(
            reads,
            Reads {
                all: false,
                last: 2,
                first: 3,
                first_of: BTreeSet::new(),
                last_of: ["coder".into(), "tester".into()].into(),
                counts: true,
                count_of: ["coder".into()].into(),
                details: true,
                usage: false,
            }
        );
    }
}
