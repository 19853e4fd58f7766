//! What a thread has used so far: tokens, money and time, as the details of its steps have it.
//!
//! Conditions see what the nodes alone say ([`reported`]). Whoever takes over the result of a killed step decides again which role
//! was next, and a table of prices that was changed meanwhile must not make that another one. Limits count by the prices, too
//! ([`priced`]).

use std::io::Write;
use std::path::Path;

use durable_files::regular;
use json_cas::{Hash, Store};
use serde::{Deserialize, Serialize};
use uwf_core::config::Config;
use uwf_core::spending;
use uwf_core::usage::{Amount, Usage};

use crate::error::Result;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::runs::{KnownRun, RunReader};

/// Version of the rules that a sum is made by. A sum of other rules is made again.
const RULES: &str = "2";

/// What was summed up the last time: a file of the cache, so that a step of a long thread reads its newest steps only.
#[derive(Serialize, Deserialize)]
struct Sum {
    /// The step up to which it was summed up.
    head: Hash,
    /// How many steps those are.
    steps: usize,
    /// By which prices.
    prices: String,
    usage: Usage,
}

/// What all steps of a thread used, with their failed attempts and child threads; of money what providers reported.
///
/// # Errors
/// Those of the nodes.
pub fn reported(thread: &Thread<'_>) -> Result<Usage> {
    sum_up(thread, &Config::default())
}

/// The same, and where a provider reported no money, the tokens by the prices of a configuration.
///
/// # Errors
/// Those of the nodes.
pub fn priced(thread: &Thread<'_>, config: &Config) -> Result<Usage> {
    sum_up(thread, config)
}

/// The same for whoever does not wait: `None` when more than `most` steps would have to be read for it.
///
/// # Errors
/// Those of the nodes.
pub fn priced_soon(thread: &Thread<'_>, config: &Config, most: usize) -> Result<Option<Usage>> {
    sum_up_within(thread, config, most)
}

fn sum_up(thread: &Thread<'_>, config: &Config) -> Result<Usage> {
    Ok(sum_up_within(thread, config, usize::MAX)?.unwrap_or_default())
}

fn sum_up_within(thread: &Thread<'_>, config: &Config, most: usize) -> Result<Option<Usage>> {
    let chain = thread.chain()?;
    let prices = fingerprint(config);
    let file = thread.home().usage_file(&thread.id, config.prices.is_some());
    let known = read(&file).filter(|sum| {
        let last = sum.steps.checked_sub(1).and_then(|last| chain.get(last));
        sum.prices == prices && last.is_some_and(|record| record.step == sum.head)
    });
    let (summed, mut usage) = known.map_or_else(Default::default, |sum| (sum.steps, sum.usage));
    if chain.len() - summed > most {
        return Ok(None);
    }
    let mut ledger = Ledger::new(thread.home().store(), config);
    for record in &chain.records()[summed..] {
        let (step, _) = nodes::step_node(ledger.store, record.step)?;
        usage.add(&step.role, Amount { steps: 1, ..ledger.of_step(record.step, nodes::MAX_NESTING)? });
    }
    if summed < chain.len() && !thread.is_past() {
        write(&file, &Sum { head: thread.head, steps: chain.len(), prices, usage: usage.clone() });
    }
    Ok(Some(usage))
}

/// What failed attempts used that are part of no step yet.
///
/// # Errors
/// Those of the nodes.
pub(crate) fn of_attempts(store: &Store, config: &Config, attempts: &[Hash]) -> Result<Amount> {
    let mut ledger = Ledger::new(store, config);
    let mut sum = Amount::default();
    for attempt in attempts {
        if let Some(run) = ledger.runs.failed(*attempt)? {
            sum.add(ledger.amount(&run));
        }
    }
    Ok(sum)
}

struct Ledger<'h> {
    store: &'h Store,
    config: &'h Config,
    runs: RunReader<'h>,
}

impl<'h> Ledger<'h> {
    fn new(store: &'h Store, config: &'h Config) -> Ledger<'h> {
        Ledger { store, config, runs: RunReader::new(store, config) }
    }

    fn amount(&self, known: &KnownRun) -> Amount {
        known.run.amount(spending::run_prices(self.config, known.model.as_deref()))
    }

    /// What the runs of a step used, or all steps of the child thread that played it: those are no steps of the thread itself.
    fn of_step(&mut self, step: Hash, nesting: usize) -> Result<Amount> {
        let runs = self.runs.of_step(step)?;
        let mut sum = Amount::default();
        runs.runs.iter().for_each(|run| sum.add(self.amount(run)));
        // What cannot be read may have cost anything.
        if let Some(unread) = runs.unreadable {
            return Err(unread);
        }
        let mut next = runs.child;
        let nesting = nesting.checked_sub(usize::from(next.is_some()));
        while let Some(at) = next {
            let nesting = nesting.ok_or_else(|| nodes::too_deep(at))?;
            sum.add(self.of_step(at, nesting)?);
            next = nodes::step_node(self.store, at)?.0.prev;
        }
        Ok(sum)
    }
}

/// Identifies the prices and rules of a sum.
fn fingerprint(config: &Config) -> String {
    match &config.prices {
        None => RULES.to_owned(),
        Some(prices) => {
            let reading = spending::reading_model(config);
            let all = format!("{prices:?} {:?} {:?} {reading:?}", config.models, config.default_model);
            format!("{RULES} {}", json_cas::xxh64(all.as_bytes()))
        }
    }
}

/// Anything but a whole sum is none: it can be made again.
fn read(path: &Path) -> Option<Sum> {
    serde_json::from_slice(&regular::read(path, regular::MAX_TEXT).ok()?).ok()
}

/// Not durable on purpose, and without a word when it fails: it can be derived.
fn write(path: &Path, sum: &Sum) {
    let write = || -> std::io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(sum)?)?;
        file.persist(path)?;
        Ok(())
    };
    let _ = write();
}
