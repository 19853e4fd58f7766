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

/// A rounded percentage.
pub(crate) fn percent(part: usize, all: usize) -> usize {
    (part * 100 + all / 2) / all.max(1)
}

/// A message of the engine as a sentence. The name of a branch or a field stays as it is.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches([':', '.', ',']);
    let text = if first.contains(['.', '_']) { text.to_owned() } else { capitalised(text) };
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

/// A reason without the command at its end: a page has a button for it.
pub(crate) fn without_command(why: &str) -> &str {
    why.split(": uwf ").next().unwrap_or(why)
}

/// Bytes of a point in time in a message: `2026-11-30 17:00:00`.
const TIME: usize = 19;

/// The end of a point in time in a message.
const ZONE: &str = " UTC";

/// A text of the engine: backticks mark code, and a browser shows points in time in the time zone of its reader.
pub(crate) fn engine_text(text: &str) -> Markup {
    let (mut times, mut done) = (Vec::new(), 0);
    for (end, _) in text.match_indices(ZONE) {
        let begin = end.saturating_sub(TIME);
        let Some(time) = text.get(begin..end).filter(|time| begin >= done && is_time(time)) else { continue };
        times.push((&text[done..begin], time));
        done = end + ZONE.len();
    }
    html! {
        @for (before, moment) in times {
            (ticks(before)) time datetime={ (moment.replacen(' ', "T", 1)) "Z" } { (moment) (ZONE) }
        }
        (ticks(&text[done..]))
    }
}

/// Whether a text is a point in time, as [`view::time`] writes it.
fn is_time(text: &str) -> bool {
    let is_fitting = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b' ',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    };
    text.len() == TIME && text.bytes().enumerate().all(is_fitting)
}

/// A message of the engine as a sentence with its code. Each line of it, such as the failures of several branches, stays a line.
pub(crate) fn message(text: &str) -> Markup {
    let text = sentence(text);
    html! { @for (at, line) in text.lines().enumerate() { @if at > 0 { br; } (engine_text(line)) } }
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
        0 => format!("{ms} ms"),
        1..10 => format!("{}.{} s", seconds, ms % 1000 / 100),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_messages_are_those_of_the_reader() {
        let drawn = |text| engine_text(text).into_string();
        assert_eq!(
            drawn("`a` waits until 2026-11-30 17:00:00 UTC, then `b`"),
            "<code>a</code> waits until <time datetime=\"2026-11-30T17:00:00Z\">2026-11-30 17:00:00 UTC</time>, then <code>b</code>"
        );
        for plain in ["at 17:00 UTC", " UTC", "2026-11-30 17:00:0x UTC", "zweitausend öäü UTC"] {
            assert_eq!(drawn(plain), plain);
        }
    }
}
