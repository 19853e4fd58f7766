//! Two runs side by side: what they share is folded, then the steps that differ in rows.

use std::path::Path;

use imara_diff::{Algorithm, Diff, InternedInput};
use maud::{Markup, html};
use uwf_core::config::Config;
use uwf_core::spending::Spent;
use uwf_engine::root::home::Home;
use uwf_engine::thread::chain::Record;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::usage;
use uwf_engine::verbs::cost;
use uwf_engine::verbs::diff::{self, Compared, FileChange, Named, Wanted};

use super::sides::Run;
use super::steps;
use crate::failure::Failure;
use crate::pages::{parts, texts};

/// Rows on one page.
const SHOWN: usize = 50;

/// Two steps that stand beside each other, by their positions; one that only one run has has no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) a: Option<usize>,
    pub(super) b: Option<usize>,
}

/// How the files differ, or why that is not known.
pub(super) fn files(home: &Home, two: &[Named; 2], patch: bool, cwd: &Path) -> Result<Compared, String> {
    let wanted = Wanted { outputs: false, files: true, patch };
    diff::compare(home, &two[0], Some(&two[1]), wanted, cwd).map_err(|error| error.message)
}

/// The page of two runs, from the differing row `after` on.
pub(super) fn compared(
    home: &Home,
    config: &Config,
    two: &[Named; 2],
    after: usize,
    files: &Result<Compared, String>,
) -> Result<Markup, Failure> {
    let runs = [Run::load(home, &two[0])?, Run::load(home, &two[1])?];
    let [a, b] = &runs;
    let is_whole = a.is_whole && b.is_whole;
    let (shared, rows) = match is_whole {
        true => paired(a.records()?, b.records()?),
        false => (0, vec![Pair { a: a.newest()?, b: b.newest()? }]),
    };
    let differing = differing(&runs, &rows)?;
    let shown: Vec<&Row> = differing.rows.iter().skip(after).take(SHOWN).collect();
    let mut drawn = Vec::new();
    for row in &shown {
        drawn.push(steps::row(home, config, &runs, row.pair, row.same_before)?);
    }
    Ok(html! {
        (head(home, config, two, &runs, is_whole)?)
        section #rows aria-labelledby="rows-title" {
            h2 #rows-title { "Steps" }
            @if shared > 0 { (common(a, shared)?) }
            @if differing.rows.is_empty() {
                p { strong { @if rows.is_empty() { "Neither has a step that the other has not." } @else { "Their outputs are the same." } } }
            }
            @for row in &drawn { (row) }
            @if after + shown.len() < differing.rows.len() {
                p { a rel="next" href={"?after=" (after + SHOWN) "#rows"} { (differing.rows.len() - after - shown.len()) " more rows that differ" } }
            } @else if differing.same_at_end > 0 {
                p.quiet.same { (same_words(differing.same_at_end)) }
            }
        }
        (files_section(files))
    })
}

/// How many steps both share, and the others beside each other: by their roles, so that a round that only one of them took does
/// not put all that follows beside something else.
fn paired(a: &[Record], b: &[Record]) -> (usize, Vec<Pair>) {
    let shared = a.iter().zip(b).take_while(|(one, other)| one.step == other.step).count();
    let mut input = InternedInput::default();
    input.update_before(a[shared..].iter().map(|record| record.role));
    input.update_after(b[shared..].iter().map(|record| record.role));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let (mut at, mut at_other) = (shared, shared);
    let mut pairs = Vec::new();
    let hunks = diff.hunks().map(|hunk| {
        let range = |range: std::ops::Range<u32>| shared + range.start as usize..shared + range.end as usize;
        (range(hunk.before), range(hunk.after))
    });
    for (removed, added) in hunks.chain([(a.len()..a.len(), b.len()..b.len())]) {
        while at < removed.start {
            pairs.push(Pair { a: Some(at), b: Some(at_other) });
            (at, at_other) = (at + 1, at_other + 1);
        }
        for offset in 0..removed.len().max(added.len()) {
            let of = |range: &std::ops::Range<usize>| (offset < range.len()).then(|| range.start + offset);
            pairs.push(Pair { a: of(&removed), b: of(&added) });
        }
        (at, at_other) = (removed.end, added.end);
    }
    (shared, pairs)
}

/// A row that differs, and the rows before it that do not.
struct Row {
    pair: Pair,
    same_before: usize,
}

struct Differing {
    rows: Vec<Row>,
    same_at_end: usize,
}

/// The rows whose roles or outputs differ; nothing is read for it but the chains.
fn differing(runs: &[Run<'_>; 2], pairs: &[Pair]) -> Result<Differing, Failure> {
    let [a, b] = [runs[0].records()?, runs[1].records()?];
    let mut rows = Vec::new();
    let mut same = 0;
    for pair in pairs {
        let at = (pair.a.and_then(|index| a.get(index)), pair.b.and_then(|index| b.get(index)));
        match at {
            (Some(one), Some(other)) if one.role == other.role && one.output == other.output => same += 1,
            _ => rows.push(Row { pair: *pair, same_before: std::mem::take(&mut same) }),
        }
    }
    Ok(Differing { rows, same_at_end: same })
}

pub(super) fn same_words(count: usize) -> String {
    format!("{} with the same {}", parts::many(count, "step"), if count == 1 { "output" } else { "outputs" })
}

/// The steps that both share, folded; the newest of them are listed.
fn common(run: &Run<'_>, shared: usize) -> Result<Markup, Failure> {
    let listed = shared.saturating_sub(SHOWN)..shared;
    let steps = &run.records()?[listed.clone()];
    Ok(html! {
        details #shared {
            summary { (parts::many(shared, "step")) " that both share" }
            @if listed.start > 0 { p.quiet { "The newest " (SHOWN) " of them:" } }
            ol start=(listed.start + 1) {
                @for record in steps { li { a href=(run.path(record.step)) { code { (record.step) } } } }
            }
        }
    })
}

fn head(
    home: &Home,
    config: &Config,
    two: &[Named; 2],
    runs: &[Run<'_>; 2],
    is_whole: bool,
) -> Result<Markup, Failure> {
    let threads = [&runs[0].thread, &runs[1].thread];
    let totals = [total(home, config, &two[0], threads[0]), total(home, config, &two[1], threads[1])];
    let what = if is_whole { "threads" } else { "steps" };
    let counts = [runs[0].records()?.len(), runs[1].records()?.len()];
    Ok(html! {
        header #head {
            h1 { "Compare two " (what) }
            table.totals {
                thead { tr { th scope="col" { "" } th scope="col" { "a" } th scope="col" { "b" } } }
                tbody {
                    tr { th scope="row" { (what.trim_end_matches('s')) } @for (named, thread) in two.iter().zip(threads) { td { (link(named, thread)) } } }
                    @if is_whole {
                        tr { th scope="row" { "task" } @for thread in threads { td { (texts::plain(&thread.start.prompt, 300, Some(thread.start_hash))) } } }
                        tr { th scope="row" { "steps" } @for count in counts { td { (count) } } }
                    }
                    tr { th scope="row" { "agents' time" } @for total in &totals { td { (total.time) } } }
                    tr { th scope="row" { "tokens" } @for total in &totals { td { (total.tokens) } } }
                    tr { th scope="row" { "cost" } @for total in &totals { td { (total.cost) } } }
                }
            }
            @if threads[0].start.workflow != threads[1].start.workflow {
                p { "They are of different workflows: " a href={"/compare/" (threads[0].start.workflow) ".." (threads[1].start.workflow)} { "compare those" } "." }
            }
        }
    })
}

fn link(named: &Named, thread: &Thread<'_>) -> Markup {
    match named {
        Named::Thread(id) => html! { a href={"/threads/" (id)} { code { (id) } } },
        Named::Node(hash) => {
            html! { a href={"/cas/" (hash)} { code { (hash) } } " " (thread.position()) }
        }
    }
}

/// What a side took, as far as that is known.
struct Total {
    time: String,
    tokens: String,
    cost: String,
}

fn total(home: &Home, config: &Config, named: &Named, thread: &Thread<'_>) -> Total {
    match named {
        // Of a thread the sums are in a cache, however many steps it has.
        Named::Thread(_) => match usage::priced(thread, config) {
            Ok(used) => Total {
                time: parts::duration((used.total.seconds * 1000.0) as u64),
                tokens: parts::count(used.total.tokens),
                cost: format!("${:.2}", used.total.cost),
            },
            Err(error) => {
                let why = format!("not known: {error}");
                Total { time: why.clone(), tokens: why.clone(), cost: why }
            }
        },
        Named::Node(step) => of_spent(&cost::of_step(home, config, *step)),
    }
}

fn of_spent(spent: &Spent) -> Total {
    Total {
        time: parts::duration(spent.duration_ms),
        tokens: parts::tokens(&spent.tokens).unwrap_or_else(|| "not known".to_owned()),
        cost: parts::money(spent)
            .unwrap_or_else(|| if spent.cost_unknown > 0 { "not known".to_owned() } else { "none".to_owned() }),
    }
}

fn files_section(files: &Result<Compared, String>) -> Markup {
    html! {
        section #files aria-labelledby="files-title" {
            h2 #files-title { "Files" }
            @match files.as_ref().map(|compared| compared.files.as_ref()) {
                Err(why) => p.quiet { (parts::sentence(why)) },
                Ok(None) => p.quiet { "They are not known." },
                Ok(Some(files)) => {
                    @if files.changed.is_empty() { p { "They are the same." } } @else { (changed(&files.changed)) }
                    @match &files.patch {
                        Some(patch) => pre.patch { (patch.text()) },
                        None if !files.changed.is_empty() => p { a href="?patch=1#files" { "Show the differences" } },
                        None => {},
                    }
                }
            }
        }
    }
}

fn changed(changed: &[FileChange]) -> Markup {
    let number = |count: Option<u64>| count.map_or_else(|| "binary".to_owned(), |count| count.to_string());
    html! {
        table.files {
            thead { tr { th scope="col" { "File" } th.number scope="col" { "Added" } th.number scope="col" { "Removed" } } }
            tbody {
                @for file in changed {
                    tr {
                        td { @if let Some(before) = &file.before { code { (before) } " → " } code { (file.path) } }
                        td.number { (number(file.added)) }
                        td.number { (number(file.removed)) }
                    }
                }
            }
        }
    }
}
