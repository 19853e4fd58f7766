//! The hermes agent with a scripted `hermes`, which prints what the real one was seen to print: a warning before the
//! answer, the session's id on stderr (or, as earlier versions, on stdout), the export of a session as one line.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{TestHome, failed_attempts, text};

use crate::fixtures::text::json_lines;
use crate::home;

/// A `hermes` that keeps its sessions as files of its home. What it does differently is in `behave.json` there.
const HERMES: &str = r#"#!/usr/bin/env python3
import json, os, sys, time

home = os.environ["HERMES_HOME"]
behave = json.load(open(os.path.join(home, "behave.json")))
with open(os.path.join(home, "calls.jsonl"), "a") as calls:
    calls.write(json.dumps({"args": sys.argv[1:], "secret": os.environ.get("OTHER_KEY"), "cwd": os.getcwd()}) + "\n")
args = sys.argv[1:]
file = lambda sid: os.path.join(home, sid + ".session")

if args[:3] == ["sessions", "export", "-"]:
    sid = args[args.index("--session-id") + 1]
    if behave.get("export") == "fails" or not os.path.exists(file(sid)):
        print(f"Session '{sid}' not found.")
        sys.exit(0)
    line = open(file(sid)).read() + "\n"
    if behave.get("export") == "to-file":
        open("-", "w").write(line)
        print("Exported 1 session to -")
    else:
        sys.stdout.write(line)
    sys.exit(0)

if args == ["acp"]:
    sid, messages = "55e59452-ba03-489b-9ae6-4f5113015758", []
    tell = lambda message: print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        method, params = asked.get("method"), asked.get("params", {})
        if method == "initialize":
            tell({"id": asked["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
        elif method == "session/new":
            models = [{"modelId": "custom:vendor/big-1", "name": "vendor/big-1"}]
            open(os.path.join(home, "servers.json"), "w").write(json.dumps(params["mcpServers"]))
            tell({"id": asked["id"], "result": {"sessionId": sid, "models": {"availableModels": models}}})
        elif method == "session/set_model":
            open(os.path.join(home, "model"), "w").write(params["modelId"])
            tell({"id": asked["id"], "result": {}})
        elif method == "session/prompt":
            answer = behave["answers"][len(messages) // 2]
            messages.append({"role": "user", "content": params["prompt"][0]["text"], "timestamp": 1795313709.0})
            messages.append({"role": "assistant", "content": answer, "finish_reason": "stop", "timestamp": 1795313710.0})
            json.dump({"id": sid, "input_tokens": 50, "output_tokens": 5, "messages": messages}, open(file(sid), "w"))
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "\n\n" + answer}}
            tell({"method": "session/update", "params": {"sessionId": sid, "update": chunk}})
            tell({"id": asked["id"], "result": {"stopReason": "end_turn"}})
    sys.exit(0)

query = args[args.index("-q") + 1]
managed = os.environ.get("HERMES_MANAGED_DIR")
if managed and os.path.exists(os.path.join(managed, "config.yaml")):
    told = {"mode": oct(os.stat(os.path.join(managed, "config.yaml")).st_mode & 0o777),
            "config": json.load(open(os.path.join(managed, "config.yaml")))}
    json.dump(told, open(os.path.join(home, "managed.json"), "w"))
if "--resume" in args:
    sid = args[args.index("--resume") + 1]
    session = json.load(open(file(sid)))
    print(f"↻ Resumed session {sid} (1 user message, {len(session['messages'])} total messages)", file=sys.stderr)
    sid = behave.get("resumes", sid)
else:
    sid = "20261122_021459_fa0b62"
    session = {"id": sid, "model": "m", "input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0,
               "cache_write_tokens": 0, "reasoning_tokens": 0, "actual_cost_usd": None, "messages": []}
if "fails" in behave:
    print(behave["fails"])
    print("\nsession_id: " + sid, file=sys.stderr)
    sys.exit(1)
os.makedirs(os.path.join(home, "logs"), exist_ok=True)
for second in range(behave.get("takes", 0)):
    time.sleep(1)
    with open(os.path.join(home, "logs", "agent.log"), "a") as log:
        if second == 0:
            log.write(f"2026-11-22 02:15:03,518 INFO [{sid}] agent.turn_context: conversation turn: session={sid}\n")
        if behave.get("is-alive"):
            log.write(f"2026-11-22 02:15:10,892 INFO [{sid}] agent.conversation_loop: API call #{second + 1}: in=1 out=2\n")
at = 1795313709.0 + 100 * len(session["messages"])
say = lambda role, content, after, **more: session["messages"].append(
    {"role": role, "content": content, "timestamp": at + after, **more})
answers = behave["answers"]
answer = answers[sum(m["role"] == "user" for m in session["messages"])]
say("user", query, 0)
if "--resume" not in args:
    call = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\": \"wc -l\"}"}}
    say("assistant", "Counting.", 1.5, tool_calls=[call], reasoning=None)
    say("tool", "{\"output\": \"1\"}", 2.25, tool_call_id="call_1", tool_name="terminal")
say("assistant", answer, 3, tool_calls=None, finish_reason="stop")
session["input_tokens"] += 100
session["cache_read_tokens"] += 11
session["output_tokens"] += 20
json.dump(session, open(file(sid), "w"))
if behave.get("session-file"):
    os.makedirs(os.path.join(home, "sessions"), exist_ok=True)
    json.dump({"session_id": sid, "messages": session["messages"]}, open(os.path.join(home, "sessions", f"session_{sid}.json"), "w"))

print("  ⚠ tirith security scanner enabled but not available, install it for better protection")
print(answer)
if behave.get("id") == "stdout":
    print("\nsession_id: " + sid)
elif behave.get("id") != "nowhere":
    print("\nsession_id: " + sid, file=sys.stderr)
"#;

const RIGHT: &str = "---\nn: 1\n---\nCounted one line.";

/// A configuration of hermes that names servers.
const SERVERS: &str = "mcp_servers:\n  mine: { command: mine, enabled: false }\n";

const WRONG: &str = "I counted one line.";

const NEARLY: &str = "---\nn: one\n---";

/// A home with the scripted hermes, the counting workflow, and a thread.
fn with_hermes(behave: &Value) -> (TestHome, String) {
    let home = home();
    home.script("hermes", HERMES);
    fs::create_dir(home.root().join("hermes")).unwrap();
    fs::write(home.root().join("hermes/behave.json"), behave.to_string()).unwrap();
    home.config(
        "agents:\n  h: { command: uwf-hermes, args: [--source, tool], model: big, config: { home: hermes } }\n\
         defaultAgent: h\nsecrets: [OTHER_KEY]\n\
         models: { big: { provider: p, name: vendor/big-1 } }\nproviders: { p: { baseUrl: 'http://127.0.0.1:9' } }\n",
    );
    fs::write(home.root().join(".env"), "OTHER_KEY=not-for-hermes\n").unwrap();
    let thread = home.start_counting(1, "count");
    (home, thread)
}

fn calls(home: &TestHome) -> Vec<Value> {
    json_lines(home.root().join("hermes/calls.jsonl"))
}

#[test]
fn answer_and_turns_come_from_exported_session() {
    let (home, thread) = with_hermes(&json!({ "answers": [RIGHT] }));
    let stepped = home.json(&["thread", "step", &thread]);
    assert_eq!(stepped["done"], true);
    let detail = home.last_detail(&thread);
    let told = ["sessionId", "source", "extractedBy", "raw", "tokens", "totalTokens"].map(|key| detail[key].clone());
    let tokens = json!({ "input": 111, "output": 20, "cached": 11, "reasoning": 0 });
    assert_eq!(
        told,
        [json!("20261122_021459_fa0b62"), json!("export"), json!("frontmatter"), json!(RIGHT), tokens, json!(131)]
    );
    let turns = detail["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(
        (&turns[0]["output"], &turns[0]["latencyMs"], &turns[0]["tokens"]),
        (&json!("Counting."), &json!(1500), &Value::Null)
    );
    let call = ["name", "arguments", "result", "durationMs"].map(|key| turns[0]["toolCalls"][0][key].clone());
    assert_eq!(call, [json!("terminal"), json!("{\"command\": \"wc -l\"}"), json!("{\"output\": \"1\"}"), json!(750)]);
    assert_eq!((&turns[1]["output"], &turns[1]["latencyMs"]), (&json!(RIGHT), &json!(750)));
    let calls = calls(&home);
    let args: Vec<&str> = calls[0]["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(args[..2], ["chat", "-q"]);
    assert!(args[2].contains("Count."), "{}", args[2]);
    let rest = ["--yolo", "--max-turns", "90", "--quiet", "--model", "vendor/big-1", "--source", "tool"];
    assert_eq!(args[3..], rest);
    assert_eq!(calls[0]["secret"], Value::Null, "a secret it was not given");
    assert_eq!(calls[0]["cwd"], json!(fs::canonicalize(home.work()).unwrap()));
    assert!(!home.work().join("-").exists());
}

#[test]
fn rounds_can_be_more_or_fewer() {
    let (home, thread) = with_hermes(&json!({ "answers": [RIGHT] }));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("{ home: hermes }", "{ home: hermes, maxTurns: 7 }"));
    home.json(&["thread", "step", &thread]);
    let args = calls(&home)[0]["args"].clone();
    assert_eq!(args.as_array().unwrap()[3..6], ["--yolo", "--max-turns", "7"]);
}

#[test]
fn turn_prompt_is_not_stored_twice() {
    let (home, thread) = with_hermes(&json!({ "answers": [RIGHT] }));
    home.json(&["thread", "step", &thread]);
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let step = home.json(&["cas", "get", &head])["payload"].clone();
    let session = home.json(&["cas", "get", &text(&step, "detail")])["payload"].clone();
    let turn = home.json(&["cas", "get", session["turns"][0].as_str().unwrap()])["payload"].clone();
    let input: Vec<String> = turn["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hash| text(&home.json(&["cas", "get", hash.as_str().unwrap()])["payload"], "text"))
        .collect();
    assert_eq!(calls(&home)[0]["args"][2], json!(input.concat()), "the parts are the prompt");
}

#[test]
fn session_is_searched_in_every_location() {
    let cases = [
        (json!({ "id": "stdout" }), "export", 2),
        (json!({ "export": "to-file" }), "export", 2),
        (json!({ "export": "fails", "session-file": true }), "session-file", 2),
        (json!({ "export": "fails" }), "stdout", 1),
        (json!({ "id": "nowhere" }), "stdout", 1),
    ];
    for (behave, source, turns) in cases {
        let mut behave = behave;
        behave["answers"] = json!([RIGHT]);
        let (home, thread) = with_hermes(&behave);
        home.json(&["thread", "step", &thread]);
        let detail = home.last_detail(&thread);
        assert_eq!(
            (detail["source"].as_str(), detail["turns"].as_array().unwrap().len()),
            (Some(source), turns),
            "{behave}"
        );
        if source == "stdout" {
            assert!(text(&detail, "raw").starts_with("  ⚠ tirith"), "{detail}");
            assert_eq!(detail["tokens"], Value::Null);
        }
    }
}

#[test]
fn feedback_goes_to_the_same_session() {
    let (home, thread) = with_hermes(&json!({ "answers": [WRONG, NEARLY, RIGHT] }));
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    assert_eq!((detail["extractedBy"].as_str(), detail["raw"].as_str()), (Some("feedback"), Some(WRONG)));
    let outputs: Vec<&str> =
        detail["turns"].as_array().unwrap().iter().filter_map(|turn| turn["output"].as_str()).collect();
    assert_eq!(outputs, ["Counting.", WRONG, NEARLY, RIGHT], "each turn once");
    assert_eq!(
        detail["tokens"],
        json!({ "input": 333, "output": 60, "cached": 33, "reasoning": 0 }),
        "each token once"
    );
    let calls: Vec<Value> = calls(&home).into_iter().filter(|call| call["args"][0] == "chat").collect();
    assert_eq!(calls.len(), 3);
    for call in &calls[1..] {
        let args: Vec<&str> = call["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let at = args.iter().position(|arg| *arg == "--resume").unwrap();
        assert_eq!(args[at + 1], "20261122_021459_fa0b62");
        assert!(args[2].contains("Do not do the work again"), "{}", args[2]);
    }
}

#[test]
fn an_answer_in_another_session_is_no_answer() {
    let (home, thread) = with_hermes(&json!({ "answers": [WRONG, RIGHT], "resumes": "20261122_030000_000000" }));
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    assert_eq!(attempt["raw"], WRONG, "the work is kept");
    let why = "the answer has no valid output for role `worker`: [frontmatter] the header is missing: the answer must \
               begin with `---`, the keys, and `---` again; [feedback] hermes should have continued session \
               20261122_021459_fa0b62, but answered in session 20261122_030000_000000; the answer reads: I counted \
               one line.";
    assert_eq!(attempt["error"], why);
}

#[test]
fn feedback_can_be_switched_off() {
    let (home, thread) = with_hermes(&json!({ "answers": [WRONG, RIGHT] }));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("{ home: hermes }", "{ home: hermes, resume: false }"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    assert_eq!(calls(&home).iter().filter(|call| call["args"][0] == "chat").count(), 1);
}

#[test]
fn failure_names_session_and_keeps_output() {
    let (home, thread) = with_hermes(&json!({ "fails": "API call failed after 3 retries: Connection error." }));
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40));
    let why = "agent `h` exited with 1; its last words: API call failed after 3 retries: Connection error. (session 20261122_021459_fa0b62)";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    let attempt =
        home.json(&["cas", "get", &text(&home.json(&["thread", "show", &thread]), "attempt")])["payload"].clone();
    assert_eq!(attempt["exitCode"], 1);
    let raw = home.json(&["cas", "get", &text(&attempt, "raw")]);
    assert_eq!(raw["payload"]["text"], "API call failed after 3 retries: Connection error.\n");
}

#[test]
fn invalid_settings_are_rejected_before_anything_runs() {
    let (home, thread) = with_hermes(&json!({ "answers": [RIGHT] }));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("{ home: hermes }", "{ home: hermes, maxturns: 3 }"));
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(
        ran.stderr.contains("`config` of agent `h`: unknown key `maxturns`; did you mean `maxTurns`?"),
        "{}",
        ran.stderr
    );
    assert_eq!(calls(&home), Vec::<Value>::new());
}

#[test]
fn long_prompt_goes_through_protocol() {
    let (home, _) = with_hermes(&json!({ "answers": [WRONG, RIGHT] }));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}promptBudget: 400000\n"));
    let task = home.file("task.md", &format!("count {}", "x".repeat(200_000)));
    let mut start = home.command(&["thread", "start", "count-rounds", "-p", "-"]);
    let started = start.stdin(fs::File::open(task).unwrap()).output().unwrap();
    let thread = text(&serde_json::from_slice(&started.stdout).unwrap(), "thread");
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    let told = ["sessionId", "source", "extractedBy"].map(|key| detail[key].clone());
    assert_eq!(told, [json!("55e59452-ba03-489b-9ae6-4f5113015758"), json!("export"), json!("feedback")]);
    let outputs: Vec<&str> =
        detail["turns"].as_array().unwrap().iter().filter_map(|turn| turn["output"].as_str()).collect();
    assert_eq!(outputs, [WRONG, RIGHT], "one session, each turn once");
    assert_eq!(fs::read_to_string(home.root().join("hermes/model")).unwrap(), "custom:vendor/big-1");
    assert_eq!(fs::read_to_string(home.root().join("hermes/servers.json")).unwrap(), "[]");
    let calls = calls(&home);
    assert_eq!((&calls[0]["args"], &calls[0]["secret"]), (&json!(["acp"]), &Value::Null));
}

#[test]
fn submit_tool_is_provided_on_request() {
    let (home, thread) = with_hermes(&json!({ "answers": [RIGHT] }));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("{ home: hermes }", "{ home: hermes, mcp: true }"));
    fs::write(home.root().join("hermes/config.yaml"), SERVERS).unwrap();
    home.json(&["thread", "step", &thread]);
    let managed = fs::read_to_string(home.root().join("hermes/managed.json")).unwrap();
    let managed: Value = serde_json::from_str(&managed).unwrap();
    assert_eq!(managed["mode"], "0o600");
    let server = &managed["config"]["mcp_servers"]["uwf"];
    assert_eq!(server["args"].as_array().unwrap()[..3], [json!("agent"), json!("mcp"), json!(thread)]);
    let keys: Vec<&str> = managed["config"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["mcp_servers", "mcp_discovery_timeout"], "nothing else is laid over the user's configuration");
    let calls = calls(&home);
    assert_eq!(calls[0]["args"][0], "chat");
    assert!(calls[0]["args"][2].as_str().unwrap().contains("gives you the tool `submit`"));
}

#[test]
fn submit_tool_uses_protocol_without_config_overlay() {
    let of_somebody = "HERMES_MANAGED_DIR=/srv/policy\n";
    for (own, env) in [(SERVERS, of_somebody), ("mcp_servers: {}\n", ""), ("model: {}\n", ""), ("mcp_servers: [", "")] {
        let (home, thread) = with_hermes(&json!({ "answers": [RIGHT] }));
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&config.replace("{ home: hermes }", "{ home: hermes, mcp: true }"));
        fs::write(home.root().join("hermes/config.yaml"), own).unwrap();
        fs::write(home.root().join(".env"), env).unwrap();
        home.json(&["thread", "step", &thread]);
        let servers = fs::read_to_string(home.root().join("hermes/servers.json")).unwrap();
        let servers: Value = serde_json::from_str(&servers).unwrap();
        assert_eq!((servers.as_array().unwrap().len(), &servers[0]["name"]), (1, &json!("uwf")));
        assert!(!home.root().join("hermes/managed.json").exists());
    }
}

#[test]
fn log_output_counts_as_activity() {
    let limited = |behave: Value| {
        let (home, thread) = with_hermes(&behave);
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&config.replace("model: big,", "model: big, idleTimeout: 6,"));
        (home.uwf(&["thread", "step", &thread]), home, thread)
    };
    let (ran, ..) = limited(json!({ "answers": [RIGHT], "takes": 11, "is-alive": true }));
    assert_eq!(ran.code, Some(0), "it was never silent for long: {}", ran.transcript());
    let (ran, home, thread) = limited(json!({ "answers": [RIGHT], "takes": 60 }));
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert!(why.contains("it printed nothing for 6 s"), "{why}");
}

#[test]
fn turns_are_read_from_ended_session() {
    let (home, thread) = with_hermes(&json!({ "answers": [RIGHT], "takes": 60 }));
    let session = json!({ "id": "20261122_021459_fa0b62", "messages": [
        { "role": "user", "content": "count", "timestamp": 1.0 },
        { "role": "assistant", "content": "Counting.", "timestamp": 2.0, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "terminal", "arguments": "{}" } }] },
        { "role": "tool", "content": "one", "timestamp": 3.0, "tool_call_id": "c", "tool_name": "terminal" },
    ] });
    fs::write(home.root().join("hermes/20261122_021459_fa0b62.session"), session.to_string()).unwrap();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("model: big,", "model: big, timeout: 4s,"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    assert_eq!((&attempt["source"], &attempt["sessionId"]), (&json!("export"), &json!("20261122_021459_fa0b62")));
    assert_eq!(attempt["turns"][0]["output"], "Counting.");
    assert_eq!(attempt["turns"][0]["toolCalls"][0]["result"], "one");
}

/// A thread whose role has played once and plays again.
fn played_once(behave: &Value) -> (TestHome, String) {
    let (home, _) = with_hermes(behave);
    let thread = home.start_counting(4, "count");
    home.json(&["thread", "step", &thread]);
    (home, thread)
}

/// The prompts of `hermes chat` after the first, and the sessions they were to continue in.
fn chats(home: &TestHome) -> Vec<(String, Option<String>)> {
    let all = calls(home).into_iter().map(|call| call["args"].clone());
    let chats = all.filter(|args| args[0] == "chat").skip(1).map(|args| {
        let args = args.as_array().unwrap().clone();
        let resumed = args.iter().position(|arg| arg == "--resume").map(|at| args[at + 1].as_str().unwrap().to_owned());
        (args[2].as_str().unwrap().to_owned(), resumed)
    });
    chats.collect()
}

#[test]
fn later_step_continues_same_session() {
    let (home, thread) = played_once(&json!({ "answers": [RIGHT, NEARLY, RIGHT] }));
    home.json(&["thread", "step", &thread]);
    let chats = chats(&home);
    let session = Some("20261122_021459_fa0b62".to_owned());
    assert_eq!([&chats[0].1, &chats[1].1], [&session, &session], "the visit, and feedback on its answer");
    assert!(chats[0].0.contains("You are back in your earlier session") && !chats[0].0.contains("Counted one line."));
    let detail = home.last_detail(&thread);
    assert_eq!(json!([detail["resumed"], detail["extractedBy"]]), json!([true, "feedback"]));
    let outputs: Vec<&str> =
        detail["turns"].as_array().unwrap().iter().filter_map(|turn| turn["output"].as_str()).collect();
    assert_eq!(outputs, [NEARLY, RIGHT], "what it did at the visit before is not repeated");
    assert_eq!(detail["tokens"], json!({ "input": 222, "output": 40, "cached": 22, "reasoning": 0 }));
}

#[test]
fn missing_or_other_session_is_not_failure() {
    for how in ["lost", "another", "off"] {
        let (home, thread) = played_once(&json!({ "answers": [RIGHT, RIGHT] }));
        let file = home.root().join("hermes/20261122_021459_fa0b62.session");
        match how {
            "lost" => fs::remove_file(file).unwrap(),
            "another" => {
                let behave = json!({ "answers": [RIGHT, RIGHT], "resumes": "20261122_999999_000000" });
                fs::write(home.root().join("hermes/behave.json"), behave.to_string()).unwrap();
            }
            _ => {
                let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
                home.config(&config.replace("{ home: hermes }", "{ home: hermes, resume: false }"));
            }
        }
        home.json(&["thread", "step", &thread]);
        let chats = chats(&home);
        assert_eq!(chats.len(), if how == "another" { 2 } else { 1 }, "{how}");
        let (prompt, resumed) = chats.last().unwrap();
        assert_eq!(*resumed, None, "{how}");
        assert!(prompt.contains("is your own last answer") && prompt.contains("Counted one line."), "{prompt}");
        let detail = home.last_detail(&thread);
        assert_eq!(json!([detail["resumed"], failed_attempts(&detail)]), json!([null, 0]), "{how}");
    }
}
