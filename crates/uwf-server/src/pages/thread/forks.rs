//! A tree of the threads that this thread was forked from, and of its own forks.

use maud::{Markup, html};
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::ThreadId;
use uwf_engine::views::forks::{MOST_THREADS, RelatedThread};

use super::super::parts;
use super::read::ThreadView;

/// Largest tree that is unfolded at first, in threads.
const OPEN: usize = 8;

/// The tree; empty if no other thread shares a step with this one.
pub(super) fn forks(shown: &ThreadView) -> Markup {
    let threads = &shown.forks.threads;
    if threads.len() < 2 {
        return html! {};
    }
    html! {
        details #forks open[threads.len() <= OPEN] {
            summary { "Forks: " (parts::many(threads.len(), "thread")) " that share steps" }
            (branch(shown, None))
            @if shown.forks.are_more {
                p.quiet.small { "Among the newest " (MOST_THREADS) " threads of this task." }
            }
        }
    }
}

/// The forks of a thread, oldest first, each with its own forks; for `None`, the thread that all others descend from.
fn branch(shown: &ThreadView, of: Option<&ThreadId>) -> Markup {
    let is_of = |related: &&RelatedThread| related.from.as_ref().map(|from| &from.thread) == of;
    let mut forks = shown.forks.threads.iter().filter(is_of).peekable();
    if forks.peek().is_none() {
        return html! {};
    }
    html! {
        ul {
            @for related in forks {
                li #{"fork-" (related.row.thread)} { (line(shown, related)) (branch(shown, Some(&related.row.thread))) }
            }
        }
    }
}

fn line(shown: &ThreadView, related: &RelatedThread) -> Markup {
    let (row, own) = (&related.row, &shown.status.thread);
    let money = shown.spent_by_thread.get(row.thread.as_str()).and_then(SpendingTotals::known_cost);
    html! {
        span.facts {
            span {
                @if row.thread == *own { b aria-current="page" { (parts::short_id(own.as_str())) " this thread" } }
                @else { a href={"/threads/" (row.thread)} { (parts::short_id(row.thread.as_str())) } }
                " " (parts::state(row.state, row.pausing, row.outcome.as_deref()))
            }
            span { (parts::many(related.steps, "step")) }
            @if let Some(money) = money { span { (money) } }
            @if let Some(from) = &related.from { span { "forked after step " (from.shared) } }
            @if row.thread != *own { a.small href={"/compare/" (own) ".." (row.thread)} { "Compare" } }
        }
    }
}
