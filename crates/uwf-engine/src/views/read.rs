//! `thread read`: a thread as a page of markdown. Reads the nodes of the steps it shows and no others.

use std::ops::Range;

use json_cas::NodeHash;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::view::{self, LeftOut, MIN_SECTION, MarkdownPage, MarkdownSection};

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::chain::StepChain;
use crate::thread::load::Thread;
use crate::views::thread_now::ThreadNow;
use crate::views::{pages, show};

/// Default size of a page in characters: about five screens, and a small part of any model's context.
pub const DEFAULT_QUOTA: usize = 20_000;

/// Minimum length of a step's hash prefix.
const MIN_SYMBOLS: usize = 4;

/// The task and the input may each take one in this many parts of the quota.
const TASK_SHARE: usize = 4;

/// Which steps of a thread to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadFrom {
    /// The newest steps that fit.
    End,
    /// The oldest steps that fit.
    Start,
    /// The newest steps that fit before this step: its hash, or a prefix of the hash.
    Before(String),
    /// The oldest steps that fit before this step.
    Until(String),
    /// The oldest steps that fit after this step.
    After(String),
}

/// Which steps to show, and how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    /// Which steps.
    pub place: ReadFrom,
    /// Approximate maximum size of task and steps together, in characters.
    pub quota: usize,
}

/// A thread as a page.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadTranscript {
    /// Workflow of the thread.
    pub workflow: NodeHash,
    /// The page.
    pub page: MarkdownPage,
    /// Steps shown, oldest first.
    pub steps: Vec<Step>,
}

/// Makes a page of a thread.
///
/// # Errors
/// `NotFound` if the thread, or a step in it, does not exist; errors of head, start and StepNodes. If other nodes of a step are
/// unreadable, the page shows the rest.
pub fn read(home: &Home, id: &ThreadId, request: &ReadRequest) -> Result<ThreadTranscript> {
    let now = ThreadNow::read(home, id)?;
    let (standing, thread) = (show::status(&now)?, &now.thread);
    let chain = thread.chain()?;
    let wanted = StepRange::resolve(chain, id, &request.place)?;
    let shows_task = matches!(request.place, ReadFrom::Start | ReadFrom::Until(_) | ReadFrom::End);
    let task = shows_task.then(|| view::task(&thread.start.prompt, thread.start_hash, request.quota / TASK_SHARE));
    let input = if shows_task { thread.input()? } else { None };
    let input = input.map(|value| view::input(&value, thread.start_hash, request.quota / TASK_SHARE));
    let shown: usize = task.iter().chain(&input).map(MarkdownSection::chars).sum();
    let quota = request.quota.saturating_sub(shown);
    let (steps, sections) = sections(thread, &wanted, quota)?;
    let left_out = PageGaps { chain, id, quota: request.quota };
    let shows_end = wanted.first(steps.len()).end == chain.len();
    let (older, newer) = left_out.around(&wanted, &sections);
    let page = MarkdownPage {
        workflow: thread.workflow().map_or_else(|_| thread.start.workflow.to_string(), |workflow| workflow.name),
        standing: pages::standing(&standing),
        task,
        input,
        older,
        sections,
        newer,
        ending: if shows_end { pages::ending(home, &standing) } else { None },
        failures: if shows_end { pages::failures(&now) } else { Vec::new() },
    };
    Ok(ThreadTranscript { workflow: thread.start.workflow, page, steps })
}

/// Steps that may be shown, and from which end.
struct StepRange {
    range: Range<usize>,
    newest_first: bool,
}

impl StepRange {
    fn resolve(chain: &StepChain, id: &ThreadId, place: &ReadFrom) -> Result<StepRange> {
        let all = 0..chain.len();
        let (range, newest_first) = match place {
            ReadFrom::End => (all, true),
            ReadFrom::Start => (all, false),
            ReadFrom::Before(step) => (0..position(chain, id, step)?, true),
            ReadFrom::Until(step) => (0..position(chain, id, step)?, false),
            ReadFrom::After(step) => (position(chain, id, step)? + 1..chain.len(), false),
        };
        if range.is_empty() && !chain.is_empty() {
            let place = if range.start == 0 { "before its first" } else { "after its last" };
            return Err(Error::not_found(format!("thread {id} has no step {place}"))
                .hint(format!("`uwf thread read {id}` shows the newest")));
        }
        Ok(StepRange { range, newest_first })
    }

    /// Positions in the order they are read.
    fn order(&self) -> Box<dyn Iterator<Item = usize>> {
        if self.newest_first { Box::new(self.range.clone().rev()) } else { Box::new(self.range.clone()) }
    }

    /// Positions of the first `count` steps.
    fn first(&self, count: usize) -> Range<usize> {
        if self.newest_first {
            self.range.end - count..self.range.end
        } else {
            self.range.start..self.range.start + count
        }
    }
}

/// The position of a step, by its hash or a prefix.
fn position(chain: &StepChain, id: &ThreadId, typed: &str) -> Result<usize> {
    let wanted = typed.to_ascii_uppercase();
    let is_hash =
        (MIN_SYMBOLS..=NodeHash::LEN).contains(&wanted.len()) && wanted.bytes().all(uwf_core::thread::is_symbol);
    let lists_steps = || format!("`uwf thread steps {id}` lists its steps");
    if !is_hash {
        return Err(Error::usage(format!(
            "`{typed}` is not the hash of a step; give at least {MIN_SYMBOLS} symbols of the start of one"
        ))
        .hint(lists_steps()));
    }
    let mut matches =
        chain.records().iter().enumerate().filter(|(_, record)| record.step.to_string().starts_with(&wanted));
    match (matches.next(), matches.next()) {
        (Some((position, _)), None) => Ok(position),
        (None, _) => Err(Error::not_found(format!("thread {id} has no step {wanted}")).hint(lists_steps())),
        (Some((_, one)), Some((_, other))) => {
            Err(Error::usage(format!("`{typed}` is not unique: {}, {}", one.step, other.step))
                .hint("give more symbols"))
        }
    }
}

/// The steps that fit, oldest first. Every step that was read is shown: the last one is shortened if little space is left.
fn sections(thread: &Thread<'_>, wanted: &StepRange, quota: usize) -> Result<(Vec<Step>, Vec<MarkdownSection>)> {
    let mut left = quota;
    let mut steps = Vec::new();
    for position in wanted.order() {
        if !steps.is_empty() && left < MIN_SECTION {
            break;
        }
        let step = thread.whole_step(position)?;
        let section = view::section(&step, left);
        left = left.saturating_sub(section.chars());
        let is_last = section.left_out > 0;
        steps.push((step, section));
        if is_last {
            break;
        }
    }
    if wanted.newest_first {
        steps.reverse();
    }
    Ok(steps.into_iter().unzip())
}

/// Steps that a page leaves out, with the commands to show them.
struct PageGaps<'t> {
    chain: &'t StepChain,
    id: &'t ThreadId,
    quota: usize,
}

impl PageGaps<'_> {
    /// Steps before and after those shown. A shortened step at the edge counts as left out, so that the next page shows it in full. A
    /// page's only step does not, since the next page would show the same.
    fn around(&self, wanted: &StepRange, sections: &[MarkdownSection]) -> (Option<LeftOut>, Option<LeftOut>) {
        let mut range = wanted.first(sections.len());
        if range.is_empty() {
            return (None, None);
        }
        let is_short = |section: Option<&MarkdownSection>| {
            sections.len() > 1 && section.is_some_and(|section| section.left_out > 0)
        };
        if wanted.newest_first {
            range.start += usize::from(is_short(sections.first()));
        } else {
            range.end -= usize::from(is_short(sections.last()));
        }
        let end = self.chain.len();
        let older = (range.start > 0).then(|| self.left_out(0..range.start, "--before", range.start));
        let newer = (range.end < end).then(|| self.left_out(range.end..end, "--after", range.end - 1));
        (older, newer)
    }

    fn left_out(&self, steps: Range<usize>, option: &str, at: usize) -> LeftOut {
        let step = self.chain.get(at).map(|record| record.step.to_string()).unwrap_or_default();
        let quota = if self.quota == DEFAULT_QUOTA { String::new() } else { format!(" --quota {}", self.quota) };
        LeftOut {
            first: steps.start + 1,
            last: steps.end,
            command: format!("uwf thread read {} {option} {step}{quota}", self.id),
        }
    }
}
