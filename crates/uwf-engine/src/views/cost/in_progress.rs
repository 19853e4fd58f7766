//! The attempt that an agent works on now. Its usage is known only as far as its trace says, so each number is a minimum.

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::node::TokenCounts;
use uwf_core::spending::{self, AttemptUsage, SpendingAgent};
use uwf_core::thread::ThreadId;

use crate::attempt::live_trace::{self, LiveTrace};
use crate::attempt::recorded::{self, AttemptOutputFiles};
use crate::root::home::Home;
use crate::root::ids;
use crate::thread::runs::KnownRun;

/// The attempt in progress at a head of a thread with an open attempt; `None` if it is at another head or over, or if child threads play the
/// role and have the usage.
pub(super) fn run(home: &Home, config: &UwfConfig, thread: &ThreadId, head: NodeHash) -> Option<KnownRun> {
    let attempt = recorded::read(home, thread).ok().flatten()?;
    let opened = &attempt.opened;
    let is_over = attempt.closed.is_some() || opened.expected_head != head;
    if is_over || opened.reextract.is_some() || opened.agent.plays_by_threads() {
        return None;
    }
    let files = AttemptOutputFiles::paths_of_attempt(home, thread, &opened.attempt);
    let given_up = live_trace::read_given_up(&files);
    let trace = live_trace::read(&files);
    let trace = if given_up.is_empty() { trace } else { trace.after(given_up) };
    let agent = spending::with_reported_model(opened.agent.payload(), trace.model.as_deref());
    let SpendingAgent { alias, model, is_free, is_person } = SpendingAgent::from_agent(&agent, config);
    let now = ids::now_ms();
    let run = AttemptUsage {
        tokens: trace.tokens().or_else(|| of_counted_turns(&trace)),
        is_partial: true,
        duration_ms: if is_person { 0 } else { now.saturating_sub(opened.opened_at) },
        is_running: true,
        is_free,
        ..AttemptUsage::default()
    };
    Some(KnownRun { run, role: opened.role.clone(), agent: alias, model, at_ms: now, attempt: None })
}

/// The tokens of the turns that the agent has counted.
fn of_counted_turns(trace: &LiveTrace) -> Option<TokenCounts> {
    let counted = trace.turns.iter().filter_map(|turn| turn.tokens.clone());
    counted.reduce(|sum, tokens| sum.plus(&tokens))
}
