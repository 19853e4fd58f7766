//! `uwf serve` against those who try: what each answer tells a browser, what no answer ever holds, and requests made to break in.

pub(crate) mod crawl;
mod secrets;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::machine::TestMachine;
use uwf_testing::processes::until;
use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, text};

use self::crawl::assert_protected;
use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::home;

/// Requests for each kind of answer: a public page, a missing page, and so on.
fn every_kind_of_answer(server: &TestServer, thread: &str, node: &str) -> Vec<(&'static str, u16, TestServerResponse)> {
    let (bearer, cookie) = (server.bearer(), server.cookie());
    let browser = [("cookie", &*cookie), ("accept", "text/html")];
    let style =
        server.page("/").body.split("href=\"").find(|part| part.starts_with("/assets/")).unwrap_or_default().to_owned();
    let style = style.split('"').next().unwrap_or_default();
    let large = "x".repeat(3 << 20);
    vec![
        ("a page", 200, server.page("/")),
        ("a page of a thread", 200, server.page(&format!("/threads/{thread}"))),
        ("a report", 200, server.get("/api/threads")),
        ("a report under a page's path", 200, server.get("/threads")),
        ("a node's content", 200, server.page(&format!("/cas/{node}/raw"))),
        ("the login page", 200, server.send("GET", "/login", &[], "")),
        ("a style sheet", 200, server.send("GET", style, &[], "")),
        ("a compressed style sheet", 200, server.send("GET", style, &[("accept-encoding", "gzip, zstd")], "")),
        ("the icon", 200, server.send("GET", "/favicon.ico", &[], "")),
        ("headers alone", 200, server.send("HEAD", "/", &browser, "")),
        ("events", 200, server.page(&format!("/api/threads/{thread}/events"))),
        ("a way to the login page", 303, server.send("GET", "/", &[("accept", "text/html")], "")),
        ("a login", 303, server.send("GET", &format!("/login?token={}", server.secret), &[], "")),
        ("nothing new", 304, {
            let tag = server.page("/login").header("etag").expect("a page has a tag").to_owned();
            server.send("GET", "/login", &[("if-none-match", &tag)], "")
        }),
        (
            "no JSON",
            400,
            server.send("POST", &format!("/api/threads/{thread}/step"), &[("authorization", &bearer)], "{"),
        ),
        ("no secret", 401, server.send("GET", "/api/threads", &[], "")),
        ("another site's form", 403, server.send("POST", "/seen", &browser, "")),
        ("no such page", 404, server.page("/nothing")),
        ("no such path of the API", 404, server.get("/api/nothing")),
        ("no such file", 404, server.send("GET", "/assets/0/nothing.js", &[], "")),
        ("no such thread", 404, server.page("/threads/ZZZZZ")),
        ("no such method", 405, server.send("DELETE", "/threads", &[("authorization", &bearer)], "")),
        (
            "too much",
            413,
            server.send("POST", &format!("/api/threads/{thread}/step"), &[("authorization", &bearer)], &large),
        ),
        ("another server's name", 421, server.send("GET", "/", &[("host", "evil.example")], "")),
    ]
}

#[test]
fn every_response_has_protective_headers() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    step(&home, &thread, 4);
    let server = TestServer::start(&home, &[]);
    let node = hashes(&home, &thread).pop().expect("a step");
    for (what, status, answer) in every_kind_of_answer(&server, &thread, &node) {
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert_protected(what, &answer);
    }
    for _ in 0..6 {
        server.send("GET", "/login?token=wrong", &[], "");
    }
    let refused = server.send("GET", "/login?token=wrong", &[("accept", "text/html")], "");
    assert_eq!(refused.status, 429);
    assert_protected("too many wrong secrets", &refused);
}

#[test]
fn cookie_is_http_only_and_specific_to_server() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let login = |headers: &[(&str, &str)]| {
        let answer = server.send("GET", &format!("/login?token={}", server.secret), headers, "");
        answer.header("set-cookie").expect("a cookie").to_owned()
    };
    let cookie = login(&[]);
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    let own = server.own_path();
    assert_eq!(attributes, format!("Path={own}/; Max-Age=2592000; HttpOnly; SameSite=Strict"));
    let (name, value) = pair.split_once('=').expect("a value");
    let port = server.address.rsplit(':').next().expect("a port");
    assert_eq!(name, format!("uwf-{port}"), "cookies of a host are sent to all its ports");
    let encrypted = login(&[("x-forwarded-proto", "https")]);
    assert!(encrypted.ends_with("Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"), "{encrypted}");

    let status = |headers: &[(&str, &str)]| server.send("GET", "/api/threads", headers, "").status;
    assert_eq!(status(&[("cookie", pair)]), 200);
    for other in [format!("{name}={}", server.secret), format!("{name}="), format!("uwf-1={value}"), format!("x{pair}")]
    {
        assert_eq!(status(&[("cookie", &other)]), 401, "{other}");
    }
    assert_eq!(status(&[("authorization", &format!("Bearer {value}"))]), 401, "a cookie that leaks is not the secret");

    let origin = format!("http://{}", server.address);
    let out = server.send("POST", "/logout", &[("cookie", pair), ("origin", &origin)], "");
    assert!(
        out.header("set-cookie").is_some_and(|cookie| cookie.starts_with(&format!("{name}=; Path={own}/; Max-Age=0;"))),
        "{out:?}"
    );
}

#[test]
fn cookie_path_is_revealed_only_after_login() {
    let home = home();
    let (thread, server) = (home.start_counting(1, "Count"), TestServer::start(&home, &["--gateway"]));
    let (own, cookie) = (server.own_path(), server.cookie());
    assert!(own.len() > 20, "{own}");
    for path in ["/", "/login", "/login?token=wrong", "/nothing", "/m/x/", "/api/threads", "/assets/x/app.js", "/~x/"] {
        for accept in ["text/html", "application/json"] {
            let answer = server.send("GET", path, &[("accept", accept)], "");
            assert!(!format!("{answer:?}").contains(&own[2..]), "{path}: {answer:?}");
        }
    }
    // A visitor's pages are below it, whether found, not found or still to log in.
    let visit = |path: &str| server.send("GET", path, &[("cookie", &cookie), ("accept", "text/html")], "");
    let page = visit(&format!("{own}/threads/{thread}"));
    assert_eq!(page.status, 200);
    for path in crawl::links(&page.body) {
        assert!(path.starts_with(&format!("{own}/")), "{path}");
    }
    assert_eq!(visit(&format!("{own}/nothing")).status, 404);
    assert_eq!(visit(&own).header("location"), Some(&*format!("{own}/")));
    let stranger = server.send("GET", &format!("{own}/threads"), &[("accept", "text/html")], "");
    assert_eq!(stranger.header("location"), Some(&*format!("{own}/login?next=/threads")));
    // Scripts need no path.
    assert_eq!(server.get(&format!("{own}/api/threads")).json(), server.get("/api/threads").json());
}

#[test]
fn wrong_secrets_are_counted_however_they_are_given() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let cookie = server.cookie();
    let origin = format!("http://{}", server.address);
    let form = [("origin", &*origin), ("content-type", "application/x-www-form-urlencoded")];
    let by_form = || server.send("POST", "/login", &form, "secret=wrong").status;
    let by_link = || server.send("GET", "/login?token=wrong", &[], "").status;
    let by_script = || server.send("GET", "/api/threads", &[("authorization", "Bearer wrong")], "").status;
    assert_eq!([by_form(), by_form(), by_link(), by_link(), by_script()], [401; 5]);
    assert_eq!([by_form(), by_link(), by_script()], [429; 3]);
    // Wrong ones keep the owner out neither by the right one, which nobody could guess, nor by the cookie.
    assert_eq!(server.send("GET", &format!("/login?token={}", server.secret), &[], "").status, 303);
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie), ("accept", "text/html")], "").status, 200);
}

#[test]
fn guessing_chosen_secret_does_not_lock_browser_out() {
    let home = home();
    let chosen = "correct-horse-battery";
    let server = TestServer::start_with(&home, &[], &[("WORKFLOW_DASHBOARD_SECRET", chosen)]);
    let cookie = server.cookie();
    let by =
        |secret: &str| server.send("GET", "/api/threads", &[("authorization", &format!("Bearer {secret}"))], "").status;
    assert_eq!(by(chosen), 200);
    let guesses: Vec<u16> = (0..8).map(|guess| by(&format!("horse-{guess}"))).collect();
    assert_eq!(guesses, [401, 401, 401, 401, 401, 429, 429, 429]);
    assert_eq!(by(chosen), 429);
    assert_eq!(server.send("GET", "/", &[("cookie", &cookie), ("accept", "text/html")], "").status, 200);
}

#[test]
fn a_link_on_another_site_tries_no_secret() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let link = |token: &str, site: &str| {
        let headers = [("sec-fetch-site", site), ("accept", "text/html")];
        server.send("GET", &format!("/login?token={token}&next=/workflows"), &headers, "")
    };
    for site in ["cross-site", "same-site"] {
        for _ in 0..7 {
            let answer = link("wrong", site);
            assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{site}");
        }
        let page = link(&server.secret, site).body;
        assert!(page.contains(&format!("name=\"secret\" value=\"{}\"", server.secret)), "{page}");
        assert!(page.contains("name=\"next\" value=\"/workflows\""), "{page}");
    }
    assert_eq!(server.send("GET", "/login?token=wrong", &[], "").status, 401, "none of them was counted");
    assert!(link("%22%3E%3Cscript%3E", "cross-site").body.contains("value=\"&quot;&gt;&lt;script&gt;\""));
    for site in ["none", "same-origin"] {
        assert_eq!(link(&server.secret, site).status, 303, "{site}");
    }
}

#[test]
fn change_over_tls_requires_tls_origin() {
    let home = home();
    let server = TestServer::start(&home, &["--host", "box.example"]);
    let cookie = server.cookie();
    let status = |origin: &str, more: &[(&str, &str)]| {
        let headers = [("host", "box.example"), ("cookie", &*cookie), ("origin", origin)];
        server.send("POST", "/seen", &[&headers, more].concat(), "").status
    };
    let tls = [("x-forwarded-proto", "https")];
    assert_eq!(status("https://box.example", &tls), 303);
    assert_eq!(status("http://box.example", &tls), 403);
    assert_eq!((status("http://box.example", &[]), status("https://box.example", &[])), (303, 303));
}

#[test]
fn nonsensical_request_is_not_server_error() {
    let home = home();
    let thread = home.start_counting(2, "Count");
    let server = TestServer::start(&home, &[]);
    let head = home.head(&thread).unwrap();
    for (action, field, value) in [
        ("step", "agent", "a\u{0}b"),
        ("pause", "reason", "\u{0}"),
        ("fork", "prompt", "a\u{0}"),
        ("step", "agent", "there-is-no-such-agent"),
        ("fork", "cwd", "/there/is/no/such/directory"),
        ("fork", "id", "x"),
        ("run", "until", "no-role"),
    ] {
        let answer =
            server.post(&format!("/api/threads/{thread}/{action}"), &json!({ "expectedHead": head, field: value }));
        assert!((400..500).contains(&answer.status), "{action} {field} {value:?}: {answer:?}");
    }
    let started = |field: &str, value: &str| {
        server.post("/api/threads", &json!({ "workflow": "count-rounds", "prompt": "x", field: value }))
    };
    for (field, value) in [("cwd", "/there/is/none"), ("prompt", "\u{0}"), ("workflow", "\u{0}"), ("workflow", "none")]
    {
        let answer = started(field, value);
        assert!((400..500).contains(&answer.status), "{field} {value:?}: {answer:?}");
    }
}

#[test]
fn neither_login_nor_action_leads_to_another_site() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    let server = TestServer::start(&home, &[]);
    let origin = format!("http://{}", server.address);
    let (cookie, own) = (server.cookie(), server.own_path());
    let form = [("origin", &*origin), ("cookie", &cookie), ("content-type", "application/x-www-form-urlencoded")];
    for elsewhere in
        ["//evil.example", "https://evil.example", "%2F%5Cevil.example", "%2F%09%2Fevil.example", "evil", "%0Aevil"]
    {
        let link = server.send("GET", &format!("/login?token={}&next={elsewhere}", server.secret), &[], "");
        let first_page = format!("{own}/");
        assert_eq!((link.status, link.header("location")), (303, Some(&*first_page)), "{elsewhere}");
        let typed = server.send("POST", "/login", &form, &format!("secret={}&next={elsewhere}", server.secret));
        assert_eq!((typed.status, typed.header("location")), (303, Some(&*first_page)), "{elsewhere}");
        let head = text(&server.get(&format!("/api/threads/{thread}")).json(), "head");
        let body = format!("expectedHead={head}&back={elsewhere}");
        let action = server.send("POST", &format!("/api/threads/{thread}/pause"), &form, &body);
        assert_eq!(
            (action.status, action.header("location")),
            (303, Some(&*format!("/threads/{thread}"))),
            "{elsewhere}"
        );
        home.uwf(&["thread", "resume", &thread]);
    }
    let link = server.send("GET", &format!("/login?token={}&next=/threads/X%3Fy=1", server.secret), &[], "");
    assert_eq!(link.header("location"), Some(&*format!("{own}/threads/X?y=1")));
}

#[test]
fn foreign_host_is_rejected_for_every_request() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let (bearer, cookie) = (server.bearer(), server.cookie());
    let proofs = [("authorization", &*bearer), ("cookie", &*cookie)];
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "evil.example:127.0.0.1",
        "[::1].evil",
        "0.0.0.0",
        "user@localhost",
        "localhost/",
    ] {
        for path in ["/", "/login", "/favicon.ico", "/api/threads", "/assets/0/app.js"] {
            for proof in proofs {
                let answer = server.send("GET", path, &[("host", host), proof], "");
                assert!([400, 421].contains(&answer.status), "{host} {path}: {answer:?}");
                assert!(answer.header("set-cookie").is_none());
            }
        }
    }
    // A request line that names another server is no way around it, nor is a request that names none.
    let answer = raw(
        &server,
        b"GET http://evil.example/api/threads HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    let answer = raw(&server, b"GET /api/threads HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 421") || answer.starts_with("HTTP/1.1 421"), "{answer}");
}

#[test]
fn cross_site_change_is_rejected_in_every_form() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    let server = TestServer::start(&home, &[]);
    let head = text(&server.get(&format!("/api/threads/{thread}")).json(), "head");
    let cookie = server.cookie();
    let path = format!("/api/threads/{thread}/kill");
    let bodies = [
        ("application/x-www-form-urlencoded", format!("expectedHead={head}")),
        ("text/plain", json!({ "expectedHead": head }).to_string()),
        ("application/json", json!({ "expectedHead": head }).to_string()),
    ];
    let foreign = [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:1"),
        ("sec-fetch-site", "same-site"),
        ("accept", "*/*"),
    ];
    for (kind, body) in &bodies {
        for sign in foreign {
            let answer = server.send("POST", &path, &[("cookie", &cookie), ("content-type", kind), sign], body);
            assert_eq!(answer.status, 403, "{kind} {sign:?}: {answer:?}");
        }
    }
    for path in ["/login", "/logout"] {
        let answer = server.send("POST", path, &[foreign[0], ("content-type", bodies[0].0)], "secret=x");
        assert_eq!(answer.status, 403, "{path}");
    }
    // No other site is told that it may read an answer.
    let asked = server.send(
        "OPTIONS",
        &path,
        &[("cookie", &cookie), ("origin", "http://evil.example"), ("access-control-request-method", "POST")],
        "",
    );
    assert!(asked.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{asked:?}");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
}

#[test]
fn no_path_leads_to_a_file() {
    let home = home();
    std::fs::write(home.root().join(".env"), "A_KEY=sk-very-secret-0123456789\n").unwrap();
    home.config("agents: { w: { command: a-command-of-mine } }\n");
    let server = TestServer::start(&home, &[]);
    let (root, cookie) = (home.root(), server.cookie());
    for file in [".env", "config.yaml", "dashboard.token", "threads.yaml"] {
        let whole = root.join(file);
        let whole = whole.to_str().unwrap();
        let up = "../".repeat(12) + whole.trim_start_matches('/');
        for path in [
            file,
            &up,
            whole,
            &format!("/{whole}"),
            &up.replace('/', "%2F"),
            &up.replace('.', "%2e"),
            &up.replace("../", "..%5c"),
            &format!("{up}%00.js"),
        ] {
            for begin in [
                "/",
                "/assets/",
                "/assets/0/",
                "/cas/",
                "/threads/",
                "/threads/X/steps/",
                "/compare/",
                "/api/cas/",
                "/api/threads/",
                "/m/x/",
                "/workflows/",
            ] {
                let target = format!("{begin}{path}");
                let answer = server.send("GET", &target, &[("cookie", &cookie), ("accept", "text/html")], "");
                let is_refused =
                    (400..500).contains(&answer.status) || answer.status == 303 && !answer.body.contains("sk-");
                assert!(is_refused, "{target}: {answer:?}");
                for content in ["sk-very-secret", "a-command-of-mine", &server.secret] {
                    assert!(!answer.body.contains(content), "{target}: {answer:?}");
                }
            }
        }
    }
}

#[test]
fn unknown_method_does_nothing_and_echoes_nothing() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    let server = TestServer::start(&home, &[]);
    let bearer = server.bearer();
    for method in ["TRACE", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "get", "X"] {
        for path in [
            "/",
            "/login",
            "/api/threads",
            &format!("/api/threads/{thread}"),
            &format!("/api/threads/{thread}/kill"),
            "/assets/0/app.js",
        ] {
            let answer = server.send(method, path, &[("authorization", &bearer), ("x-mark", "echo-me")], "{}");
            assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
            assert!(!answer.body.contains("echo-me") && !answer.body.contains(&server.secret), "{method} {path}");
        }
    }
    let head = server.send("HEAD", &format!("/api/threads/{thread}"), &[("authorization", &bearer)], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(server.send("HEAD", "/api/threads", &[], "").status, 401);
    assert_eq!(
        server.send("GET", &format!("/api/threads/{thread}/kill"), &[("authorization", &bearer)], "").status,
        405
    );
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
}

/// Sends bytes, whatever they are, and reads what comes back until the server ends the connection.
fn raw(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&server.address).expect("the server is there");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    // A server that refuses closes before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        answer.extend_from_slice(&chunk[..length]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn server_rejects_malformed_request_and_answers_next() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let host = format!("host: {}\r\n", server.address);
    let long = "a".repeat(2 << 20);
    let requests = [
        format!("GET /api/threads HTTP/1.1\r\n{host}x: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host}{}\r\n", (0..2000).map(|n| format!("x-{n}: 1\r\n")).collect::<String>()),
        format!("POST /login HTTP/1.1\r\n{host}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /"),
        format!("POST /login HTTP/1.1\r\n{host}content-length: -1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}x: a\0b\r\n\r\n"),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}".to_owned(),
    ];
    for request in requests {
        let shown: String = request.chars().take(60).collect();
        // The connection is ended without an answer, or with one that says no.
        let answer = raw(&server, request.as_bytes());
        let status = answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{shown:?}: {answer}");
        assert_eq!(server.get("/api/threads").status, 200, "after {shown:?}");
    }
}

#[test]
fn clients_that_never_finish_hold_up_nobody() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let begun = format!("POST /login HTTP/1.1\r\nhost: {}\r\ncontent-length: 100\r\n", server.address);
    let slow: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(&server.address).expect("the server is there");
            let text = if number % 2 == 0 { begun.clone() } else { format!("{begun}\r\nsecret") };
            stream.write_all(text.as_bytes()).expect("half a request can be sent");
            stream
        })
        .collect();
    // Nobody reads the events that these ask for.
    let deaf: Vec<TcpStream> =
        (0..100).map(|_| server.open("GET", "/api/events", &[("authorization", &server.bearer())], "")).collect();
    let began = Instant::now();
    assert_eq!(server.page("/").status, 200);
    assert_eq!(server.get("/api/threads").status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop((slow, deaf));
}

#[test]
fn other_local_users_cannot_read_secret() {
    use std::os::unix::fs::PermissionsExt;
    let home: TestHome = home();
    let server = TestServer::start(&home, &[]);
    let file = home.root().join("dashboard.token");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), server.secret);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // All users of a machine can see the arguments of its processes.
    let arguments = uwf_platform::host().arguments(server.pid());
    assert!(arguments.len() > 1 && !String::from_utf8_lossy(&arguments.concat()).contains(&server.secret));
}

#[test]
fn machine_responses_have_same_protection_as_gateway() {
    let (home, laptop) = (home(), reviewing_home());
    let thread = laptop.start("review-text", "Write");
    let server = TestServer::start(&home, &["--gateway"]);
    let token = text(&home.json(&["gateway", "token", "laptop"]), "token");
    let url = format!("http://{}", server.address);
    let arguments = ["--name", "laptop", "--gateway", &url];
    let mut machine = TestMachine::start(&laptop, &arguments, &[("WORKFLOW_GATEWAY_TOKEN", &token)]);
    machine.says("connected to ", 1);
    for (path, status) in [(format!("/m/laptop/threads/{thread}"), 200), ("/m/laptop/nothing".to_owned(), 404)] {
        let answer = server.page(&path);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_protected(&path, &answer);
    }
    // The token of a machine opens no page, and the secret of people connects no machine.
    let opened = server.send("GET", "/api/threads", &[("authorization", &format!("Bearer {token}"))], "");
    assert_eq!(opened.status, 401);
    let connected = server.send("GET", "/api/gateway/connect/laptop", &[("authorization", &server.bearer())], "");
    assert_eq!(connected.status, 401);
    machine.kill();
    until("the machine is away", || server.page("/m/laptop/").status == 502);
    assert_protected("a machine that is away", &server.page("/m/laptop/"));
    assert_eq!(server.send("GET", "/m/laptop/api/threads", &[], "").status, 401, "nobody is told who is connected");
}
