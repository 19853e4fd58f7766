//! Reads the text of `config.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::agent::Agent;
use super::limits::{ExtractRungs, Limits, MAX_OUTPUT_CAP};
use super::notify::{Happening, Notify, NotifyBy};
use super::{Config, Model, Provider, check, project};
use crate::document::fields::{self, Fields, wrong_type};
use crate::document::{self, Problem, Problems, has_no_content};
use crate::number::MAX_WHOLE;
use crate::usage::ThreadLimits;
use crate::workspace::Workspace;
use json_cas::nearest::did_you_mean;
use yaml_tree::{Data, Entry, Node};

/// The top-level keys.
pub const CONFIG_KEYS: [&str; 25] = [
    "providers",
    "models",
    "agents",
    "defaultAgent",
    "agentOverrides",
    "defaultModel",
    "modelOverrides",
    "workspaces",
    "secrets",
    "maxSteps",
    "maxTime",
    "maxTokens",
    "maxCost",
    "maxDepth",
    "supervisorInterval",
    "promptBudget",
    "outputCap",
    "killGrace",
    "extract",
    "notify",
    "prices",
    "otel",
    "store",
    "temporal",
    "worktree",
];
/// Bytes below which a prompt has no room for the format of the answer and the task.
pub(crate) const MIN_PROMPT_BUDGET: u64 = 1000;

pub(crate) const PROVIDER_KEYS: [&str; 3] = ["baseUrl", "apiKeyEnv", "kind"];
pub(crate) const MODEL_KEYS: [&str; 2] = ["provider", "name"];
pub(crate) const AGENT_KEYS: [&str; 11] = [
    "command",
    "args",
    "output",
    "model",
    "env",
    "timeout",
    "idleTimeout",
    "exitCodes",
    "expectFile",
    "config",
    "describe",
];
pub(crate) const NOTIFY_KEYS: [&str; 4] = ["on", "command", "webhook", "webhookEnv"];
pub(crate) const EXTRACT_KEYS: [&str; 4] = ["submit", "frontmatter", "feedback", "llm"];

/// Reads a file over the configuration `base`. `project` is the directory of a project whose file it is, see
/// [`Config::with_project`].
pub(super) fn read(text: &str, origin: &str, base: &Config, project: Option<&Path>) -> (Config, Vec<Problem>) {
    // A file of comments, or an empty one, sets nothing, which is fine.
    if has_no_content(text) {
        return (base.clone(), Vec::new());
    }
    let mut reader = ConfigReader { problems: Problems::new(origin) };
    let root = document::parse(text, &mut reader.problems);
    let config = root.and_then(|root| reader.config(&root, base, project));
    (config.unwrap_or_else(|| base.clone()), reader.problems.finish())
}

/// What has been found out so far.
pub(super) struct ConfigReader {
    pub(super) problems: Problems,
}

impl ConfigReader {
    fn config(&mut self, root: &Node, base: &Config, project: Option<&Path>) -> Option<Config> {
        let fields = Fields::of_file(root, "the file", &mut self.problems)?;
        fields.warn_unknown(&CONFIG_KEYS, &mut self.problems);
        let mut config = base.clone();
        let mut agents = self.named(fields, "agents", ConfigReader::agent);
        match project {
            Some(dir) => {
                project::refuse_secrets(fields, &mut self.problems);
                agents.values_mut().for_each(|agent| project::make_absolute(agent, dir));
            }
            None => {
                config.providers = self.named(fields, "providers", ConfigReader::provider);
                config.secrets = self.texts(fields, "secrets").into_iter().collect();
                config.otel = self.otel(fields);
                (config.store, config.lease) = self.store(fields);
                config.temporal = self.temporal(fields);
                config.worktree_remote = self.worktree_remote(fields);
            }
        }
        config.agents.extend(agents);
        config.models.extend(self.named(fields, "models", ConfigReader::model));
        config.default_agent = self.text(fields, "defaultAgent").or(config.default_agent);
        for (workflow, roles) in self.named(fields, "agentOverrides", ConfigReader::overrides) {
            config.agent_overrides.entry(workflow).or_default().extend(roles);
        }
        config.default_model = self.text(fields, "defaultModel").or(config.default_model);
        config.model_overrides.extend(self.named(fields, "modelOverrides", ConfigReader::alias));
        config.workspaces.extend(self.named(fields, "workspaces", ConfigReader::workspace));
        config.limits = self.limits(fields, &base.limits);
        config.extract = self.extract(fields, base.extract);
        config.notify.extend(self.notify(fields));
        config.prices = self.prices(fields).or(config.prices);
        check::references(&config, fields, &mut self.problems);
        check::agents(&config, fields, &mut self.problems);
        check::secret_names(fields, &mut self.problems);
        Some(config)
    }

    /// A mapping of names; entries that cannot be read are left out.
    pub(super) fn named<T>(
        &mut self,
        fields: Fields<'_>,
        key: &str,
        read: impl Fn(&mut ConfigReader, &Entry) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(entry) = fields.get(key) else {
            return BTreeMap::new();
        };
        let Some(named) = Fields::of(&entry.value, key, &mut self.problems) else {
            return BTreeMap::new();
        };
        named.iter().filter_map(|entry| Some((entry.key.clone(), read(self, entry)?))).collect()
    }

    fn provider(&mut self, entry: &Entry) -> Option<Provider> {
        let fields = self.entry(entry, &PROVIDER_KEYS)?;
        let base_url = self.required(fields, entry, "baseUrl", "provider")?;
        Some(Provider { base_url, api_key_env: self.text(fields, "apiKeyEnv"), kind: self.text(fields, "kind") })
    }

    fn model(&mut self, entry: &Entry) -> Option<Model> {
        let fields = self.entry(entry, &MODEL_KEYS)?;
        let provider = self.required(fields, entry, "provider", "model");
        let name = self.required(fields, entry, "name", "model");
        Some(Model { provider: provider?, name: name? })
    }

    fn agent(&mut self, entry: &Entry) -> Option<Agent> {
        let fields = self.entry(entry, &AGENT_KEYS)?;
        let command = self.required(fields, entry, "command", "agent");
        let mut agent = Agent::from_command(command.clone().unwrap_or_default(), self.args(fields));
        agent.output = self.output(fields);
        agent.model = self.text(fields, "model");
        (agent.env, agent.set) = self.env(fields);
        agent.timeout = self.timeout(fields, "timeout").filter(|limit| !limit.is_zero());
        if let Some(limit) = self.timeout(fields, "idleTimeout") {
            agent.idle_timeout = Some(limit).filter(|limit| !limit.is_zero());
        }
        agent.exit_codes = self.exit_codes(fields);
        agent.expect_file = self.text(fields, "expectFile");
        agent.config = Value::Object(self.object(fields, "config"));
        agent.describe = self.describe(fields);
        command.map(|_| agent)
    }

    pub(super) fn entry<'n>(&mut self, entry: &'n Entry, known: &[&str]) -> Option<Fields<'n>> {
        let fields = Fields::of(&entry.value, &entry.key, &mut self.problems)?;
        fields.warn_unknown(known, &mut self.problems);
        Some(fields)
    }

    fn overrides(&mut self, entry: &Entry) -> Option<BTreeMap<String, Option<String>>> {
        let roles = Fields::of(&entry.value, &entry.key, &mut self.problems)?;
        Some(roles.iter().filter_map(|entry| Some((entry.key.clone(), self.alias(entry)?))).collect())
    }

    /// An alias or null, which is a value here. The outer `None` is neither.
    fn alias(&mut self, entry: &Entry) -> Option<Option<String>> {
        if entry.value.is_null() {
            return Some(None);
        }
        fields::text(&entry.value, &entry.key, &mut self.problems).map(Some)
    }

    /// Where threads of a workflow work.
    fn workspace(&mut self, entry: &Entry) -> Option<Workspace> {
        Workspace::read(entry, &format!("the workspace of `{}`", entry.key), &mut self.problems)
    }

    /// The limits, those that are not set as in `defaults`.
    fn limits(&mut self, fields: Fields<'_>, defaults: &Limits) -> Limits {
        let max_depth = self.number(fields, "maxDepth", 0, u64::from(u32::MAX));
        let prompt_budget = self.number(fields, "promptBudget", MIN_PROMPT_BUDGET, u64::from(u32::MAX));
        Limits {
            thread: ThreadLimits::read(fields, &mut self.problems).or(defaults.thread),
            max_depth: max_depth.and_then(|n| u32::try_from(n).ok()).unwrap_or(defaults.max_depth),
            supervisor_interval: match self.number(fields, "supervisorInterval", 0, MAX_WHOLE) {
                Some(steps) => Some(steps).filter(|steps| *steps > 0),
                None => defaults.supervisor_interval,
            },
            prompt_budget: prompt_budget.and_then(|n| usize::try_from(n).ok()).unwrap_or(defaults.prompt_budget),
            output_cap: self.number(fields, "outputCap", 1, MAX_OUTPUT_CAP).unwrap_or(defaults.output_cap),
            kill_grace: self.duration(fields, "killGrace").unwrap_or(defaults.kill_grace),
        }
    }

    /// One entry, or a list of them.
    fn notify(&mut self, fields: Fields<'_>) -> Vec<Notify> {
        let Some(entry) = fields.get("notify") else { return Vec::new() };
        let entries = match &entry.value.data {
            Data::Sequence(entries) => entries.iter().collect(),
            _ => vec![&entry.value],
        };
        entries.into_iter().filter_map(|entry| self.notify_entry(entry)).collect()
    }

    fn notify_entry(&mut self, node: &Node) -> Option<Notify> {
        let fields = Fields::of(node, "notify", &mut self.problems)?;
        fields.warn_unknown(&NOTIFY_KEYS, &mut self.problems);
        let mut ways = Vec::new();
        ways.extend(self.text(fields, "command").map(NotifyBy::Command));
        ways.extend(self.text(fields, "webhook").map(NotifyBy::Webhook));
        ways.extend(self.text(fields, "webhookEnv").map(NotifyBy::WebhookEnv));
        let on = match fields.get("on") {
            None => Some(Happening::ALL.to_vec()),
            Some(entry) => self.happenings(&entry.value),
        };
        let [by] = <[NotifyBy; 1]>::try_from(ways).ok().or_else(|| {
            let message = "an entry of `notify` has one of `command`, `webhook` and `webhookEnv`".to_owned();
            self.problems.error("bad-value", node.at, message, None);
            None
        })?;
        Some(Notify { on: on?, by })
    }

    fn happenings(&mut self, node: &Node) -> Option<Vec<Happening>> {
        let words = match &node.data {
            Data::Sequence(_) => fields::texts(node, "on", &mut self.problems)?,
            _ => vec![fields::text(node, "on", &mut self.problems)?],
        };
        let mut found = Vec::new();
        for word in words {
            let Some(happening) = Happening::named(&word) else {
                let names = Happening::ALL.map(Happening::name);
                let message = format!("`on` is `{word}`; it can be {}", names.join(", "));
                self.problems.error("bad-value", node.at, message, did_you_mean(&word, names));
                return None;
            };
            found.push(happening);
        }
        Some(found)
    }

    pub(super) fn switch(&mut self, fields: Fields<'_>, key: &str, default: bool) -> bool {
        let Some(entry) = fields.get(key) else { return default };
        entry.value.as_bool().unwrap_or_else(|| {
            wrong_type(&entry.value, key, "true or false", &mut self.problems);
            default
        })
    }

    fn extract(&mut self, fields: Fields<'_>, defaults: ExtractRungs) -> ExtractRungs {
        let mut rungs = defaults;
        let Some(entry) = fields.get("extract") else {
            return rungs;
        };
        let Some(fields) = self.entry(entry, &EXTRACT_KEYS) else {
            return rungs;
        };
        rungs.submit = self.switch(fields, "submit", rungs.submit);
        rungs.frontmatter = self.switch(fields, "frontmatter", rungs.frontmatter);
        rungs.feedback = self.rounds(fields, "feedback", rungs.feedback);
        rungs.llm = self.rounds(fields, "llm", rungs.llm);
        rungs
    }
}
