//! Outputs that reference missing nodes.

use std::fs;

use serde_json::json;
use uwf_testing::{TestHome, text};

use crate::fixtures::mocked::mock;
use crate::home;

const MISSING: &str = "0123456789ABC";

const WORKFLOW: &str = "\
name: list-files
roles:
  coder:
    goal: List what you wrote.
    meta:
      type: object
      required: [files]
      properties: { files: { type: array, items: { type: string, format: cas_ref } } }
graph:
  $START: [ { role: coder } ]
  coder: [ { role: $END } ]
";

fn coder(home: &TestHome, settings: &str, script: &str) -> String {
    home.script("coder", script);
    home.config(&format!("agents:\n  c: {{ command: coder, {settings} }}\ndefaultAgent: c\n"));
    home.put("list-files", WORKFLOW);
    home.start("list-files", "list them")
}

fn no_node(key: &str) -> String {
    format!("{key}: no node {MISSING} is stored")
}

#[test]
fn missing_node_makes_an_answer_unfit() {
    let answers = [
        ("output: json", format!("cat > /dev/null; echo '{{\"files\": [\"{MISSING}\"]}}'")),
        ("output: text", format!("cat > /dev/null; printf -- '---\\nfiles: [{MISSING}]\\n---\\nDone.\\n'")),
        ("output: step", format!("\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{{\"files\": [\"{MISSING}\"]}}'")),
    ];
    for (settings, answer) in answers {
        let home = home();
        let thread = coder(&home, settings, &format!("#!/bin/sh\n{answer}\n"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{settings}: {}", ran.transcript());
        assert!(ran.stderr.contains(&no_node("/files/0")), "{settings}: {}", ran.stderr);
        // A model can't find the node either.
        assert!(ran.stderr.contains("store its content first (`uwf cas put-text`)"), "{settings}: {}", ran.stderr);
        assert!(!ran.stderr.contains("model"), "{settings}: {}", ran.stderr);
        // The thread is not wedged: the next attempt runs the agent again.
        let stored = text(&home.json(&["cas", "put-text", "a file"]), "hash");
        home.script("coder", &format!("#!/bin/sh\n{}\n", answer.replace(MISSING, &stored)));
        let stepped = home.json(&["thread", "step", &thread]);
        assert_eq!(stepped["done"], true, "{settings}: {stepped}");
    }
}

#[test]
fn feedback_names_the_missing_node() {
    let home = home();
    home.put("list-files", WORKFLOW);
    let script = format!(
        "coder:\n  - garbage: \"---\\nfiles: [{MISSING}]\\n---\\n\"\n    feedback: [\"---\\nfiles: []\\n---\\n\"]\n"
    );
    mock(&home, "", &script);
    let thread = home.start("list-files", "list them");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let session = home.last_detail(&thread);
    let asked = session["turns"][1]["input"][0].as_str().unwrap();
    assert!(asked.contains(&no_node("/files/0")), "{asked}");
}

#[test]
fn submit_tool_refuses_a_missing_node() {
    let home = home();
    let call = |files: &str| {
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "submit", "arguments": { "files": [files] } } })
    };
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
                        "params": { "protocolVersion": "2025-06-18", "capabilities": {} } });
    let lines = format!("{begin}\n{}\n", call(MISSING));
    fs::create_dir_all(home.work()).unwrap();
    fs::write(home.work().join("calls"), lines).unwrap();
    let thread = coder(
        &home,
        "output: json",
        "#!/bin/sh\ncat > /dev/null\n\"$UWF_BIN\" agent mcp \"$UWF_THREAD\" \"$UWF_ROLE\" < calls > answers\necho '{\"files\": []}'\n",
    );
    let stepped = home.json(&["thread", "step", &thread]);
    let answers = fs::read_to_string(home.work().join("answers")).unwrap();
    assert!(answers.contains("not accepted") && answers.contains(&no_node("/files/0")), "{answers}");
    assert_eq!(stepped["done"], true);
    assert_eq!(home.last_step(&thread)["output"], json!({ "files": [] }));
}

#[test]
fn missing_node_is_reported_to_the_person() {
    let home = home();
    home.put("list-files", WORKFLOW);
    home.config("agents:\n  h: { command: uwf-human }\ndefaultAgent: h\n");
    let thread = home.start("list-files", "list them");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let data = format!("{{\"files\": [\"{MISSING}\"]}}");
    let ran = home.uwf(&["thread", "answer", &thread, "--data", &data]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert!(ran.stderr.contains(&no_node("/files/0")), "{}", ran.stderr);
    assert!(ran.stderr.contains("store its content first (`uwf cas put-text`)"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("model"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "waiting");
}
