//! Small pieces of pages: times, states, ids, amounts.

use maud::{Markup, html};
use uwf_core::spending::TokenSums;
use uwf_core::text::{ellipsize, one_line};
use uwf_core::view;
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::ThreadRow;

/// Characters at the end of an id that are enough to distinguish threads.
const SHORT: usize = 5;

/// A message of the engine as a sentence.
pub(crate) fn sentence(text: &str) -> String {
    let text = capitalised(text.trim());
    if text.ends_with(['.', '!', '?', ':']) { text } else { format!("{text}.") }
}

/// A text in which backticks mark code.
pub(crate) fn ticks(text: &str) -> Markup {
    let mut parts = text.split('`').enumerate();
    html! {
        @for (at, part) in parts.by_ref() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A message of the engine as a sentence with its code. Each line of it, such as the failures of several branches, stays a line.
pub(crate) fn message(text: &str) -> Markup {
    let text = sentence(text);
    html! { @for (at, line) in text.lines().enumerate() { @if at > 0 { br; } (ticks(line)) } }
}

/// A word at the beginning of a sentence.
pub(crate) fn capitalised(word: &str) -> String {
    let mut symbols = word.chars();
    symbols.next().into_iter().flat_map(char::to_uppercase).chain(symbols).collect()
}

/// A state in its colour. An outcome other than `succeeded` has the colour of a failure.
pub(crate) fn state(state: ThreadState, pausing: bool, outcome: Option<&str>) -> Markup {
    let words = uwf_engine::views::show::state_in_words(state, pausing, outcome);
    let colour = if state == ThreadState::Completed && words != state.name() { ThreadState::Killed } else { state };
    html! { span.state data-state=(colour.name()) { (words) } }
}

/// A thread on one line: its state, its task as a link, its workflow, and when it changed.
pub(crate) fn thread_line(row: &ThreadRow, workflow: &str, href: &str, task: &str) -> Markup {
    html! {
        div.line {
            (state(row.state, row.pausing, row.outcome.as_deref()))
            div.what { a.task data-open href=(href) { (ticks(task)) } }
            span.facts {
                span.workflow { (workflow) }
                @if let Some(changed) = row.changed_at { (ago(changed)) }
                (short_id(row.thread.as_str()))
            }
        }
    }
}

/// A point in time as "… ago"; the tooltip has it in full.
pub(crate) fn ago(unix_ms: u64) -> Markup {
    let seconds = ids::now_ms().saturating_sub(unix_ms) / 1000;
    let words = match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    };
    let full = format!("{} UTC", view::time(unix_ms));
    html! { time datetime=(view::time(unix_ms).replacen(' ', "T", 1) + "Z") title=(full) data-ms=(unix_ms) { (words) } }
}

/// A point in time in full.
pub(crate) fn time(unix_ms: u64) -> Markup {
    let text = view::time(unix_ms);
    html! { time datetime=(text.replacen(' ', "T", 1) + "Z") data-ms=(unix_ms) { (text) " UTC" } }
}

/// How long something took.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}:{:02} h", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// Characters of an agent's command line.
const COMMAND: usize = 32;

/// An agent in a line of facts: its alias, or the beginning of its command line. The tooltip has both in full.
pub(crate) fn agent(command: &str, alias: Option<&str>) -> Markup {
    let full = view::agent_name(command, alias);
    html! {
        @match alias {
            Some(alias) => span title=(full) { (alias) },
            None => code title=(full) { (ellipsize(&one_line(command), COMMAND)) },
        }
    }
}

/// The end of an id, enough to distinguish threads; the tooltip has the whole id.
pub(crate) fn short_id(id: &str) -> Markup {
    html! { code.id title=(id) { "…" (&id[id.len().saturating_sub(SHORT)..]) } }
}

/// Tokens read and written together, shortened.
pub(crate) fn tokens(sums: &TokenSums) -> Option<String> {
    let all = sums.input.into_iter().chain(sums.output).reduce(u64::saturating_add)?;
    Some(count(all))
}

/// A count, shortened.
pub(crate) fn count(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..100_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        100_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// A whole number with separated thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with its noun.
pub(crate) fn many(count: usize, one: &str) -> String {
    many_of(count, one, &format!("{one}s"))
}

/// The same with an irregular plural.
pub(crate) fn many_of(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
