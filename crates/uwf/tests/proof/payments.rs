//! Nobody is paid twice for a finished output: what the agents' own ledger says, against the records of attempts.

use std::collections::BTreeMap;

use json_cas::{HeadsError, NodeHash};
use serde_json::Value;
use uwf_engine::root::history;
use uwf_engine::root::home::Home;

use crate::shape::steps;
use crate::stage::Stage;

/// One attempt as its record tells it.
struct Recorded {
    attempt: String,
    expected_head: String,
    /// Whether only a text is read again: nobody is paid for that.
    rereads: bool,
    answered: bool,
    finished: Option<String>,
}

/// Checks every attempt: each ran at most once, none after one that had finished at the same head, and with `converged`
/// each finished output is part of its thread.
///
/// # Errors
/// What does not hold.
pub(crate) fn check(stage: &Stage, converged: bool) -> Result<(), String> {
    let home = stage.engine();
    let mut all = Vec::new();
    for (thread, attempts) in records(stage) {
        let linked = linked(&home, &thread)?;
        let (mut finished_at, mut answered_at): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for recorded in &attempts {
            if finished_at.contains(&recorded.expected_head.as_str()) {
                return Err(format!("attempt {} was opened though its step was finished", recorded.attempt));
            }
            if !recorded.rereads && answered_at.contains(&recorded.expected_head.as_str()) {
                return Err(format!("attempt {} was opened though its agent had answered", recorded.attempt));
            }
            if recorded.answered {
                answered_at.push(&recorded.expected_head);
            }
            let Some(step) = &recorded.finished else { continue };
            finished_at.push(&recorded.expected_head);
            let is_linked = linked.iter().flatten().any(|linked| linked.to_string() == *step);
            if converged && linked.is_some() && !is_linked {
                return Err(format!("step {step} was finished and is not part of thread {thread}"));
            }
        }
        all.extend(attempts.into_iter().map(|recorded| recorded.attempt));
    }
    let (before, ledger) = (stage.ledger_before(), stage.ledger());
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for paid in ledger.lines() {
        *times.entry(paid).or_default() += 1;
    }
    // With a thread that is removed go the records of its attempts.
    let is_known = |paid: &str| all.iter().any(|known| known == paid) || before.contains(paid);
    match times.iter().find(|(paid, times)| **times > 1 || !is_known(paid)) {
        Some((paid, times)) => Err(format!("attempt {paid} was paid {times} times, recorded are {all:?}")),
        None => Ok(()),
    }
}

/// The attempts of every thread, oldest first.
fn records(stage: &Stage) -> BTreeMap<String, Vec<Recorded>> {
    let dir = stage.home().root().join("threads");
    let names = std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .map(|thread| {
            let text = std::fs::read_to_string(stage.home().record_file(&thread)).unwrap_or_default();
            let mut attempts: Vec<Recorded> = Vec::new();
            for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
                match line["event"].as_str() {
                    Some("opened") => attempts.push(Recorded {
                        attempt: field("attempt"),
                        expected_head: field("expectedHead"),
                        rereads: line["reextract"].is_string(),
                        answered: false,
                        finished: None,
                    }),
                    Some(event @ ("finished" | "named" | "answered")) => {
                        let of = attempts.iter_mut().find(|known| known.attempt == field("attempt"));
                        let of = of.expect("what finished was opened");
                        of.answered |= event == "answered";
                        of.finished = line["step"].as_str().map(str::to_owned).or(of.finished.take());
                    }
                    // Who asks something has not answered.
                    Some("gaveUp") if line["question"].is_string() => {
                        attempts
                            .iter_mut()
                            .filter(|known| known.attempt == field("attempt"))
                            .for_each(|of| of.answered = false);
                    }
                    _ => {}
                }
            }
            (thread, attempts)
        })
        .collect()
}

/// The steps of a thread, active or finished; `None` when there is no such thread any more, or no index that says so.
fn linked(home: &Home, thread: &str) -> Result<Option<Vec<NodeHash>>, String> {
    let active = match home.heads().read(thread) {
        Ok(head) => head.map(|head| head.hash),
        Err(HeadsError::Unreadable { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let ended =
        || history::all(home).ok()?.into_iter().find(|line| line.thread.as_str() == thread).map(|line| line.head);
    let hashes = |head| Ok(steps(home, head)?.into_iter().map(|(hash, _)| hash).collect());
    active.or_else(ended).map(hashes).transpose()
}
