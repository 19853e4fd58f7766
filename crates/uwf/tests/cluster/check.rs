//! What must hold when all is over, whatever happened before.

use std::collections::BTreeMap;

use json_cas::NodeHash;

use crate::evidence::{Evidence, Step};
use crate::ledger::{Entry, Event};

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Promises that were broken. There should be none.
    pub(crate) broken: Vec<String>,
    /// Positions that were paid twice because a machine died under the first agent, which nobody can prevent.
    pub(crate) excused: Vec<String>,
}

/// Compares what the store has with what the agents noted and with what was seen:
///
/// * every thread is at its end, and the store is whole;
/// * each step was made by an attempt that was paid for that position, and each payment is for a position that has a step;
/// * each position was paid once. A machine that dies takes its agents with it: then the position is paid again, and what the first
///   agent had answered is kept;
/// * the head of a thread only ever moved on along its steps;
/// * nothing still runs.
pub(crate) fn check(evidence: &Evidence) -> Findings {
    let mut findings = Findings::default();
    let broken = &mut findings.broken;
    let unended = evidence.threads.iter().filter(|thread| !evidence.ended.contains_key(*thread));
    broken.extend(unended.map(|thread| format!("{thread}: has not come to its end")));
    broken.extend(evidence.damages.iter().map(|damage| format!("the store: {damage}")));
    broken.extend(evidence.running.iter().map(|process| format!("still runs on {process}")));
    for (thread, steps) in &evidence.ended {
        let seen = evidence.seen.get(thread).map_or(&[][..], Vec::as_slice);
        broken.extend(moves(steps, seen).map(|what| format!("{thread}: {what}")));
    }
    payments(evidence, &mut findings);
    findings
}

/// A head that doesn't follow the steps of its thread.
fn moves<'a>(steps: &'a [Step], seen: &'a [NodeHash]) -> impl Iterator<Item = String> + 'a {
    let place = |head: NodeHash| match steps.iter().position(|step| step.hash == head) {
        Some(at) => Some(at + 1),
        None => steps.first().filter(|first| first.before == head).map(|_| 0),
    };
    let aside = seen.iter().filter(move |head| place(**head).is_none());
    let aside = aside.map(|head| format!("its head was seen at {head}, which is no step of it"));
    let back = seen.windows(2).filter(move |two| place(two[0]) > place(two[1]) && place(two[1]).is_some());
    aside.chain(back.map(|two| format!("its head was seen at {}, and then back at {}", two[0], two[1])))
}

fn payments(evidence: &Evidence, findings: &mut Findings) {
    let mut paid: BTreeMap<(&str, NodeHash), Vec<&Entry>> = BTreeMap::new();
    for entry in evidence.ledger.iter().filter(|entry| entry.event == Event::Paid) {
        paid.entry((&entry.thread, entry.head)).or_default().push(entry);
    }
    for (thread, steps) in &evidence.ended {
        for step in steps {
            let entries = paid.remove(&(thread.as_str(), step.before)).unwrap_or_default();
            position(evidence, step, &entries, findings);
        }
    }
    for ((thread, head), entries) in paid.into_iter().filter(|((thread, _), _)| evidence.ended.contains_key(*thread)) {
        let attempts = entries.iter().map(|entry| entry.attempt.as_str()).collect::<Vec<_>>().join(", ");
        findings.broken.push(format!("{thread}: {attempts} was paid for a step after {head}, and there is none"));
    }
}

/// Whether a step was paid for, and by whom else.
fn position(evidence: &Evidence, step: &Step, paid: &[&Entry], findings: &mut Findings) {
    let Some(own) = paid.iter().position(|entry| entry.attempt == step.attempt) else {
        findings.broken.push(format!("step {}: nobody was paid for {}, which made it", step.hash, step.attempt));
        return;
    };
    for (_, entry) in paid.iter().enumerate().filter(|(at, _)| *at != own) {
        let Entry { thread, attempt, machine, .. } = entry;
        let has_answered = evidence.ledger.iter().any(|line| line.event == Event::Answered && line.attempt == *attempt);
        let who = format!("{thread}: {attempt} on {machine}");
        if !evidence.struck.contains(attempt) {
            let also = if has_answered { "answered" } else { "was at work" };
            findings.broken.push(format!("{who} {also}, and {} was paid for the same step", step.attempt));
        } else if has_answered {
            findings
                .excused
                .push(format!("{who} had answered when its machine died, and its answer had not reached the store"));
        } else if evidence.kept.contains(attempt) {
            findings.excused.push(format!("{who} was killed with its machine, and its partial answer is kept"));
        } else {
            findings.broken.push(format!("{who} was killed with its machine, and its partial answer is lost"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "T";

    fn hash(number: u64) -> NodeHash {
        NodeHash::from_u64(number)
    }

    fn entry(event: Event, attempt: &str, head: u64) -> Entry {
        let [machine, attempt, thread] = ["m1", attempt, THREAD].map(str::to_owned);
        Entry { event, at: 1.0, machine, attempt, thread, head: hash(head) }
    }

    fn step(number: u64, attempt: &str) -> Step {
        Step { hash: hash(number), before: hash(number - 1), attempt: attempt.to_owned() }
    }

    /// A thread of two steps, each paid once, whose head was seen everywhere.
    fn sound() -> Evidence {
        let ledger = [("A", 0), ("B", 1)];
        let both = |(attempt, head)| [entry(Event::Paid, attempt, head), entry(Event::Answered, attempt, head)];
        Evidence {
            threads: vec![THREAD.to_owned()],
            ended: BTreeMap::from([(THREAD.to_owned(), vec![step(1, "A"), step(2, "B")])]),
            ledger: ledger.into_iter().flat_map(both).collect(),
            seen: BTreeMap::from([(THREAD.to_owned(), [0, 1, 2].map(hash).into())]),
            ..Evidence::default()
        }
    }

    /// What is found in sound evidence after a change.
    fn found(change: impl FnOnce(&mut Evidence)) -> Findings {
        let mut evidence = sound();
        change(&mut evidence);
        check(&evidence)
    }

    fn broken(what: &str) -> Findings {
        Findings { broken: vec![what.to_owned()], excused: Vec::new() }
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        assert_eq!(found(|_| ()), Findings::default());
    }

    #[test]
    fn a_position_that_was_paid_twice_is_found() {
        let findings = found(|evidence| evidence.ledger.push(entry(Event::Paid, "C", 1)));
        assert_eq!(findings, broken("T: C on m1 was at work, and B was paid for the same step"));
        let findings =
            found(|evidence| evidence.ledger.extend([Event::Paid, Event::Answered].map(|event| entry(event, "C", 1))));
        assert_eq!(findings, broken("T: C on m1 answered, and B was paid for the same step"));
    }

    #[test]
    fn killed_agent_with_kept_answer_is_excused() {
        let dies = |evidence: &mut Evidence| {
            evidence.ledger.push(entry(Event::Paid, "C", 1));
            evidence.struck.insert("C".to_owned());
        };
        assert_eq!(found(dies), broken("T: C on m1 was killed with its machine, and its partial answer is lost"));
        let findings = found(|evidence| {
            dies(evidence);
            evidence.kept.insert("C".to_owned());
        });
        let excused = vec!["T: C on m1 was killed with its machine, and its partial answer is kept".to_owned()];
        assert_eq!(findings, Findings { broken: Vec::new(), excused });
    }

    #[test]
    fn answer_lost_with_its_machine_is_excused() {
        let findings = found(|evidence| {
            evidence.ledger.extend([Event::Paid, Event::Answered].map(|event| entry(event, "C", 1)));
            evidence.struck.insert("C".to_owned());
        });
        let excused = "T: C on m1 had answered when its machine died, and its answer had not reached the store";
        assert_eq!(findings, Findings { broken: Vec::new(), excused: vec![excused.to_owned()] });
    }

    #[test]
    fn a_step_that_is_lost_is_found() {
        let findings = found(|evidence| evidence.ledger.push(entry(Event::Paid, "C", 2)));
        assert_eq!(findings, broken(&format!("T: C was paid for a step after {}, and there is none", hash(2))));
    }

    #[test]
    fn unpaid_step_is_found() {
        let findings = found(|evidence| evidence.ledger.retain(|entry| entry.attempt != "B"));
        assert_eq!(findings, broken(&format!("step {}: nobody was paid for B, which made it", hash(2))));
    }

    #[test]
    fn a_thread_that_has_not_ended_is_found() {
        let findings = found(|evidence| evidence.threads.push("U".to_owned()));
        assert_eq!(findings, broken("U: has not come to its end"));
    }

    #[test]
    fn head_moved_back_or_aside_is_found() {
        let sees = |heads: &'static [u64]| {
            move |evidence: &mut Evidence| {
                evidence.seen.insert(THREAD.to_owned(), heads.iter().copied().map(hash).collect());
            }
        };
        assert_eq!(found(sees(&[0, 2])), Findings::default(), "a look may come late");
        let back = format!("T: its head was seen at {}, and then back at {}", hash(2), hash(1));
        assert_eq!(found(sees(&[0, 2, 1])), broken(&back));
        let to_start = format!("T: its head was seen at {}, and then back at {}", hash(1), hash(0));
        assert_eq!(found(sees(&[1, 0, 2])), broken(&to_start));
        let aside = format!("T: its head was seen at {}, which is no step of it", hash(7));
        assert_eq!(found(sees(&[0, 7, 2])), broken(&aside));
    }

    #[test]
    fn an_orphan_and_a_damaged_store_are_found() {
        let findings = found(|evidence| evidence.running.push("m1 17: sleep 100".to_owned()));
        assert_eq!(findings, broken("still runs on m1 17: sleep 100"));
        let findings = found(|evidence| evidence.damages.push("a node is missing".to_owned()));
        assert_eq!(findings, broken("the store: a node is missing"));
    }
}
