//! A model that looks something up before it gives its value.

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_llm::{
    ChatMessage, ChatTool, ChatToolCall, LlmClient, LlmUsage, LlmWireFormat, LookupTools, ModeCache, ReplyDelta,
    StructuredError, StructuredMode, StructuredValue, ValueSpec, structured, structured_with_lookups,
};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};

use crate::setting::{WIRES, ask, streamed, talk};

/// A shelf of two books.
#[derive(Default)]
struct Shelf {
    rounds: u32,
    asked: Vec<String>,
}

impl Shelf {
    fn of(rounds: u32) -> Shelf {
        Shelf { rounds, asked: Vec::new() }
    }
}

impl LookupTools for Shelf {
    fn tools(&self) -> Vec<ChatTool> {
        let parameters = json!({ "type": "object", "properties": { "title": { "type": "string" } } });
        vec![ChatTool { name: "open_book".to_owned(), description: "Opens a book.".to_owned(), parameters }]
    }

    fn look_up(&mut self, call: &ChatToolCall) -> Result<String, String> {
        let title = call.parsed()?.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.asked.push(title.clone());
        match title.as_str() {
            "tides" => Ok("high at six".to_owned()),
            "winds" => Ok("from the west".to_owned()),
            other => Err(format!("there is no book `{other}`")),
        }
    }

    fn instead(&self) -> Option<String> {
        Some("The tides: high at six.".to_owned())
    }

    fn max_rounds(&self) -> u32 {
        self.rounds
    }
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "hour": { "type": "integer" } }, "required": ["hour"] })
}

fn modes(dir: &TempDir) -> ModeCache {
    ModeCache::new(dir.path().join("modes.json"))
}

fn look(client: &LlmClient, shelf: &mut Shelf) -> Result<StructuredValue, StructuredError> {
    let dir = TempDir::new().unwrap();
    look_with(client, &modes(&dir), shelf)
}

fn look_with(client: &LlmClient, modes: &ModeCache, shelf: &mut Shelf) -> Result<StructuredValue, StructuredError> {
    let schema = schema();
    let shape = ValueSpec { name: "tell", description: "The hour.", schema: &schema, mode: None };
    structured_with_lookups(client, modes, &ask("When is high tide?"), &shape, shelf, &mut |_| {})
}

fn open(title: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("open_book", json!({ "title": title }))
}

fn hour() -> ScriptedAnswer {
    ScriptedAnswer::call("tell", json!({ "hour": 6 }))
}

/// How each request asked for calls.
fn choices(server: &LlmServer) -> Vec<Value> {
    server.asked().iter().map(|request| request.body["tool_choice"].clone()).collect()
}

/// The messages of a request after the question, a line each.
fn conversation(server: &LlmServer, request: usize) -> String {
    let body = server.asked()[request].body.clone();
    let messages = body["messages"].as_array().unwrap();
    messages[1..].iter().map(|message| format!("{message}\n")).collect()
}

#[test]
fn lookup_results_are_returned_and_value_follows() {
    for wire in WIRES {
        let says = [open("tides").and_call("open_book", json!({ "title": "moons" })), open("winds"), hour()];
        let (server, client) = talk(wire, says);
        let mut shelf = Shelf::of(3);
        let got = look(&client, &mut shelf).unwrap();
        assert_eq!((got.value, got.mode), (json!({ "hour": 6 }), StructuredMode::ForcedTool), "{wire:?}");
        assert_eq!(shelf.asked, ["tides", "moons", "winds"]);
        // Three replies were paid for, and each is there with what it looked up.
        assert_eq!(got.usage, Some(LlmUsage { input: Some(33), output: Some(21), ..LlmUsage::default() }));
        let found: Vec<Vec<Result<String, String>>> = got
            .attempts
            .iter()
            .map(|attempt| attempt.looked_up.iter().map(|looked_up| looked_up.result.clone()).collect())
            .collect();
        let tides = Ok("high at six".to_owned());
        let moons = Err("there is no book `moons`".to_owned());
        assert_eq!(found, [vec![tides, moons], vec![Ok("from the west".to_owned())], vec![]]);
        assert!(got.attempts.iter().all(|attempt| attempt.error.is_none() && attempt.reply.is_some()));
        let added: Vec<usize> = got.attempts.iter().map(|attempt| attempt.added.len()).collect();
        assert_eq!(added, [0, 3, 5]);
        assert!(matches!(&got.attempts[2].added[4], ChatMessage::Tool { content, .. } if content == "from the west"));
        let names: Vec<Value> = server.asked()[0].body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool.get("function").unwrap_or(tool)["name"].clone())
            .collect();
        assert_eq!(names, ["tell", "open_book"]);
    }
}

#[test]
fn results_travel_in_the_form_of_the_wire() {
    let says = || [open("tides").and_call("open_book", json!({ "title": "moons" })), hour()];
    let (server, client) = talk(LlmWireFormat::OpenAi, says());
    look(&client, &mut Shelf::of(3)).unwrap();
    assert_eq!(choices(&server), ["required", "required"]);
    insta::assert_snapshot!(conversation(&server, 1), @r#"
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"open_book","arguments":"{\"title\":\"tides\"}"}},{"id":"call_1_1","type":"function","function":{"name":"open_book","arguments":"{\"title\":\"moons\"}"}}]}
    {"role":"tool","tool_call_id":"call_1_0","content":"high at six"}
    {"role":"tool","tool_call_id":"call_1_1","content":"there is no book `moons`"}
    "#);
    let (server, client) = talk(LlmWireFormat::Anthropic, says());
    look(&client, &mut Shelf::of(3)).unwrap();
    assert_eq!(choices(&server), [json!({ "type": "any" }), json!({ "type": "any" })]);
    insta::assert_snapshot!(conversation(&server, 1), @r#"
    {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1_0","name":"open_book","input":{"title":"tides"}},{"type":"tool_use","id":"toolu_1_1","name":"open_book","input":{"title":"moons"}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1_0","content":"high at six"},{"type":"tool_result","tool_use_id":"toolu_1_1","content":"there is no book `moons`","is_error":true,"cache_control":{"type":"ephemeral"}}]}
    "#);
}

#[test]
fn value_is_forced_after_last_lookup_round() {
    for wire in WIRES {
        let (server, client) = talk(wire, [open("tides"), open("winds"), hour()]);
        look(&client, &mut Shelf::of(2)).unwrap();
        let forced = match wire {
            LlmWireFormat::OpenAi => json!({ "type": "function", "function": { "name": "tell" } }),
            LlmWireFormat::Anthropic => json!({ "type": "tool", "name": "tell" }),
        };
        assert_eq!(choices(&server)[2], forced);
        assert!(conversation(&server, 2).contains("Nothing more can be looked up. Call `tell` now."));
        assert!(!conversation(&server, 1).contains("Nothing more"));
    }
}

#[test]
fn endless_lookups_cost_bounded_requests() {
    let (server, client) = talk(LlmWireFormat::OpenAi, [open("tides").repeated()]);
    let mut shelf = Shelf::of(3);
    let failed = look(&client, &mut shelf).unwrap_err();
    assert_eq!(failed.to_string(), "the model `test-model` gave no JSON value");
    // Three rounds in all, then one reply without a value in each of the modes.
    assert_eq!((server.asked().len(), shelf.asked.len()), (3 + StructuredMode::LADDER.len(), 3));
    assert_eq!(failed.attempts.len(), server.asked().len());
}

#[test]
fn a_value_beside_a_lookup_is_not_taken() {
    let guess = open("tides").and_call("tell", json!({ "hour": 9 }));
    let (server, client) = talk(LlmWireFormat::OpenAi, [guess, hour()]);
    let got = look(&client, &mut Shelf::of(3)).unwrap();
    assert_eq!(got.value, json!({ "hour": 6 }));
    assert_eq!(got.attempts[0].looked_up.len(), 1);
    let sent = conversation(&server, 1);
    assert!(
        sent.contains("not accepted, because it came before the results of the lookups; call `tell` again"),
        "{sent}"
    );
}

#[test]
fn invalid_arguments_and_unknown_tools_are_reported() {
    let broken = ScriptedAnswer::text("").and_call_as_written("open_book", "{title").and_call("close_book", json!({}));
    let (server, client) = talk(LlmWireFormat::OpenAi, [broken, hour()]);
    look(&client, &mut Shelf::of(3)).unwrap();
    let sent = conversation(&server, 1);
    assert!(sent.contains("the arguments can't be read: bad JSON at line 1, column 2"), "{sent}");
    assert!(sent.contains("unknown tool `close_book`"), "{sent}");
}

#[test]
fn model_without_tools_gets_material_as_text() {
    for wire in WIRES {
        for refused in [&["tools"][..], &["tools", "json_schema"], &["tools", "json_schema", "json_object"]] {
            let script = LlmScript::deciding(|_| ScriptedAnswer::text("{\"hour\": 6}"));
            let script = refused.iter().fold(script, |script, feature| script.refusing(feature));
            let (server, client) = talk(wire, script);
            let mut shelf = Shelf::of(3);
            let got = look(&client, &mut shelf).unwrap();
            assert_eq!((got.value, shelf.asked.len()), (json!({ "hour": 6 }), 0));
            let asked = server.asked();
            assert!(!asked[0].text.contains("high at six") && !asked[1].text.contains("high at six"));
            let last = &asked[asked.len() - 1];
            assert!(last.body.get("tools").is_none() && last.text.contains("high at six"), "{}", last.text);
        }
    }
}

#[test]
fn mode_with_lookups_is_remembered_separately() {
    let dir = TempDir::new().unwrap();
    let modes = modes(&dir);
    let script = LlmScript::deciding(|request| {
        let forced = request.body["tool_choice"] == "required";
        if forced { ScriptedAnswer::status(422, "tool_choice: one tool only") } else { hour() }
    });
    let (server, client) = talk(LlmWireFormat::OpenAi, script);
    let got = look_with(&client, &modes, &mut Shelf::of(3)).unwrap();
    assert_eq!(got.mode, StructuredMode::ToolAuto);
    assert_eq!(choices(&server), ["required", "auto"]);
    assert_eq!(modes.get(client.endpoint(), true), Some(StructuredMode::ToolAuto));
    assert_eq!(modes.get(client.endpoint(), false), None);
    // Next time nothing is refused, and without lookups the model is still forced.
    look_with(&client, &modes, &mut Shelf::of(3)).unwrap();
    assert_eq!(server.asked().len(), 3);
    let schema = schema();
    let shape = ValueSpec { name: "tell", description: "The hour.", schema: &schema, mode: None };
    let got = structured(&client, &modes, &ask("When?"), &shape, &mut |_| {}).unwrap();
    assert_eq!(got.mode, StructuredMode::ForcedTool);
    assert_eq!(modes.get(client.endpoint(), true), Some(StructuredMode::ToolAuto));
}

#[test]
fn lookups_begin_with_the_mode_without_them() {
    let dir = TempDir::new().unwrap();
    let modes = modes(&dir);
    let (server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("{\"hour\": 6}")]);
    modes.remember(client.endpoint(), false, StructuredMode::JsonSchema).unwrap();
    assert_eq!(look_with(&client, &modes, &mut Shelf::of(3)).unwrap().mode, StructuredMode::JsonSchema);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn value_is_streamed_and_discarded_pieces_are_announced() {
    for wire in WIRES {
        let (_server, client) = talk(wire, [open("tides"), ScriptedAnswer::text("Six."), hour()]);
        let mut pieces = String::new();
        let dir = TempDir::new().unwrap();
        let schema = schema();
        let shape = ValueSpec { name: "tell", description: "The hour.", schema: &schema, mode: None };
        let mut hear = |delta: ReplyDelta<'_>| match delta {
            ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) => pieces.push_str(text),
            ReplyDelta::Call { name, arguments } => pieces.push_str(&format!("{name}{arguments}")),
            ReplyDelta::Restart => pieces.push_str(" | "),
        };
        let got =
            structured_with_lookups(&client, &modes(&dir), &streamed("When?"), &shape, &mut Shelf::of(1), &mut hear);
        assert_eq!(got.unwrap().mode, StructuredMode::ToolAuto);
        assert_eq!(pieces, "open_book{\"title\":\"tides\"}Six. | tell{\"hour\":6}", "{wire:?}");
    }
}
