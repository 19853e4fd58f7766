//! Where requests go, and lists of models.

use uwf_llm::{Error, LlmApiKey, LlmClient, LlmTimeouts, LlmWireFormat, ModelEndpoint, RetryLimits};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};

use crate::setting::{KEY, WIRES, ask, client, retry, talk, timeouts};

#[test]
fn host_decides_the_wire_format() {
    let wire = |url: &str| ModelEndpoint::new(url, "m").wire;
    assert_eq!(wire("https://api.anthropic.com"), LlmWireFormat::Anthropic);
    assert_eq!(wire("https://user@API.anthropic.com:443/v1/"), LlmWireFormat::Anthropic);
    assert_eq!(wire("https://api.anthropic.com.example.org/v1"), LlmWireFormat::OpenAi);
    assert_eq!(wire("http://localhost:11434/v1"), LlmWireFormat::OpenAi);
    assert_eq!("Anthropic".parse(), Ok(LlmWireFormat::Anthropic));
    assert_eq!("openai".parse(), Ok(LlmWireFormat::OpenAi));
    assert_eq!(
        "gemini".parse::<LlmWireFormat>().unwrap_err(),
        "`gemini` is not a kind of provider; there are `openai` and `anthropic`"
    );
}

#[test]
fn base_urls_are_used_as_given() {
    let path = |wire: LlmWireFormat, suffix: &str| {
        let server = LlmServer::start([ScriptedAnswer::text("hi")]);
        let endpoint = ModelEndpoint::new(&format!("{}{suffix}", server.origin()), "m").wire(wire);
        LlmClient::new(endpoint, timeouts(), retry()).unwrap().chat(&ask("hi")).unwrap();
        server.requests()[0].path.clone()
    };
    assert_eq!(path(LlmWireFormat::OpenAi, "/v1/"), "/v1/chat/completions");
    assert_eq!(path(LlmWireFormat::OpenAi, "/api/paas/v4"), "/api/paas/v4/chat/completions");
    assert_eq!(path(LlmWireFormat::OpenAi, ""), "/chat/completions");
    assert_eq!(path(LlmWireFormat::Anthropic, ""), "/v1/messages");
    assert_eq!(path(LlmWireFormat::Anthropic, "/v1"), "/v1/messages");
    assert_eq!(path(LlmWireFormat::Anthropic, "/anthropic//"), "/anthropic/v1/messages");
}

#[test]
fn models_are_listed_from_both_wires() {
    for wire in WIRES {
        let (server, client) = talk(wire, LlmScript::new([]).with_models(["small", "large"]));
        assert_eq!(client.models().unwrap(), ["small", "large"]);
        assert_eq!(server.requests()[0].method, "GET");
        assert!(server.requests()[0].headers.iter().any(|(_, value)| value.contains(KEY)));
    }
}

#[test]
fn invalid_url_is_rejected_before_sending() {
    for url in ["api.example.org/v1", "ftp://example.org", ""] {
        let error =
            LlmClient::new(ModelEndpoint::new(url, "m"), LlmTimeouts::default(), RetryLimits::never()).unwrap_err();
        assert!(matches!(error, Error::Endpoint { .. }), "{error:?}");
    }
}

#[test]
fn empty_key_sends_no_header() {
    let server = LlmServer::start([ScriptedAnswer::text("hi").repeated()]);
    for key in ["", "  \n"] {
        let endpoint = ModelEndpoint::new(&server.url(), "m").api_key(key);
        assert_eq!(endpoint.api_key, None);
        LlmClient::new(endpoint, timeouts(), retry()).unwrap().chat(&ask("hi")).unwrap();
    }
    assert!(server.requests().iter().all(|request| request.header("authorization").is_none()));
}

#[test]
fn connections_are_used_again() {
    let (server, client) = talk(
        LlmWireFormat::OpenAi,
        [
            ScriptedAnswer::text("one"),
            ScriptedAnswer::text("two"),
            ScriptedAnswer::hang_up(),
            ScriptedAnswer::text("three"),
        ],
    );
    for expected in ["one", "two", "three"] {
        assert_eq!(client.chat(&ask("go")).unwrap().text, expected);
    }
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn a_key_shows_nowhere() {
    let secret = LlmApiKey::new(&format!(" {KEY}\n"));
    assert_eq!(secret.reveal(), KEY);
    assert_eq!(format!("{secret:?} {secret}"), "Secret(***) ***");
    assert_eq!(secret.redact(&format!("bad key {KEY}!")), "bad key ***!");
    // Any other word than a key would garble every text.
    assert_eq!(LlmApiKey::new("x").redact("x-ray"), "x-ray");
    let server = LlmServer::start([]);
    assert!(!format!("{:?}", client(&server, LlmWireFormat::OpenAi)).contains(KEY));
}
