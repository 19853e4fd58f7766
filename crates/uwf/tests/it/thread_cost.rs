//! `uwf thread cost`: tokens, money and time of threads, as people see them. How they are added up is tested in
//! `crates/uwf-engine/tests/it/cost.rs`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::processes::until;
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

pub(crate) const PRICES: &str =
    "prices:\n  date: 2026-11-01\n  currency: EUR\n  models:\n    big-model: { input: 2, output: 10, cached: 0.5 }\n";

/// Agents `t` with a model and `p`, a plain command; `more` is added to the configuration.
pub(crate) fn spending_home(more: &str) -> TestHome {
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

#[test]
fn usage_so_far_is_minimum_while_agent_works() {
    let home = spending_home("");
    let turn = r#"{"type": "turn", "output": "I look.", "tokens": {"input": 1200, "output": 34, "cost": 0.25}}"#;
    let answer =
        r#"{"type": "turn", "output": "---\nn: 1\n---\n", "tokens": {"input": 10, "output": 1, "cost": 0.25}}"#;
    home.script(
        "tracer",
        &format!(
            "#!/bin/sh\ncat > /dev/null\nwhile [ ! -e ready ]; do sleep 0.05; done\nprintf '%s\\n' '{turn}'\n\
             while [ ! -e go ]; do sleep 0.05; done\nprintf '%s\\n' '{answer}'\n"
        ),
    );
    let thread = home.start("count-rounds", "count");
    let mut step = home.command(&["thread", "step", &thread]).stdout(std::process::Stdio::null()).spawn().unwrap();
    until("the agent works", || home.json(&["thread", "ps"]).get(0).is_some());
    let shown = |command: &str| home.uwf(&["thread", command, &thread, "--format", "text"]).stdout;
    assert!(shown("cost").contains("unknown") && !shown("cost").contains("$0.00"), "{}", shown("cost"));
    assert!(shown("limit").contains("tokens  unknown"), "{}", shown("limit"));
    home.file("ready", "");
    until("its turn is known", || shown("cost").contains("≥ $0.25"));
    let cost = shown("cost");
    assert!(cost.contains("1 run in progress: the numbers so far are minimums"), "{cost}");
    let total = home.json(&["thread", "cost", &thread])["total"].clone();
    assert_eq!(json!([total["steps"], total["tokens"]["input"], total["running"]]), json!([0, 1200, 1]), "{total}");
    assert_eq!(total["costUnknown"], 0, "the cost of a run in progress is a minimum: {total}");
    let limit = shown("limit");
    assert!(limit.contains("≥ 1,234") && limit.contains("≥ $0.25"), "{limit}");
    home.file("go", "");
    assert!(step.wait().unwrap().success());
    let cost = shown("cost");
    assert!(cost.contains("$0.50") && !cost.contains("in progress"), "{cost}");
}

/// What is printed, without ids and durations.
fn shown(home: &TestHome, args: &[&str]) -> String {
    let transcript = home.transcript(&[&["thread", "cost", "--format", "text"], args].concat());
    let line = |line: &str| match line.trim_end().strip_suffix(" s").and_then(|line| line.rsplit_once(' ')) {
        Some((before, _)) => format!("{before} <n> s"),
        None => line.to_owned(),
    };
    transcript.lines().map(line).fold(String::new(), |text, line| text + &line + "\n")
}

fn costs(home: &TestHome, args: &[&str]) -> Value {
    home.json(&[&["thread", "cost"], args].concat())
}

#[test]
fn money_is_shown_with_its_source() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    home.file("said", "");
    step(&home, &thread, 1);
    assert_snapshot!(shown(&home, &[&thread]), @"
    exit 0
    thread                      workflow      steps  failed  input      cached   output   reasoning  cost              time
    <id>  count-rounds  2      0       2,400,000  400,000  200,000  20,000     3.10 EUR + $0.25  <n> s
    total                                     2      0       2,400,000  400,000  200,000  20,000     3.10 EUR + $0.25  <n> s
    $0.25 as reported by the providers
    3.10 EUR by the prices of 2026-11-01 in config.yaml
    ");
    home.json(&["thread", "step", &thread, "--agent", "p"]);
    assert_snapshot!(shown(&home, &["@"]), @"
    exit 0
    thread                      workflow      steps  failed  input        cached   output     reasoning  cost                time
    <id>  count-rounds  3      0       ≥ 2,400,000  400,000  ≥ 200,000  20,000     ≥ 3.10 EUR + $0.25  <n> s
    total                                     3      0       ≥ 2,400,000  400,000  ≥ 200,000  20,000     ≥ 3.10 EUR + $0.25  <n> s
    $0.25 as reported by the providers
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
    assert_snapshot!(shown(&home, &["--by", "model"]), @"
    exit 0
    model  steps  failed  input        cached   output     reasoning  cost                time
    big    2      0       2,400,000    400,000  200,000    20,000     3.10 EUR + $0.25    <n> s
    –      1      0       unknown      –        unknown    –          unknown             <n> s
    total  3      0       ≥ 2,400,000  400,000  ≥ 200,000  20,000     ≥ 3.10 EUR + $0.25  <n> s
    $0.25 as reported by the providers
    3.10 EUR by the prices of 2026-11-01 in config.yaml
    the cost of 1 of 3 runs is not known (no model)
    the tokens of 1 of 3 runs were not counted
    ");
    for by in ["thread", "role", "agent", "workflow", "day"] {
        assert_eq!(costs(&home, &["--by", by])["by"], by);
    }
    let csv = home.uwf(&["thread", "cost", "--by", "model", "--format", "csv"]).stdout;
    let [headings, big, none] = csv.lines().collect::<Vec<_>>()[..] else { panic!("{csv}") };
    assert!(headings.starts_with("model,steps,failedAttempts,input,cached,"), "{csv}");
    assert!(big.starts_with("big,2,0,2400000,400000,") && none.starts_with(",1,0,,,"), "{csv}");
}

#[test]
fn cost_without_prices_is_unknown_not_zero() {
    let home = spending_home("");
    let thread = home.start("count-rounds", "count");
    assert_snapshot!(shown(&home, &[]), @"
    exit 0
    thread                      workflow      steps  failed  input  cached  output  reasoning  cost   time
    <id>  count-rounds  0      0       0      –       0       –          $0.00  <n> s
    total                                     0      0       0      –       0       –          $0.00  <n> s
    ");
    step(&home, &thread, 1);
    assert_snapshot!(shown(&home, &[&thread]), @"
    exit 0
    thread                      workflow      steps  failed  input      cached   output   reasoning  cost     time
    <id>  count-rounds  1      0       1,200,000  200,000  100,000  10,000     unknown  <n> s
    total                                     1      0       1,200,000  200,000  100,000  10,000     unknown  <n> s
    the cost of 1 of 1 runs is not known (big)
    ");
}

#[test]
fn list_prices_apply_and_are_dated() {
    let home = spending_home("");
    home.json(&["config", "set", "models.big.name", "gpt-4.1"]);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    assert_eq!(costs(&home, &[&thread])["total"]["cost"], json!([]), "a server on this machine may cost nothing");
    home.json(&["config", "set", "providers.p.baseUrl", "https://api.openai.com/v1"]);
    let report = costs(&home, &[&thread]);
    assert_eq!(report["total"]["cost"], json!([{ "currency": "USD", "amount": 2.9, "from": "list" }]));
    let date = text(&report["listPrices"], "date");
    let printed = shown(&home, &[&thread]);
    assert!(printed.contains(&format!("\n$2.90 by the list prices of {date} that ship with uwf\n")), "{printed}");
    // The configuration overrides the list, in its own currency.
    home.json(&[
        "config",
        "set",
        "prices",
        "{date: 2026-11-01, currency: EUR, models: {gpt-4.1: {input: 1, output: 1}}}",
    ]);
    let report = costs(&home, &[&thread]);
    assert_eq!(report["total"]["cost"], json!([{ "currency": "EUR", "amount": 1.3, "from": "prices" }]));
    assert_eq!(report["listPrices"], json!(null));
}

#[test]
fn steps_that_forks_share_are_noted() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    home.json(&["thread", "fork", &thread]);
    assert!(shown(&home, &[]).contains("1 step shared by several of these threads: in the total only once"));
}

#[test]
fn attempts_that_failed_cost_too() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    home.file("broken", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let total = costs(&home, &[&thread])["total"].take();
    assert_eq!(json!([total["steps"], total["failedAttempts"], total["tokens"]["input"]]), json!([0, 1, 1_200_000]));
}

#[test]
fn an_invalid_time_is_refused() {
    let home = spending_home(PRICES);
    for (since, code) in [("2020-01-01", 0), ("1h", 0), ("7", 0), ("soon", 64), ("2026-13-01", 64), ("-1d", 64)] {
        let ran = home.uwf(&["thread", "cost", &format!("--since={since}")]);
        assert_eq!(ran.code, Some(code), "{since}: {ran:?}");
    }
}

#[test]
fn damaged_threads_are_named() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    let steps = home.json(&["thread", "steps", &thread]);
    damage(&home, &text(&steps["steps"][1], "detail"));
    let ran = home.uwf(&["thread", "cost", "--format", "text"]);
    assert!(ran.stderr.contains(&format!("thread {thread} is not fully readable")), "{}", ran.transcript());
    let note = "1 thread not fully readable: the sums leave out the missing parts";
    assert!(ran.code == Some(0) && ran.stdout.contains(note), "{}", ran.transcript());
    damage(&home, &hashes(&home, &thread)[1]);
    assert_eq!(home.uwf(&["thread", "cost", &thread]).code, Some(65));
    assert_eq!(home.uwf(&["thread", "cost", "ZZZZ"]).code, Some(69));
}

/// A program that uwf tells the model of the role is paid as that model.
#[test]
fn model_of_a_role_has_its_price() {
    let home = home();
    let usage = json!({ "input_tokens": 800_000, "cache_creation_input_tokens": 200_000, "output_tokens": 100_000 });
    let message = json!({ "id": "m", "content": [{ "type": "text", "text": "---\nn: 1\n---" }], "usage": usage });
    let lines = [
        json!({ "type": "assistant", "message": message }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "---\nn: 1\n---", "usage": usage }),
    ];
    let lines = lines.map(|line| line.to_string()).join("\n");
    home.script("claude", &format!("#!/bin/sh\ncat > /dev/null\necho \"$*\" >> arguments\ncat <<'E'\n{lines}\nE\n"));
    home.script("other", &format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{lines}\nE\n"));
    home.config(
        "agents:\n  c: { command: claude, output: text, config: { trace: claude } }\n\
         \x20 m: { command: claude, args: [--model, claude-opus-4-5], output: text, config: { trace: claude } }\n\
         \x20 o: { command: other, output: text, config: { trace: claude } }\ndefaultAgent: c\n",
    );
    home.put(
        "count-rounds",
        &counting_workflow(1).replace("    goal: Count.\n", "    goal: Count.\n    model: claude-sonnet-4-5\n"),
    );
    let cost = |agent: &str| {
        let thread = text(&home.json(&["thread", "start", "count-rounds", "-p", "x", "--agent", agent]), "thread");
        home.json(&["thread", "step", &thread]);
        let report = costs(&home, &[&thread, "--by", "model"]);
        json!([report["rows"][0]["name"], report["total"]["cost"], report["total"]["costUnknown"]])
    };
    let list = |amount: f64| json!([{ "currency": "USD", "amount": amount, "from": "list" }]);
    assert_eq!(cost("c"), json!(["claude-sonnet-4-5", list(2.4 + 0.75 + 1.5), 0]));
    assert_eq!(cost("m"), json!(["claude-opus-4-5", list(4.0 + 1.25 + 2.5), 0]), "its own arguments win");
    assert_eq!(cost("o"), json!([null, [], 1]), "no one tells this program the model");
    let arguments = std::fs::read_to_string(home.work().join("arguments")).unwrap();
    assert_eq!(arguments, "--model claude-sonnet-4-5\n--model claude-opus-4-5\n");
}

#[test]
fn reported_model_has_its_price() {
    let home = home();
    let usage = json!({ "input_tokens": 1_000_000, "output_tokens": 100_000 });
    let content = json!([{ "type": "text", "text": "---\nn: 1\n---" }]);
    let lines = [
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "sonnet" }),
        json!({ "type": "assistant", "message": {
            "id": "m", "role": "assistant", "model": "claude-sonnet-4-5", "content": content, "usage": usage
        } }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "---\nn: 1\n---", "usage": usage }),
    ];
    let print = |lines: &[Value]| {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{}\nE\n", lines.join("\n"))
    };
    home.config(
        "killGrace: 1\nagents:\n  c: { command: claude, output: text, timeout: 1s, config: { trace: claude } }\n\
         \x20 s: { command: claude, args: [--model, sonnet], output: text, config: { trace: claude } }\ndefaultAgent: c\n",
    );
    home.put("count-rounds", &counting_workflow(1));
    let rows = |agent: &str, code: i32| {
        let thread = text(&home.json(&["thread", "start", "count-rounds", "-p", "x", "--agent", agent]), "thread");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(code));
        let report = costs(&home, &[&thread, "--by", "model"]);
        json!([report["rows"][0]["name"], report["rows"][0]["cost"], report["total"]["tokens"]["input"]])
    };
    home.script("claude", &print(&lines));
    let list = json!([{ "currency": "USD", "amount": 4.5, "from": "list" }]);
    assert_eq!(rows("c", 0), json!(["claude-sonnet-4-5", list, 1_000_000]));
    assert_eq!(rows("s", 0), json!(["claude-sonnet-4-5", list, 1_000_000]), "a short name has no list price");
    home.script("claude", &format!("{}sleep 60\n", print(&lines[..2])));
    assert_eq!(rows("c", 40)[0], "claude-sonnet-4-5", "the attempt had no result");
}

#[test]
fn failed_attempts_have_their_time() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\nsleep 1\n[ -e fixed ] || exit 1\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let milliseconds = || costs(&home, &[&thread])["total"]["durationMs"].as_u64().unwrap();
    assert!((1000..30_000).contains(&milliseconds()), "{}", milliseconds());
    let csv = home.uwf(&["thread", "cost", &thread, "--format", "csv"]).stdout;
    assert!(csv.lines().nth(1).unwrap().contains(&format!(",{},", milliseconds())), "{csv}");
    home.file("fixed", "");
    home.json(&["run", &thread]);
    assert!(milliseconds() >= 2000, "an attempt before a step counts: {}", milliseconds());
}

#[test]
fn wait_for_a_person_takes_no_agent_time() {
    let home = home();
    home.config("agents:\n  person: { command: uwf-human }\ndefaultAgent: person\n");
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    std::thread::sleep(std::time::Duration::from_millis(1200));
    home.json(&["thread", "answer", &thread, "--data", r#"{"n": 1}"#]);
    let costs = home.json(&["thread", "cost", &thread, "--by", "role"]);
    assert_eq!(costs["total"]["steps"], 1, "{costs}");
    assert_eq!(costs["total"]["durationMs"], 0, "{costs}");
}
