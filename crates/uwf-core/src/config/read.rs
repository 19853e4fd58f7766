//! Parses the text of `config.yaml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::agent::{AgentConfig, AgentDescriptionSource};
use super::file::{
    AgentEnvironment, AgentKeys, ConfigFile, DescribeKey, ExtractKeys, HookKeys, NetworkKey, NetworkWord, NotifyKeys,
    NtfyKeys, PricesKeys, SandboxKeys, SlackKeys, WorktreeKeys,
};
use super::hooks::{HookAction, HookConfig};
use super::limits::{ConfigLimits, ExtractRungs};
use super::notify::{
    NTFY_SERVER, NotifyBy, NotifyEvent, NotifyRule, NotifySetting, NtfyConfig, SLACK_SERVER, SlackConfig,
};
use super::prices::{DEFAULT_CURRENCY, PriceTable};
use super::retry::RetryPolicy;
use super::sandbox::{HostPattern, NetworkPolicy, SandboxPolicy, SecretHost, WORKSPACE};
use super::{GitRemote, OtelConfig, StoreUrl, UwfConfig, check, project, sandbox_check, texts};
use crate::document::by_schema::{self, SchemaReadOptions};
use crate::document::{self, FileProblem, OneOrMany, ProblemCollector, fields::MappingFields, has_no_content};
use crate::usage::ThreadLimits;

static SCHEMA: LazyLock<Value> = LazyLock::new(by_schema::schema_of_type::<ConfigFile>);

/// Settings of the parser.
const READING: SchemaReadOptions =
    SchemaReadOptions { name: "the file", rule: texts::fault, refuses_unknown: false, hidden: &[] };

/// The schema of the file.
pub(crate) fn schema() -> &'static Value {
    &SCHEMA
}

/// The top-level keys.
pub fn keys() -> impl Iterator<Item = &'static str> {
    SCHEMA["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str)
}

/// Parses a file over the configuration `base`. `project` is the directory of a project, if the file is a project's; see
/// [`UwfConfig::with_project`].
pub(super) fn read(
    text: &str,
    origin: &str,
    base: &UwfConfig,
    project: Option<&Path>,
) -> (UwfConfig, Vec<FileProblem>) {
    // An empty file, or one with only comments, sets nothing and is valid.
    if has_no_content(text) {
        return (base.clone(), Vec::new());
    }
    let mut problems = ProblemCollector::new(origin);
    let config = config(text, base, project, &mut problems);
    (config.unwrap_or_else(|| base.clone()), problems.finish())
}

fn config(text: &str, base: &UwfConfig, project: Option<&Path>, problems: &mut ProblemCollector) -> Option<UwfConfig> {
    let root = document::parse(text, problems)?;
    let hidden = if project.is_some() { &project::FORBIDDEN_KEYS[..] } else { &[] };
    let value = by_schema::read(&SCHEMA, &root, &SchemaReadOptions { hidden, ..READING }, problems)?;
    let mut file = match ConfigFile::deserialize(value) {
        Ok(file) => file,
        Err(error) => {
            problems.error("wrong-type", root.at, format!("the file cannot be read: {error}"), None);
            return None;
        }
    };
    let fields = MappingFields::of_file(&root, "the file", problems)?;
    let mut agents: BTreeMap<String, AgentConfig> =
        file.agents.take().into_iter().flatten().map(|(alias, keys)| (alias, agent(keys))).collect();
    let mut config = base.clone();
    match project {
        Some(dir) => {
            project::refuse_secrets(fields, problems);
            agents.values_mut().for_each(|agent| project::make_absolute(agent, dir));
            project::keep_sandboxes(&mut agents, &base.agents);
        }
        None => machine_keys(&mut config, &mut file),
    }
    config.agents.extend(agents);
    shared_keys(&mut config, file);
    check::references(&config, fields, problems);
    check::agents(&config, fields, problems);
    check::reply_topics(&config, fields, problems);
    check::headers(fields, problems);
    sandbox_check::agents(&config, fields, problems);
    Some(config)
}

/// Applies the keys that only a user's own configuration can set.
fn machine_keys(config: &mut UwfConfig, file: &mut ConfigFile) {
    config.providers = file.providers.take().unwrap_or_default();
    config.secrets = file.secrets.take().unwrap_or_default();
    config.otel = file.otel.take().map(|otel| OtelConfig {
        endpoint: otel.endpoint,
        headers: otel.headers.unwrap_or_default(),
        headers_env: otel.headers_env.unwrap_or_default(),
        content: otel.content.unwrap_or_default(),
    });
    let store = file.store.take();
    config.lease = store.as_ref().and_then(|store| store.lease);
    config.store = store.and_then(|store| StoreUrl::parse(&store.url?).ok());
    config.temporal = file.temporal.take();
    config.hooks =
        file.hooks.take().into_iter().flatten().filter_map(|(name, keys)| Some((name, hook(keys)?))).collect();
    let remote = file.worktree.as_mut().and_then(|worktree| worktree.remote.take());
    config.worktree_remote = remote.and_then(|remote| GitRemote::parse(&remote).ok());
}

/// Applies the keys that a project can set as well.
fn shared_keys(config: &mut UwfConfig, file: ConfigFile) {
    config.limits = limits(&file, &config.limits);
    config.models.extend(file.models.into_iter().flatten());
    config.default_agent = file.default_agent.or(config.default_agent.take());
    for (workflow, roles) in file.agent_overrides.into_iter().flatten() {
        config.agent_overrides.entry(workflow).or_default().extend(
            roles.into_iter().flatten().map(|(role, own)| (role, own.map(OneOrMany::into_vec).unwrap_or_default())),
        );
    }
    config.default_model = file.default_model.or(config.default_model.take());
    config.model_overrides.extend(file.model_overrides.into_iter().flatten());
    let workspaces = file.workspaces.into_iter().flatten();
    config.workspaces.extend(workspaces.map(|(workflow, place)| (workflow, place.unwrap_or_default())));
    config.ask = file.ask.unwrap_or(config.ask);
    config.ask_timeout =
        file.ask_timeout.map_or(config.ask_timeout, |limit| Some(limit).filter(|limit| !limit.is_zero()));
    config.extract = file.extract.map_or(config.extract, |keys| extract(&keys, config.extract));
    config.notify.extend(file.notify.into_iter().flat_map(OneOrMany::into_vec).filter_map(notify));
    config.prices = file.prices.map(prices).or(config.prices.take());
    if let Some(WorktreeKeys { prepare, prepare_timeout, .. }) = file.worktree {
        let known = &mut config.worktree_prepare;
        known.commands = prepare.unwrap_or(std::mem::take(&mut known.commands));
        known.timeout = prepare_timeout.map_or(known.timeout, |limit| Some(limit).filter(|limit| !limit.is_zero()));
    }
}

fn agent(keys: AgentKeys) -> AgentConfig {
    let mut agent = AgentConfig::from_command(keys.command, keys.args.unwrap_or_default());
    let is_limit = |limit: &Duration| !limit.is_zero();
    agent.output = keys.output.unwrap_or_default();
    agent.model = keys.model;
    match keys.env {
        None => {}
        Some(AgentEnvironment::Secrets(names)) => agent.env = names,
        Some(AgentEnvironment::Variables(variables)) => {
            for (name, value) in variables {
                match value {
                    Value::String(value) => drop(agent.set.insert(name, value)),
                    _ => agent.env.push(name),
                }
            }
        }
    }
    agent.timeout = keys.timeout.filter(is_limit);
    agent.max = keys.max;
    agent.idle_timeout = keys.idle_timeout.or(agent.idle_timeout).filter(is_limit);
    let codes = keys.exit_codes.into_iter().flatten();
    agent.exit_codes = codes.filter_map(|(code, meaning)| Some((texts::exit_status(&code)?, meaning))).collect();
    agent.expect_file = keys.expect_file;
    agent.fallback = keys.fallback;
    agent.retry = keys.retry.map_or_else(RetryPolicy::default, |keys| {
        RetryPolicy::with_defaults(keys.attempts, keys.wait, keys.on.map(OneOrMany::into_vec))
    });
    agent.sandbox = keys.sandbox.map(sandbox);
    agent.config = Value::Object(keys.config.unwrap_or_default());
    agent.describe = keys.describe.map(|describe| match describe {
        DescribeKey::Asked(is_asked) => AgentDescriptionSource::Asked(is_asked),
        DescribeKey::Given(description) => AgentDescriptionSource::Given(description),
    });
    agent
}

fn sandbox(keys: SandboxKeys) -> SandboxPolicy {
    let network = match keys.network {
        None => NetworkPolicy::Open,
        Some(NetworkKey::Word(NetworkWord::None)) => NetworkPolicy::None,
        Some(NetworkKey::Hosts(hosts)) => {
            NetworkPolicy::Hosts(hosts.iter().filter_map(|host| HostPattern::parse(host).ok()).collect())
        }
    };
    let secrets = keys.secrets.into_iter().flatten();
    SandboxPolicy {
        write: keys.write.unwrap_or_else(|| vec![WORKSPACE.to_owned()]),
        read: keys.read,
        network,
        secrets: secrets.filter_map(|(name, host)| Some((name, SecretHost::parse(&host).ok()?))).collect(),
    }
}

/// The limits, with `defaults` for those that are not set.
fn limits(file: &ConfigFile, defaults: &ConfigLimits) -> ConfigLimits {
    let budget = file.prompt_budget.and_then(|bytes| usize::try_from(bytes).ok());
    ConfigLimits {
        thread: ThreadLimits::from(file.limits).or(defaults.thread),
        max_depth: file.max_depth.unwrap_or(defaults.max_depth),
        max_branches: file.max_branches.unwrap_or(defaults.max_branches),
        parallel: file.parallel.unwrap_or(defaults.parallel),
        supervisor_interval: match file.supervisor_interval {
            Some(steps) => Some(steps).filter(|steps| *steps > 0),
            None => defaults.supervisor_interval,
        },
        prompt_budget: budget.unwrap_or(defaults.prompt_budget),
        output_cap: file.output_cap.unwrap_or(defaults.output_cap),
        kill_grace: file.kill_grace.unwrap_or(defaults.kill_grace),
    }
}

fn extract(keys: &ExtractKeys, defaults: ExtractRungs) -> ExtractRungs {
    ExtractRungs {
        submit: keys.submit.unwrap_or(defaults.submit),
        frontmatter: keys.frontmatter.unwrap_or(defaults.frontmatter),
        feedback: keys.feedback.as_ref().map_or(defaults.feedback, |rounds| rounds.or_usual(defaults.feedback)),
        llm: keys.llm.as_ref().map_or(defaults.llm, |rounds| rounds.or_usual(defaults.llm)),
    }
}

fn notify(keys: NotifyKeys) -> Option<NotifyRule> {
    let command = keys.command.map(NotifyBy::Command);
    let webhook = keys.webhook.map(NotifyBy::Webhook).or(keys.webhook_env.map(NotifyBy::WebhookEnv));
    let by = command.or(webhook).or_else(|| keys.ntfy.and_then(ntfy)).or(keys.slack.map(slack))?;
    let outcomes = keys.outcome.map_or(Vec::new(), OneOrMany::into_vec);
    Some(NotifyRule { on: keys.on.map_or(NotifyEvent::ALL.to_vec(), OneOrMany::into_vec), outcomes, by })
}

fn hook(keys: HookKeys) -> Option<HookConfig> {
    let action = keys.start.map(HookAction::Start).or(keys.answer.map(HookAction::Answer))?;
    let signature = keys.signature.unwrap_or_default();
    Some(HookConfig { secret_env: keys.secret_env, signature, when: keys.when, action })
}

fn ntfy(keys: NtfyKeys) -> Option<NotifyBy> {
    let setting = |text: Option<String>, variable: Option<String>| {
        text.map(NotifySetting::Text).or(variable.map(NotifySetting::Variable))
    };
    Some(NotifyBy::Ntfy(NtfyConfig {
        server: keys.server.unwrap_or_else(|| NTFY_SERVER.to_owned()).trim_end_matches('/').to_owned(),
        topic: setting(keys.topic, keys.topic_env)?,
        replies: setting(keys.replies, keys.replies_env),
        token_env: keys.token_env,
        reply_token_env: keys.reply_token_env,
        run: keys.run.unwrap_or(false),
        dashboard: keys.dashboard,
    }))
}

fn slack(keys: SlackKeys) -> NotifyBy {
    NotifyBy::Slack(SlackConfig {
        server: keys.server.unwrap_or_else(|| SLACK_SERVER.to_owned()).trim_end_matches('/').to_owned(),
        channel: keys.channel,
        bot_token_env: keys.bot_token_env,
        app_token_env: keys.app_token_env,
        users: keys.users.unwrap_or_default(),
        run: keys.run.unwrap_or(false),
        dashboard: keys.dashboard,
    })
}

fn prices(keys: PricesKeys) -> PriceTable {
    PriceTable {
        date: keys.date,
        currency: keys.currency.unwrap_or_else(|| DEFAULT_CURRENCY.to_owned()),
        models: keys.models.unwrap_or_default(),
    }
}
