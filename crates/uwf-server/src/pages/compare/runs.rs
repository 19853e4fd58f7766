//! Two runs side by side: the shared steps, folded, then a row for each step that differs.

use imara_diff::{Algorithm, Diff, InternedInput};
use maud::{Markup, html};
use uwf_core::config::UwfConfig;
use uwf_core::money;
use uwf_core::spending::SpendingTotals;
use uwf_core::text;
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::thread::chain::Record;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::usage;
use uwf_engine::verbs::diff::{DiffReport, DiffSubject};
use uwf_engine::views::branches;
use uwf_engine::views::cost::{self, CostBy, CostRequest};
use uwf_engine::views::show;
use uwf_engine::views::thread_now::ThreadNow;

use super::pairs::{StepPair, same_words};
use super::sides::ComparedRun;
use super::steps;
use crate::failure::HttpFailure;
use crate::pages::{files, parts, texts};

/// Rows on one page.
const SHOWN: usize = 50;

/// Characters of a task at the head of its column.
const TITLE: usize = 50;

/// Longest thread whose spending is added up, in steps, so that the page appears soon.
const ADDED_UP: usize = 500;

/// The page of two runs, from the differing row `after` on.
pub(super) fn compared(
    home: &Home,
    config: &UwfConfig,
    two: &[DiffSubject; 2],
    after: usize,
    files: &Result<DiffReport, String>,
) -> Result<Markup, HttpFailure> {
    let runs = [ComparedRun::load(home, &two[0])?, ComparedRun::load(home, &two[1])?];
    let [a, b] = &runs;
    let is_whole = a.is_whole && b.is_whole;
    let (shared, rows) = match is_whole {
        true => paired(a.records()?, b.records()?),
        false => (0, vec![StepPair { a: a.newest()?, b: b.newest()? }]),
    };
    let differing = differing(&runs, &rows)?;
    let shown: Vec<&DifferingRow> = differing.rows.iter().skip(after).take(SHOWN).collect();
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
                p { strong { @if rows.is_empty() { "Both have the same steps." } @else { "Their outputs are the same." } } }
            }
            @for row in &drawn { (row) }
            @if after + shown.len() < differing.rows.len() {
                p { a rel="next" href={"?after=" (after + SHOWN) "#rows"} { (differing.rows.len() - after - shown.len()) " more rows that differ" } }
            } @else if differing.same_at_end > 0 {
                p.quiet.same { (same_words(differing.same_at_end)) }
            }
        }
        (files::section(files, "Files"))
    })
}

/// The number of shared steps, and pairs of the other steps. Pairs have equal roles, so that a round that only one run has does not
/// misalign all later steps.
fn paired(a: &[Record], b: &[Record]) -> (usize, Vec<StepPair>) {
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
            pairs.push(StepPair { a: Some(at), b: Some(at_other) });
            (at, at_other) = (at + 1, at_other + 1);
        }
        for offset in 0..removed.len().max(added.len()) {
            let of = |range: &std::ops::Range<usize>| (offset < range.len()).then(|| range.start + offset);
            pairs.push(StepPair { a: of(&removed), b: of(&added) });
        }
        (at, at_other) = (removed.end, added.end);
    }
    (shared, pairs)
}

/// A row that differs, and the equal rows before it.
struct DifferingRow {
    pair: StepPair,
    same_before: usize,
}

struct DifferingRows {
    rows: Vec<DifferingRow>,
    same_at_end: usize,
}

/// The rows with different roles or outputs; reads nothing but the chains.
fn differing(runs: &[ComparedRun<'_>; 2], pairs: &[StepPair]) -> Result<DifferingRows, HttpFailure> {
    let [a, b] = [runs[0].records()?, runs[1].records()?];
    let mut rows = Vec::new();
    let mut same = 0;
    for pair in pairs {
        let at = (pair.a.and_then(|index| a.get(index)), pair.b.and_then(|index| b.get(index)));
        match at {
            (Some(one), Some(other)) if one.role == other.role && one.output == other.output => same += 1,
            _ => rows.push(DifferingRow { pair: *pair, same_before: std::mem::take(&mut same) }),
        }
    }
    Ok(DifferingRows { rows, same_at_end: same })
}

/// The shared steps, folded; only the newest are listed.
fn common(run: &ComparedRun<'_>, shared: usize) -> Result<Markup, HttpFailure> {
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
    config: &UwfConfig,
    two: &[DiffSubject; 2],
    runs: &[ComparedRun<'_>; 2],
    is_whole: bool,
) -> Result<Markup, HttpFailure> {
    let threads = [&runs[0].thread, &runs[1].thread];
    let totals = [total(home, config, &two[0], threads[0]), total(home, config, &two[1], threads[1])];
    let inputs = [threads[0].input()?, threads[1].input()?];
    let has_input = inputs.iter().any(Option::is_some);
    let what = if is_whole { "threads" } else { "steps" };
    let counts = [runs[0].records()?.len(), runs[1].records()?.len()];
    let states = if is_whole { threads.map(|thread| state(home, &thread.id)) } else { [None, None] };
    let apart = |number: fn(&SpendingTotals) -> u64, words: fn(u64) -> String| {
        let known = [totals[0].spent.as_ref()?, totals[1].spent.as_ref()?].map(number);
        difference(known[0] as f64, known[1] as f64, |apart| words(apart as u64))
    };
    let apart_in_steps =
        is_whole.then(|| difference(counts[0] as f64, counts[1] as f64, |apart| apart.to_string())).flatten();
    Ok(html! {
        header #head {
            h1 { "Compare two " (what) }
            table.totals {
                thead { tr {
                    td {}
                    @for (named, thread) in two.iter().zip(threads) { th scope="col" { (title(home, named, thread)) } }
                    th scope="col" { "Difference" }
                } }
                tbody {
                    @if is_whole {
                        tr { th scope="row" { "Task" } (tasks(threads)) td {} }
                        tr { th scope="row" { "State" } @for state in &states { td { @if let Some(state) = state { (state) } } } td {} }
                        @if has_input {
                            tr { th scope="row" { "Input" } @for input in &inputs { td { @if let Some(input) = input { (texts::json(input, None)) } } } td {} }
                        }
                        tr { th scope="row" { "Agents" } @for total in &totals { td { (total.agents.join(", ")) } } td {} }
                        tr { th scope="row" { "Steps" } @for count in counts { td { (count) } } td { (apart_in_steps.unwrap_or_default()) } }
                    }
                    tr { th scope="row" { "Agent time" } @for total in &totals { td { (total.time) } } td { (apart(|spent| spent.duration_ms, parts::duration).unwrap_or_default()) } }
                    tr { th scope="row" { "Tokens" } @for total in &totals { td { (total.tokens) } } td { (apart(|spent| spent.tokens.total(), parts::count).unwrap_or_default()) } }
                    tr { th scope="row" { "Cost" } @for total in &totals { td { (total.cost) } } td { (cost_apart(&totals).unwrap_or_default()) } }
                }
            }
            @if threads[0].start.workflow != threads[1].start.workflow {
                p { "They run different workflows. " a href={"/compare/" (threads[0].start.workflow) ".." (threads[1].start.workflow)} { "Compare the workflows" } "." }
            }
        }
    })
}

/// The task of each side, or one task if both have the same.
fn tasks(threads: [&Thread<'_>; 2]) -> Markup {
    let is_same = threads[0].start_hash == threads[1].start_hash;
    let shown = if is_same { &threads[..1] } else { &threads[..] };
    html! {
        @for thread in shown {
            td colspan=[is_same.then_some("2")] { (texts::plain(&thread.start.prompt, 300, Some(thread.start_hash))) }
        }
    }
}

/// The head of a column.
fn title(home: &Home, named: &DiffSubject, thread: &Thread<'_>) -> Markup {
    match named {
        DiffSubject::Thread(id) => {
            let task = || text::ellipsize_words(&texts::first_line(&thread.start.prompt), TITLE).into_owned();
            let name = branches::path(home, id).unwrap_or_else(task);
            html! { a href={"/threads/" (id)} title=(id) { (name) " " (parts::short_id(id.as_str())) } }
        }
        DiffSubject::Node(hash) => html! { a href={"/cas/" (hash)} { (thread.position()) } " " code.quiet { (hash) } },
    }
}

/// The state of a thread, and its outcome.
fn state(home: &Home, id: &ThreadId) -> Option<Markup> {
    let status = show::status(&ThreadNow::read(home, id).ok()?).ok()?;
    Some(parts::state(status.state, status.pausing, status.outcome.as_deref()))
}

/// How much more or less the right side has; `None` if both have the same.
fn difference(left: f64, right: f64, words: impl Fn(f64) -> String) -> Option<String> {
    let sign = if right > left { "+" } else { "−" };
    (left != right).then(|| format!("{sign}{}", words((right - left).abs())))
}

/// The difference of two costs that are fully known in one currency.
fn cost_apart(totals: &[CompareTotals; 2]) -> Option<String> {
    let known = |totals: &CompareTotals| {
        let spent = totals.spent.as_ref().filter(|spent| spent.is_cost_whole())?;
        let sums = spent.by_currency();
        (sums.len() == 1).then(|| sums.into_iter().next().map(|(currency, amount)| (currency.to_owned(), amount)))?
    };
    let (left, right) = (known(&totals[0])?, known(&totals[1])?);
    (left.0 == right.0).then(|| difference(left.1, right.1, |apart| money::money(apart, &left.0)))?
}

/// Spending of a side, as far as it is known.
struct CompareTotals {
    time: String,
    tokens: String,
    cost: String,
    /// The sums, if all steps were added up.
    spent: Option<SpendingTotals>,
    agents: Vec<String>,
}

impl CompareTotals {
    fn unknown(why: &str) -> CompareTotals {
        let (time, tokens, cost) = (why.to_owned(), why.to_owned(), why.to_owned());
        CompareTotals { time, tokens, cost, spent: None, agents: Vec::new() }
    }
}

fn total(home: &Home, config: &UwfConfig, named: &DiffSubject, thread: &Thread<'_>) -> CompareTotals {
    match named {
        DiffSubject::Thread(id) if thread.chain().is_ok_and(|chain| chain.len() <= ADDED_UP) => {
            let request = CostRequest { threads: vec![id.clone()], by: CostBy::Agent, ..CostRequest::default() };
            match cost::cost(home, config, &request) {
                Ok(costs) => {
                    let agents = costs.rows.into_iter().filter_map(|row| row.name).collect();
                    CompareTotals { agents, ..of_spent(costs.total) }
                }
                Err(error) => CompareTotals::unknown(&format!("not known: {}", error.message)),
            }
        }
        // For a long thread, the cache may have sums. They count unknown amounts as zero.
        DiffSubject::Thread(_) => match usage::priced_soon(thread, config, ADDED_UP) {
            Ok(Some(used)) => CompareTotals {
                time: parts::duration((used.total.seconds * 1000.0) as u64),
                tokens: format!("at least {}", parts::count(used.total.tokens)),
                cost: format!("≥ {}", money::dollars(used.total.cost)),
                spent: None,
                agents: Vec::new(),
            },
            Ok(None) => CompareTotals::unknown("too many steps to add up here"),
            Err(error) => CompareTotals::unknown(&format!("not known: {error}")),
        },
        DiffSubject::Node(step) => of_spent(cost::of_step(home, config, *step)),
    }
}

fn of_spent(spent: SpendingTotals) -> CompareTotals {
    let tokens = match (parts::tokens(&spent.tokens), spent.are_tokens_whole()) {
        (Some(text), true) => text,
        (Some(text), false) => format!("at least {text}"),
        (None, true) => "none".to_owned(),
        (None, false) => "not known".to_owned(),
    };
    let (time, cost) = (parts::duration(spent.duration_ms), spent.cost_text());
    CompareTotals { time, tokens, cost, spent: Some(spent), agents: Vec::new() }
}

#[cfg(test)]
mod tests {
    use uwf_core::node::{self, ContentNode, StartNode, StepNode, TypedPayload};
    use uwf_engine::root::ids;

    use super::*;

    /// Two threads of `count` steps that differ after the first step. Only the first hundred outputs are stored, so reading more fails.
    fn long_threads(home: &Home, count: usize) -> [DiffSubject; 2] {
        let store = home.store();
        store.put_all(&node::schema_drafts()).unwrap();
        let detail = store.put(&ContentNode { text: "an answer".to_owned() }.draft()).unwrap();
        let start = StartNode { workflow: detail, prompt: "Count".to_owned(), parent: None, depth: None, input: None };
        let start = store.put(&start.draft()).unwrap();
        ["a", "b"].map(|name| {
            let mut drafts = Vec::new();
            let mut prev = None;
            for number in 0..count {
                let text = if number == 0 { "shared".to_owned() } else { format!("{name} {number}") };
                let output = ContentNode { text }.draft();
                let output_hash = output.hash();
                let (role, agent) = (format!("role-{}", number % 3), "counter".to_owned());
                let step = StepNode { start, prev, role, output: output_hash, detail, agent }.draft();
                prev = Some(step.hash());
                drafts.extend((number < 100).then_some(output));
                drafts.push(step);
            }
            store.put_all(&drafts).unwrap();
            let id = ids::new_thread_id();
            assert!(matches!(home.heads().create(id.as_str(), prev.unwrap()), Ok(json_cas::SwapOutcome::Done)));
            DiffSubject::Thread(id)
        })
    }

    #[test]
    fn long_threads_read_only_displayed_rows() {
        let dir = uwf_testing::dir_in_memory();
        let home = Home::open(dir.path(), "uwf");
        let two = long_threads(&home, 600);
        let nothing = Err("no files".to_owned());
        let page = |after| compared(&home, &UwfConfig::default(), &two, after, &nothing).unwrap().into_string();
        let first = page(0);
        assert_eq!(first.matches("<article").count(), SHOWN);
        assert!(first.contains("1 step that both share") && first.contains("549 more rows that differ"), "{first}");
        assert!(first.contains("<del>a</del> 1") && first.contains("<ins>b</ins> 1"), "{first}");
        assert!(first.contains("too many steps to add up here"), "{first}");
        assert!(page(590).contains("role-0"), "what is not readable is said in its place");
    }

    fn roles(of: &str) -> Vec<Record> {
        let record = |(index, role): (usize, char)| {
            let hash = json_cas::NodeHash::from_u64(if role.is_uppercase() {
                u64::from(u32::from(role))
            } else {
                1000 + index as u64 + of.len() as u64 * 100
            });
            Record { step: hash, output: hash, detail: hash, role: u64::from(u32::from(role.to_ascii_lowercase())) }
        };
        of.chars().enumerate().map(record).collect()
    }

    #[test]
    fn steps_stand_beside_steps_of_the_same_role() {
        let pairs = |a: &str, b: &str| {
            let (shared, pairs) = paired(&roles(a), &roles(b));
            let at = |index: Option<usize>| index.map_or_else(|| "-".to_owned(), |index| index.to_string());
            let pairs = pairs.iter().map(|pair| format!("{}:{}", at(pair.a), at(pair.b)));
            (shared, pairs.collect::<Vec<_>>().join(" "))
        };
        // An upper-case letter is a shared step, a lower-case letter a role.
        assert_eq!(pairs("PC", "PC"), (2, String::new()));
        assert_eq!(pairs("Pcr", "Pcrx"), (1, "1:1 2:2 -:3".to_owned()));
        assert_eq!(pairs("Pcrcrt", "Pcrt"), (1, "1:1 2:2 3:- 4:- 5:3".to_owned()));
        assert_eq!(pairs("Pcat", "Pcbbt"), (1, "1:1 2:2 -:3 3:4".to_owned()), "another way stands beside the one");
        assert_eq!(pairs("", "ab"), (0, "-:0 -:1".to_owned()));
    }
}
