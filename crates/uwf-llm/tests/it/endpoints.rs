//! Where requests go, and lists of models.

use uwf_llm::{Client, Endpoint, Error, Retry, Secret, Timeouts, Wire};
use uwf_testing::llm_server::{LlmServer, Say, Script};

use crate::setting::{KEY, WIRES, ask, client, retry, talk, timeouts};

#[test]
fn the_wire_is_told_from_the_host() {
    let wire = |url: &str| Endpoint::new(url, "m").wire;
    assert_eq!(wire("https://api.anthropic.com"), Wire::Anthropic);
    assert_eq!(wire("https://user@API.anthropic.com:443/v1/"), Wire::Anthropic);
    assert_eq!(wire("https://api.anthropic.com.example.org/v1"), Wire::OpenAi);
    assert_eq!(wire("http://localhost:11434/v1"), Wire::OpenAi);
    assert_eq!("Anthropic".parse(), Ok(Wire::Anthropic));
    assert_eq!("openai".parse(), Ok(Wire::OpenAi));
    assert_eq!(
        "gemini".parse::<Wire>().unwrap_err(),
        "`gemini` is not a kind of provider; there are `openai` and `anthropic`"
    );
}

#[test]
fn base_urls_are_used_as_given() {
    let path = |wire: Wire, suffix: &str| {
        let server = LlmServer::start([Say::text("hi")]);
        let endpoint = Endpoint::new(&format!("{}{suffix}", server.origin()), "m").wire(wire);
        Client::new(endpoint, timeouts(), retry()).unwrap().chat(&ask("hi")).unwrap();
        server.requests()[0].path.clone()
    };
    assert_eq!(path(Wire::OpenAi, "/v1/"), "/v1/chat/completions");
    assert_eq!(path(Wire::OpenAi, "/api/paas/v4"), "/api/paas/v4/chat/completions");
    assert_eq!(path(Wire::OpenAi, ""), "/chat/completions");
    assert_eq!(path(Wire::Anthropic, ""), "/v1/messages");
    assert_eq!(path(Wire::Anthropic, "/v1"), "/v1/messages");
    assert_eq!(path(Wire::Anthropic, "/anthropic//"), "/anthropic/v1/messages");
}

#[test]
fn models_are_listed_from_both_wires() {
    for wire in WIRES {
        let (server, client) = talk(wire, Script::new([]).with_models(["small", "large"]));
        assert_eq!(client.models().unwrap(), ["small", "large"]);
        assert_eq!(server.requests()[0].method, "GET");
        assert!(server.requests()[0].headers.iter().any(|(_, value)| value.contains(KEY)));
    }
}

#[test]
fn invalid_url_is_rejected_before_sending() {
    for url in ["api.example.org/v1", "ftp://example.org", ""] {
        let error = Client::new(Endpoint::new(url, "m"), Timeouts::default(), Retry::never()).unwrap_err();
        assert!(matches!(error, Error::Endpoint { .. }), "{error:?}");
    }
}

#[test]
fn empty_key_sends_no_header() {
    let server = LlmServer::start([Say::text("hi").repeated()]);
    for key in ["", "  \n"] {
        let endpoint = Endpoint::new(&server.url(), "m").api_key(key);
        assert_eq!(endpoint.api_key, None);
        Client::new(endpoint, timeouts(), retry()).unwrap().chat(&ask("hi")).unwrap();
    }
    assert!(server.requests().iter().all(|request| request.header("authorization").is_none()));
}

#[test]
fn connections_are_used_again() {
    let (server, client) = talk(Wire::OpenAi, [Say::text("one"), Say::text("two"), Say::hang_up(), Say::text("three")]);
    for expected in ["one", "two", "three"] {
        assert_eq!(client.chat(&ask("go")).unwrap().text, expected);
    }
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn a_key_shows_nowhere() {
    let secret = Secret::new(&format!(" {KEY}\n"));
    assert_eq!(secret.reveal(), KEY);
    assert_eq!(format!("{secret:?} {secret}"), "Secret(***) ***");
    assert_eq!(secret.redact(&format!("bad key {KEY}!")), "bad key ***!");
    // A word that is no key would garble every text.
    assert_eq!(Secret::new("x").redact("x-ray"), "x-ray");
    let server = LlmServer::start([]);
    assert!(!format!("{:?}", client(&server, Wire::OpenAi)).contains(KEY));
}
