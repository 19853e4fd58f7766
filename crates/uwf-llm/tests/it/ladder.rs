//! One JSON value out of models that can do more or less.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_llm::{
    ChatMessage, ChatRequest, Error, LlmClient, LlmTimeoutKind, LlmTimeouts, LlmUsage, LlmWireFormat, ModeCache,
    RetryLimits, StructuredError, StructuredMode, StructuredValue, ValueSpec, structured,
};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};

use crate::setting::{WIRES, ask, endpoint, streamed, talk, timeouts};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "verdict": { "type": "string" }, "note": { "type": "string" } },
        "required": ["verdict"]
    })
}

/// A directory for a cache, and asking through it.
struct Setting {
    dir: TempDir,
}

impl Setting {
    fn new() -> Setting {
        Setting { dir: TempDir::new().unwrap() }
    }

    fn cache(&self) -> ModeCache {
        ModeCache::new(self.dir.path().join("deep/structured.json"))
    }

    fn ask(
        &self,
        client: &LlmClient,
        schema: &Value,
        mode: Option<StructuredMode>,
    ) -> Result<StructuredValue, StructuredError> {
        let shape = ValueSpec { name: "submit", description: "The verdict.", schema, mode };
        let request = ChatRequest { temperature: Some(0.0), ..ask("Judge.") };
        structured(client, &self.cache(), &request, &shape, &mut |_| {})
    }
}

/// A model that understands nothing but the modes from `best` down, and answers in the way it was asked.
fn model(best: StructuredMode) -> LlmScript {
    let refused: &[&str] = match best {
        StructuredMode::ForcedTool => &[],
        StructuredMode::ToolAuto => &["tool_choice"],
        StructuredMode::JsonSchema => &["tools"],
        StructuredMode::JsonObject => &["tools", "json_schema"],
        StructuredMode::PlainText => &["tools", "json_schema", "json_object"],
    };
    let script = LlmScript::deciding(|request| {
        let answer = json!({ "verdict": "good", "note": null });
        if request.body.get("tools").is_some() {
            ScriptedAnswer::call("submit", answer)
        } else {
            ScriptedAnswer::text(answer.to_string())
        }
    });
    refused.iter().fold(script, |script, feature| script.refusing(feature))
}

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn modes(server: &LlmServer) -> usize {
    server.asked().len()
}

#[test]
fn the_ladder_is_stepped_down_once_and_remembered() {
    for wire in WIRES {
        for best in StructuredMode::LADDER {
            if wire == LlmWireFormat::Anthropic && best == StructuredMode::JsonObject {
                continue;
            }
            let setting = Setting::new();
            let (server, client) = talk(wire, model(best));
            let got = setting.ask(&client, &schema(), None).unwrap();
            assert_eq!(got.value, json!({ "verdict": "good" }), "{wire:?} {best}");
            assert_eq!(got.mode, best);
            assert_eq!(got.usage, Some(LlmUsage { input: Some(11), output: Some(7), ..LlmUsage::default() }));
            let tried = modes(&server);
            assert_eq!(got.attempts.len(), tried);
            assert!(got.attempts[..tried - 1].iter().all(|attempt| attempt.error.is_some() && attempt.reply.is_none()));
            assert_eq!(setting.cache().get(client.endpoint(), false), Some(best));
            // The second time nothing is refused.
            assert_eq!(setting.ask(&client, &schema(), None).unwrap().attempts.len(), 1);
            assert_eq!(modes(&server), tried + 1);
        }
    }
}

#[test]
fn each_mode_asks_in_its_way() {
    let mut asked = String::new();
    for mode in StructuredMode::LADDER {
        let setting = Setting::new();
        let (server, client) = talk(LlmWireFormat::OpenAi, model(StructuredMode::ForcedTool));
        setting.ask(&client, &schema(), Some(mode)).unwrap();
        let body = &server.asked()[0].body;
        let messages = body["messages"].as_array().unwrap();
        asked.push_str(&format!("{mode}\n"));
        for message in &messages[1..] {
            asked.push_str(&format!("  message {message}\n"));
        }
        for field in ["tools", "tool_choice", "response_format", "temperature"] {
            if let Some(value) = body.get(field) {
                asked.push_str(&format!("  {field} {value}\n"));
            }
        }
    }
    insta::assert_snapshot!(asked, @r#"
    tool
      tools [{"type":"function","function":{"name":"submit","description":"The verdict.","parameters":{"type":"object","properties":{"verdict":{"type":"string"},"note":{"type":"string"}},"required":["verdict"]}}}]
      tool_choice {"type":"function","function":{"name":"submit"}}
      temperature 0.0
    tool_auto
      message {"role":"user","content":"Give your answer by calling the tool `submit`, exactly once."}
      tools [{"type":"function","function":{"name":"submit","description":"The verdict.","parameters":{"type":"object","properties":{"verdict":{"type":"string"},"note":{"type":"string"}},"required":["verdict"]}}}]
      tool_choice "auto"
      temperature 0.0
    json_schema
      response_format {"type":"json_schema","json_schema":{"name":"submit","schema":{"type":"object","properties":{"verdict":{"type":"string"},"note":{"type":["string","null"]}},"required":["verdict","note"],"additionalProperties":false},"strict":true}}
      temperature 0.0
    json_object
      message {"role":"user","content":"Answer with one JSON value that is valid under this JSON Schema, and with nothing else:\n\n{\"type\":\"object\",\"properties\":{\"verdict\":{\"type\":\"string\"},\"note\":{\"type\":\"string\"}},\"required\":[\"verdict\"]}"}
      response_format {"type":"json_object"}
      temperature 0.0
    text
      message {"role":"user","content":"Answer with one JSON value that is valid under this JSON Schema, and with nothing else:\n\n{\"type\":\"object\",\"properties\":{\"verdict\":{\"type\":\"string\"},\"note\":{\"type\":\"string\"}},\"required\":[\"verdict\"]}"}
      temperature 0.0
    "#);
}

#[test]
fn anthropic_forces_tool_by_name() {
    let (server, client) = talk(LlmWireFormat::Anthropic, model(StructuredMode::ForcedTool));
    Setting::new().ask(&client, &schema(), None).unwrap();
    assert_eq!(server.asked()[0].body["tool_choice"], json!({ "type": "tool", "name": "submit" }));
}

#[test]
fn reply_without_call_is_parsed_or_retried_differently() {
    let setting = Setting::new();
    let (_server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("```json\n{\"verdict\":\"good\"}\n```")]);
    let got = setting.ask(&client, &schema(), None).unwrap();
    assert_eq!((got.value, got.mode), (json!({ "verdict": "good" }), StructuredMode::ForcedTool));
    let says = [
        ScriptedAnswer::text("I think it is good."),
        ScriptedAnswer::text("Good!"),
        ScriptedAnswer::text("{\"verdict\":\"good\"}"),
    ];
    let (_server, client) = talk(LlmWireFormat::OpenAi, says);
    let got = setting.ask(&client, &schema(), None).unwrap();
    assert_eq!(got.mode, StructuredMode::JsonSchema);
    // Three replies were paid for.
    assert_eq!(got.usage.unwrap().input, Some(33));
    assert!(matches!(got.attempts[0].error, Some(Error::NoValue { .. })));
    assert!(got.attempts[0].reply.is_some());
}

#[test]
fn arguments_that_are_json_twice_are_read() {
    let twice = json!(json!({ "verdict": "good" }).to_string()).to_string();
    let (_server, client) =
        talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("").and_call_as_written("submit", twice)]);
    let got = Setting::new().ask(&client, &schema(), None).unwrap();
    assert_eq!(got.value, json!({ "verdict": "good" }));
}

#[test]
fn non_object_value_is_wrapped_in_object() {
    let list =
        json!({ "type": "array", "items": { "$ref": "#/$defs/word" }, "$defs": { "word": { "type": "string" } } });
    let (server, client) =
        talk(LlmWireFormat::OpenAi, [ScriptedAnswer::call("submit", json!({ "value": ["a", "b"] }))]);
    let got = Setting::new().ask(&client, &list, None).unwrap();
    assert_eq!(got.value, json!(["a", "b"]));
    let sent = &server.asked()[0].body["tools"][0]["function"]["parameters"];
    let expected = json!({
        "type": "object",
        "$defs": { "word": { "type": "string" } },
        "properties": { "value": { "type": "array", "items": { "$ref": "#/$defs/word" } } },
        "required": ["value"]
    });
    assert_eq!(sent, &expected);
    for (mode, text) in [
        (StructuredMode::JsonObject, "{\"value\":[\"a\"]}"),
        (StructuredMode::PlainText, "[\"a\"]"),
        (StructuredMode::JsonSchema, "[\"a\"]"),
    ] {
        let (_server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text(text)]);
        let got = Setting::new().ask(&client, &list, Some(mode)).unwrap();
        assert_eq!(got.value, json!(["a"]), "{mode}");
    }
}

#[test]
fn schema_outside_subset_is_sent_unchanged() {
    let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let (server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("{\"a\":\"b\"}")]);
    Setting::new().ask(&client, &open, Some(StructuredMode::JsonSchema)).unwrap();
    let format = &server.asked()[0].body["response_format"]["json_schema"];
    assert_eq!((&format["strict"], &format["schema"]), (&json!(false), &open));
}

#[test]
fn configured_mode_is_only_one_tried() {
    let setting = Setting::new();
    let (server, client) = talk(LlmWireFormat::OpenAi, model(StructuredMode::PlainText));
    let failed = setting.ask(&client, &schema(), Some(StructuredMode::JsonObject)).unwrap_err();
    assert_eq!(failed.error.status(), Some(400));
    assert_eq!(modes(&server), 1);
    setting.ask(&client, &schema(), Some(StructuredMode::PlainText)).unwrap();
    assert_eq!(setting.cache().get(client.endpoint(), false), None);
    assert_eq!("json_object".parse(), Ok(StructuredMode::JsonObject));
    assert!("xml".parse::<StructuredMode>().unwrap_err().contains("tool, tool_auto, json_schema, json_object, text"));
}

#[test]
fn each_status_of_a_refusal_steps_down() {
    for wire in WIRES {
        for code in [400, 404, 422] {
            let says = [
                ScriptedAnswer::status(code, "no such thing here"),
                ScriptedAnswer::call("submit", json!({ "verdict": "good" })),
            ];
            let (_server, client) = talk(wire, says);
            let got = Setting::new().ask(&client, &schema(), None).unwrap();
            assert_eq!((got.mode, got.attempts.len()), (StructuredMode::ToolAuto, 2), "{wire:?} {code}");
            assert_eq!(got.attempts[0].error.as_ref().unwrap().status(), Some(code));
        }
    }
}

#[test]
fn transient_errors_are_retried_before_stepping_down() {
    for wire in WIRES {
        let says = [
            ScriptedAnswer::status(429, "slow down").header("retry-after", "0"),
            ScriptedAnswer::status(529, "overloaded"),
            ScriptedAnswer::call("submit", json!({ "verdict": "good" })),
        ];
        let (server, client) = talk(wire, says);
        let got = Setting::new().ask(&client, &schema(), None).unwrap();
        // The tries are the client's business; here it is one exchange.
        assert_eq!((got.mode, got.attempts.len(), modes(&server)), (StructuredMode::ForcedTool, 1, 3), "{wire:?}");
    }
}

#[test]
fn idle_timeout_tolerates_slow_value_but_not_silence() {
    for wire in WIRES {
        let slow = || ScriptedAnswer::call("submit", json!({ "verdict": "good" })).thinking("hm").pausing(millis(120));
        let server = LlmServer::start([slow(), slow().stalling_after(4)]);
        let limits = LlmTimeouts { idle: millis(400), ..timeouts() };
        let client = LlmClient::new(endpoint(&server, wire), limits, RetryLimits::never()).unwrap();
        let schema = schema();
        let shape = ValueSpec { name: "submit", description: "", schema: &schema, mode: None };
        let setting = Setting::new();
        let mut pieces = 0;
        let begun = Instant::now();
        let got = structured(&client, &setting.cache(), &streamed("Judge."), &shape, &mut |_| pieces += 1).unwrap();
        assert_eq!(got.value, json!({ "verdict": "good" }));
        assert!(begun.elapsed() > limits.idle && pieces >= 4, "{wire:?}: {pieces} pieces in {:?}", begun.elapsed());
        let failed = structured(&client, &setting.cache(), &streamed("Judge."), &shape, &mut |_| {}).unwrap_err();
        assert!(
            matches!(*failed.error, Error::Timeout { which: LlmTimeoutKind::Idle, .. }),
            "{wire:?}: {:?}",
            failed.error
        );
    }
}

#[test]
fn other_errors_end_at_once() {
    for (say, tries) in [(ScriptedAnswer::status(401, "who?"), 1), (ScriptedAnswer::status(503, "busy").repeated(), 4)]
    {
        let (server, client) = talk(LlmWireFormat::OpenAi, [say]);
        let failed = Setting::new().ask(&client, &schema(), None).unwrap_err();
        assert!(failed.error.status().is_some());
        assert_eq!(modes(&server), tries);
        assert_eq!(failed.attempts.len(), 1);
    }
}

#[test]
fn total_failure_keeps_every_attempt_and_invents_nothing() {
    let setting = Setting::new();
    let (_server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("I cannot say.").repeated()]);
    let failed = setting.ask(&client, &schema(), None).unwrap_err();
    assert_eq!(failed.to_string(), "the model `test-model` gave no JSON value");
    assert_eq!(failed.error.partial(), "I cannot say.");
    assert_eq!(failed.attempts.iter().map(|attempt| attempt.mode).collect::<Vec<_>>(), StructuredMode::LADDER);
    assert!(failed.attempts.iter().all(|attempt| attempt.reply.is_some()));
    assert_eq!(setting.cache().get(client.endpoint(), false), None);
}

#[test]
fn reply_cut_at_limit_is_reported_as_truncated() {
    let cut = ScriptedAnswer::text("").and_call_as_written("submit", "{\"verdict\": \"go").cut_at_max_tokens();
    for wire in WIRES {
        let (server, client) = talk(wire, [cut.clone()]);
        let failed = Setting::new().ask(&client, &schema(), None).unwrap_err();
        assert!(matches!(*failed.error, Error::Truncated { .. }), "{failed:?}");
        assert_eq!(modes(&server), 1);
    }
}

#[test]
fn the_cache_survives_anything() {
    let setting = Setting::new();
    let cache = setting.cache();
    let (_server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("{\"verdict\":\"x\"}").repeated()]);
    let path = setting.dir.path().join("deep/structured.json");
    fs::create_dir(setting.dir.path().join("deep")).unwrap();
    for broken in ["", "{", "[]", "null", "{\"http\": 3}", &format!("{{\"{}\": []}}", client.endpoint().base_url)] {
        fs::write(&path, broken).unwrap();
        assert_eq!(cache.get(client.endpoint(), false), None, "{broken}");
        cache.remember(client.endpoint(), false, StructuredMode::JsonObject).unwrap();
        assert_eq!(cache.get(client.endpoint(), false), Some(StructuredMode::JsonObject), "{broken}");
    }
    // Nothing but the one file is left.
    assert_eq!(fs::read_dir(setting.dir.path().join("deep")).unwrap().count(), 1);
    // If it cannot be written, the reading does not fail.
    let nowhere = ModeCache::new(path.join("below/a/file.json"));
    let schema = schema();
    let shape = ValueSpec { name: "submit", description: "", schema: &schema, mode: None };
    structured(&client, &nowhere, &ask("Judge."), &shape, &mut |_| {}).unwrap();
}

#[test]
fn conversation_is_kept_without_its_own_tools() {
    let (server, client) = talk(LlmWireFormat::OpenAi, model(StructuredMode::ForcedTool));
    let other = uwf_llm::ChatTool { name: "other".to_owned(), description: String::new(), parameters: json!({}) };
    let messages = vec![ChatMessage::System("Be fair.".to_owned()), ChatMessage::User("Judge.".to_owned())];
    let request = ChatRequest { tools: vec![other], ..ChatRequest::new(messages) };
    let schema = schema();
    let shape = ValueSpec { name: "submit", description: "", schema: &schema, mode: None };
    structured(&client, &Setting::new().cache(), &request, &shape, &mut |_| {}).unwrap();
    let body = &server.asked()[0].body;
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"][0]["function"]["name"], "submit");
}
