//! The server as a client that is not ours sees it: bytes over TCP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer, ScriptedUsage};

/// A connection that is kept open.
pub(crate) struct Caller {
    reader: BufReader<TcpStream>,
}

impl Caller {
    pub(crate) fn new(base: &str) -> Caller {
        let address = base.trim_start_matches("http://").split('/').next().unwrap();
        Caller { reader: BufReader::new(TcpStream::connect(address).unwrap()) }
    }

    /// Sends bytes; returns status and body.
    fn call(&mut self, request: &str) -> (u16, String) {
        self.reader.get_mut().write_all(request.as_bytes()).unwrap();
        let status = self.line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = None;
        loop {
            let header = self.line().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            length = header.strip_prefix("content-length: ").map(|length| length.parse().unwrap()).or(length);
        }
        let body = match length {
            Some(length) => self.bytes(length),
            None => self.chunks(),
        };
        (status, body)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> (u16, String) {
        let body = body.to_string();
        self.call(&format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    pub(crate) fn get(&mut self, path: &str) -> (u16, String) {
        self.call(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    }

    fn chunks(&mut self) -> String {
        let mut all = String::new();
        loop {
            let size = usize::from_str_radix(&self.line(), 16).unwrap();
            all.push_str(&self.bytes(size));
            self.line();
            if size == 0 {
                return all;
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

pub(crate) fn parsed(answer: (u16, String)) -> Value {
    assert_eq!(answer.0, 200, "{}", answer.1);
    serde_json::from_str(&answer.1).unwrap()
}

#[test]
fn one_script_serves_every_wire_over_one_connection() {
    let server = LlmServer::start([ScriptedAnswer::text("hi").repeated()]);
    let mut caller = Caller::new(&server.url());
    let body = json!({ "model": "m" });
    assert_eq!(parsed(caller.post("/v1/chat/completions", &body))["choices"][0]["message"]["content"], "hi");
    assert_eq!(parsed(caller.post("/v1/messages", &body))["content"][0]["text"], "hi");
    assert_eq!(parsed(caller.post("/v1/responses", &body))["output"][0]["content"][0]["text"], "hi");
    assert_eq!(parsed(caller.get("/v1/models"))["data"][0]["id"], "scripted-model");
    assert_eq!(caller.get("/api/tags").0, 404);
    assert_eq!(server.requests().len(), 5);
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn chunked_bodies_and_those_that_wait_are_read() {
    let server = LlmServer::start([ScriptedAnswer::text("one"), ScriptedAnswer::text("two")]);
    let mut caller = Caller::new(&server.url());
    let head = "POST /v1/chat/completions HTTP/1.1\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{\"a\":\r\n2\r\n1}}\r\n0\r\n\r\n");
    assert_eq!(caller.call(&chunked).0, 200);
    let waiting = format!("{head}Expect: 100-continue\r\nContent-Length: 7\r\n\r\n{{\"a\":2}}");
    // First the leave to continue, which has no body and no headers.
    caller.reader.get_mut().write_all(waiting.as_bytes()).unwrap();
    assert_eq!(caller.line(), "HTTP/1.1 100 Continue");
    assert_eq!(caller.line(), "");
    assert_eq!(caller.call("").0, 200);
    let bodies: Vec<Value> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [json!({ "a": 1 }), json!({ "a": 2 })]);
}

#[test]
fn answers_with_a_condition_wait_for_their_request() {
    let title = ScriptedAnswer::text("a title").only_if("Name this conversation");
    let server = LlmServer::start([title, ScriptedAnswer::text("first"), ScriptedAnswer::text("second")]);
    let mut caller = Caller::new(&server.url());
    let mut ask = |text: &str| {
        let body = json!({ "messages": [{ "role": "user", "content": text }] });
        caller.post("/v1/chat/completions", &body)
    };
    let said = |answer: (u16, String)| parsed(answer)["choices"][0]["message"]["content"].clone();
    assert_eq!(said(ask("work")), "first");
    assert_eq!(said(ask("Name this conversation.")), "a title");
    assert_eq!(said(ask("more work")), "second");
    let (status, body) = ask("too much");
    assert_eq!(status, 418);
    assert!(body.contains("no answer left"), "{body}");
}

#[test]
fn rejected_requests_consume_no_answer() {
    let server = LlmServer::start(LlmScript::new([ScriptedAnswer::text("hi")]).refusing("tools"));
    let mut caller = Caller::new(&server.url());
    assert_eq!(caller.post("/v1/chat/completions", &json!({ "tools": [] })).0, 400);
    assert_eq!(caller.post("/v1/chat/completions", &json!({})).0, 200);
}

#[test]
fn responses_stream_the_events_its_clients_wait_for() {
    let usage = ScriptedUsage { input: 9, output: 4, cached: Some(3), cache_write: 0, reasoning: Some(1), cost: None };
    let say = ScriptedAnswer::text("I look.").and_call("shell", json!({ "command": ["ls"] })).usage(usage);
    let server = LlmServer::start([say]);
    let (_, text) = Caller::new(&server.url()).post("/v1/responses", &json!({ "model": "m", "stream": true }));
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(events[8]["item"]["call_id"], "call_1_0");
    assert_eq!(events[8]["item"]["arguments"], r#"{"command":["ls"]}"#);
    let told = &events[9]["response"]["usage"];
    assert_eq!((&told["input_tokens"], &told["input_tokens_details"]["cached_tokens"]), (&json!(9), &json!(3)));
}

#[test]
fn it_ends_when_it_is_dropped() {
    let server = LlmServer::start([ScriptedAnswer::text("never all").stalling_after(3)]);
    let base = server.url();
    let mut caller = Caller::new(&base);
    caller.reader.get_mut().write_all(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}").unwrap();
    assert_eq!(caller.line(), "HTTP/1.1 200 Scripted");
    drop(server);
    assert!(TcpStream::connect(base.trim_start_matches("http://").trim_end_matches("/v1")).is_err());
    // The connection that hung is closed too.
    caller.reader.read_to_end(&mut Vec::new()).unwrap_or_default();
}

#[test]
fn gemini_answers_whole_or_streamed_by_path() {
    let say = || ScriptedAnswer::text("one two").and_call("count", json!({ "n": 1 }));
    let server = LlmServer::start([say(), say()]);
    let mut caller = Caller::new(&server.url());
    let (status, body) = caller.post("/v1beta/models/m:generateContent", &json!({ "contents": [] }));
    let body: Value = serde_json::from_str(&body).unwrap();
    let parts = json!([{ "text": "one two" }, { "functionCall": { "name": "count", "args": { "n": 1 } } }]);
    assert_eq!((status, &body["candidates"][0]["content"]["parts"]), (200, &parts));
    assert_eq!(body["usageMetadata"]["totalTokenCount"], 18);
    let (_, events) = caller.post("/v1beta/models/m:streamGenerateContent?alt=sse", &json!({ "contents": [] }));
    let events: Vec<Value> =
        events.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let told: String = events
        .iter()
        .flat_map(|event| event["candidates"][0]["content"]["parts"].as_array().unwrap())
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert_eq!(told, "one two");
    assert!(events.len() > 1 && events.last().unwrap()["candidates"][0]["finishReason"] == "STOP", "{events:?}");
    assert_eq!(server.asked().len(), 2);
}
