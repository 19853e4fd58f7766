//! What a dry run shows is what the agent is then sent, whoever the agent is.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{SCRIPTED_ACP, TestHome, repository, text};

use crate::home;

/// A workflow of one role whose output has room for prose.
const JUDGE: &str = "name: judge\ndescription: one verdict\nroles:\n  judge:\n    description: judges\n    goal: Judge.\n    \
    meta: { type: object, properties: { ok: { type: boolean }, why: { type: string } }, required: [ok, why] }\n\
    graph:\n  $START: [ { role: judge } ]\n  judge: [ { role: $END } ]\n";

/// The prompt a dry run shows. It changes no file.
fn shown(home: &TestHome, thread: &str) -> String {
    let before = files(home.root());
    let prompt = text(&home.json(&["thread", "step", thread, "--dry-run"]), "prompt");
    assert_eq!(files(home.root()), before);
    prompt
}

/// All files below a directory, but what can be derived.
fn files(dir: impl AsRef<Path>) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "cache") {
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(entry.path()));
        } else {
            all.push(format!("{} {}", entry.path().display(), entry.metadata().unwrap().len()));
        }
    }
    all.sort();
    all
}

/// A home whose default agent is one with a scripted model.
fn modelled(server: &LlmServer, agent: &str) -> TestHome {
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  a: {{ {agent} }}\ndefaultAgent: a\ndefaultModel: m\nextract: {{ llm: 0 }}\n",
        server.url()
    ));
    home.put("judge", JUDGE);
    home
}

/// What this role says first in a request.
fn first_said(body: &Value, role: &str) -> Option<String> {
    let message = body["messages"].as_array().unwrap().iter().find(|message| message["role"] == role)?;
    message["content"].as_str().map(str::to_owned)
}

#[test]
fn model_prompt_matches_its_answer_format() {
    let value = || ScriptedAnswer::call("submit", json!({ "ok": true, "why": "it is" }));
    let header = || ScriptedAnswer::text("---\nok: true\nwhy: it is\n---\n");
    let agents = [
        ("command: uwf-llm", value(), "Print one JSON object and nothing else"),
        ("command: uwf-llm, config: { structured: json_schema, system: Be fair. }", value(), "Print one JSON object"),
        ("command: uwf-llm, config: { structured: text }", header(), "Begin your answer with"),
        ("command: uwf-react", value(), "Begin your answer with"),
        ("command: uwf-react, output: json", value(), "Print one JSON object"),
    ];
    for (agent, say, form) in agents {
        let server = LlmServer::start([say]);
        let home = modelled(&server, agent);
        let thread = home.start("judge", "is it good?");
        let system = home.json(&["thread", "step", &thread, "--dry-run"])["system"].clone();
        let shown = shown(&home, &thread);
        assert!(shown.contains(form), "{agent}: {shown}");
        home.json(&["thread", "step", &thread]);
        let asked = &server.asked()[0].body;
        assert_eq!(first_said(asked, "user"), Some(shown), "{agent}");
        assert_eq!(first_said(asked, "system"), system.as_str().map(str::to_owned), "{agent}");
    }
}

#[test]
fn a_command_gets_it_on_stdin() {
    for (output, answer) in [("text", "---\nn: 1\n---"), ("json", "{\"n\": 1}")] {
        let home = home();
        home.script("heard", &format!("#!/bin/sh\ncat > heard\ncat <<'END'\n{answer}\nEND\n"));
        home.config(&format!("agents:\n  a: {{ command: heard, output: {output} }}\ndefaultAgent: a\n"));
        let thread = home.start_counting(1, "count the sheep");
        let shown = shown(&home, &thread);
        home.json(&["thread", "step", &thread]);
        assert_eq!(fs::read_to_string(home.work().join("heard")).unwrap(), shown);
    }
}

#[test]
fn a_person_is_shown_the_question() {
    let home = home();
    home.config("agents:\n  a: { command: uwf-human }\ndefaultAgent: a\n");
    home.put("judge", JUDGE);
    let thread = home.start("judge", "is it good?");
    let shown = shown(&home, &thread);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains(&shown), "{shown}\n---\n{}", ran.stderr);
}

#[test]
fn a_child_thread_is_started_with_it() {
    let home = home();
    home.script("says", "#!/bin/sh\necho '{\"ok\": true, \"why\": \"it is\"}'\n");
    home.config(
        "agents:\n  inner: { command: uwf-workflow, args: [judge] }\n  says: { command: says, output: json }\n\
         defaultAgent: says\nagentOverrides: { ask-judge: { judge: inner } }\n",
    );
    home.put("judge", JUDGE);
    home.put("ask-judge", &JUDGE.replace("name: judge", "name: ask-judge"));
    let thread = home.start("ask-judge", "is it good?");
    let shown = shown(&home, &thread);
    home.json(&["thread", "step", &thread]);
    let all = home.json(&["thread", "list", "--all"]);
    let child = all.as_array().unwrap().iter().map(|row| text(row, "thread")).find(|id| *id != thread).unwrap();
    assert_eq!(home.json(&["thread", "eval", &child, "start.prompt"]), Value::from(shown));
}

#[test]
fn document_program_receives_task() {
    let home = home();
    home.script("office-agent", "#!/bin/sh\nprintf %s \"$2\" > ../heard\n: > \"$4\"\n");
    home.config(&fs::read_to_string(repository().join("examples/write-document.config.yaml")).unwrap());
    let example = repository().join("examples/write-document.yaml");
    let task = json!({ "prompt": "a letter", "inputDocx": null }).to_string();
    let thread = text(&home.json(&["thread", "start", example.to_str().unwrap(), "-p", &task]), "thread");
    assert_eq!(shown(&home, &thread), "a letter");
    home.json(&["thread", "step", &thread]);
    assert_eq!(fs::read_to_string(home.root().join("outputs/heard")).unwrap(), "a letter");
}

#[test]
fn protocol_agent_receives_prompt_on_request() {
    let home = home();
    home.script(
        "asks",
        "#!/bin/sh\n\"$UWF_BIN\" agent context \"$1\" \"$2\" --prompt > heard\n\
         \"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}'\n",
    );
    home.config("agents:\n  a: { command: asks }\ndefaultAgent: a\n");
    let thread = home.start_counting(1, "count the stars");
    let shown = shown(&home, &thread);
    home.json(&["thread", "step", &thread]);
    assert_eq!(fs::read_to_string(home.work().join("heard")).unwrap(), shown);
}

#[test]
fn obstacles_to_the_step_are_reported() {
    let server = LlmServer::start([]);
    for (agent, told) in [
        ("command: uwf-llm, config: { structured: magic }", "found \"magic\""),
        ("command: uwf-nobody", "`nobody` is not a built-in agent"),
    ] {
        let home = modelled(&server, agent);
        let thread = home.start("judge", "is it good?");
        let dry = home.uwf(&["thread", "step", &thread, "--dry-run"]);
        assert_eq!(dry.code, Some(78), "{}", dry.transcript());
        assert!(dry.stderr.contains(told), "{}", dry.stderr);
    }
}

mod with_tools {
    use super::*;

    #[test]
    fn prompt_mentions_submit_tool_if_available() {
        for (settings, told) in [("", true), ("mcp: false", false)] {
            let home = home();
            home.script("scripted-acp", SCRIPTED_ACP);
            home.config(&format!(
            "agents:\n  a: {{ command: uwf-acp, args: [scripted-acp], config: {{ {settings} }} }}\ndefaultAgent: a\n"
        ));
            home.file("acp.json", &json!({ "prompts": [[{ "text": "---\nn: 1\n---\n" }]] }).to_string());
            let thread = home.start_counting(1, "count the moons");
            let shown = shown(&home, &thread);
            assert_eq!(shown.contains("`submit`"), told, "{shown}");
            home.json(&["thread", "step", &thread]);
            let heard = fs::read_to_string(home.work().join("heard.jsonl")).unwrap();
            let heard = heard.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let prompt = heard.into_iter().find(|message| message["method"] == "session/prompt").unwrap();
            assert_eq!(prompt["params"]["prompt"][0]["text"], Value::from(shown));
        }
    }
}
