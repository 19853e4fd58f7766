//! What is tried again, when, and for how long.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use uwf_llm::{Error, LlmClient, LlmTimeoutKind, LlmTimeouts, LlmWireFormat, RetryLimits};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use crate::setting::{WIRES, ask, endpoint, retry, streamed, talk, timeouts};

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[test]
fn transient_errors_are_retried() {
    for wire in WIRES {
        let mut says: Vec<ScriptedAnswer> =
            [408, 429, 500, 502, 503, 529].map(|code| ScriptedAnswer::status(code, "later")).into();
        says.push(ScriptedAnswer::hang_up());
        says.push(ScriptedAnswer::text("cut").cut_after(20));
        for say in says {
            let (server, client) = talk(wire, [say.clone(), say.clone(), ScriptedAnswer::text("at last")]);
            assert_eq!(client.chat(&ask("go")).unwrap().text, "at last", "{say:?}");
            let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
            assert_eq!(bodies.len(), 3);
            assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }
}

/// Gateways answer so when the model behind them gave nothing.
#[test]
fn a_reply_without_choices_is_tried_again() {
    let whole =
        || ScriptedAnswer::raw(200, "application/json", r#"{"id":"x","object":"chat.completion","choices":[]}"#);
    let pieces =
        || ScriptedAnswer::raw(200, "text/event-stream", "data: {\"id\":\"x\",\"choices\":[]}\n\ndata: [DONE]\n\n");
    for say in [whole(), pieces()] {
        for request in [ask("go"), streamed("go")] {
            let (server, client) =
                talk(LlmWireFormat::OpenAi, [say.clone(), say.clone(), ScriptedAnswer::text("at last")]);
            assert_eq!(client.chat(&request).unwrap().text, "at last");
            assert_eq!(server.requests().len(), 3);
        }
        let (_server, client) = talk(LlmWireFormat::OpenAi, [say.repeated()]);
        let error = client.chat(&ask("go")).unwrap_err();
        assert!(matches!(error, Error::NoChoice { .. }), "{error:?}");
        assert!(error.to_string().ends_with("answered without any choice") && error.hint().is_some(), "{error}");
    }
}

#[test]
fn permanent_errors_are_not_retried() {
    for wire in WIRES {
        for code in [400, 401, 402, 403, 404, 413, 422] {
            let (server, client) = talk(wire, [ScriptedAnswer::status(code, "no"), ScriptedAnswer::text("never")]);
            assert_eq!(client.chat(&ask("go")).unwrap_err().status(), Some(code));
            assert_eq!(server.requests().len(), 1, "{code}");
        }
    }
}

#[test]
fn retries_are_counted_and_each_is_reported() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let telling = Arc::clone(&told);
    let (server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::status(503, "busy").repeated()]);
    let client = client.on_retry(move |retrying| {
        let line = format!("{}/{} {:?}", retrying.attempt, retrying.of, retrying.error.status());
        telling.lock().push(line);
    });
    assert_eq!(client.chat(&ask("go")).unwrap_err().status(), Some(503));
    assert_eq!(server.requests().len(), 4);
    assert_eq!(*told.lock(), ["1/4 Some(503)", "2/4 Some(503)", "3/4 Some(503)"]);
}

#[test]
fn partial_reply_survives_later_empty_attempts() {
    let silence = || ScriptedAnswer::text("never").after(Duration::from_mins(1));
    for later in ["silent", "unreachable", "down", "closed"] {
        let say = match later {
            "silent" => silence(),
            "unreachable" => ScriptedAnswer::hang_up(),
            "down" => ScriptedAnswer::status(503, "down"),
            _ => ScriptedAnswer::status(401, "no key"),
        };
        for (wire, pieces) in [(LlmWireFormat::OpenAi, 3), (LlmWireFormat::Anthropic, 5)] {
            let half = ScriptedAnswer::text("").chunks(["The half ", "of it", " all"]).cut_after(pieces);
            let server = LlmServer::start([half, say.clone().repeated()]);
            let limits = LlmTimeouts { idle: millis(400), ..timeouts() };
            let client = LlmClient::new(endpoint(&server, wire), limits, retry()).unwrap();
            let error = client.chat(&streamed("go")).unwrap_err();
            let seen = match &error {
                Error::Timeout { which: LlmTimeoutKind::Idle, .. } => "silent",
                Error::Connect { .. } => "unreachable",
                Error::Status { code: 503, .. } => "down",
                Error::Auth { .. } => "closed",
                _ => "another",
            };
            assert_eq!(seen, later, "{error:?}");
            assert_eq!(error.partial(), "The half of it", "{error:?}");
        }
    }
}

#[test]
fn retry_after_is_honoured_if_short() {
    for (header, expected) in [("0", 0), ("0.02", 20), ("soon", 1)] {
        let waits: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let telling = Arc::clone(&waits);
        let server = LlmServer::start([
            ScriptedAnswer::status(429, "slow").header("Retry-After", header),
            ScriptedAnswer::text("ok"),
        ]);
        let patient = RetryLimits { longest_retry_after: millis(60), ..retry() };
        let client = LlmClient::new(endpoint(&server, LlmWireFormat::OpenAi), timeouts(), patient)
            .unwrap()
            .on_retry(move |retrying| telling.lock().push(retrying.wait));
        let begun = Instant::now();
        client.chat(&ask("go")).unwrap();
        assert!(begun.elapsed() >= waits.lock()[0]);
        let told = waits.lock().clone();
        assert!(told.len() == 1 && told[0] <= millis(expected), "{header}: {told:?}");
        assert!(header == "soon" || told[0] == millis(expected), "{header}: {told:?}");
    }
}

#[test]
fn provider_is_not_asked_before_long_limit_ends() {
    for header in ["3600", "Wed, 21 Oct 2065 07:28:00 GMT"] {
        let limited =
            ScriptedAnswer::status(429, "slow").header("Retry-After", header).header("X-RateLimit-Reset", "9");
        let server = LlmServer::start([limited, ScriptedAnswer::text("never")]);
        let patient = RetryLimits { longest_retry_after: millis(60), ..retry() };
        let client = LlmClient::new(endpoint(&server, LlmWireFormat::OpenAi), timeouts(), patient).unwrap();
        let Err(Error::Status { code: 429, limits, .. }) = client.chat(&ask("go")) else { panic!("{header}") };
        assert_eq!(server.asked().len(), 1, "{header}");
        assert!(limits.all.contains(&("x-ratelimit-reset".to_owned(), "9".to_owned())), "{limits:?}");
        assert!(limits.all.contains(&("retry-after".to_owned(), header.to_owned())), "{limits:?}");
    }
}

#[test]
fn a_wait_beyond_the_total_is_not_begun() {
    let server = LlmServer::start([
        ScriptedAnswer::status(429, "slow").header("retry-after", "30"),
        ScriptedAnswer::text("never"),
    ]);
    let limits = LlmTimeouts { total: Duration::from_secs(20), ..timeouts() };
    let client = LlmClient::new(endpoint(&server, LlmWireFormat::OpenAi), limits, RetryLimits::default()).unwrap();
    let begun = Instant::now();
    let error = client.chat(&ask("go")).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(15));
    let wanted = Duration::from_secs(30);
    assert!(
        matches!(&error, Error::Status { code: 429, limits, .. } if limits.retry_after == Some(wanted)),
        "{error:?}"
    );
}

#[test]
fn silence_is_an_idle_timeout_and_tried_again() {
    for wire in WIRES {
        let slow = || ScriptedAnswer::text("late").after(Duration::from_secs(8));
        let server = LlmServer::start([slow(), ScriptedAnswer::text("quick")]);
        let limits = LlmTimeouts { idle: millis(300), ..timeouts() };
        let client = LlmClient::new(endpoint(&server, wire), limits, retry()).unwrap();
        assert_eq!(client.chat(&ask("go")).unwrap().text, "quick");
        let server = LlmServer::start([slow()]);
        let client = LlmClient::new(endpoint(&server, wire), limits, RetryLimits::never()).unwrap();
        let error = client.chat(&ask("go")).unwrap_err();
        assert!(matches!(error, Error::Timeout { which: LlmTimeoutKind::Idle, .. }), "{error:?}");
    }
}

#[test]
fn trickle_avoids_idle_timeout_but_not_total() {
    let server = LlmServer::start([ScriptedAnswer::text("drop by drop").trickling(8, millis(20)).repeated()]);
    let limits = LlmTimeouts { idle: Duration::from_secs(5), ..timeouts() };
    let client = LlmClient::new(endpoint(&server, LlmWireFormat::OpenAi), limits, retry()).unwrap();
    assert_eq!(client.chat(&ask("go")).unwrap().text, "drop by drop");
    let limits = LlmTimeouts { total: millis(250), ..limits };
    let client = LlmClient::new(endpoint(&server, LlmWireFormat::OpenAi), limits, retry()).unwrap();
    let error = client.chat(&ask("go")).unwrap_err();
    assert!(matches!(error, Error::Timeout { which: LlmTimeoutKind::Total, .. }), "{error:?}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn backoff_doubles_to_limit_and_varies_by_half() {
    let seconds = Duration::from_secs;
    let retry = RetryLimits { attempts: 40, longest_wait: seconds(30), ..RetryLimits::default() };
    let error = Error::Connect { url: String::new(), reason: String::new(), partial: String::new() };
    let waits =
        |chance: f64| [1, 2, 3, 4, 5, 6, 39].map(|attempt| retry.wait(&error, attempt, chance).unwrap().as_millis());
    assert_eq!(waits(1.0), [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    assert_eq!(waits(0.0), [500, 1000, 2000, 4000, 8000, 15000, 15000]);
    assert_eq!(retry.wait(&error, 40, 1.0), None);
    assert_eq!(RetryLimits::never().wait(&error, 1, 1.0), None);
}

#[test]
fn retry_after_may_be_seconds_or_a_date() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
    let read = |text: &str| uwf_llm::retry::retry_after(text, now);
    assert_eq!(read(" 7 "), Some(Duration::from_secs(7)));
    assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
    assert_eq!(read("Sun, 06 Nov 1994 08:40:00 GMT"), Some(Duration::ZERO));
    for nonsense in ["", "-1", "NaN", "inf", "tomorrow", "99999999999999999999999999"] {
        assert!(read(nonsense).is_none_or(|wait| wait > Duration::from_secs(1 << 40)), "{nonsense}");
    }
}

#[test]
fn unsupported_parameters_are_omitted() {
    let request = uwf_llm::ChatRequest { max_tokens: Some(900), temperature: Some(0.0), ..ask("go") };
    let script = [
        ScriptedAnswer::status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ScriptedAnswer::status(400, "Unsupported value: 'temperature' does not support 0 with this model."),
        ScriptedAnswer::text("fine"),
    ];
    let (server, client) = talk(LlmWireFormat::OpenAi, script);
    assert_eq!(client.chat(&request).unwrap().text, "fine");
    let last = &server.requests()[2].body;
    assert_eq!(last["max_completion_tokens"], 900);
    assert!(last.get("max_tokens").is_none() && last.get("temperature").is_none());
    let refusal =
        "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for test-model-20250101";
    let (server, client) =
        talk(LlmWireFormat::Anthropic, [ScriptedAnswer::status(400, refusal), ScriptedAnswer::text("fine")]);
    assert_eq!(client.chat(&ask("go")).unwrap().text, "fine");
    let limits: Vec<_> = server.requests().iter().map(|request| request.body["max_tokens"].clone()).collect();
    assert_eq!(limits, [16384, 8192]);
    // Refused for good: no more tries than there are fields to leave out.
    let (server, client) =
        talk(LlmWireFormat::OpenAi, [ScriptedAnswer::status(400, "temperature and max_tokens are wrong").repeated()]);
    assert_eq!(client.chat(&request).unwrap_err().status(), Some(400));
    assert_eq!(server.requests().len(), 2);
}
