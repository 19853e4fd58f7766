//! How far a thread may go: limits of configuration, workflow and start, `thread limit`, and `$usage` in conditions.

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, Say, Usage};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

/// A model of which each answer costs half a dollar and 1,000 tokens.
fn costly(answers: usize) -> LlmServer {
    let usage = Usage { input: 900, output: 100, cached: None, reasoning: None, cost: Some(0.5) };
    LlmServer::start(vec![Say::text("---\nn: 1\n---\nCounted.\n").usage(usage); answers])
}

/// A home whose agent is that model.
fn with_model(server: &LlmServer, config: &str) -> TestHome {
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  l: {{ command: uwf-llm, model: m }}\ndefaultAgent: l\nextract: {{ llm: 0 }}\n{config}",
        server.url()
    ));
    home
}

fn start(home: &TestHome, more: &[&str]) -> String {
    let args = ["thread", "start", "count-rounds", "-p", "count"];
    text(&home.json(&[&args[..], more].concat()), "thread")
}

fn state(home: &TestHome, thread: &str) -> (Value, Value) {
    let shown = home.json(&["thread", "show", thread]);
    (shown["state"].clone(), shown["why"].clone())
}

#[test]
fn a_thread_stops_at_its_cost_and_goes_on_when_it_may_cost_more() {
    let server = costly(4);
    let home = with_model(&server, "");
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-cost", "1"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(30), "{ran:?}");
    assert_eq!(server.asked().len(), 2, "nobody is paid beyond the limit");
    assert_eq!(state(&home, &thread), (json!("limited"), json!("the thread has cost $1.00, its limit is $1.00")));
    assert_snapshot!(home.told(&["thread", "step", &thread]), @r"
    exit 30
    --- stderr
    error: the thread has cost $1.00, its limit is $1.00
    hint: let it go on: `uwf thread limit <id> --cost +1`
    ");
    let told = home.told(&["thread", "limit", &thread, "--cost", "+0.5", "--format", "text"]);
    // How long it took is another at each run.
    let told: Vec<&str> = told.lines().filter(|line| !line.starts_with("time")).collect();
    assert_snapshot!(told.join("\n"), @r"
    exit 0
    thread <id> is active
            used   limit
    steps   2      1000
    tokens  2000   –
    cost    $1.00  $1.50
    ");
    let ran = home.uwf(&["run", &thread]);
    assert_eq!((ran.code, server.asked().len()), (Some(30), 3));
    let limits = home.json(&["thread", "limit", &thread, "--cost", "10", "--tokens", "+2000"]);
    assert_eq!(limits["limits"], json!({ "maxSteps": 1000, "maxTokens": 5000, "maxCost": 10.0 }));
    assert_eq!(limits["used"]["tokens"], 3000);
    assert_eq!(home.json(&["run", &thread])["done"], true);
}

#[test]
fn money_that_no_provider_reports_is_counted_by_the_prices() {
    let usage = Usage { input: 1_000_000, output: 100_000, cached: None, reasoning: None, cost: None };
    let server = LlmServer::start(vec![Say::text("---\nn: 1\n---\nCounted.\n").usage(usage); 4]);
    let prices = "prices:\n  date: 2026-11-01\n  models: { scripted-model: { input: 2, output: 10 } }\n";
    let home = with_model(&server, prices);
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-cost", "5"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!((ran.code, server.asked().len()), (Some(30), 2), "{ran:?}");
    assert_eq!(state(&home, &thread), (json!("limited"), json!("the thread has cost $6.00, its limit is $5.00")));

    // A cheaper table counts for what was spent before, too.
    let cheaper = prices.replace("output: 10", "output: 0");
    home.config(&std::fs::read_to_string(home.root().join("config.yaml")).unwrap().replace(prices, &cheaper));
    assert_eq!(home.json(&["thread", "limit", &thread])["used"]["cost"], 4.0);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(30));
    assert_eq!(server.asked().len(), 3);

    // Limits are in US dollars. Prices in another currency are for `thread cost` only.
    home.config(
        &std::fs::read_to_string(home.root().join("config.yaml"))
            .unwrap()
            .replace("date: 2026-11-01\n", "date: 2026-11-01\n  currency: EUR\n"),
    );
    assert_eq!(home.json(&["thread", "limit", &thread])["used"]["cost"], 0.0);
    assert_eq!(home.json(&["run", &thread])["done"], true);
}

#[test]
fn what_is_told_last_holds() {
    let server = costly(8);
    let home = with_model(&server, "maxTokens: 1000\n");
    home.put("count-rounds", &counting_workflow(4));
    let by_config = start(&home, &[]);
    assert_eq!(home.uwf(&["run", &by_config]).code, Some(30));
    assert_eq!(state(&home, &by_config).1, "the thread has used 1000 tokens, its limit is 1000");
    home.put("count-rounds", &format!("{}limits: {{ maxTokens: 2000, maxTime: 1h }}\n", counting_workflow(4)));
    let by_workflow = start(&home, &[]);
    assert_eq!(home.uwf(&["run", &by_workflow]).code, Some(30));
    assert_eq!(state(&home, &by_workflow).1, "the thread has used 2000 tokens, its limit is 2000");
    let limits = home.json(&["thread", "limit", &by_workflow]);
    assert_eq!(limits["limits"], json!({ "maxSteps": 1000, "maxTime": 3600, "maxTokens": 2000 }));
    let by_start = start(&home, &["--max-tokens", "3000"]);
    assert_eq!(home.uwf(&["run", &by_start]).code, Some(30));
    assert_eq!(state(&home, &by_start).1, "the thread has used 3000 tokens, its limit is 3000");
    assert_eq!(server.asked().len(), 6);
    let forked = text(&home.json(&["thread", "fork", &by_start, "--max-tokens", "3500"]), "thread");
    assert_eq!(home.json(&["run", &forked])["done"], true, "what was used before the fork counts: one step is left");
}

#[test]
fn time_is_a_limit_too() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\nsleep 1\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-time", "1s"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(30), "a step that runs is not ended, the next one does not begin: {ran:?}");
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1);
    assert_eq!(home.json(&["thread", "limit", &thread, "--time", "+1h"])["state"], "active");
    assert_eq!(home.json(&["run", &thread])["done"], true);
}

#[test]
fn failed_attempts_count() {
    let usage = Usage { input: 900, output: 100, cached: None, reasoning: None, cost: Some(0.5) };
    let server = LlmServer::start([
        Say::text("I will not say.").usage(usage),
        Say::text("Not now either.").usage(usage),
        Say::text("Never.").usage(usage),
    ]);
    let home = with_model(&server, "");
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-cost", "0.5"]);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    let asked = server.asked().len();
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30));
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn a_condition_sees_what_was_used() {
    let server = costly(6);
    let home = with_model(&server, "");
    let workflow = counting_workflow(9).replace(
        "expression: \"$count(steps) >= 9\"",
        "expression: \"$usage.cost >= 1 and $usage.roles.worker.tokens >= 2000 and $usage.steps = 2\"",
    );
    assert!(workflow.contains("$usage"), "{workflow}");
    home.put("count-rounds", &workflow);
    let thread = start(&home, &[]);
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(server.asked().len(), 2);
    assert_eq!(home.json(&["thread", "eval", &thread, "$usage.roles.worker.cost"]), 1);
    std::fs::remove_dir_all(home.root().join("cache")).unwrap();
    assert_eq!(home.json(&["thread", "eval", &thread, "$usage.tokens"]), 2000);
    std::fs::write(home.root().join("cache/usage").join(&thread), b"{\"torn").unwrap();
    assert_eq!(home.json(&["thread", "eval", &thread, "$usage.cost"]), 1);
}

#[test]
fn what_a_child_uses_counts_for_its_parent() {
    let server = costly(6);
    let home = with_model(&server, "agentOverrides: { count-rounds: { worker: child } }\n");
    home.config(
        &std::fs::read_to_string(home.root().join("config.yaml"))
            .unwrap()
            .replace("defaultAgent: l", "  child: { command: uwf-workflow, args: [inner] }\ndefaultAgent: l"),
    );
    home.put("inner", &counting_workflow(4).replace("name: count-rounds", "name: inner"));
    home.put("count-rounds", &counting_workflow(2));
    let thread = start(&home, &["--max-cost", "1"]);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(30));
    assert_eq!(server.asked().len(), 2, "the child stops where its parent would have to");
    home.json(&["thread", "limit", &thread, "--cost", "2.2"]);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(30));
    assert_eq!(server.asked().len(), 5, "the first child cost 2.00, the second began");
    let used = home.json(&["thread", "limit", &thread]);
    assert_eq!((&used["used"]["steps"], &used["used"]["cost"]), (&json!(1), &json!(2.0)));
}

#[test]
fn limits_that_are_none_are_refused() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(1));
    let thread = start(&home, &[]);
    for bad in [
        ["--cost", "0"],
        ["--cost", "+x"],
        ["--cost", "-1"],
        ["--cost", "inf"],
        ["--steps", "0"],
        ["--steps", "+"],
        ["--time", "0.1"],
        ["--tokens", "1.5"],
    ] {
        let ran = home.uwf(&["thread", "limit", &thread, bad[0], bad[1]]);
        assert_eq!(ran.code, Some(64), "{bad:?}: {ran:?}");
    }
    assert_eq!(home.uwf(&["run", &thread, "--max-cost", "2"]).code, Some(64), "that is for `thread limit` to say");
    assert_eq!(home.uwf(&["thread", "limit", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).code, Some(69));
    home.json(&["thread", "kill", &thread]);
    assert_eq!(home.uwf(&["thread", "limit", &thread, "--cost", "2"]).code, Some(69));
    let file =
        home.file("w.yaml", &format!("{}limits: {{ maxCost: 0, maxTime: soon, most: 1 }}\n", counting_workflow(1)));
    let ran = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(65));
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems: Vec<&Value> =
        told[0]["problems"].as_array().unwrap().iter().map(|problem| &problem["message"]).collect();
    assert_eq!(
        json!(problems[1..]),
        json!([
            "`maxCost` is 0; it has to be above 0",
            "`maxTime` is `soon`, which is not a duration",
            "the key `most` is not known here and is ignored",
        ])
    );
}

#[test]
fn limits_can_be_looked_at_of_every_thread_and_changed_of_active_ones() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    home.json(&["thread", "step", &thread]);
    home.json(&["thread", "limit", &thread, "--steps", "1"]);
    let told = home.told(&["thread", "limit", &thread, "--format", "text"]);
    assert!(told.contains("its next step will be refused"), "{told}");
    home.json(&["thread", "limit", &thread, "--steps", "9"]);
    home.json(&["run", &thread]);
    let ended = home.json(&["thread", "limit", &thread]);
    assert_eq!((&ended["state"], &ended["used"]["steps"]), (&json!("completed"), &json!(2)), "{ended}");
    let age = ended["age"].clone();
    assert_eq!(home.json(&["thread", "limit", &thread])["age"], age, "it grows no older");
    assert_eq!(home.uwf(&["thread", "limit", &thread, "--steps", "+1"]).code, Some(69));
    // Another machine's: there is no record of it here.
    let foreign = home.start("count-rounds", "count");
    std::fs::remove_file(home.root().join("threads").join(format!("{foreign}.jsonl"))).unwrap();
    assert_eq!(home.json(&["thread", "limit", &foreign])["used"]["steps"], json!(0));
}

#[test]
fn what_agents_do_not_report_is_said_to_be_unknown() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "count");
    home.json(&["thread", "step", &thread]);
    let limits = home.json(&["thread", "limit", &thread, "--cost", "1"]);
    assert_eq!((&limits["tokensUnknown"], &limits["costUnknown"]), (&json!(1), &json!(1)));
    let told = home.told(&["thread", "limit", &thread, "--format", "text"]);
    let told: Vec<&str> = told.lines().filter(|line| !line.starts_with("time")).collect();
    assert_snapshot!(told.join("\n"), @r"
    exit 0
    thread <id> is active
            used     limit
    steps   1        1000
    tokens  unknown  –
    cost    unknown  $1.00
    the cost of 1 run is not known, and maxCost does not count what is not known
    ");
    for (option, hint) in [("--cost", "above 0"), ("--steps", "above 0"), ("--tokens", "above 0"), ("--time", "90s")] {
        let ran = home.uwf(&["thread", "limit", &thread, option, "-5"]);
        assert!(ran.code == Some(64) && ran.stderr.contains(hint), "{}", ran.told());
    }
}
