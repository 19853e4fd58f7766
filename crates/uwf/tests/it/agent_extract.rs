//! The rung where a model reads the answer, and the extractor as a tool of its own.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer, ScriptedUsage};
use uwf_testing::{TestHome, text};

use crate::home;

const KEY: &str = "sk-extract-0123456789";

/// What is wrong with an answer in prose.
const NO_HEADER: &str = "the header is missing: the answer must begin with `---`, the keys, and `---` again";

/// Configuration of an extracting model beside one agent.
fn config(server: &LlmServer, agent: &str) -> String {
    format!(
        "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         modelOverrides: {{ extract: m }}\nagents:\n  a: {agent}\ndefaultAgent: a\n",
        server.url()
    )
}

/// A home whose agent is a command that answers in prose, and a thread whose role wants `{n: integer}`.
fn prose(server: &LlmServer, answer: &str) -> (TestHome, String) {
    let home = home();
    home.script("talker", &format!("#!/bin/sh\ncat > /dev/null\nenv > \"$UNCAGED_WORKFLOW_STORAGE_ROOT/seen\"\necho run >> \"$UNCAGED_WORKFLOW_STORAGE_ROOT/runs\"\ncat <<'END'\n{answer}\nEND\n"));
    home.config(&config(server, "{ command: talker, output: text }"));
    fs::write(home.root().join(".env"), format!("P_KEY={KEY}\n")).unwrap();
    let thread = home.start_counting(1, "count");
    (home, thread)
}

fn runs(home: &TestHome) -> usize {
    fs::read_to_string(home.root().join("runs")).unwrap_or_default().lines().count()
}

fn found(n: u64) -> ScriptedAnswer {
    ScriptedAnswer::call("extracted", json!({ "found": true, "why": "", "value": { "n": n } }))
}

#[test]
fn a_model_reads_what_no_reader_could() {
    let server = LlmServer::start([found(3)]);
    let (home, thread) = prose(&server, "I counted three of them.");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("llm"), &json!("I counted three of them.\n")));
    assert_eq!(
        session["extraction"],
        json!([{ "rung": "frontmatter", "errors": [NO_HEADER], "fixes": [] }, { "rung": "llm", "errors": [], "fixes": [] }])
    );
    assert_eq!(session["turns"].as_array().unwrap().len(), 2);
    assert_eq!(session["turns"][1]["tokens"], json!({ "input": 11, "output": 7 }));
    assert_eq!(session["tokens"], Value::Null, "what the command cost is not known, so neither is the sum");
    let by = home.json(&["thread", "eval", &thread, "$extractedBy(steps[-1])"]);
    assert_eq!(by, json!("llm"));
    let asked = &server.asked()[0];
    assert_eq!(asked.body["temperature"], 0.0);
    let rule =
        "set `found` to false and name the missing value in `why`; that is a good answer, an invented value is not";
    let told = asked.body["messages"][0].clone();
    assert!(told["role"] == "system" && text(&told, "content").contains(rule), "{told}");
    assert!(
        asked.text.contains("I counted three of them.") && asked.text.contains("the header is missing"),
        "{}",
        asked.text
    );
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let seen = fs::read_to_string(home.root().join("seen")).unwrap();
    assert!(!seen.contains(KEY), "the command was given the key of the extracting model");
}

#[test]
fn header_fields_survive_when_a_model_reads() {
    let header = json!({ "status": "done", "confidence": 0.6, "artifacts": ["a.md"] });
    let fields = "status: done\nconfidence: 0.6\nartifacts: [a.md]";
    for answer in [
        format!("---\n{fields}\n---\nI counted three of them."),
        format!("I counted three of them.\n\n---\n{fields}\n---"),
        format!("I counted three of them.\n\n---\n{fields}"),
        format!("I counted three.\n\n---\n{fields}\n---\n\nAll of them are there."),
        r#"{"status": "done", "confidence": 0.6, "artifacts": ["a.md"], "result": "three of them"}"#.to_owned(),
    ] {
        let server = LlmServer::start([found(3)]);
        let (home, thread) = prose(&server, &answer);
        assert_eq!(home.json(&["thread", "step", &thread])["done"], true, "{answer}");
        let session = home.last_detail(&thread);
        assert_eq!(json!([session["extractedBy"], session["extras"]]), json!(["llm", header]), "{answer}");
        let read = home.json(&["thread", "eval", &thread, "$frontmatter(steps[-1])"]);
        assert_eq!(read, header, "{answer}");
    }
}

#[test]
fn headers_that_differ_say_nothing() {
    let server = LlmServer::start([found(3)]);
    let answer = "I counted three.\n\n---\nstatus: done\n---\n\nThey were there.\n\n---\nstatus: failed\n---";
    let (home, thread) = prose(&server, answer);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert_eq!(home.last_detail(&thread)["extras"], Value::Null);
}

/// Only the agent may correct a value that does not fit.
#[test]
fn model_reads_no_misfit_answer() {
    let header = "the header has none of the keys that are asked for: n";
    for (answer, why) in [
        ("---\nn: some\n---\nI counted three.", "`n`: "),
        ("---\nresult: 3\n---\nI counted three.", header),
        ("---\nstatus: done\nresult: 3\n---\nI counted three.", header),
        ("{\"n\": \"some\"}", "`n`: "),
        ("{\"status\": \"done\", \"n\": \"some\"}", "`n`: "),
        ("I counted three.\n\n```json\n{\"n\": \"some\"}\n```", "`n`: "),
        ("I counted three.\n\n```yaml\nn: some\n```\nThat is all.", "`n`: "),
        ("I counted three.\n\n{\"n\": \"some\", \"unit\": \"cats\"}", "`n`: "),
        ("I counted three.\n\n{\"n\": 3 4}", "invalid JSON at line 1, column 9"),
    ] {
        let server = LlmServer::start([found(3)]);
        let (home, thread) = prose(&server, answer);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!((ran.code, server.requests().len()), (Some(41), 0), "{answer}\n{}", ran.transcript());
        assert!(ran.stderr.contains(why), "{answer}\n{}", ran.stderr);
    }
}

#[test]
fn a_model_reads_past_other_objects() {
    for answer in [
        "I counted three with this setting:\n\n```json\n{\"debug\": true}\n```",
        "I counted three, the file:\n\n> {\"n\": \"some\"}",
        "I counted three {\"n\": \"some\"} of them.",
    ] {
        let server = LlmServer::start([found(3)]);
        let (home, thread) = prose(&server, answer);
        assert_eq!(home.json(&["thread", "step", &thread])["done"], true, "{answer}");
        assert_eq!(home.last_detail(&thread)["extractedBy"], "llm", "{answer}");
    }
}

#[test]
fn missing_output_is_reported_and_reextractable() {
    let server = LlmServer::start([
        ScriptedAnswer::call("extracted", json!({ "found": false, "why": "no number is given" })),
        ScriptedAnswer::call("extracted", json!({ "found": false, "why": "still no number" })),
        found(7),
    ]);
    let (home, thread) = prose(&server, "I counted some.");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert!(ran.stderr.contains("the text does not hold the output: no number is given"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--reextract"), "{}", ran.stderr);

    let again = home.uwf(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(again.code, Some(41), "{}", again.transcript());
    assert!(again.stderr.contains("still no number"), "{}", again.stderr);
    let report = home.json(&["thread", "step", &thread, "--reextract"]);
    assert_eq!((&report["done"], &report["alias"]), (&json!(true), &json!("a")));
    assert_eq!(runs(&home), 1, "the agent itself ran once");
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("llm"), &json!("I counted some.\n")));
    assert_eq!(session["source"], "attempt");
    let failed = session["attempts"].as_array().unwrap().iter().filter(|attempt| !attempt["error"].is_null());
    assert_eq!(failed.count(), 2);
    assert_eq!((&session["agent"]["name"], &session["agent"]["command"]), (&json!("a"), &json!("talker")));
}

#[test]
fn there_has_to_be_something_to_read_again() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "---\nn: 1\n---");
    let ran = home.uwf(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(ran.code, Some(69), "{}", ran.transcript());
    assert!(ran.stderr.contains("no failed attempt"), "{}", ran.stderr);
    assert_eq!(runs(&home), 0);
    home.script("talker", "#!/bin/sh\nexit 1\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let ran = home.uwf(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(ran.code, Some(69), "{}", ran.transcript());
    let ran = home.uwf(&["thread", "step", &thread, "--reextract", "--agent", "a"]);
    assert_eq!(ran.code, Some(64), "{}", ran.transcript());
}

#[test]
fn readable_answer_needs_no_request() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "---\nn: 1\n---");
    fs::remove_file(home.root().join(".env")).unwrap();
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true, "not even the key is needed");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn without_a_model_the_rung_is_not_there() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "I counted some.");
    home.config("agents:\n  a: { command: talker, output: text }\ndefaultAgent: a\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert_eq!(
        ran.stderr.lines().next(),
        Some(
            format!("error: the answer has no valid output for role `worker`: {NO_HEADER}; the answer reads: I counted some.")
                .as_str()
        )
    );
}

#[test]
fn the_rung_can_be_switched_off() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "I counted some.");
    let settings = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{settings}extract: {{ llm: 0 }}\n"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    assert_eq!(server.requests().len(), 0);
}

/// A reply whose value is of the wrong type.
fn wrong() -> ScriptedAnswer {
    ScriptedAnswer::call("extracted", json!({ "found": true, "why": "", "value": { "n": "three" } }))
}

const NOT_INTEGER: &str = "/n: expected an integer, found the string \"three\"";

#[test]
fn model_gets_one_correction() {
    let server = LlmServer::start([wrong(), found(3)]);
    let (home, thread) = prose(&server, "I counted three of them.");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let rung = |name: &str, errors: &[&str]| json!({ "rung": name, "errors": errors, "fixes": [] });
    let rungs = [rung("frontmatter", &[NO_HEADER]), rung("llm", &[NOT_INTEGER]), rung("llm", &[])];
    assert_eq!(home.last_detail(&thread)["extraction"], json!(rungs));
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert!(text(&asked[1].body["messages"][1], "content").contains(NOT_INTEGER), "{}", asked[1].text);
}

#[test]
fn the_same_error_twice_ends_the_reading() {
    let server = LlmServer::start([wrong().repeated()]);
    let (home, thread) = prose(&server, "I counted three of them.");
    let settings = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{settings}extract: {{ llm: 5 }}\n"));
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    let why = format!("[frontmatter] {NO_HEADER}; [llm] {NOT_INTEGER}; [llm] the same");
    assert!(ran.stderr.contains(&why), "{}", ran.stderr);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn missing_key_is_reported_with_rung() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "I counted some.");
    fs::remove_file(home.root().join(".env")).unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert!(ran.stderr.contains("the key of provider `p` is not set: P_KEY"), "{}", ran.stderr);
}

/// A call of `cas_get`.
fn get(hash: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("cas_get", json!({ "hash": hash }))
}

/// The hash a text has in any store.
fn hash_of(content: &str) -> String {
    text(&home().json(&["cas", "put-text", content]), "hash")
}

/// What the tools answered, of a conversation as it was sent.
fn answers(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// A thread whose agent only says where its result is, and the node that says what it is.
fn referring(server: &LlmServer, content: &str) -> (TestHome, String) {
    let (home, thread) = prose(server, &format!("The result is in {}.", hash_of(content)));
    home.json(&["cas", "put-text", content]);
    (home, thread)
}

#[test]
fn model_looks_up_referenced_nodes() {
    let node = hash_of("the count is three");
    let says = [
        get(&node).and_call("cas_get", json!({ "hash": "0000000000000" })),
        get("the result").and_call("cas_get", json!({ "node": node })),
        found(3),
    ];
    let server = LlmServer::start(says);
    let (home, thread) = referring(&server, "the count is three");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let asked = server.asked();
    let tools: Vec<&Value> =
        asked[0].body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["extracted", "cas_get"]);
    assert_eq!(asked[0].body["tool_choice"], "required");
    assert!(!asked[0].text.contains("the count is three"), "what may be looked up is not sent along");
    let told = answers(&asked[2].body).join("\n");
    insta::assert_snapshot!(told, @r"
    the count is three
    node 0000000000000 does not exist
    `the result` is not a hash: a hash has 13 symbols
    invalid arguments: unknown field `node`, expected `hash`
    ");

    let session = home.last_detail(&thread);
    assert_eq!(session["extractedBy"], "llm");
    let turns = &session["turns"].as_array().unwrap()[1..];
    let calls: Vec<Value> = turns
        .iter()
        .map(|turn| turn["toolCalls"].as_array().unwrap().iter().map(|call| call["name"].clone()).collect())
        .collect();
    assert_eq!(calls, [json!(["cas_get", "cas_get"]), json!(["cas_get", "cas_get"]), json!([])]);
    let call = &turns[0]["toolCalls"][0];
    assert_eq!(
        (&call["arguments"], &call["result"]),
        (&json!(format!("{{\"hash\":\"{node}\"}}")), &json!("the count is three"))
    );
    assert!(turns.iter().all(|turn| turn["tokens"] == json!({ "input": 11, "output": 7 })), "{turns:#?}");
    let input = turns[2]["input"].as_array().unwrap();
    assert_eq!((input.len(), &input[2]), (6, &json!("the count is three")), "what was found is input of what follows");
}

#[test]
fn it_can_whoever_asks_it_to_read() {
    let node = hash_of("the count is three");
    let no = ScriptedAnswer::call("extracted", json!({ "found": false, "why": "no number is given" }));
    let server = LlmServer::start([no, get(&node), found(3), get(&node), found(4)]);
    let (home, thread) = referring(&server, "the count is three");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    assert_eq!(home.json(&["thread", "step", &thread, "--reextract"])["done"], true);
    assert_eq!((runs(&home), answers(&server.asked()[2].body)), (1, vec!["the count is three".to_owned()]));
    let prose = home.file("prose.md", &format!("See {node}."));
    let ran = home.uwf(&["agent", "extract", "count-rounds.worker", prose.to_str().unwrap()]);
    assert_eq!((ran.stdout.as_str(), server.asked().len()), ("{\"n\":4}\n", 5), "{}", ran.transcript());
}

#[test]
fn model_without_tools_gets_referenced_nodes_inline() {
    let script =
        LlmScript::deciding(|_| ScriptedAnswer::text(json!({ "found": true, "value": { "n": 1 } }).to_string()));
    let server = LlmServer::start(script.refusing("tools"));
    let (home, thread) = referring(&server, "the count is one");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let asked = server.asked();
    assert_eq!(asked.len(), 3, "forced tool, tool, schema");
    assert!(asked[2].text.contains("the count is one"), "{}", asked[2].text);
    let input = home.last_detail(&thread)["turns"][1]["input"].as_array().unwrap().clone();
    assert!(input[2].as_str().unwrap().ends_with("which is:\n\nthe count is one"), "{input:#?}");
}

#[test]
fn lookups_have_an_end_and_none_is_endless() {
    let long = "one two three ".repeat(4000);
    let node = hash_of(&long);
    let four = get(&node).and_call("cas_get", json!({ "hash": node })).and_call("cas_get", json!({ "hash": node }));
    let server = LlmServer::start([four.repeated()]);
    let (home, thread) = referring(&server, &long);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert!(ran.stderr.contains("the model `scripted-model` gave no JSON value"), "{}", ran.stderr);
    let asked = server.asked();
    assert_eq!(asked.len(), 10, "five rounds, and each of the five ways of asking once more");
    let told = answers(&asked[5].body);
    assert!(told[..10].iter().all(|answer| answer.len() < 17_000 && answer.contains("bytes cut")), "{told:#?}");
    assert_eq!(told[10..], vec!["not read: 10 nodes were shown, which is the limit"; 5]);
    assert_eq!(asked[5].body["tool_choice"]["function"]["name"], "extracted");
    assert_eq!(runs(&home), 1);
}

#[test]
fn failed_extraction_keeps_its_cost() {
    let usage =
        ScriptedUsage { input: 50, output: 9, cached: Some(20), cache_write: 0, reasoning: None, cost: Some(0.001) };
    let no = ScriptedAnswer::call("extracted", json!({ "found": false, "why": "it is empty" })).usage(usage);
    let server = LlmServer::start([get(&hash_of("nothing")), no]);
    let (home, thread) = referring(&server, "nothing");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    insta::assert_snapshot!(text(&attempt, "stderr").replace(&hash_of("nothing"), "<hash>"), @r#"
    [scripted-model reads the answer]
    {"hash":"<hash>"}
    [cas_get {"hash":"<hash>"}]
    [nothing]
    {"found":false,"why":"it is empty"}
    [scripted-model: 11 tokens read, 7 written]
    [scripted-model: 50 tokens read (20 cached), 9 written, $0.001]
    error: the answer has no valid output for role `worker`: [frontmatter] the header is missing: the answer must begin with `---`, the keys, and `---` again; [llm] the text does not hold the output: it is empty; the answer reads: The result is in <hash>.
    "#);
}

#[test]
fn the_extractor_is_a_tool_of_its_own() {
    let server = LlmServer::start([found(5)]);
    let (home, _) = prose(&server, "unused");
    let schema = home.file("count.json", r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#);
    let schema = schema.to_str().unwrap();
    let answer = home.file("answer.md", "---\nn: 4\n---\nfour\n");
    let answer = answer.to_str().unwrap();
    assert_eq!(home.uwf(&["agent", "extract", schema, answer]).stdout, "{\"n\":4}\n");
    assert_eq!(home.uwf(&["agent", "extract", "count-rounds.worker", answer]).stdout, "{\"n\":4}\n");
    let prose = home.file("prose.md", "There are five.");
    let prose = prose.to_str().unwrap();
    let ran = home.uwf(&["agent", "extract", schema, prose, "--no-llm"]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert!(ran.stderr.contains("the text has no valid output: the header is missing"), "{}", ran.stderr);
    let explained = home.json(&["agent", "extract", schema, prose, "--explain"]);
    assert_eq!((&explained["value"], &explained["extractedBy"]), (&json!({ "n": 5 }), &json!("llm")));
    assert_eq!(explained["rungs"].as_array().unwrap().len(), 2);
    let ran = home.uwf(&["agent", "extract", "count-rounds.nobody", prose]);
    assert_eq!(ran.code, Some(64), "{}", ran.transcript());
    assert!(ran.stderr.contains("its roles: worker"), "{}", ran.stderr);
}
