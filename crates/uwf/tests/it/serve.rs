//! `uwf serve`: who is let in, and what everybody gets who is.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::server::Server;

#[test]
fn the_printed_link_logs_a_browser_in_once_and_for_all() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
    let server = Server::start(&home, &[]);
    let answer = server.send("GET", &format!("/login?token={}", server.secret), &[("accept", "text/html")], "");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&server.secret), "the secret itself is not kept by the browser");
    let page = server.page("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<h1>Threads</h1>"), "{}", page.body);
}

#[test]
fn without_the_secret_there_is_only_the_login_page() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
    let server = Server::start(&home, &[]);
    let page = server.send("GET", "/threads/X?all=1", &[("accept", "text/html")], "");
    assert_eq!((page.status, page.header("location")), (303, Some("/login?next=/threads/X%3Fall%3D1")));
    let script = server.send("GET", "/api/threads", &[], "");
    assert_eq!((script.status, script.header("www-authenticate")), (401, Some("Bearer")));
    let wrong = server.send("GET", "/api/threads", &[("authorization", "Bearer wrong")], "");
    assert_eq!(wrong.status, 401);
    assert_eq!(server.get("/api/threads").json(), json!([]));
}

#[test]
fn the_sixth_wrong_secret_has_to_wait() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
    let server = Server::start(&home, &[]);
    let wrong = || server.send("GET", "/api/threads", &[("authorization", "Bearer wrong")], "").status;
    assert_eq!([(); 6].map(|()| wrong()), [401, 401, 401, 401, 401, 429]);
    let waits = server.get("/api/threads");
    assert_eq!(waits.status, 429, "the right one has to wait, too, or it could still be guessed");
    assert!(waits.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
}

#[test]
fn a_name_that_is_not_the_servers_is_refused() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
    let server = Server::start(&home, &["--host", "box.example"]);
    let under = |host: &str| {
        server.send("GET", "/api/threads", &[("host", host), ("authorization", &server.bearer())], "").status
    };
    assert_eq!(["localhost:1", "box.example", "evil.example"].map(under), [200, 200, 421]);
}

#[test]
fn another_address_than_loopback_needs_a_secret_that_somebody_chose() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
    let ran = home.uwf(&["serve", "--address", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("WORKFLOW_DASHBOARD_SECRET"), "{}", ran.stderr);
}
