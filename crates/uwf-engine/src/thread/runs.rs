//! The agent runs of a step: the run that became the step, and earlier failed runs.

use std::collections::HashMap;
use std::time::Duration;

use json_cas::{Node, NodeHash, Store};
use serde::{Deserialize, Serialize};
use uwf_core::config::UwfConfig;
use uwf_core::node::{self, ExtractedBy, NodeKind, ReactTurn, StepNode, TokenCounts};
use uwf_core::number;
use uwf_core::spending::{AttemptUsage, ExtractionUsage, SpendingAgent};
use uwf_core::usage::UsageAmount;
use uwf_core::workflow::GROUP_AGENT;

use crate::error::{Error, Result};
use crate::thread::nodes;

/// The key of a failed branch's usage in the session of its step.
pub(crate) const BRANCH_USAGE: &str = "usage";

/// All that a failed branch has used.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BranchUsage {
    #[serde(flatten)]
    pub(crate) amount: UsageAmount,
    /// Whether some of its tokens are unknown. Absent in nodes of older versions.
    #[serde(default)]
    pub(crate) tokens_unknown: bool,
    /// The agent of its newest attempt. Absent in nodes of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// Whether some of its cost is unknown. Absent in nodes of older versions, which leaves it unknown if it is 0.
    pub(crate) cost_unknown: Option<bool>,
}

/// A run and its agent.
#[derive(Debug)]
pub(crate) struct KnownRun {
    pub(crate) run: AttemptUsage,
    pub(crate) role: String,
    /// The agent's name in the configuration; for an unknown agent its command.
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    /// When its node was stored, in Unix milliseconds.
    pub(crate) at_ms: u64,
    /// Its node, if it is a failed attempt.
    pub(crate) attempt: Option<NodeHash>,
}

/// The known runs of a step.
#[derive(Debug, Default)]
pub(crate) struct StepRuns {
    pub(crate) runs: Vec<KnownRun>,
    /// The last step of the child thread that played the role. The child's steps have the runs.
    pub(crate) child: Option<NodeHash>,
    /// All that a failed branch has used, as one run. Its own thread has the runs.
    pub(crate) failed_branch: Option<KnownRun>,
    /// The role, if the step is of a group, or of a branch in the thread of its group.
    pub(crate) group: Option<String>,
    /// Why some runs are unknown.
    pub(crate) unreadable: Option<Error>,
}

/// Reads the runs of steps, and each agent once.
pub(crate) struct RunReader<'h> {
    store: &'h Store,
    config: &'h UwfConfig,
    agents: HashMap<NodeHash, SpendingAgent>,
}

impl<'h> RunReader<'h> {
    pub(crate) fn new(store: &'h Store, config: &'h UwfConfig) -> RunReader<'h> {
        RunReader { store, config, agents: HashMap::new() }
    }

    /// The runs of a step.
    pub(crate) fn of_step(&mut self, step: NodeHash) -> Result<StepRuns> {
        let (step, _) = nodes::step_node(self.store, step)?;
        let node = nodes::get(self.store, step.detail)?;
        match NodeKind::from_type_hash(node.type_hash) {
            Some(NodeKind::StepNode) => {
                let group = (step.agent == GROUP_AGENT).then_some(step.role);
                Ok(StepRuns { child: Some(step.detail), group, ..StepRuns::default() })
            }
            Some(NodeKind::ReactSession) => self.session(&node, step.detail),
            _ => Ok(StepRuns { runs: vec![foreign(step, &node)], ..StepRuns::default() }),
        }
    }

    fn session(&mut self, node: &Node, hash: NodeHash) -> Result<StepRuns> {
        let session: node::ReactSession = nodes::payload(hash, node)?;
        let failed_branch = failed_branch(&session, node.timestamp);
        let SpendingAgent { alias, model, is_free, is_person } = self.spender(session.agent);
        let (own, read) = self.split(&session);
        let reading = self.reading(read);
        let (tokens, is_partial) =
            self.tokens(session.tokens.as_ref().map(|whole| without(whole, reading.as_ref())), own);
        let duration_ms = if is_person { 0 } else { session.duration_ms };
        let run = AttemptUsage { tokens, is_partial, duration_ms, is_free, reading, ..AttemptUsage::default() };
        let own = KnownRun { run, role: session.role, agent: alias, model, at_ms: node.timestamp, attempt: None };
        // The session of a failed branch is not a run: its own thread has the runs.
        let mut runs = if failed_branch.is_some() { Vec::new() } else { vec![own] };
        let mut unreadable = None;
        for attempt in session.attempts {
            match self.failed(attempt) {
                Ok(failed) => runs.extend(failed),
                Err(error) => unreadable = Some(error),
            }
        }
        Ok(StepRuns { runs, unreadable, failed_branch, ..StepRuns::default() })
    }

    /// A failed attempt; `None` if it has not failed.
    pub(crate) fn failed(&mut self, hash: NodeHash) -> Result<Option<KnownRun>> {
        let node = nodes::get(self.store, hash)?;
        let attempt: node::AttemptNode = nodes::payload(hash, &node)?;
        if attempt.error.is_none() {
            return Ok(None);
        }
        let SpendingAgent { alias, model, is_free, .. } = self.spender(attempt.agent);
        let traced: Option<node::TracedAttempt> = nodes::payload(hash, &node).ok();
        let turns = traced.as_ref().map(|traced| traced.turns.clone()).unwrap_or_default();
        let (tokens, is_partial) = self.tokens(traced.and_then(|traced| traced.tokens), &turns);
        let duration_ms =
            turns.iter().filter_map(|turn| self.turn(*turn)).map(|turn| turn.latency_ms).fold(0, number::sum);
        let run =
            AttemptUsage { tokens, is_partial, duration_ms, has_failed: true, is_free, ..AttemptUsage::default() };
        let (role, at_ms) = (attempt.role, node.timestamp);
        Ok(Some(KnownRun { run, role, agent: alias, model, at_ms, attempt: Some(hash) }))
    }

    /// The tokens of a run: the total if counted, or else the sum of its turns; and whether some are missing.
    fn tokens(&self, whole: Option<TokenCounts>, turns: &[NodeHash]) -> (Option<TokenCounts>, bool) {
        if whole.is_some() {
            return (whole, false);
        }
        let counted: Vec<TokenCounts> = turns.iter().filter_map(|turn| self.turn(*turn)?.tokens).collect();
        let is_partial = counted.len() < turns.len();
        (counted.into_iter().reduce(|sum, tokens| sum.plus(&tokens)), is_partial)
    }

    /// The turns of the agent, and the turns of the model that read its answer. The latter are at the end, and each has the same
    /// instruction.
    fn split<'s>(&self, session: &'s node::ReactSession) -> (&'s [NodeHash], &'s [NodeHash]) {
        let instruction = |turn: &NodeHash| self.turn(*turn).and_then(|turn| turn.input.first().copied());
        let last = session.turns.last().filter(|_| session.extracted_by == ExtractedBy::Llm).and_then(instruction);
        let count = match last {
            Some(_) => session.turns.iter().rev().take_while(|turn| instruction(turn) == last).count(),
            None => 0,
        };
        session.turns.split_at(session.turns.len() - count)
    }

    fn reading(&self, turns: &[NodeHash]) -> Option<ExtractionUsage> {
        let (tokens, is_partial) = self.tokens(None, turns);
        (!turns.is_empty()).then_some(ExtractionUsage { tokens, is_partial })
    }

    fn turn(&self, hash: NodeHash) -> Option<ReactTurn> {
        nodes::typed(self.store, hash).ok()
    }

    fn spender(&mut self, hash: NodeHash) -> SpendingAgent {
        let (store, config) = (self.store, self.config);
        let read = || match nodes::typed::<node::AgentNode>(store, hash) {
            Ok(agent) => SpendingAgent::from_agent(&agent, config),
            Err(_) => SpendingAgent::default(),
        };
        self.agents.entry(hash).or_insert_with(read).clone()
    }
}

/// The agent of a failed branch, by its step in the group's thread; `None` if it is not known.
pub(crate) fn agent_of_failed_branch(store: &Store, step: NodeHash) -> Result<Option<String>> {
    let (step, _) = nodes::step_node(store, step)?;
    let session = nodes::typed::<node::ReactSession>(store, step.detail)?;
    Ok(branch_usage(&session).and_then(|usage| usage.agent))
}

fn branch_usage(session: &node::ReactSession) -> Option<BranchUsage> {
    let sum = session.extras.as_ref().filter(|_| session.source == node::GROUP_SOURCE)?.get(BRANCH_USAGE)?;
    serde_json::from_value(sum.clone()).ok()
}

/// All that a failed branch has used, by the session in its group's step.
fn failed_branch(session: &node::ReactSession, at_ms: u64) -> Option<KnownRun> {
    let BranchUsage { amount, tokens_unknown, cost_unknown, agent: _ } = branch_usage(session)?;
    let UsageAmount { tokens, cost, seconds, .. } = amount;
    let cost = Some(cost).filter(|cost| !cost_unknown.unwrap_or(*cost <= 0.0));
    let tokens = TokenCounts { input: Some(tokens), output: Some(0), cost, ..TokenCounts::default() };
    let run = AttemptUsage {
        tokens: Some(tokens),
        is_partial: tokens_unknown,
        duration_ms: Duration::try_from_secs_f64(seconds).map_or(0, |time| time.as_millis().try_into().unwrap_or(0)),
        has_failed: true,
        ..AttemptUsage::default()
    };
    Some(KnownRun { run, role: session.role.clone(), agent: None, model: None, at_ms, attempt: None })
}

/// Subtracts the reading of the answer from the usage of a run. A sum includes the known part of the reading.
fn without(whole: &TokenCounts, reading: Option<&ExtractionUsage>) -> TokenCounts {
    let Some(read) = reading.and_then(|reading| reading.tokens.as_ref()) else { return whole.clone() };
    let rest = |whole: Option<u64>, read: Option<u64>| whole.map(|whole| whole.saturating_sub(read.unwrap_or(0)));
    TokenCounts {
        input: rest(whole.input, read.input),
        output: rest(whole.output, read.output),
        cached: rest(whole.cached, read.cached),
        cache_write: rest(whole.cache_write, read.cache_write),
        reasoning: rest(whole.reasoning, read.reasoning),
        cost: whole.cost.map(|whole| (whole - read.cost.unwrap_or(0.0)).max(0.0)),
    }
}

/// A run recorded by another program: nothing else is known about it.
fn foreign(step: StepNode, detail: &Node) -> KnownRun {
    let (run, agent) = (AttemptUsage::default(), Some(step.agent));
    KnownRun { run, role: step.role, agent, model: None, at_ms: detail.timestamp, attempt: None }
}
