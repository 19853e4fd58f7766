//! `uwf serve`: the page that edits a workflow, and `POST /api/workflows`.

use serde_json::json;
use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

/// A form as a browser sends it.
fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

fn send(server: &TestServer, path: &str, fields: &[(&str, &str)]) -> TestServerResponse {
    let origin = format!("http://{}", server.address);
    let headers = [
        ("cookie", &*server.cookie()),
        ("accept", "text/html"),
        ("origin", &origin),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    server.send("POST", path, &headers, &form(fields))
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let begin = format!("name=\"{name}\" value=\"");
    let from = page.find(&begin).unwrap_or_else(|| panic!("no {name} in {page}")) + begin.len();
    page[from..].split('"').next().unwrap().to_owned()
}

fn version(home: &TestHome, name: &str) -> String {
    uwf_testing::text(&home.json(&["workflow", "show", name]), "hash")
}

#[test]
fn edited_workflow_is_saved_as_new_version() {
    let home = home();
    let first = home.put("count-rounds", &counting_workflow(2));
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows/count-rounds/edit").body;
    assert_eq!((hidden(&page, "expect"), hidden(&page, "name")), (first.clone(), "count-rounds".to_owned()));
    let source = server.get("/api/workflows/count-rounds/source").body;
    assert_eq!(source, home.uwf(&["workflow", "show", "count-rounds", "--source"]).stdout);
    let changed = source.replace("$count(steps) >= 2", "$count(steps) >= 7").replace('\n', "\r\n");
    let fields = |text, expect| {
        [("source", text), ("name", "count-rounds"), ("own_name", "count-rounds"), ("expect", expect), ("do", "save")]
    };
    let saved = send(&server, "/workflows/count-rounds/edit", &fields(&changed, &first));
    assert_eq!((saved.status, saved.header("location")), (303, Some("/workflows/count-rounds")), "{}", saved.body);
    let second = version(&home, "count-rounds");
    assert_ne!(second, first);
    let shown = server.page("/workflows/count-rounds").body;
    assert!(
        shown.contains("$count(steps) &gt;= 7") && shown.contains(&format!("/compare/{first}..{second}")),
        "{shown}"
    );
    // Another tab still has the first version.
    let stale = send(&server, "/workflows/count-rounds/edit", &fields(&source.replace(">= 2", ">= 9"), &first));
    assert_eq!(stale.status, 409, "{}", stale.body);
    assert!(stale.body.contains("Not saved. ") && stale.body.contains("&gt;= 9"), "the text is kept: {}", stale.body);
    assert_eq!(version(&home, "count-rounds"), second);
}

#[test]
fn invalid_file_is_shown_with_its_problems() {
    let home = home();
    home.put("count-rounds", &counting_workflow(2));
    let server = TestServer::start(&home, &[]);
    let broken = counting_workflow(2).replace("role: worker", "role: wroker");
    for (action, status) in [("check", 200), ("save", 422)] {
        let page = send(&server, "/new-workflow", &[("source", &broken), ("expect", "none"), ("do", action)]);
        assert_eq!(page.status, status, "{}", page.body);
        assert!(page.body.contains("wroker") && page.body.contains("data-line=\""), "{}", page.body);
    }
    let hostile = counting_workflow(2).replace("name: count-rounds", "name: \"<script>alert(1)</script>\"");
    let page = send(&server, "/new-workflow", &[("source", &hostile), ("do", "check")]).body;
    assert!(!page.contains("<script>alert"), "{page}");
    for odd in ["", "\u{feff}", "[1]", "a: b: c", &"- ".repeat(5000), &"x".repeat(100_000)] {
        let page = send(&server, "/new-workflow", &[("source", odd), ("do", "save")]);
        assert_eq!(page.status, 422, "{:.60}: {}", odd, page.body);
    }
    assert_eq!(home.json(&["workflow", "list"]).as_array().map(Vec::len), Some(1), "nothing was stored");
}

#[test]
fn new_workflow_begins_with_a_valid_file() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let page = server.page("/new-workflow").body;
    assert!(page.contains("No problems.") && page.contains("<svg"), "{page}");
    let from = page.find("<textarea").unwrap();
    let text = page[from..].split_once('>').unwrap().1.split("</textarea>").next().unwrap().trim_start();
    let saved = send(&server, "/new-workflow", &[("source", text), ("expect", "none"), ("do", "save")]);
    assert_eq!((saved.status, saved.header("location")), (303, Some("/workflows/write-text")), "{}", saved.body);
    let again = send(
        &server,
        "/new-workflow",
        &[("source", &text.replace("says what", "says")), ("expect", "none"), ("do", "save")],
    );
    assert_eq!(again.status, 409, "the name is taken: {}", again.body);
    // A changed name in the file of an old workflow makes another one.
    let renamed = text.replace("name: write-text", "name: write-more");
    let fields =
        [("source", &*renamed), ("name", "write-text"), ("own_name", "write-text"), ("expect", "none"), ("do", "save")];
    let saved = send(&server, "/workflows/write-text/edit", &fields);
    assert_eq!((saved.status, saved.header("location")), (303, Some("/workflows/write-more")), "{}", saved.body);
}

#[test]
fn commands_of_a_saved_workflow_are_untrusted() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let source = "name: run-it\nroles:\n  it: { run: echo ran > ran }\ngraph:\n  $START: [ { role: it } ]\n  it: [ { role: $END } ]\n";
    let stored = server.post("/api/workflows", &json!({ "source": source }));
    assert_eq!((stored.status, stored.header("location")), (201, Some("/api/workflows/run-it")), "{}", stored.body);
    assert_eq!(stored.json()["hash"], home.json(&["workflow", "show", "run-it"])["hash"]);
    let started = server.post("/api/threads", &json!({ "workflow": "run-it", "prompt": "x", "run": true }));
    assert_eq!(started.status, 422, "{}", started.body);
    assert!(started.body.contains("uwf workflow trust"), "{}", started.body);
    assert!(!home.work().join("ran").exists());
    for (body, status) in [
        (json!({}), 400),
        (json!({ "source": "" }), 400),
        (json!({ "source": source, "trust": true }), 400),
        (json!({ "source": source, "expect": "none" }), 201),
        (json!({ "source": source.replace("echo", "cat"), "expect": "none" }), 409),
        (json!({ "source": source.replace("role: it", "role: is") }), 400),
        (json!({ "source": source, "name": "../x" }), 400),
    ] {
        let answer = server.post("/api/workflows", &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
}

#[test]
fn project_files_and_read_only_servers_refuse_edits() {
    let home = home();
    home.put("count-rounds", &counting_workflow(2));
    std::fs::create_dir(home.work().join(".workflows")).unwrap();
    let of_project = counting_workflow(5).replace("name: count-rounds", "name: of-project");
    home.file(".workflows/of-project.yaml", &format!("# why\n{of_project}"));
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows/of-project").body;
    assert!(page.contains("# why") && !page.contains("/of-project/edit"), "{page}");
    assert_eq!(server.page("/workflows/of-project/edit").status, 400);
    assert_eq!(server.page("/workflows/no-such/edit").status, 404);
    let read_only = TestServer::start(&home, &["--read-only"]);
    assert!(!read_only.page("/workflows").body.contains("New workflow"));
    for path in ["/new-workflow", "/workflows/count-rounds/edit"] {
        assert_eq!(read_only.page(path).status, 403, "{path}");
        assert_eq!(send(&read_only, path, &[("source", "x"), ("do", "save")]).status, 403, "{path}");
    }
    assert_eq!(read_only.post("/api/workflows", &json!({ "source": of_project })).status, 403);
}
