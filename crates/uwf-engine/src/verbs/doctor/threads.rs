//! Checks of the thread index, of attempts and of marks.

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::thread;

use uwf_core::text::first_names;
use uwf_core::thread::ThreadId;

use super::chains::ChainCheck;
use super::files::LEFTOVER_AGE;
use super::{DoctorFinding, DoctorMode, RootExam, counted};
use crate::attempt::recorded::{self as records, ThreadRecord};
use crate::attempt::settings::{self, ThreadSettings};
use crate::error::Result;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{history, lock};
use crate::thread::state::ThreadState;
use crate::verbs::recover;
use crate::verbs::start::new_thread;
use crate::views::list::{self, ThreadFilter, ThreadRow};

/// How many threads one message names.
const NAMED: usize = 3;

/// Whether index, history and the threads in them are readable.
pub(super) fn index(exam: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let home = exam.home;
    let rows = list::list(home, &ThreadFilter::default())?.rows;
    let finished = history::all(home)?;
    let problems = home.journal().records()?.problems;
    let counts = format!("{}, {} finished", counted(rows.len(), "active thread"), finished.len());
    let mut findings = vec![DoctorFinding::ok("threads", counts)];
    if let Some(first) = problems.first() {
        let message = format!("history.jsonl has {}: {first}", counted(problems.len(), "unreadable line"));
        findings.push(
            DoctorFinding::warn("threads", message).hint("the other lines are read; repair it or remove those lines"),
        );
    }
    let begun: HashSet<&ThreadId> =
        rows.iter().map(|row| &row.thread).chain(finished.iter().map(|line| &line.thread)).collect();
    findings.extend(never_begun(exam, &begun)?);
    let (of_records, of_chains) = thread::scope(|scope| {
        let of_chains = scope.spawn(|| damaged_chains(exam, &rows));
        let of_records = missing(home).and_then(|missing| Ok((missing, damaged_records(home, &rows)?)));
        (of_records, of_chains.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (missing, damaged_records) = of_records?;
    findings.extend(missing);
    findings.extend(of_chains?);
    findings.extend(damaged_records);
    Ok(findings)
}

/// Threads whose records are on this machine, and that are listed nowhere.
fn missing(home: &Home) -> Result<Option<DoctorFinding>> {
    let missing: Vec<String> = recover::missing(home)?.iter().map(ThreadId::to_string).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let threads = counted(missing.len(), "thread");
    let message =
        format!("{threads} with records on this machine, but in neither index nor history: {}", named(&missing));
    Ok(Some(DoctorFinding::warn("threads", message).hint("`uwf recover --dry-run` shows their content")))
}

/// Active threads that miss nodes.
fn damaged_chains(exam: &RootExam<'_>, rows: &[ThreadRow]) -> Result<Option<DoctorFinding>> {
    let stored = exam.stored()?;
    let mut chains = ChainCheck::load(exam.home, &stored.nodes, rows.len());
    let unreadable = |row: &&ThreadRow| row.state == ThreadState::Corrupt || chains.finds_hole(row);
    let corrupt: Vec<String> = rows.iter().filter(unreadable).map(|row| row.thread.to_string()).collect();
    chains.save(rows.iter().map(|row| row.head));
    let Some(first) = corrupt.first() else { return Ok(None) };
    let message = format!("{} cannot be read: {}", counted(corrupt.len(), "thread"), named(&corrupt));
    let hint = format!("`uwf cas verify` shows what is damaged; `uwf thread kill {first}` ends it");
    Ok(Some(DoctorFinding::fail("threads", message).hint(hint)))
}

/// Active threads whose records no longer say how the threads were started.
fn damaged_records(home: &Home, rows: &[ThreadRow]) -> Result<Option<DoctorFinding>> {
    let mut damaged = Vec::new();
    for thread in list::without_settings(home, rows) {
        let record = ThreadRecord::read(home, thread);
        if !record.is_ok_and(|record| ThreadSettings::in_record(home, &record).is_ok() && !settings::are_lost(&record))
        {
            damaged.push(thread.to_string());
        }
    }
    let Some(first) = damaged.first() else { return Ok(None) };
    let threads = counted(damaged.len(), "thread");
    let message =
        format!("the records of {threads} are damaged, their agents and limits are lost: {}", named(&damaged));
    let hint = format!("put {} back from a backup", home.threads_dir().join(format!("{first}.jsonl")).display());
    Ok(Some(DoctorFinding::fail("threads", message).hint(hint)))
}

/// Records of threads whose `thread start` or `thread fork` was killed before it had set their head. The `begun` threads are not looked at.
fn never_begun(
    RootExam { home, mode, .. }: &RootExam<'_>,
    begun: &HashSet<&ThreadId>,
) -> Result<Option<DoctorFinding>> {
    let abandoned = new_thread::abandoned(home, LEFTOVER_AGE, |thread| begun.contains(thread))?;
    if abandoned.is_empty() {
        return Ok(None);
    }
    let count = counted(abandoned.len(), "thread");
    if *mode == DoctorMode::Apply {
        abandoned.iter().try_for_each(|thread| new_thread::remove(home, thread, LEFTOVER_AGE))?;
        return Ok(Some(DoctorFinding::ok("threads", format!("removed the records of {count} that never started"))));
    }
    let ids: Vec<String> = abandoned.iter().map(ToString::to_string).collect();
    let message =
        format!("this machine has records of {count} whose command was killed before the start: {}", named(&ids));
    Ok(Some(DoctorFinding::warn("threads", message).hint("`uwf doctor --fix` removes them")))
}

/// Attempts whose keeper is dead, and stale marks.
pub(super) fn attempts(RootExam { home, mode, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let mut abandoned = Vec::new();
    let mut stale: Vec<(ThreadId, ThreadMark)> = Vec::new();
    for (name, set) in marks::all(home)? {
        let Ok(thread) = name.parse::<ThreadId>() else { continue };
        if home.heads().read(thread.as_str())?.is_none() {
            if home.peers().may_lack_threads() && history::newest_line(home, &thread)?.is_none() {
                continue;
            }
            stale.extend(set.into_iter().map(|mark| (thread.clone(), mark)));
            continue;
        }
        if !set.contains(&ThreadMark::Open) || lock::is_held(home, &thread)? {
            continue;
        }
        match records::read(home, &thread)? {
            Some(attempt) if attempt.closed.is_none() => abandoned.push(thread.to_string()),
            // The attempt was closed or never written, and its mark stayed.
            Some(_) | None => stale.push((thread, ThreadMark::Open)),
        }
    }
    let findings = [abandoned_attempts(&abandoned), stale_marks(home, &stale, *mode)?];
    let findings: Vec<DoctorFinding> = findings.into_iter().flatten().collect();
    Ok(if findings.is_empty() {
        vec![DoctorFinding::ok("attempts", "no attempt was abandoned, no mark is stale")]
    } else {
        findings
    })
}

fn abandoned_attempts(threads: &[String]) -> Option<DoctorFinding> {
    let first = threads.first()?;
    let message = format!("the keeper of {} is dead: {}", counted(threads.len(), "open attempt"), named(threads));
    Some(
        DoctorFinding::warn("attempts", message)
            .hint(format!("the next step takes over what it left: `uwf thread step {first}`")),
    )
}

fn stale_marks(home: &Home, stale: &[(ThreadId, ThreadMark)], mode: DoctorMode) -> Result<Option<DoctorFinding>> {
    if stale.is_empty() {
        return Ok(None);
    }
    let count = counted(stale.len(), "stale mark");
    if mode == DoctorMode::Apply {
        for (thread, mark) in stale {
            marks::clear(home, thread, &[*mark])?;
        }
        return Ok(Some(DoctorFinding::ok("attempts", format!("removed {count}"))));
    }
    let threads: Vec<String> = stale.iter().map(|(thread, _)| thread.to_string()).collect();
    let message = format!("{count} of threads that have ended or are not at it: {}", named(&threads));
    Ok(Some(DoctorFinding::warn("attempts", message).hint("`uwf doctor --fix` removes them")))
}

fn named(threads: &[String]) -> String {
    first_names(threads, NAMED)
}
