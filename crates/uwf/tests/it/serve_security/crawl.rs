//! Every page linked from the first page, and what must be true of each.

use std::collections::{BTreeMap, VecDeque};

use uwf_testing::machine::TestMachine;
use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, text};

use crate::fixtures::review::{WORKFLOW, reviewing_home, step};
use crate::home;

/// Pages that are looked at; there are fewer in the tests.
const MOST: usize = 400;

/// What a person or an agent writes to break out of a page.
pub(super) const HOSTILE: &str = "</pre></textarea></title><script>alert(1)</script><img src=x onerror=alert(1)><style>*{color:red}</style>\
    <a href=\"javascript:alert(1)\">x</a> [y](javascript:alert(1)) ![z](http://evil.example/z.png) \" onfocus=\"alert(1) ' autofocus='";

/// Asserts the headers that every answer must have.
pub(crate) fn assert_protected(what: &str, answer: &TestServerResponse) {
    let is_page = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
    let of_pages = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let policy = if is_page { of_pages } else { "default-src 'none'; frame-ancestors 'none'; sandbox" };
    // A browser takes the policies of "not modified" over for the page that it has.
    let is_kept = answer.status == 304;
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        let all = answer.headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let expected = if is_kept && name == "content-security-policy" { vec![] } else { vec![value] };
        assert_eq!(all.collect::<Vec<_>>(), expected, "{what}: {answer:?}");
    }
    let referrer = if is_page { "same-origin" } else { "no-referrer" };
    let referrer = (!is_kept).then_some(referrer);
    assert_eq!(answer.header("referrer-policy"), referrer, "{what}: {answer:?}");
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{what}: {answer:?}");
}

/// A tag of a page: its name and its attributes.
pub(super) fn tags(page: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start + 1..];
        let mut is_value = false;
        let end = tag.find(|symbol| {
            is_value ^= symbol == '"';
            symbol == '>' && !is_value
        });
        let end = end.unwrap_or(tag.len());
        tags.push(tag_of(&tag[..end]));
        rest = &tag[end..];
    }
    tags
}

fn tag_of(tag: &str) -> (String, Vec<(String, String)>) {
    let mut parts = tag.split('"');
    let first = parts.next().unwrap_or_default();
    let name = first.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let mut attributes = Vec::new();
    let mut before = first.strip_prefix(name.as_str()).unwrap_or(first).to_owned();
    loop {
        let mut words: Vec<&str> = before.split_whitespace().collect();
        let value = parts.next();
        let last = value.and_then(|_| words.pop());
        attributes
            .extend(words.into_iter().map(|word| (word.trim_end_matches('=').to_ascii_lowercase(), String::new())));
        let (Some(last), Some(value)) = (last, value) else { break };
        attributes.push((last.trim_end_matches('=').to_ascii_lowercase(), value.to_owned()));
        before = parts.next().unwrap_or_default().to_owned();
    }
    (name, attributes)
}

/// The paths of this server a page links to.
pub(super) fn links(page: &str) -> Vec<String> {
    let attributes = tags(page).into_iter().flat_map(|(_, attributes)| attributes);
    let paths = attributes.filter(|(name, value)| name == "href" && value.starts_with('/'));
    paths.filter_map(|(_, value)| Some(value.split('#').next()?.replace("&amp;", "&"))).collect()
}

/// Every page that can be reached from these, by its path.
pub(super) fn pages(server: &TestServer, from: &[String]) -> BTreeMap<String, TestServerResponse> {
    let mut open: VecDeque<String> = from.iter().cloned().collect();
    let cookie = server.cookie();
    let mut seen = BTreeMap::new();
    while let Some(path) = open.pop_front() {
        if seen.contains_key(&path) || seen.len() == MOST {
            continue;
        }
        let answer = server.send("GET", &path, &[("cookie", &cookie), ("accept", "text/html")], "");
        if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
            open.extend(links(&answer.body));
        }
        open.extend(answer.header("location").map(str::to_owned));
        seen.insert(path, answer);
    }
    seen
}

/// A home with what a hostile agent leaves on each kind of page, and a thread of it.
fn hostile_home() -> (TestHome, String) {
    let home = reviewing_home();
    home.script("hostile", &format!("#!/bin/sh\ncat > /dev/null\ncat <<'TEXT'\n---\ntitle: |\n  {HOSTILE}\n---\n# {HOSTILE}\n\n{HOSTILE}\nTEXT\n"));
    home.script("failing", &format!("#!/bin/sh\ncat > /dev/null\ncat >&2 <<'TEXT'\n{HOSTILE}\nTEXT\nexit 3\n"));
    let thread = home.start("review-text", HOSTILE);
    home.uwf(&["thread", "step", &thread, "--agent", "failing"]);
    home.json(&["thread", "step", &thread, "--agent", "hostile"]);
    step(&home, &thread, 1);
    let stuck = home.start("review-text", HOSTILE);
    home.uwf(&["thread", "step", &stuck, "--agent", "failing"]);
    home.put("hostile-words", &WORKFLOW.replace("a writer and a reviewer", "</title><script>alert(1)</script>"));
    (home, thread)
}

/// Pages that lead to all others.
fn first_pages(thread: &str) -> Vec<String> {
    ["/", "/?all=1", &format!("/threads/{thread}"), "/search?q=%22%3E%3Cscript%3E"].map(str::to_owned).to_vec()
}

/// The elements inside `<main>` with their attributes in the order of their names, links without a prefix.
fn main_elements(page: &str, prefix: &str) -> Vec<(String, Vec<(String, String)>)> {
    let all = tags(page).into_iter();
    let inside = all.skip_while(|(name, _)| name != "main").skip(1).take_while(|(name, _)| name != "/main");
    let inside = inside.filter(|(name, _)| !name.starts_with('/'));
    let plain = |(name, value): (String, String)| (name, value.strip_prefix(prefix).unwrap_or(&value).to_owned());
    let sorted = inside.map(|(name, attributes)| (name, attributes.into_iter().map(plain).collect::<BTreeMap<_, _>>()));
    // A form that starts a thread has a new id each time it is drawn, and HTML needs no namespaces.
    let is_left_out = |(name, value): &(String, String)| {
        ["xmlns", "/"].contains(&name.as_str()) || name == "value" && value.len() == 26
    };
    sorted.map(|(name, attributes)| (name, attributes.into_iter().filter(|one| !is_left_out(one)).collect())).collect()
}

#[test]
fn gateway_preserves_machine_pages() {
    let ((laptop, thread), gateway) = (hostile_home(), home());
    let (near, server) = (TestServer::start(&laptop, &[]), TestServer::start(&gateway, &["--gateway"]));
    let token = text(&gateway.json(&["gateway", "token", "laptop"]), "token");
    let url = format!("http://{}", server.address);
    let machine =
        TestMachine::start(&laptop, &["--name", "laptop", "--gateway", &url], &[("WORKFLOW_GATEWAY_TOKEN", &token)]);
    machine.says("connected to ", 1);
    let all = pages(&near, &first_pages(&thread));
    let is_page =
        |answer: &TestServerResponse| answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
    let mut compared = 0;
    for (path, answer) in all.iter().filter(|(_, answer)| is_page(answer)) {
        let far = server.page(&format!("/m/laptop{path}"));
        assert_eq!(far.status, answer.status, "{path}");
        let (near, far) = (main_elements(&answer.body, ""), main_elements(&far.body, "/m/laptop"));
        let first = near.iter().zip(&far).find(|(near, far)| near != far);
        assert!(first.is_none() && near.len() == far.len(), "{path}: {first:#?}");
        compared += near.len();
    }
    assert!(compared > 1000, "{compared} elements");
}

#[test]
fn pages_contain_no_injected_script() {
    let (home, thread) = hostile_home();
    let server = TestServer::start(&home, &[]);
    let all = pages(&server, &first_pages(&thread));
    let shown = all.values().filter(|answer| answer.status == 200).count();
    assert!(shown > 15, "{shown} pages: {:?}", all.keys());
    for (path, answer) in &all {
        assert_protected(path, answer);
        assert!(answer.status < 500, "{path}: {answer:?}");
        if !answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
            continue;
        }
        for (name, attributes) in tags(&answer.body) {
            assert_harmless(path, &name, &attributes);
        }
    }
}

/// Asserts that a tag runs, styles and loads nothing but files of this server.
fn assert_harmless(path: &str, name: &str, attributes: &[(String, String)]) {
    let value = |wanted: &str| attributes.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str());
    let shown = format!("{path}: <{name} {attributes:?}>");
    match name {
        "script" => assert!(value("src").is_some_and(|src| src.starts_with("/assets/")), "{shown}"),
        "style" | "iframe" | "object" | "embed" | "base" => panic!("{shown}"),
        "img" => {
            assert!(value("src").is_some_and(|src| src.starts_with('/') || src.starts_with("data:image/")), "{shown}");
        }
        _ => {}
    }
    for (key, value) in attributes {
        assert!(!key.starts_with("on") && key != "style" && key != "srcdoc", "{shown}");
        let is_address = ["href", "src", "action", "formaction", "xlink:href"].contains(&key.as_str());
        let scheme = value.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        assert!(!is_address || !["javascript", "vbscript"].contains(&scheme.as_str()), "{shown}");
    }
}

#[test]
fn crawler_detects_injected_markup() {
    let found = tags(
        "<p class=\"a\" hidden>x</p><img src=\"x\" onerror=\"alert(1)\"><a title=\">\" href=\"/x?a=1&amp;b=2#c\">",
    );
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["p", "/p", "img", "a"]);
    assert_eq!(found[0].1, [("class".to_owned(), "a".to_owned()), ("hidden".to_owned(), String::new())]);
    assert_eq!(found[2].1[1], ("onerror".to_owned(), "alert(1)".to_owned()));
    assert_eq!(links("<a title=\">\" href=\"/x?a=1&amp;b=2#c\">"), ["/x?a=1&b=2"]);
    for (name, attributes) in [("script", "x"), ("p", "onclick"), ("p", "style")] {
        let attributes = [(attributes.to_owned(), String::new())];
        assert!(std::panic::catch_unwind(|| assert_harmless("", name, &attributes)).is_err(), "{name}");
    }
}
