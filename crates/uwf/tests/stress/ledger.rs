//! The runs that the agents themselves recorded as paid for. Each of their lines is on disk before they continue.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use json_cas::NodeHash;
use serde_json::Value;
use uwf_engine::root::home::Home;

use crate::stage::{Stage, chain, text_of};

/// Writes one line of the ledger: a word, the attempt, the thread, the head the agent builds on as the index has it, and what
/// else there is. Whoever cannot note that it was paid, since what writes the line was killed, does no work. The shell makes
/// the line itself: of a pipe's processes only the last is missed when it is killed.
const NOTE: &str = r#"#!/bin/sh
while read -r id head; do [ "$id" = "$UWF_THREAD:" ] && break; done < "$UNCAGED_WORKFLOW_STORAGE_ROOT/threads.yaml"
note() {
    printf '%s\n' "$1 $UWF_ATTEMPT $UWF_THREAD $head $2" > "$HOME/line.$UWF_ATTEMPT"
    dd if="$HOME/line.$UWF_ATTEMPT" of="$HOME/ledger" oflag=append conv=notrunc,fsync status=none
}
note paid || exit 1
"#;

/// An agent of which uwf makes the step.
pub(crate) fn worker(work_ms: u32) -> String {
    format!("{NOTE}cat > /dev/null\n{}echo '{{\"attempt\": \"'\"$UWF_ATTEMPT\"'\"}}'\n", work(work_ms))
}

/// An agent that hands its step in itself, and notes that it did.
pub(crate) fn stepper(work_ms: u32) -> String {
    let submit = r#"step=$("$UWF_BIN" agent submit "$1" "$2" --data '{"attempt": "'"$UWF_ATTEMPT"'"}') || exit 1"#;
    format!("{NOTE}{}{submit}\nnote kept \"$step\"\necho \"$step\"\n", work(work_ms))
}

fn work(ms: u32) -> String {
    if ms == 0 { String::new() } else { format!("sleep {}.{:03}\n", ms / 1000, ms % 1000) }
}

/// A position of a thread: the thread, and the head the next step builds on.
pub(crate) type Position = (String, NodeHash);

/// All lines of a ledger.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The attempts paid for at each position, in order.
    pub(crate) paid: BTreeMap<Position, Vec<String>>,
    /// Steps that agents handed in, and by which attempt.
    pub(crate) kept: Vec<(Position, String, NodeHash)>,
}

impl Ledger {
    /// The ledger of a stage. A last line that its writer was killed over is none.
    pub(crate) fn of(stage: &Stage) -> Ledger {
        let text = text_of(&stage.dir().join("ledger"));
        let mut ledger = Ledger::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap_or_default().trim_matches('"').to_owned();
            let (word, attempt, thread, head, step) = (next(), next(), next(), next(), next());
            let Ok(head) = head.parse() else { continue };
            match (word.as_str(), step.parse()) {
                ("paid", _) => ledger.paid.entry((thread, head)).or_default().push(attempt),
                ("kept", Ok(step)) => ledger.kept.push(((thread, head), attempt, step)),
                _ => {}
            }
        }
        ledger
    }

    /// How often an agent was paid.
    pub(crate) fn payments(&self) -> usize {
        self.paid.values().map(Vec::len).sum()
    }
}

/// Attempts whose records say that their agent had answered or finished, collected while a thread runs: a record tells only
/// about the newest ones.
#[derive(Debug, Default)]
pub(crate) struct Records {
    answered: BTreeSet<String>,
}

impl Records {
    /// Adds what the record of a thread says now.
    pub(crate) fn look(&mut self, stage: &Stage, thread: &str) {
        let text = text_of(&stage.home.record_file(thread));
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if matches!(line["event"].as_str(), Some("answered" | "finished")) {
                self.answered.insert(line["attempt"].as_str().unwrap_or_default().to_owned());
            }
        }
    }

    /// Adds what others saw.
    pub(crate) fn merge(&mut self, other: Records) {
        self.answered.extend(other.answered);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.answered.len()
    }
}

/// Checks threads, by their heads, against the ledger. Everything that does not hold is told, nothing is an empty text:
///
/// * a position has one step, made by an attempt that was paid there, and by the last one: whoever is paid after it is paid
///   twice for one output;
/// * nobody was paid after an attempt there had finished, by its own word or by its record;
/// * what an agent handed in is a step of its thread, unless the thread has ended without it.
pub(crate) fn check(home: &Home, heads: &BTreeMap<String, NodeHash>, ledger: &Ledger, records: &Records) -> String {
    let mut wrong = String::new();
    let mut paid_with: BTreeMap<&str, (&Position, &[String])> = BTreeMap::new();
    for (position, paid) in &ledger.paid {
        paid_with.extend(paid.iter().map(|attempt| (attempt.as_str(), (position, paid.as_slice()))));
    }
    for (thread, head) in heads {
        let links = chain(home, *head);
        for link in &links {
            let output = home.store().get(link.output).unwrap().payload;
            // What a person says is not paid for.
            let Some(by) = output["attempt"].as_str() else { continue };
            // A fork has its first steps from the thread it was forked from, where they were paid.
            let is_last = paid_with
                .get(by)
                .is_some_and(|((_, at), paid)| *at == link.before && paid.last().is_some_and(|last| last == by));
            if !is_last {
                let paid = paid_with.get(by);
                let _ = writeln!(wrong, "{thread}: step {} is by {by}, paid at its position were {paid:?}", link.step);
            }
        }
        for ((of, at), attempt, step) in &ledger.kept {
            let is_linked = links.iter().any(|link| link.step == *step);
            // Of a killed thread the last one may have come too late.
            if of == thread && !is_linked && *at != *head {
                let _ = writeln!(wrong, "{thread}: {attempt} handed in {step}, which is no step of it");
            }
        }
    }
    let finished =
        |attempt: &String| records.answered.contains(attempt) || ledger.kept.iter().any(|(_, by, _)| by == attempt);
    for ((thread, _), paid) in &ledger.paid {
        if let Some((_, before)) = paid.split_last()
            && let Some(twice) = before.iter().find(|attempt| finished(attempt))
        {
            let _ = writeln!(wrong, "{thread}: {twice} had finished, and then were paid {paid:?}");
        }
    }
    let all: Vec<&String> = ledger.paid.values().flatten().collect();
    let distinct: BTreeSet<&String> = all.iter().copied().collect();
    if all.len() != distinct.len() {
        let _ = writeln!(wrong, "an attempt was paid more than once");
    }
    wrong
}
