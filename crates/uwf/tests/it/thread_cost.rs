//! `uwf thread cost`: tokens, money and time of threads.

use std::fs;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::review::{damage, hashes, step};
use crate::home;

/// Prints a trace with tokens, of a session of its own, so that no two steps have the same detail; what it costs is only said when the file `said` is there, and it fails while `broken` is.
const TRACER: &str = r#"#!/bin/sh
cat > /dev/null
if [ -e said ]; then cost=', "cost": 0.25'; fi
echo '{"type": "session", "sessionId": "'"$UWF_ATTEMPT"'", "durationMs": 1500, "tokens": {"input": 1200000, "output": 100000, "cached": 200000, "reasoning": 10000'"$cost"'}}'
printf '%s\n' '{"type": "turn", "input": "a", "output": "---\nn: 1\n---\n", "latencyMs": 1500, "tokens": {"input": 1200000, "output": 100000}}'
if [ -e broken ]; then exit 3; fi
"#;

const PRICES: &str =
    "prices:\n  date: 2026-11-01\n  currency: EUR\n  models:\n    big-model: { input: 2, output: 10, cached: 0.5 }\n";

/// Agents `t` with a model and `p`, a plain command; `more` is added to the configuration.
fn spending_home(more: &str) -> TestHome {
    let home = home();
    home.script("tracer", TRACER);
    home.script("plain", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.config(&format!(
        "providers: {{ p: {{ baseUrl: 'http://localhost:1/v1' }} }}\nmodels: {{ big: {{ provider: p, name: big-model }} }}\n\
         agents:\n  t: {{ command: tracer, output: text, model: big, config: {{ trace: jsonl }} }}\n  \
         p: {{ command: plain, output: json }}\ndefaultAgent: t\n{more}"
    ));
    home.put("count-rounds", &counting_workflow(3));
    home
}

/// What is printed, without ids and durations.
fn shown(home: &TestHome, args: &[&str]) -> String {
    let told = home.told(&[&["thread", "cost", "--format", "text"], args].concat());
    let line = |line: &str| match line.trim_end().strip_suffix(" s").and_then(|line| line.rsplit_once(' ')) {
        Some((before, _)) => format!("{before} <n> s"),
        None => line.to_owned(),
    };
    told.lines().map(line).fold(String::new(), |text, line| text + &line + "\n")
}

fn costs(home: &TestHome, args: &[&str]) -> Value {
    home.json(&[&["thread", "cost"], args].concat())
}

#[test]
fn money_is_that_of_the_provider_else_by_the_prices_else_unknown() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    home.file("said", "");
    step(&home, &thread, 1);
    assert_snapshot!(shown(&home, &[&thread]), @"
    exit 0
    thread                      workflow      steps  failed  input      cached   output   reasoning  cost                   time
    <id>  count-rounds  2      0       2,400,000  400,000  200,000  20,000     3.10 EUR + 0.2500 USD  <n> s
    total                                     2      0       2,400,000  400,000  200,000  20,000     3.10 EUR + 0.2500 USD  <n> s
    0.2500 USD as the providers said
    3.10 EUR by the prices of 2026-11-01 in config.yaml
    ");
    home.json(&["thread", "step", &thread, "--agent", "p"]);
    assert_snapshot!(shown(&home, &["@"]), @"
    exit 0
    thread                      workflow      steps  failed  input        cached   output     reasoning  cost                     time
    <id>  count-rounds  3      0       ≥ 2,400,000  400,000  ≥ 200,000  20,000     ≥ 3.10 EUR + 0.2500 USD  <n> s
    total                                     3      0       ≥ 2,400,000  400,000  ≥ 200,000  20,000     ≥ 3.10 EUR + 0.2500 USD  <n> s
    0.2500 USD as the providers said
    3.10 EUR by the prices of 2026-11-01 in config.yaml
    the cost of 1 of 3 runs is not known (no model)
    the tokens of 1 of 3 runs were not counted
    ");
    let report = costs(&home, &["@"]);
    assert_eq!(
        report["total"]["cost"],
        json!([
            { "currency": "EUR", "amount": 3.1, "from": "prices" },
            { "currency": "USD", "amount": 0.25, "from": "provider" },
        ])
    );
    assert_eq!(
        report["total"]["tokens"],
        json!({ "input": 2_400_000, "cached": 400_000, "output": 200_000, "reasoning": 20_000 })
    );
    assert_eq!(json!([report["total"]["tokensUnknown"], report["total"]["costUnknown"]]), json!([1, 1]));
    assert_eq!(report["prices"], json!({ "date": "2026-11-01", "currency": "EUR" }));
    assert_eq!(report["unpriced"], json!([null]));
}

#[test]
fn without_prices_the_cost_is_unknown_and_not_nothing() {
    let home = spending_home("");
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    assert_snapshot!(shown(&home, &[&thread]), @"
    exit 0
    thread                      workflow      steps  failed  input      cached   output   reasoning  cost     time
    <id>  count-rounds  1      0       1,200,000  200,000  100,000  10,000     unknown  <n> s
    total                                     1      0       1,200,000  200,000  100,000  10,000     unknown  <n> s
    the cost of 1 of 1 runs is not known (big)
    ");
    let report = costs(&home, &[&thread]);
    assert_eq!(json!([report["total"]["cost"], report["unpriced"], report["prices"]]), json!([[], ["big"], null]));
}

#[test]
fn rows_are_of_what_is_asked_for() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 2);
    home.json(&["thread", "step", &thread, "--agent", "p"]);
    for by in ["role", "agent", "model", "workflow", "day"] {
        let report = costs(&home, &["--by", by]);
        let rows: Vec<Value> =
            report["rows"].as_array().unwrap().iter().map(|row| json!([row["name"], row["steps"]])).collect();
        let expected = match by {
            "role" => json!([["worker", 3]]),
            "agent" => json!([["t", 2], ["p", 1]]),
            "model" => json!([["big", 2], [null, 1]]),
            "workflow" => json!([["count-rounds", 3]]),
            _ => {
                let day = rows[0][0].as_str().unwrap();
                assert!(day.len() == 10 && day.starts_with("20"), "{day}");
                json!([[day, 3]])
            }
        };
        assert_eq!(Value::Array(rows), expected, "{by}");
        assert_eq!(report["by"], by);
    }
    assert_snapshot!(shown(&home, &["--by", "model"]), @"
    exit 0
    model  steps  failed  input        cached   output     reasoning  cost        time
    big    2      0       2,400,000    400,000  200,000    20,000     6.20 EUR    <n> s
    –      1      0       unknown      –        unknown    –          unknown     <n> s
    total  3      0       ≥ 2,400,000  400,000  ≥ 200,000  20,000     ≥ 6.20 EUR  <n> s
    6.20 EUR by the prices of 2026-11-01 in config.yaml
    the cost of 1 of 3 runs is not known (no model)
    the tokens of 1 of 3 runs were not counted
    ");
}

#[test]
fn what_forks_share_is_in_the_total_once() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 2);
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    step(&home, &fork, 1);
    let report = costs(&home, &[]);
    let rows: Vec<Value> =
        report["rows"].as_array().unwrap().iter().map(|row| json!([row["name"], row["steps"]])).collect();
    assert_eq!(rows, [json!([fork, 3]), json!([thread, 2])], "newest first");
    assert_eq!(json!([report["total"]["steps"], report["sharedSteps"], report["threads"]]), json!([3, 2, 2]));
    assert_eq!(costs(&home, &["--by", "role"])["rows"][0]["steps"], 3);
    assert!(shown(&home, &[]).contains("2 steps shared by several of these threads: in the total only once"));
    assert_eq!(costs(&home, &[&thread, &thread])["total"]["steps"], 2, "the same thread twice");
}

#[test]
fn attempts_that_failed_cost_too() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    home.file("broken", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let report = costs(&home, &[&thread]);
    assert_eq!(
        json!([report["total"]["steps"], report["total"]["failedAttempts"]]),
        json!([0, 1]),
        "of a stuck thread"
    );
    assert_eq!(report["total"]["tokens"]["input"], 1_200_000);
    fs::remove_file(home.work().join("broken")).unwrap();
    step(&home, &thread, 1);
    let report = costs(&home, &[&thread]);
    assert_eq!(json!([report["total"]["steps"], report["total"]["failedAttempts"]]), json!([1, 1]));
    assert_eq!(report["total"]["tokens"]["input"], 2_400_000);
}

#[test]
fn a_child_thread_counts_for_its_parent_and_once_in_the_total() {
    let home = spending_home("");
    home.put("outer", &counting_workflow(1).replace("name: count-rounds", "name: outer"));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let inner = "agents:\n  inner: { command: uwf-workflow, args: [count-rounds] }\n";
    home.config(&(config.replace("agents:\n", inner) + "agentOverrides: { outer: { worker: inner } }\n"));
    let thread = home.start("outer", "count");
    home.json(&["run", &thread]);
    let report = costs(&home, &[]);
    let rows: Vec<&Value> = report["rows"].as_array().unwrap().iter().map(|row| &row["steps"]).collect();
    assert_eq!(rows, [3, 3], "the child and its parent");
    assert_eq!(report["total"]["steps"], 3);
    let report = costs(&home, &[&thread, "--by", "workflow"]);
    assert_eq!(report["rows"][0]["name"], "count-rounds", "whose roles were played");
}

#[test]
fn costs_are_a_table_for_other_programs() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 2);
    home.json(&["thread", "step", &thread, "--agent", "p"]);
    let csv = |by: &str| home.uwf(&["thread", "cost", "--by", by, "--format", "csv"]).stdout;
    let without_durations: Vec<String> =
        csv("model").lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect();
    assert_eq!(
        without_durations,
        [
            "model,steps,failedAttempts,input,cached,output,reasoning,tokensUnknown,costEUR,costUSD,costUnknown",
            "big,2,0,2400000,400000,200000,20000,0,6.2,,0",
            ",1,0,,,,,1,,,1",
        ]
    );
    let by_thread = csv("thread");
    assert!(by_thread.starts_with("thread,workflow,steps,failedAttempts,input,"), "{by_thread}");
    assert!(by_thread.contains(&format!("\n{thread},count-rounds,3,0,2400000,")), "{by_thread}");
}

#[test]
fn only_what_was_spent_since_counts() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    assert_eq!(costs(&home, &["--since", "1h"])["total"]["steps"], 1);
    assert_eq!(costs(&home, &["--since", "2020-01-01"])["total"]["steps"], 1);
    let report = costs(&home, &["--since", "2999-01-01"]);
    assert_eq!(json!([report["total"]["steps"], report["rows"]]), json!([0, []]));
    for wrong in ["soon", "2026-13-01", "7", "-1d"] {
        let wrong = format!("--since={wrong}");
        let ran = home.uwf(&["thread", "cost", &wrong]);
        assert_eq!(ran.code, if wrong == "--since=7" { Some(0) } else { Some(64) }, "{wrong}: {ran:?}");
    }
}

#[test]
fn a_thread_whose_record_has_not_changed_since_is_not_looked_at() {
    let home = spending_home(PRICES);
    let [untouched, thread] = ["count", "count on"].map(|task| home.start("count-rounds", task));
    step(&home, &untouched, 1);
    step(&home, &thread, 1);
    let looked_at = || {
        let report = costs(&home, &["--since", "1d"]);
        json!([report["threads"], report["total"]["steps"]])
    };
    assert_eq!(looked_at(), json!([2, 2]));
    let record = fs::File::options().append(true).open(home.record_file(&untouched)).unwrap();
    record.set_modified(SystemTime::now() - Duration::from_hours(48)).unwrap();
    assert_eq!(looked_at(), json!([1, 1]));
    fs::remove_file(home.record_file(&untouched)).unwrap();
    assert_eq!(looked_at(), json!([2, 2]), "without a record only the nodes can tell");
}

#[test]
fn what_is_damaged_is_named_and_the_rest_is_added_up() {
    let home = spending_home(PRICES);
    let [damaged, sound] = ["count", "count on"].map(|task| home.start("count-rounds", task));
    step(&home, &damaged, 2);
    step(&home, &sound, 1);
    let steps = home.json(&["thread", "steps", &damaged]);
    damage(&home, &text(&steps["steps"][1], "detail"));
    let ran = home.uwf(&["thread", "cost", "--format", "json"]);
    let report = ran.json();
    assert_eq!(report["total"]["steps"], 2);
    assert_eq!(report["unreadable"][0]["thread"], *damaged);
    assert!(ran.stderr.contains(&format!("thread {damaged} is not wholly readable")), "{}", ran.stderr);
    damage(&home, &hashes(&home, &damaged)[2]);
    assert_eq!(costs(&home, &[])["total"]["steps"], 1, "its head is not readable");
    assert_eq!(home.uwf(&["thread", "cost", &damaged]).code, Some(65));
    assert_eq!(home.uwf(&["thread", "cost", "ZZZZ"]).code, Some(69));
}

#[test]
fn threads_without_steps_and_no_threads_cost_nothing() {
    let home = spending_home(PRICES);
    assert_eq!(costs(&home, &[])["rows"], json!([]));
    home.start("count-rounds", "count");
    assert_snapshot!(shown(&home, &[]), @"
    exit 0
    thread                      workflow      steps  failed  input  cached  output  reasoning  cost  time
    <id>  count-rounds  0      0       0      –       0       –          0     <n> s
    total                                     0      0       0      –       0       –          0     <n> s
    ");
}

#[test]
fn a_person_costs_nothing_and_that_is_known() {
    let home = home();
    home.config("agents:\n  me: { command: uwf-human }\ndefaultAgent: me\n");
    let thread = home.start_counting(1, "count");
    home.uwf(&["thread", "step", &thread]);
    home.json(&["thread", "answer", &thread, "--data", "{\"n\": 1}"]);
    let total = costs(&home, &[&thread])["total"].take();
    assert_eq!(json!([total["steps"], total["tokensUnknown"], total["costUnknown"]]), json!([1, 0, 0]));
}

#[test]
fn a_sum_that_lacks_a_lost_step_says_so() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "x");
    let first = uwf_testing::text(&home.json(&["thread", "step", &thread]), "head");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "cost"])["total"]["costUnknown"], 2, "nobody counts for this agent");
    std::fs::remove_file(home.root().join(format!("cas/{first}.bin"))).unwrap();
    let lacking = home.json(&["thread", "cost"]);
    assert_eq!(lacking["unreadable"][0]["thread"], thread);
    assert_eq!(lacking["total"]["costUnknown"], 2, "the step that is left, and what is lost: {lacking}");
    assert_eq!(lacking["rows"][0]["costUnknown"], lacking["total"]["costUnknown"]);
    let text = home.told(&["thread", "cost", "--format", "text"]);
    assert!(text.contains("1 thread not wholly readable: what is missing is in no sum"), "{text}");
}
