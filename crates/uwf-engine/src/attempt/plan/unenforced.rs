//! Limits that can't stop a thread, because its agents don't report their usage.

use std::collections::BTreeMap;

use uwf_core::config::{DEFAULT_CURRENCY, UwfConfig};
use uwf_core::spending::{self, SpendingAgent};
use uwf_core::usage::ThreadLimits;

use crate::attempt::agents::{AgentSpec, COMMAND, CURSOR, PLAY, TRACE_KEY, WORKFLOW};

/// Usage that an agent's program reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageReport {
    /// Tokens and US dollars, or no usage because it uses no model.
    Dollars,
    /// Tokens.
    Tokens,
    /// Tokens; dollars if its provider reports them.
    MaybeDollars,
    /// Depends on the program.
    Unknown,
    /// Nothing.
    Nothing,
}

impl UsageReport {
    fn expected_from_agent(agent: &AgentSpec, spender: &SpendingAgent) -> UsageReport {
        let trace = agent.config.get(TRACE_KEY).and_then(|trace| trace.as_str());
        match (agent.played_by(), trace) {
            _ if spender.is_free => UsageReport::Dollars,
            // Its roles have their own agents.
            (Some(WORKFLOW | PLAY), _) => UsageReport::Dollars,
            (Some(COMMAND), None) => UsageReport::Nothing,
            (Some(COMMAND), Some("claude" | "opencode")) => UsageReport::Dollars,
            (Some(COMMAND), Some("codex" | "gemini" | "cursor")) | (Some(CURSOR), _) => UsageReport::Tokens,
            (Some("llm" | "react" | "hermes"), _) => UsageReport::MaybeDollars,
            _ => UsageReport::Unknown,
        }
    }
}

/// Returns a sentence for each limit that has no effect because of one of these agents.
pub(crate) fn unenforced(limits: ThreadLimits, agents: &[AgentSpec], config: &UwfConfig) -> Vec<String> {
    // Name an agent that plays several roles once.
    let agents: BTreeMap<&str, &AgentSpec> = agents.iter().map(|agent| (agent.name.as_str(), agent)).collect();
    agents.values().flat_map(|agent| of_agent(limits, agent, config)).collect()
}

fn of_agent(limits: ThreadLimits, agent: &AgentSpec, config: &UwfConfig) -> Vec<String> {
    let spender = SpendingAgent::from_agent(&agent.payload(), config);
    let is_priced =
        spending::price(config, spender.model.as_deref()).is_some_and(|priced| priced.currency == DEFAULT_CURRENCY);
    let report = UsageReport::expected_from_agent(agent, &spender);
    let name = &agent.name;
    let no_tokens = (limits.max_tokens.is_some() && report == UsageReport::Nothing)
        .then(|| format!("agent `{name}` reports no tokens, so `maxTokens` cannot stop it"));
    let why = match (report, &spender.model) {
        (UsageReport::Dollars, _) => None,
        (UsageReport::Nothing, _) => {
            Some(format!("agent `{name}` reports neither tokens nor cost, so `maxCost` cannot stop it"))
        }
        _ if is_priced => None,
        (UsageReport::Tokens, model) => Some(format!(
            "agent `{name}` reports no cost, and {}, so `maxCost` cannot stop it; `maxTokens` can",
            no_price(model.as_deref())
        )),
        (UsageReport::MaybeDollars, model) => Some(format!(
            "agent `{name}` may report no cost, and {}, so `maxCost` may not stop it; `maxTokens` can",
            no_price(model.as_deref())
        )),
        (UsageReport::Unknown, model) => Some(format!(
            "agent `{name}` may report no cost, and {}, so `maxCost` may not stop it",
            no_price(model.as_deref())
        )),
    };
    let no_cost = why.filter(|_| limits.max_cost.is_some());
    no_tokens.into_iter().chain(no_cost).collect()
}

fn no_price(model: Option<&str>) -> String {
    match model {
        Some(model) => format!("its model `{model}` has no price in {DEFAULT_CURRENCY}"),
        None => "its model is unknown, so prices can't apply".to_owned(),
    }
}
