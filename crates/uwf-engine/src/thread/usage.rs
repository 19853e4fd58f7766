//! Usage of a thread so far: tokens, money and time, from the details of its steps.
//!
//! Conditions see only what the nodes report ([`reported`]). A process that adopts the result of a killed step decides again which role
//! was next, and a changed price table must not change that decision. Limits also count by the prices ([`priced`]). A failed branch of a
//! group has its own thread, which limits count by the records of this machine; for conditions its sum is in the group's step.

use std::io::Write;
use std::path::Path;

use durable_files::regular;
use json_cas::{NodeHash, Store};
use serde::{Deserialize, Serialize};
use uwf_core::config::{ListPrices, UwfConfig};
use uwf_core::spending::{self, RunPrices, SpendingTotals};
use uwf_core::usage::{ThreadUsage, UsageAmount};

use crate::error::Result;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::runs::{KnownRun, RunReader};

/// Version of the summing rules. A sum by other rules is computed again.
const RULES: &str = "3";

/// The last computed sum: a file of the cache, so that a step of a long thread reads only its newest steps.
#[derive(Serialize, Deserialize)]
struct CachedUsage {
    /// The last step in the sum.
    head: NodeHash,
    /// Number of steps in the sum.
    steps: usize,
    /// Fingerprint of its prices and rules.
    prices: String,
    usage: ThreadUsage,
}

/// Usage of all steps of a thread, with their failed attempts, child threads and failed branches. Includes only money that providers
/// reported.
pub fn reported(thread: &Thread<'_>) -> Result<ThreadUsage> {
    Ok(sum_up_within(thread, &UwfConfig::default(), usize::MAX, true)?.unwrap_or_default())
}

/// Like [`reported`], without failed branches. If a provider reported no money, also prices the tokens by the configuration.
pub fn priced(thread: &Thread<'_>, config: &UwfConfig) -> Result<ThreadUsage> {
    Ok(sum_up_within(thread, config, usize::MAX, false)?.unwrap_or_default())
}

/// Like [`priced`], for callers that must not wait: `None` if it takes reading more than `most` steps.
pub fn priced_soon(thread: &Thread<'_>, config: &UwfConfig, most: usize) -> Result<Option<ThreadUsage>> {
    sum_up_within(thread, config, most, false)
}

fn sum_up_within(
    thread: &Thread<'_>,
    config: &UwfConfig,
    most: usize,
    is_for_conditions: bool,
) -> Result<Option<ThreadUsage>> {
    let chain = thread.chain()?;
    let prices = fingerprint(config);
    let file = thread.home().usage_file(&thread.id, is_for_conditions);
    let known = read(&file).filter(|sum| {
        let last = sum.steps.checked_sub(1).and_then(|last| chain.get(last));
        sum.prices == prices && last.is_some_and(|record| record.step == sum.head)
    });
    let (summed, mut usage) = known.map_or_else(Default::default, |sum| (sum.steps, sum.usage));
    if chain.len() - summed > most {
        return Ok(None);
    }
    let store = thread.home().store();
    let mut ledger = UsageCalculator { has_failed_branches: is_for_conditions, ..UsageCalculator::new(store, config) };
    for record in &chain.records()[summed..] {
        let (step, _) = nodes::step_node(ledger.store, record.step)?;
        usage.add(&step.role, UsageAmount { steps: 1, ..ledger.of_step(record.step, nodes::MAX_NESTING)? });
    }
    if summed < chain.len() && !thread.is_past() {
        write(&file, &CachedUsage { head: thread.head, steps: chain.len(), prices, usage: usage.clone() });
    }
    Ok(Some(usage))
}

/// Usage of failed attempts that are not part of a step yet.
pub(crate) fn of_attempts(store: &Store, config: &UwfConfig, attempts: &[NodeHash]) -> Result<UsageAmount> {
    let mut ledger = UsageCalculator::new(store, config);
    let mut sum = UsageAmount::default();
    for attempt in attempts {
        if let Some(run) = ledger.runs.failed(*attempt)? {
            sum.add(amount(&run, config));
        }
    }
    Ok(sum)
}

/// Spending of a step, with what is unknown of it. Includes only money that providers reported.
pub(crate) fn spent(store: &Store, step: NodeHash) -> Result<SpendingTotals> {
    let config = UwfConfig::default();
    let mut ledger = UsageCalculator { has_failed_branches: true, ..UsageCalculator::new(store, &config) };
    let mut spent = SpendingTotals::default();
    ledger.each_run(step, nodes::MAX_NESTING, &mut |run| spent.add(&run.run, RunPrices::default()))?;
    Ok(spent)
}

fn amount(known: &KnownRun, config: &UwfConfig) -> UsageAmount {
    known.run.amount(spending::run_prices(config, known.model.as_deref()))
}

struct UsageCalculator<'h> {
    store: &'h Store,
    config: &'h UwfConfig,
    runs: RunReader<'h>,
    /// Whether it counts failed branches by the sums in the steps of their groups.
    has_failed_branches: bool,
}

impl<'h> UsageCalculator<'h> {
    fn new(store: &'h Store, config: &'h UwfConfig) -> UsageCalculator<'h> {
        UsageCalculator { store, config, runs: RunReader::new(store, config), has_failed_branches: false }
    }

    /// Usage of a step's runs, or of all steps of the child thread that played it, which are not steps of the thread itself.
    fn of_step(&mut self, step: NodeHash, nesting: usize) -> Result<UsageAmount> {
        let (mut sum, config) = (UsageAmount::default(), self.config);
        self.each_run(step, nesting, &mut |run| sum.add(amount(run, config)))?;
        Ok(sum)
    }

    fn each_run(&mut self, step: NodeHash, nesting: usize, visit: &mut dyn FnMut(&KnownRun)) -> Result<()> {
        let runs = self.runs.of_step(step)?;
        let failed_branch = runs.failed_branch.filter(|_| self.has_failed_branches);
        runs.runs.iter().chain(&failed_branch).for_each(&mut *visit);
        // An unreadable run may have cost anything.
        if let Some(unread) = runs.unreadable {
            return Err(unread);
        }
        let mut next = runs.child;
        let nesting = nesting.checked_sub(usize::from(next.is_some()));
        while let Some(at) = next {
            let nesting = nesting.ok_or_else(|| nodes::too_deep(at))?;
            self.each_run(at, nesting, visit)?;
            next = nodes::step_node(self.store, at)?.0.prev;
        }
        Ok(())
    }
}

/// A fingerprint of the prices and rules of a sum.
fn fingerprint(config: &UwfConfig) -> String {
    let list = config.has_list_prices.then(|| &ListPrices::shipped().date);
    if config.prices.is_none() && list.is_none() {
        return RULES.to_owned();
    }
    let UwfConfig { prices, providers, models, default_model, .. } = config;
    let all =
        format!("{prices:?} {list:?} {providers:?} {models:?} {default_model:?} {:?}", spending::reading_model(config));
    format!("{RULES} {}", json_cas::xxh64(all.as_bytes()))
}

/// Reads a sum. A damaged file counts as absent: the sum can be computed again.
fn read(path: &Path) -> Option<CachedUsage> {
    serde_json::from_slice(&regular::read(path, regular::MAX_TEXT).ok()?).ok()
}

/// Deliberately not durable, and failures are silent: it can be derived.
fn write(path: &Path, sum: &CachedUsage) {
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
