//! `thread read`: a thread as a page of markdown. Reads the nodes of the steps it shows and no others.

use json_cas::{Hash, Store};
use serde_json::Value;
use uwf_core::node::{Attempt, Content, Kind as NodeKind, ReactSession, ThreadEnd};
use uwf_core::thread::ThreadId;
use uwf_core::view::{self, Ending, Failure, LeftOut, MIN_SECTION, Page, Section, Source, Told};

use crate::attempts;
use crate::chain::Chain;
use crate::end::{REASON_END, REASON_KILLED, REASON_NO_MATCH};
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::load::{self, Thread};
use crate::show::{self, Shown};
use crate::state::State;

/// Characters of a page when nobody says how many: about five screens, and a small part of any model's context.
pub const DEFAULT_QUOTA: usize = 20_000;

/// Which steps of a thread to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The newest that fit.
    End,
    /// The oldest that fit.
    Start,
    /// The newest that fit before this step.
    Before(Hash),
    /// The oldest that fit after this step.
    After(Hash),
}

/// What to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which steps.
    pub from: From,
    /// Characters that task and steps may take together, about.
    pub quota: usize,
}

/// A thread as a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Workflow it is pinned to.
    pub workflow: Hash,
    /// The page.
    pub page: Page,
    /// Steps shown, oldest first, with the number of characters left out of each.
    pub steps: Vec<(Told, usize)>,
    /// What could not be read and is told as such.
    pub unreadable: Vec<String>,
}

/// Tells a thread.
///
/// # Errors
/// `NotFound` when there is no such thread or no such step in it, those of head, start and workflow. A step of which
/// other nodes are not readable is told as far as it is.
pub fn read(home: &Home, id: &ThreadId, request: &Request) -> Result<Transcript> {
    let thread = Thread::any(home, id)?;
    let shown = show::show(home, id)?;
    let chain = thread.chain()?;
    let (range, newest_first) = range(&thread, chain, request.from)?;
    let tells_task = range.start == 0 && !newest_first || range.end == chain.len();
    let task = tells_task.then(|| view::task(&thread.start.prompt, thread.start_hash, request.quota / 4));
    let left = request.quota.saturating_sub(task.as_ref().map_or(0, Section::chars));
    let told = Selection::make(&thread, chain, range.clone(), newest_first, left);
    let command = |option: &str, step: Hash| command(id, option, step, request.quota);
    let older = told.older(chain, range.clone()).map(|(first, last, at)| LeftOut { first, last, command: command("--before", at) });
    let newer = told.newer(chain, chain.len()).map(|(first, last, at)| LeftOut { first, last, command: command("--after", at) });
    let at_end = newer.is_none();
    let mut page = Page {
        workflow: thread.workflow().map_or_else(|_| thread.start.workflow.to_string(), |workflow| workflow.name),
        standing: standing(&shown),
        task,
        older,
        sections: Vec::new(),
        newer,
        ending: if at_end { ending(home, &shown) } else { None },
        failures: if at_end { failures(home, id, shown.head)? } else { Vec::new() },
    };
    let unreadable = told.steps.iter().flat_map(|(step, _)| unreadable(step)).collect();
    let (steps, sections) = told.steps.into_iter().map(|(step, section)| ((step, section.left_out), section)).unzip();
    page.sections = sections;
    Ok(Transcript { workflow: thread.start.workflow, page, steps, unreadable })
}
