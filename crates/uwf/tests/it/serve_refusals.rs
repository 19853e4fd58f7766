//! Refusals of `uwf serve`: each is the JSON that the documentation describes, whatever is wrong with the request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use uwf_testing::server::{TestServer, TestServerResponse};

use crate::home;

/// Checks that an answer is the documented report of a failure.
fn assert_report(what: &str, status: u16, answer: &TestServerResponse) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{what}: {answer:?}");
    let report = answer.json();
    assert!(report["error"]["message"].as_str().is_some_and(|message| !message.trim().is_empty()), "{what}: {report}");
    assert!(report["error"]["hints"].is_array(), "{what}: {report}");
}

/// Sends bytes that are perhaps no request, and reads to the end of the connection.
fn raw(server: &TestServer, sent: &str) -> TestServerResponse {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may hang up before it has everything.
    let _ = stream.write_all(sent.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {sent:.80}: {text}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers =
        lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let answer = TestServerResponse { status, headers: headers.collect(), body: body.to_owned() };
    assert_eq!(answer.header("content-length"), Some(&*body.len().to_string()), "{answer:?}");
    answer
}

#[test]
fn every_refusal_is_the_documented_report() {
    let home = home();
    let server = TestServer::start(&home, &["--gateway"]);
    let thread = home.start_counting(1, "count");
    let bearer = server.bearer();
    let known = [("authorization", &*bearer), ("content-type", "application/json")];
    let form = [("authorization", &*bearer), ("content-type", "application/x-www-form-urlencoded")];
    let large = "x".repeat(3 << 20);
    let step = format!("/api/threads/{thread}/step");
    let send = |method, path: &str, headers: &[(&str, &str)], body| server.send(method, path, headers, body);
    for (what, status, answer) in [
        ("no JSON", 400, send("POST", &step, &known, "{")),
        ("no object", 400, send("POST", "/api/threads", &known, "[1]")),
        ("a form that is none", 400, send("POST", "/api/threads", &form, "a=%ff")),
        ("a query that is none", 400, send("GET", "/api/threads?limit=many", &known, "")),
        ("a query of a page", 400, send("GET", "/login?next=a&next=b", &[], "")),
        ("a path that is no text", 400, send("GET", "/api/threads/%ff", &known, "")),
        ("a login without a secret", 422, send("POST", "/login", &form, "next=/")),
        ("a login that is no form", 415, send("POST", "/login", &known, "{}")),
        ("no secret", 401, send("GET", "/api/threads", &[], "")),
        ("another scheme", 401, send("GET", "/api/threads", &[("authorization", "Basic eDp5")], "")),
        ("another site", 403, send("POST", "/seen", &[("cookie", &server.cookie())], "")),
        ("no path", 404, send("GET", "/api/nothing", &known, "")),
        ("no path below the API", 404, send("GET", "/api", &known, "")),
        ("no action", 404, send("POST", &format!("/api/threads/{thread}/fly"), &known, "{}")),
        ("no file", 404, send("GET", "/assets/0/none.js", &known, "")),
        ("no machine", 404, send("GET", "/m/nobody/api/threads", &known, "")),
        ("too much JSON", 413, send("POST", &step, &known, &large)),
        ("too large a form", 413, send("POST", &step, &form, &large)),
        ("too large a login", 413, send("POST", "/login", &form, &large)),
        ("another host", 421, send("GET", "/api/threads", &[("host", "evil.example")], "")),
        ("no tunnel", 426, send("GET", "/api/gateway/connect/box", &[("authorization", "bearer x")], "")),
    ] {
        // Without a token of a machine the way of machines says so first.
        let status = if what == "no tunnel" && answer.status == 401 { 401 } else { status };
        assert_report(what, status, &answer);
    }
}

#[test]
fn unsupported_method_is_reported() {
    let home = home();
    let server = TestServer::start(&home, &["--gateway"]);
    let bearer = server.bearer();
    let known = [("authorization", &*bearer)];
    let document = server.get("/api/openapi.json").json();
    let paths: Vec<String> = document["paths"].as_object().unwrap().keys().map(|path| format!("/api{path}")).collect();
    let others =
        ["/", "/login", "/logout", "/threads", "/cost", "/doctor", "/assets/0/x.js", "/seen"].map(str::to_owned);
    for path in paths.into_iter().chain(others) {
        let path =
            path.replace("{thread}", "X").replace("{step}", "X").replace("{hash}", "X").replace("{workflow}", "x");
        for method in ["DELETE", "PUT", "PATCH", "TRACE", "FROB"] {
            let answer = server.send(method, &path, &known, "");
            if answer.status == 404 {
                assert_report(&format!("{method} {path}"), 404, &answer);
                continue;
            }
            assert_report(&format!("{method} {path}"), 405, &answer);
            assert!(answer.header("allow").is_some(), "{method} {path}: {answer:?}");
        }
    }
    assert_eq!(home.uwf(&["api", "POST", "/doctor"]).code, Some(64));
    let reported = home.uwf(&["api", "POST", "/doctor"]);
    assert!(reported.stdout.contains(r#"{"error":{"#), "{reported:?}");
}

#[test]
fn a_request_that_is_no_http_is_reported() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let host = &server.address;
    let long = "x".repeat(70_000);
    for (what, status, sent) in [
        ("no request", 400, "frob\r\n\r\n".to_owned()),
        ("a bad header", 400, format!("GET / HTTP/1.1\r\nhost: {host}\r\nno header\r\n\r\n")),
        ("a bad length", 400, format!("POST /api/threads HTTP/1.1\r\nhost: {host}\r\ncontent-length: x\r\n\r\n")),
        ("a long path", 414, format!("GET /{long} HTTP/1.1\r\nhost: {host}\r\n\r\n")),
        ("long headers", 431, format!("GET / HTTP/1.1\r\nhost: {host}\r\n{}\r\n", format!("a: {long}\r\n").repeat(10))),
        ("many headers", 431, format!("GET / HTTP/1.1\r\nhost: {host}\r\n{}\r\n", "a: b\r\n".repeat(200))),
        ("no host", 421, "GET /api/threads HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned()),
        ("the older HTTP", 421, "GET /api/threads HTTP/1.0\r\n\r\n".to_owned()),
    ] {
        assert_report(what, status, &raw(&server, &sent));
    }
    // And after an answered request.
    let ok = format!("GET /login HTTP/1.1\r\nhost: {host}\r\n\r\n");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(format!("{ok}frob\r\n\r\n").as_bytes()).unwrap();
    let mut both = String::new();
    stream.read_to_string(&mut both).unwrap();
    assert!(both.starts_with("HTTP/1.1 200") && both.contains("HTTP/1.1 400") && both.ends_with("}}"), "{both}");
}

#[test]
fn too_many_wrong_secrets_are_reported() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let wrong = || server.send("GET", "/api/threads", &[("authorization", "bearer wrong")], "");
    for _ in 0..5 {
        assert_report("a wrong secret", 401, &wrong());
    }
    let refused = wrong();
    assert_report("too many", 429, &refused);
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
}

#[test]
fn browser_gets_html_page_for_each_refusal() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let browser = [("cookie", &*server.cookie()), ("accept", "text/html")];
    for (status, path) in [(405, "/threads"), (404, "/nothing"), (400, "/login?next=a&next=b")] {
        let method = if status == 405 { "DELETE" } else { "GET" };
        let origin = format!("http://{}", server.address);
        let answer = server.send(method, path, &[&browser[..], &[("origin", &origin)]].concat(), "");
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.body.contains("<h1>") && answer.body.contains("role=\"alert\""), "{answer:?}");
    }
}

#[test]
fn bearer_scheme_is_case_insensitive() {
    let home = home();
    let server = TestServer::start(&home, &["--gateway"]);
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        for blanks in [" ", "   "] {
            let given = format!("{scheme}{blanks}{}", server.secret);
            let answer = server.send("GET", "/api/threads", &[("authorization", &given)], "");
            assert_eq!((answer.status, answer.json()), (200, json!([])), "{given}");
        }
    }
    let glued = format!("Bearer{}", server.secret);
    assert_eq!(server.send("GET", "/api/threads", &[("authorization", &glued)], "").status, 401);
}
