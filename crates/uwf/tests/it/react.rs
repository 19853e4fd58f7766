//! The agent that works with tools, against a scripted provider: real edits in a real repository, whole traces, and what
//! is kept when it fails.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer, ScriptedUsage};
use uwf_testing::{TestHome, repository, text};

use crate::home;

/// A key that must not turn up anywhere.
const KEY: &str = "sk-scripted-0123456789";

/// A home whose roles are played by the react agent with a scripted model. `config` goes into the agent's settings.
fn with_model(server: &LlmServer, config: &str) -> TestHome {
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  r: {{ command: uwf-react, config: {{ {config} }} }}\ndefaultAgent: r\ndefaultModel: m\n",
        server.url()
    ));
    fs::write(home.root().join(".env"), format!("P_KEY={KEY}\n")).unwrap();
    home
}

/// A thread of one role whose output is `{n: integer}`.
fn counting(home: &TestHome) -> String {
    home.start_counting(1, "count the files")
}

#[test]
fn model_without_commands_has_no_shell() {
    let answer = || ScriptedAnswer::text("---\nn: 1\n---\n");
    let tools = |config: &str| {
        let server = LlmServer::start(LlmScript::new([answer()]));
        let home = with_model(&server, config);
        home.json(&["thread", "step", &counting(&home)]);
        let tools = server.requests()[0].body["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| text(&tool["function"], "name")).collect::<Vec<_>>()
    };
    assert!(tools("").contains(&"shell_exec".to_owned()));
    assert_eq!(tools("commands: false"), ["read_file", "write_file", "patch_file", "cas_get", "submit"]);
}

/// The failed attempt an error message names.
fn attempt(home: &TestHome, stderr: &str) -> Value {
    let hash = stderr.split("step-details ").nth(1).unwrap_or_else(|| panic!("no attempt in {stderr}"));
    home.json(&["thread", "step-details", &hash[..13], "--format", "json"])
}

/// Runs a program in the workspace; what it printed.
fn work(home: &TestHome, line: &str) -> (bool, String) {
    let mut command = Command::new("sh");
    home.prepare(&mut command);
    let output = command.args(["-c", line]).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A repository with a program that has a bug, and a test that finds it.
fn buggy_repository(home: &TestHome) {
    home.file("search.sh", "#!/bin/sh\n# search.sh WORD FILE: lines with the word\ngrep -- \"$1\" \"$2\"\n");
    home.file("test.sh", "#!/bin/sh\nprintf 'One\\ntwo\\n' > t.txt\ntest \"$(sh search.sh one t.txt)\" = One || { echo 'not found: one'; exit 1; }\n");
    home.file(".gitignore", "t.txt\n*.yaml\n");
    let made = "git init -q . && git config user.email dev@example.org && git config user.name Dev && git add -A && git commit -qm 'first version'";
    assert!(work(home, made).0);
    assert!(!work(home, "sh test.sh").0, "the test has to fail before the work");
}

/// Starts an example in the repository and steps it to its end; the roles in order.
fn run_example(home: &TestHome, file: &str, task: &str) -> (String, Vec<String>) {
    let path = repository().join("examples").join(file);
    let thread = text(&home.json(&["thread", "start", path.to_str().unwrap(), "-p", task]), "thread");
    let mut roles = Vec::new();
    loop {
        let report = home.json(&["thread", "step", &thread]);
        roles.push(text(&report, "role"));
        if report["done"] == true {
            return (thread, roles);
        }
        assert!(roles.len() < 20, "it does not end: {roles:?}");
    }
}

#[test]
fn json_output_requests_one_json_object() {
    let server = LlmServer::start([ScriptedAnswer::text("{\"n\": 3}")]);
    let home = with_model(&server, "");
    let settings = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&settings.replace("command: uwf-react", "command: uwf-react, output: json"));
    let thread = counting(&home);
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output.n"]), json!(3));
    assert!(server.asked()[0].body["messages"].to_string().contains("Print one JSON object and nothing else"));
}

#[test]
fn an_issue_is_solved_in_a_real_repository() {
    let server = LlmServer::start([
        // planner
        ScriptedAnswer::text("I look at the code.")
            .and_call("read_file", json!({ "path": "search.sh" }))
            .and_call("shell_exec", json!({ "command": "sh test.sh" })),
        ScriptedAnswer::text("The cause is grep without -i.").and_call(
            "submit",
            json!({ "actionable": true, "plan": "Fold case in search.sh.", "steps": ["add -i", "run test.sh"] }),
        ),
        // developer, who forgets the comment
        ScriptedAnswer::call("patch_file", json!({ "path": "search.sh", "old": "grep -- ", "new": "grep -i -- " })),
        ScriptedAnswer::call("shell_exec", json!({ "command": "sh test.sh && echo all is well" })),
        ScriptedAnswer::text("sh test.sh: all is well")
            .and_call("submit", json!({ "summary": "fold case", "filesChanged": ["search.sh"], "checksPassed": true })),
        // reviewer
        ScriptedAnswer::call("shell_exec", json!({ "command": "git diff" })),
        ScriptedAnswer::call(
            "submit",
            json!({ "approved": false, "comments": [{ "file": "search.sh", "problem": "the comment does not say so" }] }),
        ),
        // developer again
        ScriptedAnswer::call(
            "patch_file",
            json!({ "path": "search.sh", "old": "lines with the word", "new": "lines with the word, in any case" }),
        ),
        ScriptedAnswer::call(
            "submit",
            json!({ "summary": "comment", "filesChanged": ["search.sh"], "checksPassed": true }),
        ),
        // reviewer
        ScriptedAnswer::call("submit", json!({ "approved": true, "comments": [] })),
    ]);
    let home = with_model(&server, "");
    buggy_repository(&home);
    let (thread, roles) = run_example(&home, "solve-issue.yaml", "search ignores upper case");
    assert_eq!(roles, ["planner", "developer", "reviewer", "developer", "reviewer"]);
    assert!(work(&home, "sh test.sh").0, "the test passes now");
    let (_, diff) = work(&home, "git diff --stat");
    assert!(diff.contains("search.sh | 4 ++--"), "{diff}");

    let asked = server.asked();
    assert_eq!(asked.len(), 10);
    assert!(asked[1].text.contains("not found: one"), "the planner saw the test fail");
    assert!(asked[4].text.contains("all is well"), "the developer saw it pass");
    assert!(asked[6].text.contains("+grep -i -- "), "the reviewer saw the diff");
    assert!(asked[2].text.contains("The cause is grep without -i."), "what is said beside the output is told on");
    assert!(asked[7].text.contains("the comment does not say so"));
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("sh test.sh: all is well"), "{read}");
}

#[test]
fn multi_phase_work_ends_in_commit() {
    let phase = |id: &str| json!({ "id": id, "title": id, "doneWhen": "sh test.sh passes" });
    let server = LlmServer::start([
        ScriptedAnswer::call(
            "submit",
            json!({ "status": "planned", "phases": [phase("fold-case"), phase("document")] }),
        ),
        ScriptedAnswer::call("patch_file", json!({ "path": "search.sh", "old": "grep -- ", "new": "grep -i -- " }))
            .and_call("shell_exec", json!({ "command": "sh test.sh" })),
        ScriptedAnswer::call("submit", json!({ "phase": "fold-case", "status": "done", "summary": "grep -i" })),
        ScriptedAnswer::call("write_file", json!({ "path": "docs/use.md", "content": "sh search.sh WORD FILE\n" })),
        ScriptedAnswer::call("submit", json!({ "phase": "document", "status": "done", "summary": "a page" })),
        ScriptedAnswer::call("submit", json!({ "status": "approved", "changes": [] })),
        ScriptedAnswer::call("shell_exec", json!({ "command": "sh test.sh" })),
        ScriptedAnswer::call("submit", json!({ "status": "passed", "failures": [] })),
        ScriptedAnswer::call(
            "shell_exec",
            json!({ "command": "git add -A && git commit -qm 'search: any case' && git rev-parse HEAD > .git/last" }),
        ),
        ScriptedAnswer::call("shell_exec", json!({ "command": "git rev-parse HEAD" })),
        ScriptedAnswer::call("submit", json!({ "commit": "nope", "message": "search: any case" })),
        ScriptedAnswer::call(
            "submit",
            json!({ "commit": "0123456789abcdef0123456789abcdef01234567", "message": "search: any case" }),
        ),
    ]);
    let home = with_model(&server, "stream: false");
    buggy_repository(&home);
    let (_, roles) = run_example(&home, "develop.yaml", "search in any case");
    assert_eq!(roles, ["planner", "coder", "coder", "reviewer", "tester", "committer"]);
    assert_eq!(work(&home, "git log --format=%s").1, "search: any case\nfirst version\n");
    assert_eq!(work(&home, "git status --porcelain").1, "");
    assert_eq!(fs::read_to_string(home.work().join("docs/use.md")).unwrap(), "sh search.sh WORD FILE\n");
    assert!(work(&home, "sh test.sh").0, "the test passes now");
    let last = server.asked().pop().unwrap();
    assert!(last.text.contains("not accepted, the output is not valid"), "{}", last.text);
}

#[test]
fn trace_has_calls_and_tokens_per_round() {
    let usage = |input, output| ScriptedUsage {
        input,
        output,
        cached: Some(5),
        cache_write: 0,
        reasoning: None,
        cost: Some(0.25),
    };
    let server = LlmServer::start([
        ScriptedAnswer::text("I count.")
            .and_call("shell_exec", json!({ "command": "ls | wc -l" }))
            .usage(usage(100, 10)),
        ScriptedAnswer::text("There are none.").and_call("submit", json!({ "n": 0 })).usage(usage(120, 20)),
    ]);
    let home = with_model(&server, "");
    let thread = counting(&home);
    fs::remove_file(home.work().join("count-rounds.yaml")).unwrap();
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["done"], true);
    let session = home.last_detail(&thread);
    assert_eq!(
        (&session["source"], &session["extractedBy"], &session["raw"]),
        (&json!("wire"), &json!("submit"), &json!("There are none."))
    );
    assert_eq!(session["tokens"], json!({ "input": 220, "output": 30, "cached": 10, "cost": 0.5 }));
    assert_eq!(session["totalTokens"], 250);
    let turns = session["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["output"], "I count.");
    assert_eq!(turns[0]["tokens"], json!({ "input": 100, "output": 10, "cached": 5, "cost": 0.25 }));
    let call = &turns[0]["toolCalls"][0];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("shell_exec"), &json!("{\"command\":\"ls | wc -l\"}")));
    assert_eq!(call["result"], "exit 0\n0\n");
    let inputs: Vec<usize> = turns.iter().map(|turn| turn["input"].as_array().unwrap().len()).collect();
    assert_eq!(inputs[1], inputs[0] + 2, "what was said before, the answer, and the result of its call");
    // What was said before is the same nodes, not copies.
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let node = |hash: &str| home.json(&["cas", "get", hash, "--format", "json"])["payload"].clone();
    let refs = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|hash| hash.as_str().unwrap().to_owned()).collect()
    };
    let detail = node(&text(&node(&head), "detail"));
    let inputs: Vec<Vec<String>> = refs(&detail["turns"]).iter().map(|turn| refs(&node(turn)["input"])).collect();
    assert!(inputs[1].starts_with(&inputs[0]));
}

#[test]
fn feedback_continues_conversation_and_accepts_frontmatter() {
    let server = LlmServer::start([ScriptedAnswer::text("I counted three."), ScriptedAnswer::text("---\nn: 3\n---\n")]);
    let home = with_model(&server, "");
    let thread = counting(&home);
    home.json(&["thread", "step", &thread]);
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("feedback"), &json!("I counted three.")));
    assert_eq!(session["turns"].as_array().unwrap().len(), 2);
    let messages = server.asked()[1].body["messages"].as_array().unwrap().clone();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert!(messages[3]["content"].as_str().unwrap().contains("Do not do the work again"));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn the_key_is_seen_by_nobody_else() {
    let server = LlmServer::start([
        ScriptedAnswer::call("shell_exec", json!({ "command": "env; cat /proc/$PPID/cmdline; grep -rl sk-scripted . ; true" }))
            .and_call("shell_exec", json!({ "command": "tr '\\0' '\\n' < /proc/$PPID/environ" }))
            .and_call("shell_exec", json!({ "command": "cat \"$UNCAGED_WORKFLOW_STORAGE_ROOT/.env\"; cat no-such-file-$(cut -d= -f2 \"$UNCAGED_WORKFLOW_STORAGE_ROOT/.env\")" })),
        ScriptedAnswer::call("submit", json!({ "n": 1 })),
    ]);
    let home = with_model(&server, "");
    let thread = counting(&home);
    home.json(&["thread", "step", &thread]);
    let asked = server.asked();
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(asked[1].text.contains("UWF_ATTEMPT"), "it did print its environment");
    let told: Vec<&str> = asked[1].body["messages"].as_array().unwrap().iter().filter_map(tool_result).collect();
    assert!(!told[0].contains("P_KEY"), "a command was given the key");
    assert!(told[1].contains("P_KEY=[redacted P_KEY]"), "the agent itself has it: {}", told[1]);
    assert!(told[2].contains("P_KEY=[redacted P_KEY]") && told[2].contains("no-such-file-[redacted"), "{}", told[2]);
    assert!(asked.iter().all(|request| !request.body.to_string().contains(KEY)), "the provider was sent the key");
    let holders = files_with(&home.root(), KEY);
    assert_eq!(holders, [".env"]);
}

/// The text of a message that tells what a tool answered.
fn tool_result(message: &Value) -> Option<&str> {
    message["content"].as_str().filter(|_| message["role"] == "tool")
}

/// Files below a directory that hold a text.
fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let output = Command::new("grep").args(["-rl", text, "."]).current_dir(dir).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

#[test]
fn hung_provider_exits_40_and_keeps_finished_work() {
    let server = LlmServer::start([
        ScriptedAnswer::text("First I look.").and_call("shell_exec", json!({ "command": "echo seen" })),
        ScriptedAnswer::text("never").after(Duration::from_mins(1)).repeated(),
    ]);
    let home = with_model(&server, "idleTimeout: 1s, totalTimeout: 3s");
    let thread = counting(&home);
    let begun = Instant::now();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(ran.stderr.contains("timeout"), "{}", ran.stderr);
    let attempt = attempt(&home, &ran.stderr);
    let raw = attempt["raw"].as_str().unwrap();
    assert_eq!(raw, "First I look.\n[shell_exec {\"command\":\"echo seen\"}]\nexit 0\nseen\n\n");
    let told = attempt["stderr"].as_str().unwrap();
    assert!(told.contains("[round 1: asking scripted-model]") && told.contains("[round 2"), "{told}");
}

#[test]
fn cut_stream_keeps_received_text() {
    let cut = || ScriptedAnswer::text("").chunks(["The answer ", "is that", " nothing"]).cut_after(3);
    let server = LlmServer::start([cut().repeated()]);
    let home = with_model(&server, "totalTimeout: 3s");
    let thread = counting(&home);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let attempt = attempt(&home, &ran.stderr);
    assert_eq!(attempt["raw"], "The answer is that");
}

#[test]
fn answer_without_submit_tool_is_text() {
    let server = LlmServer::start([
        ScriptedAnswer::call("submit", json!({ "n": 3 })),
        ScriptedAnswer::text("---\nn: 3\n---\nThree."),
    ]);
    let home = with_model(&server, "maxRounds: 2");
    let settings = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{settings}extract: {{ submit: false }}\n"));
    let thread = counting(&home);
    home.json(&["thread", "step", &thread]);
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("frontmatter"), &json!("---\nn: 3\n---\nThree.")));
    let asked = server.asked();
    assert!(!asked[0].text.contains("submit"), "a tool that is not there is not mentioned: {}", asked[0].text);
    assert!(asked[1].text.contains("unknown tool; the tools are read_file"), "{}", asked[1].text);
    assert!(asked[1].text.contains("This is your last round. Answer now"), "{}", asked[1].text);
}

#[test]
fn differing_submits_of_one_message_are_rejected() {
    let server = LlmServer::start([
        ScriptedAnswer::call("submit", json!({ "n": 3 })).and_call("submit", json!({ "n": 4 })),
        ScriptedAnswer::call("submit", json!({ "n": 4 })).and_call("submit", json!({ "n": 4 })),
    ]);
    let home = with_model(&server, "");
    let thread = counting(&home);
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 4 }));
    let messages = server.asked()[1].body["messages"].as_array().unwrap().clone();
    let results: Vec<&str> = messages.iter().filter_map(tool_result).collect();
    let why = "not accepted: this message submits different values. Call `submit` once, with one value";
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(results.iter().all(|result| result.contains(why)), "{results:?}");
}

#[test]
fn rounds_are_limited() {
    let server = LlmServer::start([ScriptedAnswer::call("shell_exec", json!({ "command": "true" })).repeated()]);
    let home = with_model(&server, "maxRounds: 3");
    let thread = counting(&home);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("the model did not finish within 3 rounds"), "{}", ran.stderr);
    assert_eq!(server.asked().len(), 3);
    assert!(server.asked()[2].text.contains("This is your last round."));
}

#[test]
fn model_without_tool_support_is_reported() {
    let server = LlmServer::start(LlmScript::new([]).refusing("tools"));
    let home = with_model(&server, "");
    let thread = counting(&home);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("`tools` is not supported by this model"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`uwf-llm` works with models that do not"), "{}", ran.stderr);
}

#[test]
fn missing_configuration_keys_are_named() {
    let server = LlmServer::start([]);
    let home = with_model(&server, "");
    let thread = counting(&home);
    fs::remove_file(home.root().join(".env")).unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(
        ran.stderr.contains("the key of provider `p` is not set: P_KEY is in neither the environment nor .env"),
        "{}",
        ran.stderr
    );
    home.config("agents:\n  r: { command: uwf-react }\ndefaultAgent: r\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("no model is configured"), "{}", ran.stderr);
    home.config(
        "agents:\n  r: { command: uwf-react, config: { maxRounds: many }, model: x }\nmodels: {}\ndefaultAgent: r\n",
    );
    let ran = home.uwf(&["thread", "step", &thread]);
    assert!(
        ran.stderr.contains("`config.maxRounds` of agent `r`: expected an integer, found the string \"many\""),
        "{}",
        ran.stderr
    );
    assert!(server.asked().is_empty());
}

#[test]
fn anthropic_is_spoken_too() {
    let server = LlmServer::start([
        ScriptedAnswer::text("I count.").thinking("hm").and_call("shell_exec", json!({ "command": "echo 2" })),
        ScriptedAnswer::call("submit", json!({ "n": 2 })),
    ]);
    let home = with_model(&server, "");
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY, kind: anthropic }}\nmodels:\n  m: {{ provider: p, name: c }}\n\
         agents:\n  r: {{ command: uwf-react, model: m }}\ndefaultAgent: r\n",
        server.origin()
    ));
    let thread = counting(&home);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let asked = server.asked();
    assert!(asked.iter().all(|request| request.path == "/v1/messages"), "{asked:?}");
    assert!(asked[1].text.contains("tool_result"));
    assert_eq!(home.last_detail(&thread)["tokens"], json!({ "input": 22, "output": 14 }));
}
