//! What a failure says.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use uwf_llm::{Error, LlmClient, LlmTimeoutKind, LlmTimeouts, LlmWireFormat, ModelEndpoint, RetryLimits};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use crate::setting::{KEY, WIRES, ask, endpoint, retry, streamed, talk, timeouts};

/// The error of one try, as a person sees it: sentence and hint, the address as `URL`.
fn told(wire: LlmWireFormat, say: ScriptedAnswer) -> String {
    let server = LlmServer::start([say]);
    let client = LlmClient::new(endpoint(&server, wire), timeouts(), RetryLimits::never()).unwrap();
    shown(&client.chat(&ask("go")).unwrap_err(), &server)
}

fn shown(error: &Error, server: &LlmServer) -> String {
    let hint = error.hint().unwrap_or_else(|| "-".to_owned());
    format!("{error}\n  → {hint}\n").replace(&server.origin(), "URL")
}

#[test]
fn failures_report_cause_place_and_remedy() {
    let html = "<html><body>502 Bad Gateway</body></html>";
    let says = || {
        [
            ScriptedAnswer::status(400, "messages: too long"),
            ScriptedAnswer::status(401, &format!("Incorrect API key provided: {KEY}")),
            ScriptedAnswer::status(403, "not in your country"),
            ScriptedAnswer::status(404, "the model `test-model` does not exist"),
            ScriptedAnswer::status(429, "slow down"),
            ScriptedAnswer::status(529, "Overloaded"),
            ScriptedAnswer::raw(502, "text/html", html),
            ScriptedAnswer::raw(500, "text/plain", ""),
            ScriptedAnswer::raw(422, "application/json", r#"{"detail":[{"loc":["body"],"msg":"extra field"}]}"#),
            ScriptedAnswer::raw(400, "application/json", r#"[{"error":{"code":400,"message":"API key not valid"}}]"#),
            ScriptedAnswer::raw(200, "application/json", r#"{"error":{"code":429,"message":"quota"}}"#),
            ScriptedAnswer::raw(200, "text/html", "<html>hello</html>"),
            ScriptedAnswer::raw(200, "application/json", r#"{"hello":1}"#),
            ScriptedAnswer::raw(302, "text/plain", "").header("location", "https://elsewhere.example/v1"),
            ScriptedAnswer::hang_up(),
            ScriptedAnswer::text("hello").cut_after(30),
        ]
    };
    let all: String = says().map(|say| told(LlmWireFormat::OpenAi, say)).concat();
    insta::assert_snapshot!(all, @r"
    URL/v1/chat/completions answered 400: messages: too long
      → -
    URL/v1/chat/completions refuses access (401): Incorrect API key provided: ***
      → check the key in the variable that `apiKeyEnv` of the provider names
    URL/v1/chat/completions refuses access (403): not in your country
      → check the permissions of the account and the key
    URL/v1/chat/completions answered 404: the model `test-model` does not exist
      → check the model's name and `baseUrl` (usually it ends in /v1)
    URL/v1/chat/completions answered 429: slow down
      → check the account's limits and credit, or wait and try again
    URL/v1/chat/completions answered 529: Overloaded
      → this is a fault of the provider; try again later or use another model
    URL/v1/chat/completions answered 502: <html><body>502 Bad Gateway</body></html>
      → this is a fault of the provider; try again later or use another model
    URL/v1/chat/completions answered 500: no explanation
      → this is a fault of the provider; try again later or use another model
    URL/v1/chat/completions answered 422: extra field
      → -
    URL/v1/chat/completions answered 400: API key not valid
      → -
    URL/v1/chat/completions answered 429: quota
      → check the account's limits and credit, or wait and try again
    the reply of URL/v1/chat/completions cannot be read: it is not JSON (expected value at line 1 column 1)
      → check `baseUrl` and `kind` of the provider
    the reply of URL/v1/chat/completions cannot be read: it has no message
      → check `baseUrl` and `kind` of the provider
    URL/v1/chat/completions answered 302: no explanation
      → `baseUrl` redirects; use the address it redirects to
    cannot talk to URL/v1/chat/completions: it closed the connection before it was done
      → check that the endpoint is up and that `baseUrl` of the provider is right
    the reply of URL/v1/chat/completions was cut: it closed the connection before it was done
      → this is a fault of the provider; try again later or use another model
    ");
    // The same on the other wire, but for the path and the word for what is missing.
    let other: String = says().map(|say| told(LlmWireFormat::Anthropic, say)).concat();
    let other = other.replace("/messages", "/chat/completions").replace("no content", "no message");
    assert_eq!(other, all);
}

#[test]
fn errors_never_contain_echoed_key() {
    let echo = format!("you sent {KEY}");
    for wire in WIRES {
        let says = [
            ScriptedAnswer::status(400, &echo),
            ScriptedAnswer::status(401, &echo),
            ScriptedAnswer::status(500, &echo),
            ScriptedAnswer::raw(503, "text/plain", echo.clone()),
            ScriptedAnswer::raw(200, "text/plain", echo.clone()),
            ScriptedAnswer::raw(200, "application/json", format!(r#"{{"error":"{echo}"}}"#)),
            ScriptedAnswer::raw(200, "application/json", format!(r#"{{"echo":"{echo}"}}"#)),
            ScriptedAnswer::raw(200, "text/event-stream", format!("data: {echo}\n\n")),
            ScriptedAnswer::raw(
                200,
                "text/event-stream",
                format!("data: {{\"error\":{{\"message\":\"{echo}\"}}}}\n\n"),
            ),
        ];
        for say in says {
            let server = LlmServer::start([say]);
            let client = LlmClient::new(endpoint(&server, wire), timeouts(), RetryLimits::never()).unwrap();
            let error = client.chat(&streamed("go")).unwrap_err();
            let all = format!("{error} {error:?} {:?} {}", error.hint(), error.partial());
            assert!(!all.contains(KEY), "{all}");
            assert!(all.contains("you sent ***"), "{all}");
        }
    }
}

#[test]
fn a_user_in_the_address_is_not_shown() {
    let server = LlmServer::start([ScriptedAnswer::status(400, "no")]);
    let base = server.url().replace("http://", "http://me:hidden@");
    let client = LlmClient::new(ModelEndpoint::new(&base, "m"), timeouts(), RetryLimits::never()).unwrap();
    let error = client.chat(&ask("go")).unwrap_err();
    assert_eq!(error.to_string(), format!("{}/chat/completions answered 400: no", server.url()));
    assert!(!format!("{error:?} {client:?}").contains("hidden"), "{error:?} {client:?}");
}

#[test]
fn unreachable_servers_are_reported_as_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = LlmClient::new(ModelEndpoint::new(&format!("http://{free}/v1"), "m"), timeouts(), retry()).unwrap();
    let error = client.chat(&ask("go")).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot talk to http://{free}/v1/chat/completions: ")), "{error}");
    assert!(matches!(error, Error::Connect { .. }), "{error:?}");
    let client =
        LlmClient::new(ModelEndpoint::new("http://no-such-host.invalid/v1", "m"), timeouts(), RetryLimits::never())
            .unwrap();
    let error = client.models().unwrap_err();
    assert!(error.to_string().starts_with("cannot talk to http://no-such-host.invalid/v1/models: "), "{error}");
}

#[test]
fn a_handshake_that_hangs_is_a_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    let waits = LlmTimeouts { connect: Duration::from_millis(150), ..timeouts() };
    let client = LlmClient::new(ModelEndpoint::new(&base, "m"), waits, RetryLimits::never()).unwrap();
    let error = client.chat(&ask("go")).unwrap_err();
    assert!(matches!(error, Error::Timeout { which: LlmTimeoutKind::Connect, .. }), "{error:?}");
    // It did begin: what came is the client's part of the handshake.
    let mut first = [0; 1];
    listener.accept().unwrap().0.read_exact(&mut first).unwrap();
    assert_eq!(first, [0x16]);
}

#[test]
fn https_to_plain_server_is_connection_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
        stream
    });
    let client = LlmClient::new(ModelEndpoint::new(&base, "m"), timeouts(), RetryLimits::never()).unwrap();
    let error = client.chat(&ask("go")).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot talk to {base}/chat/completions: ")), "{error}");
    drop(server.join());
}

#[test]
fn a_long_error_page_is_cut() {
    let (_server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::raw(400, "text/plain", "ä".repeat(100_000))]);
    let error = client.chat(&ask("go")).unwrap_err();
    let Error::Status { message, body, .. } = &error else { panic!("{error:?}") };
    assert_eq!(message.chars().count(), 601);
    assert_eq!(body.chars().count(), 601);
}
