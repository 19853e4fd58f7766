//! Whether there is one order in which all commands on a thread could have happened, one at a time, each between its call and
//! its answer, and each told what it was told (Herlihy and Wing's linearizability; the search is that of Wing and Gong,
//! with the memory of places it has been to that Lowe added).
//!
//! A thread is a register that holds a head and is, in the end, closed. A step is a compare-and-swap of which the new value
//! names the old one: a `StepNode` has its predecessor in it. What a command did that never answered is not known: it may have
//! happened at any time since its call, or not at all.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use json_cas::NodeHash;

/// What the register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) head: NodeHash,
    pub(crate) has_ended: bool,
}

/// What a command was told, as far as the register goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportedOutcome {
    /// It moved the head.
    Moved { from: NodeHash, to: NodeHash },
    /// It saw the register.
    Saw(State),
    /// It saw the head, whether or not the thread had ended.
    SawHead(NodeHash),
    /// It ended the thread.
    Ended,
    /// It found that the thread had ended.
    FoundEnded,
}

/// A command that was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) called: Duration,
    pub(crate) answered: Duration,
    pub(crate) told: ReportedOutcome,
}

/// Everything that happened to one thread, by one clock.
#[derive(Debug, Default, Clone)]
pub(crate) struct Record {
    pub(crate) answered: Vec<Answered>,
    /// When steps were called that were never answered.
    pub(crate) steps: Vec<Duration>,
    /// When kills were called that were never answered.
    pub(crate) kills: Vec<Duration>,
    /// Heads that follow a head, of all that were ever seen.
    pub(crate) next: BTreeMap<NodeHash, Vec<NodeHash>>,
}

/// A place of the search: which answered commands have happened, and how many of those without an answer. Those are all
/// alike but for their call, so the first of them goes first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    done: Vec<u64>,
    steps: usize,
    kills: usize,
    state: State,
}

impl Record {
    /// Looks for an order.
    ///
    /// # Errors
    /// Where the search that came furthest stood when there is none: the state, and the commands that fit nowhere.
    pub(crate) fn linearize(&self, first: State) -> Result<(), String> {
        let mut record = self.clone();
        record.answered.sort_by_key(|command| command.answered);
        record.steps.sort_unstable();
        record.kills.sort_unstable();
        record.search(first)
    }

    fn search(&self, first: State) -> Result<(), String> {
        let words = self.answered.len().div_ceil(64);
        let mut open = vec![Place { done: vec![0; words], steps: 0, kills: 0, state: first }];
        let mut been: HashSet<Place> = HashSet::new();
        let mut furthest = open[0].clone();
        while let Some(place) = open.pop() {
            if place.count() == self.answered.len() {
                return Ok(());
            }
            if place.count() > furthest.count() {
                furthest = place.clone();
            }
            for next in self.after(&place) {
                if been.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        let left = self.answered.iter().enumerate().filter(|(index, _)| !furthest.has(*index));
        let left: Vec<String> = left.take(4).map(|(_, command)| format!("{command:?}")).collect();
        Err(format!(
            "{} of {} commands fit one order, then the thread is {:?}, and none of these fits: {}",
            furthest.count(),
            self.answered.len(),
            furthest.state,
            left.join("; ")
        ))
    }

    /// Where one more command leads. What is likeliest comes last, since the last is tried first.
    fn after(&self, place: &Place) -> Vec<Place> {
        let waiting = || self.answered.iter().enumerate().filter(|(index, _)| !place.has(*index));
        // Whatever was called after one of them had been answered comes after that one.
        let Some(until) = waiting().map(|(_, command)| command.answered).min() else { return Vec::new() };
        let State { head, has_ended } = place.state;
        let fits =
            |(_, command): &(usize, &Answered)| command.called <= until && command.told.happens(place.state).is_some();
        // What only looks, and can have looked now, may as well have looked now: it changes nothing for the others.
        if let Some((index, _)) = waiting().filter(fits).find(|(_, command)| command.told.only_looks()) {
            return vec![place.with(index)];
        }
        let mut found = Vec::new();
        if !has_ended && self.kills.get(place.kills).is_some_and(|called| *called <= until) {
            found.push(Place { kills: place.kills + 1, state: State { head, has_ended: true }, ..place.clone() });
        }
        if !has_ended && self.steps.get(place.steps).is_some_and(|called| *called <= until) {
            for to in self.next.get(&head).into_iter().flatten() {
                found.push(Place { steps: place.steps + 1, state: State { head: *to, has_ended }, ..place.clone() });
            }
        }
        let moves = waiting().filter(fits);
        found.extend(moves.filter_map(|(index, command)| {
            Some(Place { state: command.told.happens(place.state)?, ..place.with(index) })
        }));
        found
    }
}

impl ReportedOutcome {
    fn only_looks(self) -> bool {
        match self {
            ReportedOutcome::Saw(_) | ReportedOutcome::SawHead(_) | ReportedOutcome::FoundEnded => true,
            ReportedOutcome::Moved { .. } | ReportedOutcome::Ended => false,
        }
    }

    /// What the register holds afterwards, when this can be told now.
    fn happens(self, now: State) -> Option<State> {
        match self {
            ReportedOutcome::Moved { from, to } => {
                (now == State { head: from, has_ended: false }).then_some(State { head: to, ..now })
            }
            ReportedOutcome::Saw(state) => (now == state).then_some(now),
            ReportedOutcome::SawHead(head) => (now.head == head).then_some(now),
            ReportedOutcome::Ended => (!now.has_ended).then_some(State { has_ended: true, ..now }),
            ReportedOutcome::FoundEnded => now.has_ended.then_some(now),
        }
    }
}

impl Place {
    fn has(&self, index: usize) -> bool {
        self.done[index / 64] >> (index % 64) & 1 == 1
    }

    fn with(&self, index: usize) -> Place {
        let mut place = self.clone();
        place.done[index / 64] |= 1 << (index % 64);
        place
    }

    fn count(&self) -> usize {
        self.done.iter().map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: NodeHash = NodeHash::literal("0000000000001");
    const A: NodeHash = NodeHash::literal("0000000000002");
    const B: NodeHash = NodeHash::literal("0000000000003");
    const C: NodeHash = NodeHash::literal("0000000000004");

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(head: NodeHash) -> State {
        State { head, has_ended: false }
    }

    fn ended(head: NodeHash) -> State {
        State { head, has_ended: true }
    }

    fn moved(from: NodeHash, to: NodeHash) -> ReportedOutcome {
        ReportedOutcome::Moved { from, to }
    }

    /// A record of (called, answered, told), with the successors START → A → B and START → C.
    fn record(answered: &[(u64, u64, ReportedOutcome)]) -> Record {
        let answered = answered.iter().map(|(called, answered, told)| Answered {
            called: ms(*called),
            answered: ms(*answered),
            told: *told,
        });
        let next = [(START, vec![A, C]), (A, vec![B])];
        Record { answered: answered.collect(), next: next.into(), ..Record::default() }
    }

    fn fits(record: &Record) -> bool {
        record.linearize(at(START)).is_ok()
    }

    #[test]
    fn sequential_operations_are_linearizable() {
        assert!(fits(&record(&[])));
        assert!(fits(&record(&[
            (0, 1, ReportedOutcome::Saw(at(START))),
            (2, 3, moved(START, A)),
            (4, 5, ReportedOutcome::Saw(at(A))),
            (6, 7, moved(A, B)),
            (8, 9, ReportedOutcome::Ended),
            (10, 11, ReportedOutcome::Saw(ended(B))),
            (12, 13, ReportedOutcome::FoundEnded),
        ])));
    }

    #[test]
    fn overlapping_operations_may_have_any_order() {
        assert!(fits(&record(&[
            (0, 9, moved(START, A)),
            (1, 2, ReportedOutcome::Saw(at(START))),
            (3, 4, ReportedOutcome::Saw(at(A)))
        ])));
        assert!(fits(&record(&[(0, 5, moved(A, B)), (4, 9, moved(START, A))])), "a swap whose answer was overtaken");
    }

    #[test]
    fn old_head_after_new_one_does_not_fit() {
        let stale = record(&[(0, 1, moved(START, A)), (2, 3, ReportedOutcome::Saw(at(START)))]);
        assert!(!fits(&stale), "seen after the step was told");
        let back = record(&[
            (0, 9, moved(START, A)),
            (1, 2, ReportedOutcome::Saw(at(A))),
            (3, 4, ReportedOutcome::Saw(at(START))),
        ]);
        assert!(!fits(&back), "seen new, then old, while the step is not told yet");
        let lost = record(&[(0, 5, moved(START, A)), (0, 5, moved(A, B)), (6, 7, ReportedOutcome::Saw(at(A)))]);
        assert!(!fits(&lost), "a step vanished");
    }

    #[test]
    fn two_steps_of_one_position_do_not_fit() {
        assert!(!fits(&record(&[(0, 9, moved(START, A)), (0, 9, moved(START, C))])));
        assert!(!fits(&record(&[(0, 1, moved(A, B))])), "nor one whose position was never reached");
    }

    #[test]
    fn nothing_moves_after_the_end() {
        assert!(!fits(&record(&[(0, 1, ReportedOutcome::Ended), (2, 3, moved(START, A))])));
        assert!(fits(&record(&[(0, 9, ReportedOutcome::Ended), (2, 3, moved(START, A))])));
        assert!(
            !fits(&record(&[(0, 1, ReportedOutcome::Ended), (0, 1, ReportedOutcome::Ended)])),
            "a thread ends once"
        );
        assert!(!fits(&record(&[(0, 1, ReportedOutcome::FoundEnded), (2, 3, ReportedOutcome::Ended)])));
        assert!(!fits(&record(&[(0, 1, ReportedOutcome::Ended), (2, 3, ReportedOutcome::Saw(at(START)))])));
    }

    #[test]
    fn unanswered_operation_happens_after_call_or_never() {
        let seen = record(&[(5, 6, ReportedOutcome::Saw(at(START))), (7, 8, ReportedOutcome::Saw(at(A)))]);
        assert!(!fits(&seen), "nobody made that step");
        assert!(fits(&Record { steps: vec![ms(0)], ..seen.clone() }));
        assert!(!fits(&Record { steps: vec![ms(9)], ..seen }), "called too late");
        let once = record(&[(5, 6, ReportedOutcome::Saw(at(A))), (7, 8, ReportedOutcome::Saw(at(B)))]);
        assert!(!fits(&Record { steps: vec![ms(0)], ..once.clone() }), "one step moves a head once");
        assert!(fits(&Record { steps: vec![ms(0), ms(1)], ..once }));
        assert!(fits(&Record { steps: vec![ms(0)], ..record(&[(5, 6, moved(START, C))]) }), "it never happened");
        let killed = record(&[(2, 3, moved(START, A)), (4, 5, ReportedOutcome::FoundEnded)]);
        assert!(!fits(&killed));
        assert!(fits(&Record { kills: vec![ms(0)], ..killed }));
    }

    /// Many commands at once, in an order that none of their answers shows: found without trying all orders.
    #[test]
    fn a_wide_history_is_searched_quickly() {
        let hash = |number: u64| NodeHash::from_u64(number);
        let steps = (1..200).map(|number| (0, 1000, moved(hash(number), hash(number + 1))));
        let sights = (1..200).map(|number| (0, 1000, ReportedOutcome::Saw(at(hash(number)))));
        let mut record = record(&steps.chain(sights).collect::<Vec<_>>());
        record.steps = vec![ms(0); 20];
        assert!(record.linearize(at(hash(1))).is_ok());
        record.answered.push(Answered {
            called: ms(2000),
            answered: ms(2001),
            told: ReportedOutcome::Saw(at(hash(199))),
        });
        assert!(record.linearize(at(hash(1))).is_err());
    }
}
