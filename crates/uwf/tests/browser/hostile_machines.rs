//! A machine that someone else controls, and another user of this machine, against a real browser.

use serde_json::json;
use uwf_testing::hostile_machine::{HostileMachine, HostileResponse};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::browse;
use crate::gateways::connected;
use crate::showcase::{staffed, waiting};

/// Content types by which a machine might get a script into the gateway's origin.
const KINDS: [&str; 9] = [
    "text/javascript",
    "application/javascript; charset=utf-8",
    "text/html;,text/javascript",
    "text/plain;charset=utf-8,text/javascript",
    "text/plain, text/javascript",
    "text/javascript;x=y,text/plain",
    "text/html",
    "image/svg+xml",
    "application/json",
];

/// What it would run: a command on the gateway and one on the victim.
const SCRIPT: &str =
    "window.hit = 1; for (const at of ['', '/m/victim']) fetch(at + '/api/threads', { method: 'POST', body: '{}' });";

#[test]
fn a_hostile_machine_reaches_nothing_but_itself() {
    let (gateway, office) = (TestHome::new(uwf_testing::uwf_program()), staffed());
    waiting(&office, "Announce the office hours.");
    let server = TestServer::start(&gateway, &["--gateway"]);
    let _victim = connected(&gateway, &server, &office, "victim");
    let token = text(&gateway.json(&["gateway", "token", "evil"]), "token");
    let evil = HostileMachine::connect(&server.address, "evil", &token);
    let mut body = String::from("<h1>Look here</h1>");
    for (number, kind) in KINDS.iter().enumerate() {
        evil.answers(&format!("/x{number}.js"), HostileResponse::of_type(kind, SCRIPT));
        body.push_str(&format!(
            "<script src=\"/m/evil/x{number}.js\"></script><script type=module src=/x{number}.js></script>"
        ));
    }
    body.push_str(&format!(
        "<script>{SCRIPT}</script><img src=x onerror=\"{SCRIPT}\"><svg onload=\"{SCRIPT}\"></svg>\
         <iframe srcdoc=\"<script>{SCRIPT}</script>\"></iframe><iframe src=/m/victim/></iframe>\
         <meta http-equiv=refresh content='0;url=/m/victim/'><link rel=stylesheet href=/x0.js>\
         <object data=/m/victim/></object><img src=/m/victim/><a id=away href=\"javascript:{SCRIPT}\">away</a>\
         <form id=form method=post action=/m/victim/api/threads><button id=press data-key=p formaction=/m/victim/seen>Press</button></form>"
    ));
    let page =
        json!({ "title": "x", "section": "none", "live": "/../victim/api/events", "readOnly": false, "body": body });
    let pages = ["/", "/clears"];
    for path in pages {
        let answer = HostileResponse::of_type("application/vnd.uwf.page+json", &page.to_string());
        evil.answers(path, answer.with("clear-site-data", "\"*\"").with("refresh", "0;url=https://evil.example/"));
    }
    // A browser shows a page of its own for an empty 404.
    evil.answers("/m/victim/seen", HostileResponse::of_type("text/plain", "seen"));
    let raw = format!("<script>{SCRIPT}</script>");
    for (path, kind) in
        [("/raw.html", "text/html"), ("/raw.svg", "image/svg+xml"), ("/raw.xhtml", "application/xhtml+xml")]
    {
        evil.answers(path, HostileResponse::of_type(kind, &raw));
    }
    // Its rows stand beside the rows of other machines.
    let (thread, head) = ("01K0000000000000000000EV1A", "0123456789ABC");
    let html = format!(
        "<script>{SCRIPT}</script><img src=x onerror=\"{SCRIPT}\"></li></ul></main><form method=post action=/m/victim/api/threads><button id=main>Row of evil</button></form>"
    );
    let row = json!({ "thread": thread, "head": head, "changedAt": 9_999_999_999_999_u64, "line": html });
    let odd = json!({ "thread": "\" onclick=\"x", "head": head, "changedAt": null, "line": "odd" });
    let inbox = json!({ "counts": { "waiting": 2 }, "needs": [row, odd] });
    evil.answers("/api/gateway/inbox", HostileResponse::of_type("application/json", &inbox.to_string()));
    let found = json!({ "straightTo": "//evil.example/", "html": html });
    evil.answers("/api/gateway/search", HostileResponse::of_type("application/json", &found.to_string()));
    let with = json!({ "merged": ["/", "/search?q=evil"], "pages": pages, "raw": ["/raw.html", "/raw.svg", "/raw.xhtml", "/x1.js"] });
    browse(&gateway, &server, "hostile.stays_on_its_machine", with);
    let changes = evil.received().into_iter().filter(|(line, _)| line.starts_with("POST"));
    assert_eq!(changes.map(|(line, _)| line).collect::<Vec<_>>(), ["POST /m/victim/seen"], "the button is its own");
    for place in ["", "/m/victim"] {
        let threads = server.get(&format!("{place}/api/threads")).json();
        assert_eq!(threads.as_array().map(Vec::len), Some(usize::from(!place.is_empty())), "{place}: {threads}");
    }
}

#[test]
fn another_user_gets_no_cookie_of_the_dashboard() {
    let home = staffed();
    waiting(&home, "Announce the office hours.");
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "hostile.keeps_its_cookie", json!({}));
}
