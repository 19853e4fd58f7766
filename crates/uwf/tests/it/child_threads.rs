//! Roles played by workflows: child threads.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{TestHome, text};

use crate::fixtures::child_threads::{AGENTS, INNER, OUTER, checker, child_of, go, planned, ran, staffed, state};
use crate::{home, transcript};

#[test]
fn workflow_plays_role_in_its_own_thread() {
    let home = staffed();
    go(&home);
    let thread = planned(&home);
    let parent_head = home.head(&thread).unwrap();
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(json!([report["role"], report["alias"], report["next"]]), json!(["build", "inner", {"role": "tell"}]));
    let step = home.json(&["cas", "get", &text(&report, "head")])["payload"].clone();
    assert_eq!(home.json(&["cas", "get", &text(&step, "output")])["payload"], json!({"built": "a bridge"}));

    let child = child_of(&home, &thread);
    let shown = home.json(&["thread", "show", &child]);
    assert_eq!(shown["head"], step["detail"], "the detail is the child's last step");
    assert_eq!(
        json!([shown["state"], shown["steps"], shown["parent"], shown["depth"], shown["workspace"]]),
        json!(["completed", 2, parent_head, 1, home.work().canonicalize().unwrap()])
    );
    let last = home.json(&["cas", "get", &text(&shown, "head")])["payload"].clone();
    let start = home.json(&["cas", "get", &text(&last, "start")])["payload"].clone();
    assert_eq!(json!([start["parent"], start["depth"]]), json!([parent_head, 1]));
    assert_snapshot!(text(&start, "prompt"), @r#"
    Cross the river.

    # Your part

    This is role `build` of workflow `ship-change`. Do only this part.

    ## Goal

    Have it built.

    ## Output

    Say what was built.

    ## Required output

    - `built` (required): text
    - `sure` (optional): `true` or `false`

    # Context from previous steps

    These are steps of the parent thread:

    # Step 1: output of role `plan`

    ```json
    {
      "text": "plan did it"
    }
    ```
    "#);
    let page = home.uwf(&["thread", "show", &child, "--format", "text"]).stdout;
    assert!(page.contains(&format!("parent:    {thread} at {parent_head}\n")), "{page}");

    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
    let obtained = home.json(&["thread", "eval", &thread, "$extractedBy(steps[1])"]);
    assert_eq!(obtained, "submit");
    assert!(child > thread, "a child is listed after its parent");
}

#[test]
fn final_child_output_becomes_role_output() {
    let home = staffed();
    home.script(
        "prose",
        "#!/bin/sh\nprintf -- '---\\nbuilt: a ferry\\nsure: true\\ntext: done\\n---\\nIt floats.\\n'\n",
    );
    home.script("vague", "#!/bin/sh\necho '{\"text\": \"nothing of use\"}'\n");
    let inner = INNER.replace(
        "built: { type: string } }\n      required: [built]",
        "text: { type: string } }\n      required: [text]",
    );
    home.put("write-code", &inner);
    let with = |agent: &str| {
        home.config(
            &AGENTS
                .replace("  human:", &format!("  {agent}: {{ command: {agent}, output: text }}\n  human:"))
                .replace("check: checks", &format!("check: {agent}")),
        );
    };
    with("prose");
    let thread = planned(&home);
    let report = home.json(&["thread", "step", &thread]);
    let step = home.json(&["cas", "get", &text(&report, "head")])["payload"].clone();
    let output = home.json(&["cas", "get", &text(&step, "output")])["payload"].clone();
    assert_eq!(output, json!({"built": "a ferry", "sure": true}), "found in the child's last text");
    let obtained = home.json(&["thread", "eval", &thread, "$extractedBy(steps[1])"]);
    assert_eq!(obtained, "frontmatter");

    with("vague");
    let other = planned(&home);
    assert_snapshot!(transcript(&home, &["thread", "step", &other]), @r#"
    exit 41
    --- stderr
    error: child thread <id> has ended, but the answer has no valid output for role `build`: none of the keys that are asked for is there: `built`, `sure`; the answer reads: {"text": "nothing of use"}
    hint: `uwf thread read <id>` shows what it did; `uwf thread rm <id>`, then a step of this thread starts it again
    hint: a model could read it: `uwf setup` configures one, then `uwf thread step <id> --reextract` reads it again, without the agent
    hint: all it printed is kept: `uwf thread step-details #1`
    "#);
    let before = ran(&home).len();
    assert_eq!(home.uwf(&["thread", "step", &other]).code, Some(41));
    assert_eq!(ran(&home).len(), before, "nobody is paid for the same answer twice");
    let child = child_of(&home, &other);
    home.json(&["thread", "rm", &child]);
    with("prose");
    assert_eq!(home.json(&["thread", "step", &other])["role"], "build", "begun anew");
}

#[test]
fn finished_child_is_reextracted_without_new_cost() {
    let home = staffed();
    home.script("checks", "#!/bin/sh\necho check >> ran\necho '{\"text\": \"It is done.\"}'\n");
    home.script("says", "#!/bin/sh\necho \"$UWF_ROLE\" >> ran\necho '{\"text\": \"I chose a cable car.\"}'\n");
    let inner = INNER.replace(
        "built: { type: string } }\n      required: [built]",
        "text: { type: string } }\n      required: [text]",
    );
    home.put("write-code", &inner);
    let thread = planned(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread, "--reextract"]).code, Some(69), "nothing is there yet");
    let failed = home.uwf(&["thread", "step", &thread]);
    assert_eq!(failed.code, Some(41), "{}", failed.transcript());
    assert!(
        failed.stderr.contains(&format!("`uwf thread step {thread} --reextract` reads it again")),
        "{}",
        failed.stderr
    );

    let server = LlmServer::start([ScriptedAnswer::call(
        "extracted",
        json!({ "found": true, "value": { "built": "a cable car" } }),
    )]);
    let models = format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  extract: {{ provider: p, name: reader }}\n",
        server.url()
    );
    home.config(&format!("{AGENTS}{models}"));
    let report = home.json(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(json!([report["role"], report["alias"]]), json!(["build", "inner"]));
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output"]), json!({ "built": "a cable car" }));
    let asked = &server.asked()[0].text;
    assert!(asked.contains("I chose a cable car.") && asked.contains("It is done."), "all steps are read: {asked}");
    assert_eq!(ran(&home), ["plan", "code", "check"], "nobody was run again");
}

#[test]
fn unfinished_child_cannot_be_reextracted() {
    let home = staffed();
    home.script("checks", "#!/bin/sh\nexit 3\n");
    let thread = planned(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_snapshot!(transcript(&home, &["thread", "step", &thread, "--reextract"]), @r"
    exit 64
    --- stderr
    error: role `build` is played by a child thread that has not ended and has no result to read
    hint: `uwf thread step <id>` continues with it
    ");
}

#[test]
fn a_child_that_waits_makes_its_parent_wait() {
    let home = staffed();
    home.config(&AGENTS.replace("check: checks", "check: human"));
    let thread = planned(&home);
    let before = fs::read_dir(home.root().join("cas")).unwrap().count();
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @r#"
    exit 20
    --- stderr
    waiting: role `build` is played by child thread <id>: role `check` waits for a person: uwf thread answer <id>

    You are asked to play role `check` of workflow `write-code`.

    Goal:
      Check it.

    Task:
      Cross the river.

      # Your part

      This is role `build` of workflow `ship-change`. Do only this part.

      ## Goal

      Have it built.

      ## Output

      Say what was built.

      ## Required output

      - `built` (required): text
      - `sure` (optional): `true` or `false`

      # Context from previous steps

      These are steps of the parent thread:

      # Step 1: output of role `plan`

      ```json
      {
        "text": "plan did it"
      }
      ```

    The answer needs:
      - `built` (required): text

    Answer it:
      uwf thread answer <id>              on a terminal: asks key by key
      uwf thread answer <id> --editor     the form, in your editor
      uwf thread answer <id> --data '{"built":"text"}'
    See what was done before:
      uwf thread read <id>
    hint: `uwf thread show <id>` shows the child; `uwf thread step <id>` continues with it
    "#);
    let child = child_of(&home, &thread);
    assert_eq!(json!([state(&home, &thread), state(&home, &child)]), json!(["waiting", "waiting"]));
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread, "--data", r#"{"built": "a dam"}"#]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":true,"task":"Cross the river. # Your part This is role `build` of workflow `ship-change`. Do …","role":"check","alias":"human","agent":"uwf-human","reason":"end","outcome":"succeeded"}
    --- stderr
    this answers <id>, a child thread of <id>
    continue with: uwf run <id>
    "##);
    let report = home.json(&["run", &thread]);
    assert_eq!(report["done"], true);
    assert_eq!(ran(&home), ["plan", "code", "tell"]);
    let attempts = fs::read_to_string(home.record_file(&thread)).unwrap();
    assert_eq!(attempts.matches("\"outcome\":\"failed\"").count(), 0, "waiting is no failure");
    assert!(fs::read_dir(home.root().join("cas")).unwrap().count() > before);
}

#[test]
fn child_limit_stops_parent() {
    let home = staffed();
    go(&home);
    let limited = AGENTS.replace("args: [write-code] }", "args: [write-code], config: { maxSteps: 1 } }");
    home.config(&limited);
    let thread = planned(&home);
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @"
    exit 30
    --- stderr
    error: role `build` is played by child thread <id>: the thread has 1 step; its limit is 1
    hint: to continue: `uwf thread limit <id> --steps +10`
    hint: `uwf thread show <id>` shows the child; `uwf thread step <id>` continues with it
    ");
    let child = child_of(&home, &thread);
    assert_eq!(json!([state(&home, &thread), state(&home, &child)]), json!(["limited", "limited"]));
    let record = home.record_file(&child);
    let raised = fs::read_to_string(&record).unwrap().replace("\"maxSteps\":1", "\"maxSteps\":2");
    fs::write(&record, raised).unwrap();
    assert_eq!(home.json(&["run", &thread])["done"], true);
}

#[test]
fn recursive_workflow_stops_at_max_depth() {
    let home = staffed();
    home.config(
        "agents:\n  says: { command: says, output: json }\n  again: { command: uwf-workflow, args: [ship-change] }\n\
         defaultAgent: says\nagentOverrides:\n  ship-change: { build: again }\nmaxDepth: 2\n",
    );
    let thread = planned(&home);
    let ended = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ended.code, Some(30), "{}", ended.transcript());
    assert!(ended.stderr.contains("would be 3 threads deep, and `maxDepth` is 2"), "{}", ended.stderr);
    assert_eq!(ran(&home), ["plan", "plan", "plan"]);
    assert_eq!(home.json(&["thread", "list", "--state", "limited"]).as_array().unwrap().len(), 3);
    // Its own limits are not the reason, so raising one changes nothing.
    let limits = home.json(&["thread", "limit", &thread, "--steps", "+5"]);
    assert_eq!(limits["state"], "limited");
    assert!(text(&limits, "why").contains("`maxDepth` is 2"), "{limits}");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "limited");
    let retried = home.uwf(&["thread", "retry", &thread]);
    assert!(retried.stderr.contains(&format!("`uwf thread step {thread}` tries again")), "{}", retried.stderr);
    assert_eq!(home.json(&["thread", "kill", &thread])["archived"], true);
    assert_eq!(home.json(&["thread", "list"]), json!([]), "grandchildren go too");

    home.config(&fs::read_to_string(home.root().join("config.yaml")).unwrap().replace("maxDepth: 2", "maxDepth: 0"));
    let flat = planned(&home);
    let nodes = fs::read_dir(home.root().join("cas")).unwrap().count();
    assert_eq!(home.uwf(&["thread", "step", &flat]).code, Some(30));
    assert_eq!(fs::read_dir(home.root().join("cas")).unwrap().count(), nodes, "nothing was begun");
}

#[test]
fn child_agents_get_only_their_own_secrets() {
    let home = staffed();
    go(&home);
    let seen = "#!/bin/sh\necho \"$UWF_ROLE ${A_TOKEN:-none} ${B_TOKEN:-none}\" >> seen\n";
    home.script("says", &format!("{seen}echo '{{\"text\": \"x\"}}'\n"));
    home.script("checks", &format!("{seen}echo '{{\"built\": \"x\"}}'\n"));
    home.config(&format!(
        "secrets: [A_TOKEN, B_TOKEN]\n{}",
        AGENTS.replace("checks: { command: checks,", "checks: { command: checks, env: [A_TOKEN],")
    ));
    let thread = home.start("ship-change", "x");
    let mut run = home.command(&["run", &thread]);
    run.env("A_TOKEN", "alpha-secret").env("B_TOKEN", "beta-secret").stdout(Stdio::null()).stderr(Stdio::null());
    assert!(run.status().unwrap().success());
    let seen = fs::read_to_string(home.work().join("seen")).unwrap();
    assert_eq!(seen, "plan none none\ncode none none\ncheck alpha-secret none\ntell none none\n");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn intermediate_process_holds_only_secrets_agents_need() {
    let home = staffed();
    home.config(&format!(
        "secrets: [A_TOKEN, B_TOKEN, C_TOKEN]\n{}",
        AGENTS.replace("checks: { command: checks,", "checks: { command: checks, env: [A_TOKEN, C_TOKEN],")
    ));
    fs::write(home.root().join(".env"), "C_TOKEN=gamma-secret\n").unwrap();
    let thread = planned(&home);
    let mut step = home.command(&["thread", "step", &thread]);
    step.env("A_TOKEN", "alpha-secret").env("B_TOKEN", "beta-secret").stdout(Stdio::null()).stderr(Stdio::null());
    let mut window = step.spawn().unwrap();
    let checker = checker(&home);
    let environment = |pid: &str| fs::read_to_string(Path::new("/proc").join(pid).join("environ")).unwrap();
    let held =
        |pid: &str| ["alpha", "beta", "gamma"].map(|secret| environment(pid).contains(&format!("{secret}-secret")));
    let between = home.recorded(&thread, "started")["pid"].to_string();
    assert_eq!(held(&between), [true, false, false], "only what the child's keepers cannot read in .env");
    assert_eq!(held(&checker), [true, false, true]);
    go(&home);
    assert!(window.wait().unwrap().success());
}

#[test]
fn child_activity_prevents_parent_idle_timeout() {
    let home = staffed();
    home.script(
        "checks",
        "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do echo \"still $i\" >&2; sleep 0.4; done\necho '{\"built\": \"x\"}'\n",
    );
    home.config(&AGENTS.replace("args: [write-code] }", "args: [write-code], idleTimeout: 2s }"));
    let thread = planned(&home);
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "build");
    home.script("checks", "#!/bin/sh\nsleep 60\n");
    let silent = planned(&home);
    let ran = home.uwf(&["thread", "step", &silent]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("it printed nothing for 2 s"), "{}", ran.stderr);
}

#[test]
fn a_configuration_that_names_no_workflow_says_so() {
    let home = staffed();
    let thread = planned(&home);
    let with = |agent: &str| transcript(&home, &["thread", "step", &thread, "--agent", agent]);
    assert_snapshot!(with("uwf-workflow write-cod"), @r"
    exit 78
    --- stderr
    error: workflow `write-cod` does not exist
    hint: did you mean `write-code`?
    ");
    assert_snapshot!(with("uwf-workflow"), @r"
    exit 78
    --- stderr
    error: agent `uwf-workflow` names no workflow for the role
    hint: name it: `{ command: uwf-workflow, args: [WORKFLOW] }`
    ");
}

#[test]
fn next_step_finds_result_of_agent_run() {
    let home = staffed();
    let thread = planned(&home);
    go(&home);
    let before = home.head(&thread);
    let by_hand = home.uwf(&["agent", "run", "workflow", &thread, "build"]);
    assert_eq!(by_hand.code, Some(0), "{}", by_hand.transcript());
    assert_eq!(home.head(&thread), before);
    let paid = ran(&home);
    assert_eq!(
        text(&home.json(&["thread", "step", &thread]), "head"),
        by_hand.stdout.trim_end(),
        "it is the same step"
    );
    assert_eq!(ran(&home), paid, "nobody is paid again");
}

/// The parent's run says first what happened to the parent.
#[test]
fn run_of_killed_parent_names_its_own_end() {
    let home = staffed();
    home.script("worker", "#!/bin/sh\necho > begun\nexec sleep 300\n");
    home.config("agents:\n  w: { command: worker, output: json }\n  kid: { command: uwf-workflow, args: [count-rounds] }\ndefaultAgent: w\n");
    home.put("count-rounds", &uwf_testing::counting_workflow(1));
    home.put("outer", &uwf_testing::counting_workflow(1).replace("count-rounds", "outer"));
    let thread = text(&home.json(&["thread", "start", "outer", "-p", "x", "--agent", "worker=kid"]), "thread");
    let mut run = home.command(&["run", &thread]);
    let run = run.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let begun = home.work().join("begun");
    uwf_testing::processes::until("the child's agent works", || begun.exists());
    home.json(&["thread", "kill", &thread]);
    let ended = uwf_testing::FinishedRun::from(run.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(11), "{}", ended.transcript());
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["thread"], thread);
    assert_eq!((&report["done"], &report["outcome"]), (&json!(true), &json!("killed")), "{report}");
}

#[test]
fn a_fork_of_a_child_is_nobodys_child() {
    let home = staffed();
    home.config(&AGENTS.replace("check: checks", "check: human"));
    let thread = planned(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let child = child_of(&home, &thread);
    let fork = text(&home.json(&["thread", "fork", &child]), "thread");
    home.json(&["thread", "kill", &thread]);
    assert_eq!(json!([state(&home, &child), state(&home, &fork)]), json!(["killed", "active"]));
    assert_eq!(home.json(&["thread", "show", &fork])["parentThread"], Value::Null);
}

#[test]
fn nested_workflows_report_innermost_extraction() {
    let home = staffed();
    go(&home);
    home.put("wrap-code", &INNER.replace("write-code", "wrap-code"));
    home.script("prose", "#!/bin/sh\nprintf -- '---\\nbuilt: a tunnel\\n---\\nIt is dark.\\n'\n");
    home.config(
        "agents:\n  says: { command: says, output: json }\n  prose: { command: prose, output: text }\n  \
         outer: { command: uwf-workflow, args: [wrap-code] }\n  inner: { command: uwf-workflow, config: { workflow: write-code, agents: { check: prose } } }\n\
         defaultAgent: says\nagentOverrides:\n  ship-change: { build: outer }\n  wrap-code: { check: inner }\n",
    );
    let thread = planned(&home);
    let report = home.json(&["thread", "step", &thread]);
    let step = home.json(&["cas", "get", &text(&report, "head")])["payload"].clone();
    assert_eq!(home.json(&["cas", "get", &text(&step, "output")])["payload"], json!({"built": "a tunnel"}));
    assert_eq!(home.json(&["thread", "eval", &thread, "$extractedBy(steps[1])"]), "frontmatter");
    let depths: Vec<Value> = home
        .json(&["thread", "list", "--all"])
        .as_array()
        .unwrap()
        .iter()
        .map(|row| home.json(&["thread", "show", &text(row, "thread")])["depth"].clone())
        .collect();
    assert_eq!(depths, [json!(2), json!(1), Value::Null]);
    let prompt = text(&home.json(&["thread", "step", &thread, "--dry-run"]), "prompt");
    assert!(prompt.contains("It is dark."), "the next role is told what was said: {prompt}");
    assert_eq!(home.uwf(&["thread", "read", &thread]).code, Some(0));
    assert_eq!(home.uwf(&["thread", "step-details", &text(&report, "head")]).code, Some(0));
}

/// An agent whose runs cost half a dollar each; as `check` it fails.
const PAID: &str = r#"#!/bin/sh
cat > /dev/null
case $UWF_ROLE in check|build) key=built ;; *) key=text ;; esac
case $UWF_ROLE in check) failed=true ;; *) failed=false ;; esac
printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"---\\n%s: yes\\n---\\n"}]}}\n' $key
printf '{"type":"result","is_error":%s,"result":"broke","usage":{"input_tokens":20,"output_tokens":7},"total_cost_usd":0.5}\n' $failed
[ $failed = false ]
"#;

/// Dollars that a thread has used, by `thread limit` and by `thread cost`, and of how many runs the cost is not known.
fn dollars(home: &TestHome, thread: &str) -> [Value; 4] {
    let limits = home.json(&["thread", "limit", thread]);
    let total = home.json(&["thread", "cost", thread])["total"].take();
    [
        limits["used"]["cost"].clone(),
        total["cost"][0]["amount"].clone(),
        limits["costUnknown"].clone(),
        total["costUnknown"].clone(),
    ]
}

#[test]
fn children_without_a_step_count_for_their_parent() {
    let home = home();
    home.script("paid", PAID);
    home.config(
        "agents:\n  paid: { command: paid, output: text, config: { trace: claude } }\n  inner: { command: uwf-workflow, args: [write-code] }\ndefaultAgent: paid\nagentOverrides: { ship-change: { build: inner } }\n",
    );
    home.put("ship-change", OUTER);
    home.put("write-code", INNER);
    let args = ["thread", "start", "ship-change", "-p", "x", "--max-cost", "1.5"];
    let thread = text(&home.json(&args), "thread");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    // The plan, and a step and a failed attempt of the child.
    assert_eq!(dollars(&home, &thread), [json!(1.5), json!(1.5), json!(0), json!(0)]);
    let ran = home.uwf(&["thread", "step", &thread, "--agent", "paid"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());

    // Another agent plays the role. The child stays paid.
    home.json(&["thread", "limit", &thread, "--cost", "+5"]);
    home.json(&["thread", "step", &thread, "--agent", "paid"]);
    assert_eq!(dollars(&home, &thread), [json!(2.0), json!(2.0), json!(0), json!(0)]);
    let all = home.json(&["thread", "cost"]);
    assert_eq!(all["total"]["cost"][0]["amount"], json!(2.0), "what two threads have counts once: {all}");
    assert_eq!(all["rows"].as_array().map(Vec::len), Some(1), "the child has no row of its own: {all}");
    assert_eq!(json!([all["rows"][0]["name"], all["rows"][0]["cost"][0]["amount"]]), json!([thread, 2.0]));
    assert_eq!(all["sharedSteps"], 0);
    assert_eq!((&all["total"]["steps"], &all["total"]["failedAttempts"]), (&json!(3), &json!(2)));
    let by_workflow = home.json(&["thread", "cost", &thread, "--by", "workflow"]);
    let mut rows: Vec<Value> = by_workflow["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!([row["name"], row["cost"][0]["amount"]]))
        .collect();
    rows.sort_by_key(Value::to_string);
    assert_eq!(json!(rows), json!([["ship-change", 1.0], ["write-code", 1.0]]));
}
