//! Chooses the previous steps that a prompt shows, and how much of each.
//!
//! Most agents remember nothing, so every prompt contains the history as far as it fits. Steps are considered by importance, and each takes
//! its bytes from the rest that earlier ones left:
//!
//! 1. the role's own last answer: whole if it fits beside a short form of the newest step;
//! 2. the newest steps: whole, otherwise cut to half of the rest (the only step of a thread to all of it);
//! 3. the other steps since that answer, then the first steps of the thread, which often hold the plan: whole if they take no more than
//!    half of the rest, otherwise shortened;
//! 4. all others from the newest to the oldest: whole if all fit. Otherwise the newest are whole in three quarters of the rest, and older
//!    ones shortened in the remaining bytes. Both groups begin with a whole part if that drops no more than half of the group.
//!
//! The chosen steps appear in thread order, and a line marks each gap. Reading stops when the bytes are used up: however long the thread
//! is, it reads only a few more steps than it shows.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::is_first_of_part;
use super::step::StepSection;
use crate::thread::Step;

/// Number of newest steps that come before all others, except the role's own last answer.
const NEWEST: usize = 3;

/// Most steps that count as answers to the role's own. There may be thousands between two of its visits.
const MOST_ANSWERS: usize = 8;

/// Number of first steps of the thread that come before the steps in the middle.
const FIRST: usize = 3;

/// Most bytes of the lines that mark gaps. There is at most one before each step that may not follow the previous one, and one at the end.
pub(super) fn gaps(steps: &RangeInclusive<usize>) -> usize {
    let longest = gap(*steps.end(), steps.end() + 3).len();
    (MOST_ANSWERS + FIRST + 3).min(steps.clone().count()) * longest
}

/// The steps to show within a number of bytes, in thread order. `own` is the role's last step. Positions count from 1. `read` is called for
/// few more steps than fit.
pub(super) fn within<E>(
    bytes: usize,
    steps: RangeInclusive<usize>,
    own: Option<usize>,
    mut read: impl FnMut(usize) -> Result<Step, E>,
) -> Result<Vec<StepSection>, E> {
    if steps.is_empty() {
        return Ok(Vec::new());
    }
    let part = if steps.start() == steps.end() { 1 } else { 2 };
    let mut history = PromptHistory { left: bytes, part, shown: BTreeMap::new() };
    let last = *steps.end();
    let newest = read(last)?;
    if let Some(own) = own.filter(|own| steps.contains(own) && *own != last) {
        let beside = bytes.saturating_sub(StepSection::short(&newest).text.len());
        history.show_own(&read(own)?, beside);
    }
    history.show_newest(&newest);
    let answers = own.map_or(0, |own| last.saturating_sub(own)).min(MOST_ANSWERS);
    let newest_first = steps.clone().rev().take(answers.max(NEWEST));
    for index in newest_first.chain(steps.clone().take(FIRST)) {
        if history.shown.contains_key(&index) {
            continue;
        }
        let step = read(index)?;
        if last - index < NEWEST { history.show_newest(&step) } else { history.show_near(&step) }
    }
    let considered: Vec<usize> = history.shown.keys().copied().collect();
    let others = steps.rev().filter(|index| !considered.contains(index)).map(read);
    history.show_others(others)?;
    Ok(history.shown.into_values().flatten().collect())
}

struct PromptHistory {
    left: usize,
    /// An important step that does not fit is cut to the remaining bytes divided by this.
    part: usize,
    /// By position; `None` if nothing of the step fitted.
    shown: BTreeMap<usize, Option<StepSection>>,
}

impl PromptHistory {
    fn show(&mut self, index: usize, section: Option<StepSection>) {
        self.left -= section.as_ref().map_or(0, |section| section.text.len());
        self.shown.insert(index, section);
    }

    /// Shows the role's own last answer, in at most `bytes` if whole.
    fn show_own(&mut self, step: &Step, bytes: usize) {
        let whole = Some(StepSection::whole(step)).filter(|whole| whole.text.len() <= bytes);
        self.show(step.index, whole.or_else(|| StepSection::cut_to(step, self.left / self.part)));
    }

    fn show_newest(&mut self, step: &Step) {
        let whole = Some(StepSection::whole(step)).filter(|whole| whole.text.len() <= self.left);
        self.show(step.index, whole.or_else(|| StepSection::cut_to(step, self.left / self.part)));
    }

    /// Shows one of the other answers, or of the first steps.
    fn show_near(&mut self, step: &Step) {
        let long = Some(StepSection::long(step)).filter(|long| long.text.len() <= self.left / 2);
        self.show(
            step.index,
            long.or_else(|| Some(StepSection::short(step)).filter(|short| short.text.len() <= self.left)),
        );
    }

    /// Shows steps from the newest to the oldest. All are whole if they fit. This is known only after reading up to the first step that
    /// does not fit.
    fn show_others<E>(&mut self, steps: impl Iterator<Item = Result<Step, E>>) -> Result<(), E> {
        let mut steps = steps.fuse();
        let mut fitting = Vec::new();
        let mut bytes = 0;
        let mut over = None;
        for step in steps.by_ref() {
            let step = step?;
            let (long, short) = (StepSection::long(&step), StepSection::short(&step));
            bytes += long.text.len();
            if bytes > self.left {
                over = Some(short);
                break;
            }
            fitting.push((long, short));
        }
        let Some(over) = over else {
            fitting.into_iter().for_each(|(long, _)| self.show(long.index, Some(long)));
            return Ok(());
        };
        let for_whole_ones = self.left / 4 * 3;
        let mut bytes = 0;
        let whole = fitting.iter().take_while(|(long, _)| {
            bytes += long.text.len();
            bytes <= for_whole_ones
        });
        let whole_from = from_full_part(&whole.map(|(long, _)| long.index).collect::<Vec<_>>());
        let choose = |(long, short): (StepSection, StepSection)| {
            if whole_from.is_some_and(|from| long.index >= from) { long } else { short }
        };
        let read = fitting.into_iter().map(choose).chain([over]).map(Ok);
        let mut left = self.left;
        let mut shown = Vec::new();
        for section in read.chain(steps.map(|step| step.map(|step| StepSection::short(&step)))) {
            let section = section?;
            let Some(rest) = left.checked_sub(section.text.len()) else { break };
            left = rest;
            shown.push(section);
        }
        let from = from_full_part(&shown.iter().map(|section| section.index).collect::<Vec<_>>());
        for section in shown.into_iter().filter(|section| from.is_some_and(|from| section.index >= from)) {
            self.show(section.index, Some(section));
        }
        Ok(())
    }
}

/// The oldest of some steps to show in the same form; the steps are given newest first. It is the first step of a part, so that the prompts
/// of many steps share parts, and each part is stored once. Long steps fill few parts: if this would drop more than half of the steps, it
/// is the oldest step instead. `None` if there are no steps.
fn from_full_part(newest_first: &[usize]) -> Option<usize> {
    let oldest = *newest_first.last()?;
    let starts_part = newest_first.iter().rev().find(|index| is_first_of_part(**index));
    let kept = |from: usize| newest_first.iter().filter(|index| **index >= from).count();
    Some(starts_part.copied().filter(|from| kept(*from) * 2 >= newest_first.len()).unwrap_or(oldest))
}

/// The line that marks missing steps between the last shown position and the next; empty if none are missing.
pub(super) fn gap(last: usize, next: usize) -> String {
    match (last + 1, next.saturating_sub(1)) {
        (from, to) if from > to => String::new(),
        (from, to) if from == to => format!("\n[… step {from} left out]\n"),
        (from, to) => format!("\n[… steps {from} to {to} left out]\n"),
    }
}
