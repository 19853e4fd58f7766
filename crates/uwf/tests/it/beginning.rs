//! Runs that cannot begin, and limits that cannot hold.

use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

fn threads(home: &TestHome) -> Value {
    home.json(&["thread", "list", "--all"])
}

/// A home with the counting workflow and this configuration; its script `w` counts.
fn counting(config: &str) -> TestHome {
    let home = home();
    home.script("w", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.config(config);
    home.put("count-rounds", &counting_workflow(1));
    home
}

#[test]
fn run_without_an_agent_creates_no_thread() {
    let home = counting("agents: {}\n");
    let ran = home.uwf(&["run", "count-rounds", "-p", "count"]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("--agent ALIAS") && !ran.stderr.contains("THREAD"), "{}", ran.stderr);
    assert_eq!(threads(&home), json!([]));
    // A thread that is only started can get its agent later.
    home.start("count-rounds", "count");
    assert_eq!(threads(&home).as_array().unwrap().len(), 1);
}

#[test]
fn api_starts_no_thread_that_cannot_run() {
    let home = counting("agents: {}\n");
    let start = |run: bool| {
        let data = json!({ "workflow": "count-rounds", "prompt": "count", "run": run }).to_string();
        home.uwf(&["api", "POST", "/threads", "--data", &data])
    };
    let refused = start(true);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert_eq!(threads(&home), json!([]));
    assert_eq!(start(false).code, Some(0));
}

#[test]
fn run_with_a_missing_program_creates_no_thread() {
    let home = counting("agents: { w: { command: no-such-program, output: json } }\ndefaultAgent: w\n");
    let ran = home.uwf(&["run", "count-rounds", "-p", "count"]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("no-such-program"), "{}", ran.stderr);
    assert_eq!(threads(&home), json!([]));
}

#[test]
fn run_in_an_untrusted_project_creates_no_thread() {
    let home = counting("agents: {}\n");
    std::fs::create_dir_all(home.work().join(".workflows")).unwrap();
    home.file(".workflows/config.yaml", "agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    let ran = home.uwf(&["run", "count-rounds", "-p", "count"]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    let hint = format!("which is ignored: uwf config trust {}", home.work().display());
    assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
    assert_eq!(threads(&home), json!([]));
    home.json(&["config", "trust"]);
    assert_eq!(home.json(&["run", "count-rounds", "-p", "count"])["done"], true);
}

#[test]
fn limit_that_cannot_hold_is_said_at_start() {
    let config = "models: { gpt: { provider: p, name: gpt-9 }, priced: { provider: p, name: gpt-8 } }
providers: { p: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: P_KEY } }
prices: { date: 2026-11-01, models: { priced: { input: 1, output: 2 } } }
agents:
  plain: { command: w, output: json }
  codex: { command: w, output: text, config: { trace: codex } }
  claude: { command: w, output: text, config: { trace: claude } }
  unpriced: { command: uwf-llm, model: gpt }
  priced: { command: uwf-llm, model: priced }
  person: { command: uwf-human }
";
    let home = counting(config);
    let said = |agent: &str, limit: &[&str]| {
        let args = [&["thread", "start", "count-rounds", "-p", "count", "--agent", agent], limit].concat();
        let ran = home.uwf(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        ran.stderr
    };
    let no_price = |model: &str| format!("its model `{model}` has no price in USD");
    let cost = ["--max-cost", "1"];
    assert_eq!(
        said("plain", &cost),
        "warning: agent `plain` reports neither tokens nor cost, so `maxCost` cannot stop it\n"
    );
    assert_eq!(
        said("codex", &cost),
        "warning: agent `codex` reports no cost, and its model is unknown, so prices can't apply, so `maxCost` cannot stop it; `maxTokens` can\n"
    );
    assert_eq!(
        said("unpriced", &cost),
        format!(
            "warning: agent `unpriced` may report no cost, and {}, so `maxCost` may not stop it; `maxTokens` can\n",
            no_price("gpt")
        )
    );
    for holds in ["claude", "priced", "person"] {
        assert_eq!(said(holds, &cost), "", "{holds}");
    }
    let tokens = ["--max-tokens", "1000"];
    assert_eq!(said("plain", &tokens), "warning: agent `plain` reports no tokens, so `maxTokens` cannot stop it\n");
    assert_eq!(said("codex", &tokens), "");
    assert_eq!(said("plain", &["--max-steps", "3", "--max-time", "1h"]), "");
}

#[test]
fn unenforced_limit_warns_when_changed() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    let thread = home.start("count-rounds", "count");
    for (limit, warning) in [
        (["--cost", "5"], "warning: agent `w` reports neither tokens nor cost, so `maxCost` cannot stop it\n"),
        (["--tokens", "+5"], "warning: agent `w` reports no tokens, so `maxTokens` cannot stop it\n"),
        (["--steps", "5"], ""),
    ] {
        let ran = home.uwf(&[&["thread", "limit", &thread][..], &limit].concat());
        assert_eq!((ran.code, &*ran.stderr), (Some(0), warning), "{limit:?}");
    }
}

#[test]
fn strict_limits_refuse_what_cannot_hold() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    let run = |limit: &[&str]| home.uwf(&[&["run", "count-rounds", "-p", "count", "--strict-limits"], limit].concat());
    let refused = run(&["--max-cost", "1"]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(refused.stderr.contains("so `maxCost` cannot stop it"), "{}", refused.stderr);
    assert_eq!(threads(&home), json!([]));
    assert_eq!(run(&["--max-steps", "4"]).code, Some(0));
}

#[test]
fn strict_limits_refuse_roles_without_agents() {
    let home = counting("{}\n");
    let start = |more: &[&str]| {
        home.uwf(&[&["thread", "start", "count-rounds", "-p", "count", "--strict-limits"], more].concat())
    };
    let refused = start(&["--max-cost", "1"]);
    let why = "no agent is known yet for `worker`, so `maxCost` may not be able to stop the thread";
    assert_eq!((refused.code, refused.stderr.contains(why)), (Some(78), true), "{}", refused.transcript());
    assert_eq!(threads(&home), json!([]));
    assert_eq!(start(&["--max-steps", "4"]).code, Some(0));
}

const NO_COST: &str = "agent `w` reports neither tokens nor cost, so `maxCost` cannot stop it";

#[test]
fn fork_with_unenforced_limit_warns_or_refuses() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    let thread = home.start("count-rounds", "count");
    let start = home.json(&["thread", "show", &thread])["head"].as_str().unwrap().to_owned();
    for from in [&thread, &start] {
        let fork = |more: &[&str]| home.uwf(&[&["thread", "fork", from, "--max-cost", "3"], more].concat());
        let before = threads(&home).as_array().unwrap().len();
        let refused = fork(&["--strict-limits"]);
        assert_eq!(refused.code, Some(78), "{}", refused.transcript());
        assert!(refused.stderr.contains(NO_COST), "{}", refused.stderr);
        assert_eq!(threads(&home).as_array().unwrap().len(), before);
        let warned = fork(&[]);
        assert_eq!((warned.code, warned.stderr.contains(NO_COST)), (Some(0), true), "{}", warned.transcript());
    }
}

#[test]
fn limits_are_checked_for_child_threads() {
    let config = "agents:\n  w: { command: w, output: json }\n  claude: { command: w, output: text, config: { trace: claude } }\n  \
                  kid: { command: uwf-workflow, args: [count-rounds] }\n  \
                  kid2: { command: uwf-workflow, args: [count-rounds], config: { agents: { worker: claude } } }\ndefaultAgent: w\n";
    let home = writing(config);
    let start = |more: &[&str]| {
        let line = ["thread", "start", "write-text", "-p", "write", "--agent", "claude"];
        home.uwf(&[&line[..], more].concat())
    };
    let refused = start(&["--agent", "check=kid", "--max-cost", "3", "--strict-limits"]);
    assert_eq!((refused.code, refused.stderr.contains(NO_COST)), (Some(78), true), "{}", refused.transcript());
    let held = start(&["--agent", "check=kid2", "--max-cost", "3", "--strict-limits"]);
    assert_eq!(held.code, Some(0), "{}", held.transcript());
    let begun = start(&["--agent", "check=kid"]);
    assert_eq!(begun.code, Some(0), "{}", begun.transcript());
    let thread = &threads(&home)[0]["thread"];
    let changed = home.uwf(&["thread", "limit", thread.as_str().unwrap(), "--cost", "3"]);
    assert_eq!((changed.code, changed.stderr), (Some(0), format!("warning: {NO_COST}\n")));
}

#[test]
fn changed_limit_warns_after_runs_of_unknown_cost() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    home.put("count-more", &counting_workflow(5).replace("count-rounds", "count-more"));
    let thread = home.start("count-more", "count");
    home.json(&["thread", "step", &thread]);
    let changed = home.uwf(&["thread", "limit", &thread, "--cost", "3"]);
    assert_eq!((changed.code, changed.stderr), (Some(0), format!("warning: {NO_COST}\n")));
}

#[test]
fn run_of_a_thread_refuses_start_options() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    let thread = home.start("count-rounds", "count");
    for (option, reason) in [
        (&["--strict-limits"][..], "--strict-limits needs --prompt"),
        (&["--max-time", "1s"], "--time +1s"),
        (&["--max-cost", "2.5"], "--cost +2.5"),
        (&["--no-worktree"], "--no-worktree need --prompt"),
    ] {
        for target in [&*thread, "--all"] {
            let refused = home.uwf(&[&["run", target], option].concat());
            assert_eq!(refused.code, Some(64), "{}", refused.transcript());
            assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        }
    }
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
}

#[test]
fn api_refuses_limits_that_cannot_hold() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    let post = |path: &str, more: Value| {
        let mut data = json!({ "workflow": "count-rounds", "prompt": "count", "maxCost": 3, "strictLimits": true });
        if path != "/threads" {
            data = json!({ "maxCost": 3, "strictLimits": true });
        }
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        home.uwf(&["api", "POST", path, "--data", &data.to_string()])
    };
    let refused = post("/threads", json!({}));
    assert_eq!((refused.code, refused.stdout.contains("cannot stop it")), (Some(78), true), "{}", refused.transcript());
    let started = post("/threads", json!({ "strictLimits": false }));
    assert_eq!(started.code, Some(0), "{}", started.transcript());
    let thread = threads(&home)[0].clone();
    let fork = format!("/threads/{}/fork", thread["thread"].as_str().unwrap());
    let refused = post(&fork, json!({ "expectedHead": thread["head"] }));
    assert_eq!((refused.code, refused.stdout.contains("cannot stop it")), (Some(78), true), "{}", refused.transcript());
    let wrong = post("/threads", json!({ "maxSteps": "a" }));
    assert!(wrong.stdout.contains("invalid value 'a' for `maxSteps`"), "{}", wrong.transcript());
}

#[test]
fn max_steps_limits_the_thread_that_run_starts() {
    let home = counting("agents: { w: { command: w, output: json } }\ndefaultAgent: w\n");
    home.put("count-more", &counting_workflow(5).replace("count-rounds", "count-more"));
    let ran = home.uwf(&["run", "count-more", "-p", "count", "--max-steps", "2"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    let thread = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
    let limit = home.json(&["thread", "limit", &thread]);
    assert_eq!((&limit["state"], &limit["limits"]["maxSteps"]), (&json!("limited"), &json!(2)));
    let other = home.start("count-more", "count");
    let ran = home.uwf(&["run", &other, "--max-steps", "2"]);
    assert_eq!(ran.code, Some(30), "as before: {}", ran.transcript());
    assert!(ran.stderr.contains("to stop early, use --steps 2"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "show", &other])["state"], "active");
}

/// A home with this configuration and a workflow `write`, `check`, `publish`; `check` may send the text back to `rewrite`. Its script `w`
/// says what is asked for and notes that it ran.
fn writing(config: &str) -> TestHome {
    let home = counting(config);
    home.script("w", "#!/bin/sh\ncat > /dev/null\necho $UWF_ROLE >> ran\necho '{\"n\": 1}'\n");
    let role = |name: &str| {
        format!(
            "  {name}: {{ goal: Work., meta: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }} }}\n"
        )
    };
    let roles: String = ["write", "check", "rewrite", "publish"].map(role).concat();
    home.put(
        "write-text",
        &format!(
            "name: write-text\nroles:\n{roles}conditions:\n  bad: {{ description: bad, expression: 'steps[-1].output.n > 5' }}\n\
             graph:\n  $START: [ {{ role: write }} ]\n  write: [ {{ role: check }} ]\n  check: [ {{ role: rewrite, condition: bad }}, {{ role: publish }} ]\n  rewrite: [ {{ role: check }} ]\n  publish: [ {{ role: $END }} ]\n"
        ),
    );
    home
}

fn ran(home: &TestHome) -> String {
    std::fs::read_to_string(home.work().join("ran")).unwrap_or_default()
}

const WRITER: &str = "agents:\n  w: { command: w, output: json }\n";

#[test]
fn run_with_bad_settings_creates_no_thread() {
    let provider = "providers: { p: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: P_KEY } }\nmodels: { m: { provider: p, name: x } }\n";
    for (agent, reason) in [
        ("{ command: uwf-llm }", "no model is configured"),
        ("{ command: uwf-react, model: nope }", "model `nope` is not in"),
        ("{ command: uwf-llm, model: m }", "P_KEY is in neither the environment nor .env"),
        ("{ command: uwf-llm, model: m, config: { structured: maybe } }", "`config.structured` of agent `a`"),
        ("{ command: uwf-mock }", "the mock has no script"),
        ("{ command: uwf-mock, config: { script: gone.yaml } }", "cannot read the mock's script"),
        ("{ command: uwf-acp }", "has no program"),
        ("{ command: uwf-acp, config: { command: gone-program } }", "program `gone-program` is not on PATH"),
        ("{ command: uwf-cursor, config: { command: gone-program } }", "program `gone-program` is not on PATH"),
        ("{ command: uwf-hermes, config: { command: gone-program } }", "program `gone-program` is not on PATH"),
        ("{ command: uwf-office, config: { command: ./gone } }", "does not exist"),
        ("{ command: w, output: json, config: { trace: codez } }", "`config.trace` of agent `a`"),
        ("{ command: w, output: json, config: { resume: true } }", "`config.resume` of agent `a`"),
    ] {
        let home = writing(&format!("{provider}agents:\n  a: {agent}\ndefaultAgent: a\n"));
        let refused = home.uwf(&["run", "write-text", "-p", "write"]);
        assert_eq!(refused.code, Some(78), "{agent}: {}", refused.transcript());
        assert!(refused.stderr.contains(reason) && refused.stderr.contains("role `write`"), "{}", refused.stderr);
        assert_eq!(threads(&home), json!([]), "{agent}");
    }
}

#[test]
fn later_role_without_an_agent_is_refused_first() {
    for agents in ["write=w", "check=w"] {
        let home = writing(WRITER);
        let refused = home.uwf(&["run", "write-text", "-p", "write", "--agent", agents]);
        assert_eq!(refused.code, Some(78), "{}", refused.transcript());
        assert_eq!((threads(&home), ran(&home)), (json!([]), String::new()));
    }
    let home = writing(&format!("{WRITER}  m: {{ command: uwf-llm }}\ndefaultAgent: w\n"));
    let run = |more: &[&str]| home.uwf(&[&["run", "write-text", "-p", "write", "--agent", "check=m"], more].concat());
    let refused = run(&[]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(refused.stderr.contains("role `check`: no model is configured"), "{}", refused.stderr);
    assert_eq!((threads(&home), ran(&home)), (json!([]), String::new()));
    // A run that stops before does not need it.
    assert_eq!(run(&["--until", "check"]).code, Some(0));
    assert_eq!(run(&["--steps", "1"]).code, Some(30));
    assert_eq!(ran(&home), "write\nwrite\n");
}

#[test]
fn child_thread_without_an_agent_is_refused_first() {
    let config = format!(
        "{WRITER}  m: {{ command: uwf-llm }}\n  child: {{ command: uwf-workflow, args: [count-rounds] }}\n  nobody: {{ command: uwf-workflow }}\n\
         defaultAgent: w\nagentOverrides: {{ count-rounds: {{ worker: m }} }}\n"
    );
    let home = writing(&config);
    for (agent, reason) in [
        ("publish=child", None),
        ("check=child", Some("role `check`: role `worker`: no model is configured")),
        ("check=nobody", Some("role `check`: agent `nobody` names no workflow for the role")),
    ] {
        let ran = home.uwf(&["run", "write-text", "-p", "write", "--until", "publish", "--agent", agent]);
        assert_eq!(ran.code, Some(if reason.is_some() { 78 } else { 0 }), "{agent}: {}", ran.transcript());
        assert!(reason.is_none_or(|reason| ran.stderr.contains(reason)), "{agent}: {}", ran.stderr);
    }
    assert_eq!(threads(&home).as_array().unwrap().len(), 1);
}

#[test]
fn role_that_may_come_is_warned_of_first() {
    let home = writing(&format!("{WRITER}  m: {{ command: uwf-llm }}\ndefaultAgent: w\n"));
    let warning = "warning: the thread will stop if it gets so far: role `rewrite`: no model is configured\n";
    let done = home.uwf(&["run", "write-text", "-p", "write", "--agent", "rewrite=m"]);
    assert_eq!(done.code, Some(0), "{}", done.transcript());
    assert!(done.stderr.starts_with(warning), "{}", done.stderr);
    assert_eq!(ran(&home), "write\ncheck\npublish\n");

    // A thread that has begun is not refused: it runs as far as it can.
    let thread = home.start("write-text", "write");
    let stopped = home.uwf(&["run", &thread, "--agent", "publish=m"]);
    assert_eq!(stopped.code, Some(78), "{}", stopped.transcript());
    let first = stopped.stderr.lines().next().unwrap_or_default();
    assert_eq!(first, "warning: the thread will stop if it gets so far: role `publish`: no model is configured");
    assert_eq!(ran(&home), "write\ncheck\npublish\nwrite\ncheck\n");
}
