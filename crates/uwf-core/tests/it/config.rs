//! `config.yaml`.

mod edit;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use uwf_core::config::{
    AgentConfig, ConfigLimits, DEFAULT_IDLE_TIMEOUT, ExitMeaning, ExtractRungs, GitRemote, HookAction, HookAnswer,
    HookConfig, HookSignature, HookStart, ModelConfig, ModelPrice, ModelProvider, NotifyBy, NotifyEvent, NotifyRule,
    NotifySetting, NtfyConfig, OtelConfig, OutputMode, PriceTable, QuestionPolicy, SlackConfig, StoreUrl, UwfConfig,
    WorkspaceKind, WorktreePrepare,
};
use uwf_core::usage::ThreadLimits;

use crate::file_schema::agrees_on_config;
use crate::workflow::{lines, shared};

/// A config without problems.
#[track_caller]
fn sound(text: &str) -> UwfConfig {
    let (config, problems) = UwfConfig::parse(text, "config.yaml");
    assert_eq!(lines(&problems), "");
    agrees_on_config(text, &problems);
    config
}

#[track_caller]
fn problems_of(text: &str) -> String {
    let (_, problems) = UwfConfig::parse(text, "config.yaml");
    agrees_on_config(text, &problems);
    lines(&problems)
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn notify_rules() -> Vec<NotifyRule> {
    let rule = |on: &[NotifyEvent], by| NotifyRule { on: on.to_vec(), outcomes: Vec::new(), by };
    let ntfy = NtfyConfig {
        server: "https://ntfy.example".to_owned(),
        topic: NotifySetting::Text("news".to_owned()),
        replies: Some(NotifySetting::Variable("REPLIES".to_owned())),
        token_env: Some("NTFY".to_owned()),
        reply_token_env: None,
        run: true,
        dashboard: None,
    };
    let slack = SlackConfig {
        server: "https://slack.com".to_owned(),
        channel: "C1".to_owned(),
        bot_token_env: "BOT".to_owned(),
        app_token_env: Some("APP".to_owned()),
        users: vec!["U1".to_owned()],
        run: false,
        dashboard: Some("https://uwf.example".to_owned()),
    };
    vec![
        rule(&[NotifyEvent::Ended, NotifyEvent::Stuck], NotifyBy::WebhookEnv("HOOK".to_owned())),
        rule(&[NotifyEvent::Waiting], NotifyBy::Ntfy(ntfy)),
        rule(&[NotifyEvent::Waiting], NotifyBy::Slack(slack)),
    ]
}

#[test]
fn agents_get_no_topic_or_token_of_messengers() {
    let secrets = UwfConfig { notify: notify_rules(), ..UwfConfig::default() }.secret_names();
    for name in ["REPLIES", "NTFY", "BOT", "APP"] {
        assert!(secrets.contains(name), "{name}");
    }
}

#[test]
fn the_example_loads() {
    let Some(text) = shared("examples/config.yaml") else {
        return;
    };
    let config = sound(&text);
    assert_eq!(config.agent("cursor"), Some(&AgentConfig::from_command("uwf-cursor", Vec::new())));
    assert_eq!(config.agent_for("solve-issue", "developer"), Some("cursor"));
    assert_eq!(config.agent_for("solve-issue", "planner"), Some("hermes"));
    assert_eq!(config.model_for("extract"), Some("gpt4o-mini"));
    assert_eq!(config.model_for("supervisor"), Some("sonnet"));
    let names: Vec<String> = config.secret_names().into_iter().collect();
    let of_servers = ["WORKFLOW_DASHBOARD_SECRET", "WORKFLOW_GATEWAY_TOKEN"];
    assert_eq!(names, [&["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"][..], &of_servers].concat());
}

#[test]
fn every_key_is_read() {
    let text = r#"
providers:
  local: { baseUrl: "http://localhost:1234/v1", kind: openai }
  paid: { baseUrl: "https://api.example.com", apiKeyEnv: PAID_KEY }
models:
  small: { provider: local, name: tiny }
agents:
  full:
    command: run-it
    args: [-t, "{thread}", 5, true]
    output: json
    model: small
    env: [PAID_KEY]
    timeout: 2h
    idleTimeout: 90
    exitCodes: { 3: ok, 0: fail }
    expectFile: out/report.md
    config: { depth: 3, tags: [no] }
  endless: { command: sleepy, idleTimeout: 0, timeout: 0, output: text }
  bare: { command: agent }
defaultAgent: bare
agentOverrides: { solve-it: { coder: full, tester: null }, other: null }
defaultModel: small
modelOverrides: { extract: null, supervisor: small }
workspaces: { solve-it: worktree, here: directory, other: null }
secrets: [GITHUB_TOKEN]
maxSteps: 20
maxDepth: 0
supervisorInterval: 5
promptBudget: 5000
outputCap: 1024
killGrace: 500ms
notify:
  - { on: [ended, stuck], webhookEnv: HOOK }
  - { on: waiting, ntfy: { server: "https://ntfy.example/", topic: news, repliesEnv: REPLIES, tokenEnv: NTFY, run: true } }
  - { on: waiting, slack: { channel: C1, botTokenEnv: BOT, appTokenEnv: APP, users: [U1], dashboard: "https://uwf.example" } }
otel: { endpoint: "https://otlp.example", headers: { x-team: a }, headersEnv: { authorization: OTLP_AUTH }, content: true }
store: { url: "s3://team/uwf", lease: 30s }
worktree: { remote: origin, prepare: [npm ci, make], prepareTimeout: 5m }
hooks:
  triage:
    secretEnv: TRIAGE_SECRET
    when: action = 'opened'
    start: { workflow: triage, prompt: issue.title, input: "{'n': issue.number}", labels: { issue: issue.number }, run: false }
  approve: { secretEnv: APPROVE_SECRET, signature: standard, answer: { thread: "'pr=' & number", output: "{'ok': ok}" } }
maxTime: 2h
maxTokens: 100000
maxCost: 2.5
ask: never
askTimeout: 2h
extract: { submit: false, frontmatter: false, feedback: 0, llm: true }
prices:
  date: 2026-11-01
  currency: EUR
  models: { small: { input: 0.5, output: 2, cached: 0 }, "gpt-4.1": { input: 2, output: 8, reasoning: 9 } }
"#;
    let args = ["-t", "{thread}", "5", "true"].map(str::to_owned).to_vec();
    let full = AgentConfig {
        output: OutputMode::Json,
        model: some("small"),
        env: vec!["PAID_KEY".to_owned()],
        timeout: Some(Duration::from_hours(2)),
        idle_timeout: Some(Duration::from_secs(90)),
        exit_codes: BTreeMap::from([(0, ExitMeaning::Fail), (3, ExitMeaning::Ok)]),
        expect_file: some("out/report.md"),
        config: json!({"depth": 3, "tags": ["no"]}),
        ..AgentConfig::from_command("run-it", args)
    };
    assert_eq!([0, 1, 3].map(|code| full.meaning(code)), [ExitMeaning::Fail, ExitMeaning::Fail, ExitMeaning::Ok]);
    let endless =
        AgentConfig { output: OutputMode::Text, idle_timeout: None, ..AgentConfig::from_command("sleepy", Vec::new()) };
    let bare = AgentConfig::from_command("agent", Vec::new());
    assert_eq!(bare.idle_timeout, Some(DEFAULT_IDLE_TIMEOUT));
    let provider = |url: &str, key: Option<&str>, kind: Option<&str>| ModelProvider {
        base_url: url.to_owned(),
        api_key_env: key.map(str::to_owned),
        kind: kind.map(str::to_owned),
    };
    let expected = UwfConfig {
        providers: BTreeMap::from([
            ("local".to_owned(), provider("http://localhost:1234/v1", None, Some("openai"))),
            ("paid".to_owned(), provider("https://api.example.com", Some("PAID_KEY"), None)),
        ]),
        models: BTreeMap::from([(
            "small".to_owned(),
            ModelConfig { provider: "local".to_owned(), name: "tiny".to_owned() },
        )]),
        agents: BTreeMap::from([("full".to_owned(), full), ("endless".to_owned(), endless), ("bare".to_owned(), bare)]),
        default_agent: some("bare"),
        agent_overrides: BTreeMap::from([
            (
                "solve-it".to_owned(),
                BTreeMap::from([("coder".to_owned(), vec!["full".to_owned()]), ("tester".to_owned(), Vec::new())]),
            ),
            ("other".to_owned(), BTreeMap::new()),
        ]),
        default_model: some("small"),
        model_overrides: BTreeMap::from([("extract".to_owned(), None), ("supervisor".to_owned(), some("small"))]),
        workspaces: BTreeMap::from([
            ("solve-it".to_owned(), WorkspaceKind::Worktree),
            ("here".to_owned(), WorkspaceKind::Directory),
            ("other".to_owned(), WorkspaceKind::Directory),
        ]),
        secrets: ["GITHUB_TOKEN".to_owned()].into(),
        limits: ConfigLimits {
            max_branches: 64,
            parallel: 8,
            thread: ThreadLimits {
                max_steps: Some(20),
                max_time: Some(7200),
                max_tokens: Some(100_000),
                max_cost: Some(2.5),
            },
            max_depth: 0,
            supervisor_interval: Some(5),
            prompt_budget: 5000,
            output_cap: 1024,
            kill_grace: Duration::from_millis(500),
        },
        ask: QuestionPolicy::Never,
        ask_timeout: Some(Duration::from_hours(2)),
        extract: ExtractRungs { submit: false, frontmatter: false, feedback: 0, llm: 2 },
        notify: notify_rules(),
        prices: Some(PriceTable {
            date: "2026-11-01".to_owned(),
            currency: "EUR".to_owned(),
            models: BTreeMap::from([
                (
                    "small".to_owned(),
                    ModelPrice { input: 0.5, output: 2.0, cached: Some(0.0), cache_write: None, reasoning: None },
                ),
                (
                    "gpt-4.1".to_owned(),
                    ModelPrice { input: 2.0, output: 8.0, cached: None, cache_write: None, reasoning: Some(9.0) },
                ),
            ]),
        }),
        has_list_prices: true,
        store: StoreUrl::parse("s3://team/uwf").ok(),
        lease: Some(Duration::from_secs(30)),
        temporal: None,
        worktree_remote: GitRemote::parse("origin").ok(),
        worktree_prepare: WorktreePrepare {
            commands: vec!["npm ci".to_owned(), "make".to_owned()],
            timeout: Some(Duration::from_mins(5)),
        },
        hooks: BTreeMap::from([
            (
                "triage".to_owned(),
                HookConfig {
                    secret_env: "TRIAGE_SECRET".to_owned(),
                    signature: HookSignature::Github,
                    when: some("action = 'opened'"),
                    action: HookAction::Start(HookStart {
                        workflow: "triage".to_owned(),
                        prompt: "issue.title".to_owned(),
                        input: some("{'n': issue.number}"),
                        labels: [("issue".to_owned(), "issue.number".to_owned())].into(),
                        cwd: None,
                        run: false,
                    }),
                },
            ),
            (
                "approve".to_owned(),
                HookConfig {
                    secret_env: "APPROVE_SECRET".to_owned(),
                    signature: HookSignature::Standard,
                    when: None,
                    action: HookAction::Answer(HookAnswer {
                        thread: "'pr=' & number".to_owned(),
                        output: "{'ok': ok}".to_owned(),
                        run: true,
                    }),
                },
            ),
        ]),
        otel: Some(OtelConfig {
            endpoint: "https://otlp.example".to_owned(),
            headers: [("x-team".to_owned(), "a".to_owned())].into(),
            headers_env: [("authorization".to_owned(), "OTLP_AUTH".to_owned())].into(),
            content: true,
        }),
    };
    let config = sound(text);
    assert_eq!(config, expected);
    assert_eq!(config.agent_for("solve-it", "tester"), Some("bare"));
    assert_eq!(config.model_for("extract"), Some("small"));
}

#[test]
fn a_config_that_says_nothing_is_the_default() {
    for text in [
        "",
        "\u{feff}",
        "# nothing yet\n",
        "---\n",
        "agents:\nproviders: ~\ndefaultAgent:\nagentOverrides: null\nextract:\n",
    ] {
        let expected = UwfConfig { has_list_prices: true, ..UwfConfig::default() };
        assert_eq!(sound(text), expected, "{text:?}");
    }
}

#[test]
fn unknown_keys_get_warning_with_suggestion() {
    let text = "defualtAgent: x\nagents:\n  a: { command: c, idletimeout: 5, colour: red }\nextract: { lllm: 1 }\n";
    insta::assert_snapshot!(problems_of(text), @"
    config.yaml:1:1: warning[unknown-key]: the key `defualtAgent` is not known here and is ignored
        did you mean `defaultAgent`?
    config.yaml:3:20: warning[unknown-key]: the key `idletimeout` is not known here and is ignored
        did you mean `idleTimeout`?
    config.yaml:3:36: warning[unknown-key]: the key `colour` is not known here and is ignored
        known here: command, args, output, model, env, timeout, idleTimeout, exitCodes, expectFile, config, max, retry, fallback, sandbox, describe
    config.yaml:4:12: warning[unknown-key]: the key `lllm` is not known here and is ignored
        did you mean `llm`?
    ");
}

#[test]
fn a_default_agent_must_be_defined() {
    let text = "agents:\n  hermes: { command: uwf-hermes }\ndefaultAgent: hermse\nagentOverrides:\n  solve-it: { coder: cursor, tester: hermes, judge: null }\n";
    insta::assert_snapshot!(problems_of(text), @r"
    config.yaml:3:15: error[unknown-agent]: agent `hermse` is not in `agents`
        did you mean `hermes`?
    config.yaml:5:22: error[unknown-agent]: agent `cursor` is not in `agents`
        add `cursor: {command: …}` to `agents`
    ");
}

#[test]
fn mistakes_in_agents_are_reported() {
    let text = "providers: { p: { baseUrl: u, apiKeyEnv: OPENAI_API_KEY } }\nagents:\n  a: { command: npx agent --yes, env: [OPENAI_API_KY, HOME] }\n  b: { command: /opt/my tools/agent }\n";
    insta::assert_snapshot!(problems_of(text), @r"
    config.yaml:3:17: warning[command-line]: uwf takes `npx agent --yes` for the name of one program
        put arguments into `args`
    config.yaml:3:40: warning[unknown-secret]: `OPENAI_API_KY` is not among the secrets of this config
        did you mean `OPENAI_API_KEY`?
    config.yaml:3:55: warning[unknown-secret]: `HOME` is not among the secrets of this config
        variables that are not in `secrets` or an `apiKeyEnv` are inherited anyway
    ");
}

#[test]
fn models_are_needed_only_when_used() {
    let text = "models: { a: { provider: opnai, name: x } }\nproviders: { openai: { baseUrl: u } }\ndefaultModel: b\nmodelOverrides: { extract: zzz }\n";
    insta::assert_snapshot!(problems_of(text), @r"
    config.yaml:1:26: warning[unknown-provider]: provider `opnai` is not in `providers`
        did you mean `openai`?
    config.yaml:3:15: warning[unknown-model]: model `b` is not in `models`
        add `b: {provider: …, name: …}` to `models`
    config.yaml:4:28: warning[unknown-model]: model `zzz` is not in `models`
        add `zzz: {provider: …, name: …}` to `models`
    ");
}

#[test]
fn wrong_types_and_values_are_errors_with_position() {
    let text = "
providers: { p: { baseUrl: 5 }, q: {}, r: x }
models: [a]
agents:
  a: { args: [x] }
  b: { command: '', args: x }
  c:
    command: [x]
    args: [[x]]
    output: jsn
    timeout: soon
    idleTimeout: -5
    exitCodes: { x: ok, 4: maybe, 999: ok }
    config: 7
    env: x
defaultAgent: [a]
maxSteps: 0
maxDepth: many
promptBudget: 12.5
outputCap: -1
maxCost: none
extract: { frontmatter: 1, feedback: 99, llm: x }
agentOverrides: { w: { r: 5 }, v: x }
";
    insta::assert_snapshot!(problems_of(text), @r#"
    config.yaml:2:28: error[wrong-type]: `baseUrl` must be a text, not a number
        put it in quotes: "5"
    config.yaml:2:33: error[missing-key]: the provider `q` has no `baseUrl`
    config.yaml:2:43: error[wrong-type]: `providers.r` must be a mapping, not a text
    config.yaml:3:9: error[wrong-type]: `models` must be a mapping, not a list
    config.yaml:5:3: error[missing-key]: the agent `a` has no `command`
    config.yaml:6:17: error[wrong-type]: `command` of the agent `b` is empty
    config.yaml:6:27: error[wrong-type]: `args` must be a list of texts, not a text
    config.yaml:8:14: error[wrong-type]: `command` must be a text, not a list
    config.yaml:9:12: error[wrong-type]: each item of `args` must be a text, not a list
    config.yaml:10:13: error[bad-value]: `output` is `jsn`; it can be step, json, text, exit
        did you mean `json`?
    config.yaml:11:14: error[bad-value]: `timeout` is `soon`, which is not a duration
        write seconds as a number, or 500ms, 90s, 15m, 2h; 0 means no limit
    config.yaml:12:18: error[bad-value]: `idleTimeout` is `-5`, which is not a duration
        write seconds as a number, or 500ms, 90s, 15m, 2h; 0 means no limit
    config.yaml:13:18: error[bad-value]: `x` is not an exit status; it can be 0 to 255
    config.yaml:13:28: error[bad-value]: `exitCodes.4` is `maybe`; it can be ok or fail
    config.yaml:13:35: error[bad-value]: `999` is not an exit status; it can be 0 to 255
    config.yaml:14:13: error[wrong-type]: `config` must be a mapping, not a number
    config.yaml:15:10: error[wrong-type]: `env` must be a list of texts or a mapping, not a text
    config.yaml:16:15: error[wrong-type]: `defaultAgent` must be a text, not a list
    config.yaml:17:11: error[bad-value]: `maxSteps` is 0; it must be a whole number from 1 to 9007199254740991
    config.yaml:18:11: error[wrong-type]: `maxDepth` must be a whole number, not a text
    config.yaml:19:15: error[bad-value]: `promptBudget` is 12.5; it must be a whole number from 1000 to 4294967295
    config.yaml:20:12: error[bad-value]: `outputCap` is -1; it must be a whole number from 1 to 134217728
    config.yaml:21:10: error[wrong-type]: `maxCost` must be a number, not a text
        leave it out for no limit
    config.yaml:22:25: error[wrong-type]: `frontmatter` must be true or false, not a number
    config.yaml:22:38: error[bad-value]: `feedback` is 99; it must be a whole number from 0 to 10
    config.yaml:22:47: error[wrong-type]: `llm` must be a whole number or a boolean, not a text
    config.yaml:23:27: error[wrong-type]: `agentOverrides.w.r` must be a text or a list of texts, not a number
    config.yaml:23:35: error[wrong-type]: `agentOverrides.v` must be a mapping, not a text
    "#);
    insta::assert_snapshot!(problems_of("- a\n"), @"config.yaml:1:1: error[wrong-type]: the file must be a mapping, not a list");
    insta::assert_snapshot!(problems_of("agents:\n  a: {command: x}\n  a: {command: y}\n"), @"config.yaml:3:3: error[duplicate-key]: the key `a` is here a second time; the first is at line 2");
}

#[test]
fn prices_need_input_output_and_date() {
    assert_eq!(sound("prices: { date: 2026-11-01 }").prices.unwrap().currency, "USD");
    insta::assert_snapshot!(problems_of("prices: { models: { m: { inptu: 1, output: -2 }, n: 5, o: { input: x, output: .inf } } }"), @r"
    config.yaml:1:1: error[missing-key]: the table `prices` has no `date`
    config.yaml:1:21: error[missing-key]: the price `m` has no `input`
        `inptu` is not a key: did you mean `input`?
    config.yaml:1:26: warning[unknown-key]: the key `inptu` is not known here and is ignored
        did you mean `input`?
    config.yaml:1:44: error[bad-value]: `output` is -2; it must be a number of at least 0
    config.yaml:1:53: error[wrong-type]: `models.n` must be a mapping, not a number
    config.yaml:1:68: error[wrong-type]: `input` must be a number, not a text
    config.yaml:1:79: error[bad-number]: `.inf` can't be kept as a number
        quote it if it is a text
    ");
    insta::assert_snapshot!(problems_of("prices: { date: 01.11.2026 }"), @"
    config.yaml:1:17: error[bad-value]: `date` is `01.11.2026`, which is not a day
        write it as 2026-11-01
    ");
    insta::assert_snapshot!(problems_of("prices: { date: 2026-11-01, currency: euro, m: { input: 1, output: 2 } }"), @"
    config.yaml:1:39: error[bad-value]: `currency` is `euro`; it can be three capital letters, such as USD or EUR
    config.yaml:1:45: warning[unknown-key]: the key `m` is not known here and is ignored
        known here: date, currency, models
    ");
    insta::assert_snapshot!(problems_of("prices: 5"), @"
    config.yaml:1:9: error[wrong-type]: `prices` must be a mapping, not a number
    ");
    let (config, _) = UwfConfig::parse("prices: { models: { m: { input: 1, output: 2 } } }", "config.yaml");
    assert_eq!(config.prices, None, "nobody knows of when they are");
}

#[test]
fn secret_instead_of_variable_is_rejected_and_hidden() {
    let text = "providers: { p: { baseUrl: u, apiKeyEnv: sk-abc.def } }\nagents: { a: { command: c, env: [OK_NAME, 'not ok'] }, b: { command: c, env: { sk-abc.def: ~ } } }\nsecrets: ['ghp-1', ghp_aB3dE5fG7hI9jK1lM3nO5]\n";
    insta::assert_snapshot!(problems_of(text), @r"
    config.yaml:1:42: error[not-a-variable]: `apiKeyEnv` holds something that is not the name of an environment variable
        put the secret itself into `.env`, and the variable's name here
    config.yaml:2:34: warning[unknown-secret]: `OK_NAME` is not among the secrets of this config
        variables that are not in `secrets` or an `apiKeyEnv` are inherited anyway
    config.yaml:2:43: error[not-a-variable]: `env` holds something that is not the name of an environment variable
        put the secret itself into `.env`, and the variable's name here
    config.yaml:2:80: error[not-a-variable]: `env` holds something that is not the name of an environment variable
        put the secret itself into `.env`, and the variable's name here
    config.yaml:3:11: error[not-a-variable]: `secrets` holds something that is not the name of an environment variable
        put the secret itself into `.env`, and the variable's name here
    config.yaml:3:20: error[not-a-variable]: `secrets` holds something that is not the name of an environment variable
        put the secret itself into `.env`, and the variable's name here
    ");
}
