//! A machine that someone else controls, and what its answers may become at the gateway.

use serde_json::json;
use uwf_testing::hostile_machine::{HostileMachine, HostileResponse};
use uwf_testing::server::TestServerResponse;

use super::Gateway;
use crate::serve_security::crawl::assert_protected;

/// The content type of a page on its way to the gateway.
const PAGE: &str = "application/vnd.uwf.page+json";

/// A thread that nobody has.
const THREAD: &str = "01M8BZGPCETM3FV7E1MW7VCKKD";

fn evil() -> (Gateway, HostileMachine) {
    let gateway = Gateway::start();
    let machine = HostileMachine::connect(&gateway.server.address, "evil", &gateway.token("evil"));
    (gateway, machine)
}

/// A page whose body is this.
fn page(body: &str) -> HostileResponse {
    let page = json!({ "title": "x", "section": "threads", "live": "/api/events", "readOnly": false, "body": body });
    HostileResponse::of_type(PAGE, &page.to_string())
}

#[test]
fn machine_cannot_serve_scripts_styles_or_pages() {
    let (gateway, evil) = evil();
    for (number, kinds) in [
        &[b"text/javascript".as_slice()][..],
        &[b"text/html;,text/javascript"],
        &[b"text/plain;charset=utf-8,text/javascript"],
        &[b"text/plain", b"text/javascript"],
        &[b"text/javascript;x=\xe9"],
        &[b"text/html"],
        &[b"text/css"],
        &[b"image/svg+xml"],
        &[b"application/xhtml+xml"],
        &[b"application/json", b"text/html"],
        &[b"multipart/x-mixed-replace"],
        &[],
    ]
    .iter()
    .enumerate()
    {
        let headers = kinds.iter().map(|kind| ("content-type", kind.to_vec())).collect();
        let path = format!("/x{number}");
        evil.answers(&path, HostileResponse { status: 200, headers, body: "<script>alert(1)</script>".to_owned() });
        let answer = gateway.server.page(&format!("/m/evil{path}"));
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(["application/octet-stream", "text/plain; charset=utf-8"].contains(&kind), "{kinds:?}: {answer:?}");
        assert_protected(&path, &answer);
    }
}

#[test]
fn no_header_of_a_machine_passes() {
    let (gateway, evil) = evil();
    let hostile = [
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-origin", "*"),
        ("accept-ch", "Sec-CH-UA"),
        ("alt-svc", "h3=\":443\""),
        ("authentication-info", "x"),
        ("cache-control", "public, max-age=31536000"),
        ("clear-site-data", "\"cookies\", \"storage\""),
        ("connection", "close"),
        ("content-disposition", "inline; filename=\"x.html\""),
        ("content-encoding", "gzip"),
        ("content-language", "de"),
        ("content-location", "/m/victim/"),
        ("content-range", "bytes 0-1/2"),
        ("content-security-policy-report-only", "default-src 'self'; report-uri https://evil.example/"),
        ("cross-origin-embedder-policy", "require-corp"),
        ("etag", "\"x\""),
        ("expires", "Thu, 01 Jan 2099 00:00:00 GMT"),
        ("last-modified", "Thu, 01 Jan 2020 00:00:00 GMT"),
        ("link", "</m/victim/>; rel=prefetch"),
        ("location", "https://evil.example/"),
        ("nel", "{}"),
        ("origin-agent-cluster", "?1"),
        ("permissions-policy", "geolocation=*"),
        ("public-key-pins", "x"),
        ("refresh", "0;url=https://evil.example/"),
        ("report-to", "{}"),
        ("reporting-endpoints", "x=\"https://evil.example/\""),
        ("server-timing", "x"),
        ("service-worker-allowed", "/"),
        ("set-cookie", "uwf-7717=x; Path=/"),
        ("sourcemap", "/x.map"),
        ("strict-transport-security", "max-age=31536000"),
        ("timing-allow-origin", "*"),
        ("www-authenticate", "Basic realm=\"uwf\""),
        ("x-accel-redirect", "/x"),
        ("x-dns-prefetch-control", "on"),
        ("x-sendfile", "/etc/passwd"),
        ("x-uwf-user", "root"),
    ];
    let plain = hostile.iter().filter(|(name, _)| *name != "connection");
    let hostile =
        plain.fold(HostileResponse::of_type("application/json", "{}"), |all, (name, value)| all.with(name, value));
    let of_page = hostile.headers.iter().skip(1).fold(page("a"), |mut all, header| {
        all.headers.push(header.clone());
        all
    });
    for (path, answer) in [("/x", hostile), ("/y", of_page)] {
        evil.answers(path, answer);
        let answer = gateway.server.page(&format!("/m/evil{path}"));
        let own = [
            "cache-control",
            "connection",
            "content-length",
            "content-security-policy",
            "content-type",
            "cross-origin-opener-policy",
            "cross-origin-resource-policy",
            "date",
            "etag",
            "referrer-policy",
            "x-content-type-options",
            "x-frame-options",
        ];
        let mut names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        // Only the page is long enough to be compressed.
        names.retain(|name| *name != "vary");
        assert_eq!((answer.status, &names[..]), (200, &own[..]), "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        assert_eq!(answer.header("vary"), Some("accept-encoding").filter(|_| path == "/y"));
        assert_protected(path, &answer);
    }
}

#[test]
fn a_machine_redirects_only_to_its_own_paths() {
    let (gateway, evil) = evil();
    let answered = |target: &str| -> TestServerResponse {
        let headers = vec![("location", target.as_bytes().to_vec())];
        evil.answers("/x", HostileResponse { status: 303, headers, body: String::new() });
        gateway.server.page("/m/evil/x")
    };
    for (target, leads) in [("/threads/X?a=1#b", "/m/evil/threads/X?a=1#b"), ("/a/../../victim/", "/m/evil/victim/")] {
        assert_eq!(answered(target).header("location"), Some(leads), "{target}");
    }
    for target in
        ["https://evil.example/", "//evil.example/", "/\\evil.example/", "/.//evil.example/", "../victim/", "x", ""]
    {
        let answer = answered(target);
        assert_eq!((answer.status, answer.header("location")), (502, None), "{target}: {answer:?}");
    }
}

#[test]
fn machine_page_contains_no_active_content() {
    let (gateway, evil) = evil();
    let hostile = "<script src=/m/evil/x.js></script><meta http-equiv=refresh content='0;url=/m/victim/'><base href=/m/victim/>\
        <link rel=prefetch href=/m/victim/><iframe src=/m/victim/></iframe><img src=/m/victim/ onerror=x><style>*{}</style>\
        <form method=post action=/m/victim/api/threads><input name=a><button formaction=//evil.example/>b</button></form>\
        <form method=post action='/../victim/api/threads'><button formaction='/%2e%2e/victim/x'>c</button></form>\
        <a href='http://127.0.0.1:7717/m/victim/' ping=/m/victim/>d</a><a href=/x data-outside>e</a></main><main id=main>";
    evil.answers("/", page(hostile));
    let answer = gateway.server.page("/m/evil/");
    assert_eq!(answer.status, 200);
    let (_, main) = answer.body.split_once("<main id=\"main\"").unwrap();
    let (main, after) = main.split_once("</main>").unwrap();
    let expected = " data-live=\"/m/evil/api/events\" tabindex=\"-1\">\
        <form method=\"post\" action=\"/m/evil/m/victim/api/threads\"><input name=\"a\"><button>b</button></form>\
        <form method=\"post\" action=\"/m/evil/victim/api/threads\"><button formaction=\"/m/evil/victim/x\">c</button></form>\
        <a>d</a><a href=\"/m/evil/x\">e</a>";
    assert_eq!(main, expected);
    assert_eq!(after.matches("<main").count(), 0, "{after}");
    for (what, answer) in [
        ("JSON that is no page", HostileResponse::of_type(PAGE, "[1]")),
        ("no JSON", HostileResponse::of_type(PAGE, "<script>")),
        ("too large", page(&"x".repeat(17 << 20))),
    ] {
        evil.answers("/", answer);
        assert_eq!(gateway.server.page("/m/evil/").status, 502, "{what}");
    }
}

#[test]
fn machine_never_receives_login_credentials() {
    let (gateway, evil) = evil();
    let (server, own) = (&gateway.server, gateway.server.own_path());
    let (cookie, origin) = (server.cookie(), gateway.url());
    let referer = format!("{origin}{own}/m/evil/");
    let of_browser = [("cookie", &*cookie), ("origin", &origin), ("referer", &referer), ("accept", "text/html")];
    server.send("GET", &format!("{own}/m/evil/x"), &of_browser, "");
    server.send("POST", &format!("{own}/m/evil/y"), &of_browser, "a=1");
    server.get("/m/evil/z");
    let received = format!("{:?}", evil.received());
    for secret in [&own[2..], &cookie, &server.secret, "origin", "referer", "authorization", "\"cookie\""] {
        assert!(!received.contains(secret), "{secret}: {received}");
    }
    assert!(["GET /x", "POST /y", "GET /z"].iter().all(|line| received.contains(line)), "{received}");
}

#[test]
fn machine_rows_link_only_to_own_threads() {
    let (gateway, evil) = evil();
    let row = |thread: &str| json!({ "thread": thread, "state": "waiting", "task": "look here", "why": "<b>now</b>" });
    let rows: Vec<_> = ["../../victim/threads/X", "//evil.example", THREAD].into_iter().map(row).collect();
    let summary = json!({ "counts": { "waiting": 3, "\"><b>": 1 }, "threads": rows });
    evil.answers("/api/gateway/summary", HostileResponse::of_type("application/json", &summary.to_string()));
    let row = |thread: &str| {
        let html =
            format!("<a href=\"/threads/{thread}\">look here</a><a href=\"/m/victim/\">x</a><b onclick=x>now</b>");
        json!({ "thread": thread, "head": "0123456789ABC", "changedAt": 1, "line": html })
    };
    let rows: Vec<_> = ["../../victim/threads/X", "//evil.example", THREAD].into_iter().map(row).collect();
    let inbox = json!({ "counts": { "waiting": 3, "\"><b>": 1 }, "needs": rows });
    evil.answers("/api/gateway/inbox", HostileResponse::of_type("application/json", &inbox.to_string()));
    let page = gateway.server.page("/").body;
    assert_eq!(page.matches("look here").count(), 1, "{page}");
    assert!(page.contains(&format!("href=\"/m/evil/threads/{THREAD}\"")), "{page}");
    assert!(!page.contains("href=\"/m/victim") && !page.contains("onclick"), "{page}");
    let page = gateway.server.page("/machines").body;
    assert_eq!(page.matches("look here").count(), 1, "{page}");
    assert!(page.contains(&format!("href=\"/m/evil/threads/{THREAD}\"")), "{page}");
    assert!(!page.contains("victim") && !page.contains("evil.example") && !page.contains("<b>"), "{page}");
}

#[test]
fn costs_and_names_of_machine_stay_text() {
    let (gateway, evil) = evil();
    let spent = json!({
        "steps": u64::MAX, "failedAttempts": u64::MAX, "tokens": { "input": u64::MAX, "cached": null, "output": u64::MAX, "reasoning": null },
        "tokensUnknown": 0, "cost": [{ "currency": "<b>USD", "amount": 1e308, "from": "provider" }, { "currency": "EUR", "amount": -5, "from": "list" }],
        "costUnknown": u64::MAX, "durationMs": u64::MAX,
    });
    let mut row = spent.clone();
    row["name"] = json!("<script>alert(1)</script>é");
    for by in ["day", "thread", "workflow"] {
        let report = json!({ "rows": [row, row, row], "total": spent });
        let answer = HostileResponse::of_type("application/json", &report.to_string());
        evil.answers("/api/cost", answer);
        let page = gateway.server.page(&format!("/cost?by={by}"));
        assert_eq!(page.status, 200, "{page:?}");
        assert!(!page.body.contains("<script>alert") && !page.body.contains("<b>USD"), "{}", page.body);
    }
    evil.answers("/api/cost", HostileResponse::of_type("application/json", "{\"rows\": 1}"));
    assert!(gateway.server.page("/cost").body.contains("did not answer"));
    let names = json!([{ "name": "<i>x</i>" }, { "name": "../../threads" }, { "name": "javascript:alert(1)" }]);
    evil.answers("/api/workflows", HostileResponse::of_type("application/json", &names.to_string()));
    let page = gateway.server.page("/workflows").body;
    assert!(!page.contains("<i>x</i>") && !page.contains("href=\"javascript"), "{page}");
    assert!(page.contains("href=\"/m/evil/workflows/..%2F..%2Fthreads\""), "{page}");
}
