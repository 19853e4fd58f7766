//! `uwf serve`: who is let in, and what everybody gets who is.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::server::{TestServer, TestServerResponse};

use crate::home;

#[test]
fn printed_link_logs_browser_in_permanently() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &[]);
    let answer = server.send("GET", &format!("/login?token={}", server.secret), &[("accept", "text/html")], "");
    assert_eq!((answer.status, answer.header("location")), (303, Some(&*format!("{}/", server.own_path()))));
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&server.secret), "the secret itself is not kept by the browser");
    let page = server.page("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<h1>Threads</h1>"), "{}", page.body);
}

#[test]
fn login_page_is_only_page_without_secret() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &[]);
    let page = server.send("GET", "/threads/X?all=1", &[("accept", "text/html")], "");
    assert_eq!((page.status, page.header("location")), (303, Some("/login?next=/threads/X%3Fall%3D1")));
    let script = server.send("GET", "/api/threads", &[], "");
    assert_eq!((script.status, script.header("www-authenticate")), (401, Some("Bearer")));
    let wrong = server.send("GET", "/api/threads", &[("authorization", "Bearer wrong")], "");
    assert_eq!(wrong.status, 401);
    assert_eq!(server.get("/api/threads").json(), json!([]));
}

#[test]
fn blanks_separate_scheme_and_secret() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &[]);
    let secret = server.bearer().split_off("Bearer ".len());
    for blanks in [" ", "\t", "  \t "] {
        let given = format!("bearer{blanks}{secret}");
        assert_eq!(server.send("GET", "/api/threads", &[("authorization", &given)], "").status, 200, "{blanks:?}");
    }
}

#[test]
fn the_sixth_wrong_secret_has_to_wait() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &[]);
    let wrong = || server.send("GET", "/api/threads", &[("authorization", "Bearer wrong")], "").status;
    assert_eq!([(); 6].map(|()| wrong()), [401, 401, 401, 401, 401, 429]);
    let headers = [("authorization", "Bearer wrong")];
    let waits = server.send("GET", "/api/threads", &headers, "");
    assert!(waits.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()), "{waits:?}");
}

#[test]
fn foreign_host_name_is_rejected() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &["--host", "box.example"]);
    let under = |host: &str| {
        server.send("GET", "/api/threads", &[("host", host), ("authorization", &server.bearer())], "").status
    };
    assert_eq!(["localhost:1", "box.example", "evil.example"].map(under), [200, 200, 421]);
}

const CHOSEN: &str = "correct-horse-battery";

#[test]
fn the_secret_may_stand_in_the_env_file() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\nenv > \"$UNCAGED_WORKFLOW_STORAGE_ROOT/seen\"\necho '{\"n\": 1}'\n");
    std::fs::write(home.root().join(".env"), format!("WORKFLOW_DASHBOARD_SECRET={CHOSEN}\n")).unwrap();
    let status = |server: &TestServer, secret: &str| {
        server.send("GET", "/api/threads", &[("authorization", &format!("Bearer {secret}"))], "").status
    };
    let server = TestServer::start(&home, &[]);
    assert_eq!(server.secret, "", "no link that logs in is printed");
    let login = server.send("GET", "/login", &[("accept", "text/html")], "").body;
    assert!(login.contains("WORKFLOW_DASHBOARD_SECRET") && !login.contains("printed"), "{login}");
    let refused = server.send("GET", "/api/threads", &[], "");
    let hint = "send it as `Authorization: Bearer SECRET`; the server got it from WORKFLOW_DASHBOARD_SECRET";
    assert_eq!((refused.status, &refused.json()["error"]["hints"]), (401, &json!([hint])));
    assert_eq!([CHOSEN, "another-secret-of-mine"].map(|secret| status(&server, secret)), [200, 401]);
    let of_environment = "from-the-environment";
    let server = TestServer::start_with(&home, &[], &[("WORKFLOW_DASHBOARD_SECRET", of_environment)]);
    assert_eq!([of_environment, CHOSEN].map(|secret| status(&server, secret)), [200, 401]);
    // Everything else in that file reaches the agents.
    let thread = home.start_counting(1, "x");
    home.json(&["thread", "step", &thread]);
    let seen = std::fs::read_to_string(home.root().join("seen")).unwrap();
    assert!(seen.contains("UWF_THREAD=") && !seen.contains(CHOSEN), "{seen}");
}

#[test]
fn non_loopback_address_needs_chosen_secret() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let ran = home.uwf(&["serve", "--address", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("WORKFLOW_DASHBOARD_SECRET"), "{}", ran.stderr);
}

#[test]
fn pages_are_compressed_for_whoever_reads_that() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &[]);
    let cookie = server.cookie();
    let get = |more: &[(&str, &str)]| {
        let headers = [&[("cookie", cookie.as_str()), ("accept", "text/html")], more].concat();
        server.send("GET", "/workflows", &headers, "")
    };
    let (plain, small) = (get(&[]), get(&[("accept-encoding", "gzip, zstd")]));
    let described = |answer: &TestServerResponse| {
        ["content-encoding", "vary"].map(|name| answer.header(name).unwrap_or_default().to_owned())
    };
    assert!(described(&plain)[0].is_empty() && described(&plain)[1].ends_with("accept-encoding"), "{plain:?}");
    assert_eq!(described(&small)[0], "zstd");
    let length = |answer: &TestServerResponse| answer.header("content-length").unwrap().parse::<usize>().unwrap();
    assert!(length(&small) < length(&plain), "{small:?}");
    let (tag, other) = (small.header("etag").unwrap(), plain.header("etag").unwrap());
    assert_ne!(tag, other, "they have different bytes");
    assert_eq!(get(&[("accept-encoding", "zstd"), ("if-none-match", tag)]).status, 304);
    assert_eq!(get(&[("if-none-match", tag)]).status, 200, "this client reads the plain page only");
}

#[test]
fn styles_are_compressed_for_whoever_reads_that() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let server = TestServer::start(&home, &[]);
    let page = server.page("/").body;
    let (_, rest) = page.split_once("href=\"/assets/").expect("it has styles");
    let style = format!("/assets/{}", rest.split('"').next().unwrap());
    let plain = server.send("GET", &style, &[("accept-encoding", "gzip, br")], "");
    let small = server.send("GET", &style, &[("accept-encoding", "gzip, br, zstd")], "");
    let described =
        |answer: &TestServerResponse| ["content-encoding", "vary"].map(|name| answer.header(name).map(str::to_owned));
    assert_eq!(described(&plain), [None, Some("accept-encoding".to_owned())]);
    assert_eq!(described(&small), [Some("zstd".to_owned()), Some("accept-encoding".to_owned())]);
    assert_ne!(plain.header("etag"), small.header("etag"));
    let length =
        |answer: &TestServerResponse| answer.header("content-length").and_then(|bytes| bytes.parse::<usize>().ok());
    assert!(length(&small) < length(&plain), "{small:?}");
}
