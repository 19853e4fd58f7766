//! `uwf serve`: workflows, as pages and as JSON.

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, counting_workflow};

use crate::fixtures::review::{WORKFLOW, step};
use crate::home;

/// A home with two versions of one workflow, another one, and a file of the project.
fn home_with_workflows() -> (TestHome, [String; 2]) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let versions = [2, 3].map(|rounds| home.put("count-rounds", &counting_workflow(rounds)));
    home.put("review-text", WORKFLOW);
    std::fs::create_dir(home.work().join(".workflows")).unwrap();
    let of_project = counting_workflow(5).replace("name: count-rounds", "name: of-project");
    std::fs::write(home.work().join(".workflows/of-project.yaml"), of_project).unwrap();
    (home, versions)
}

/// What begins with one text and ends with another.
fn between<'p>(page: &'p str, begin: &str, end: &str) -> &'p str {
    let from = page.find(begin).unwrap_or_else(|| panic!("no {begin:?} in {page}"));
    let rest = &page[from..];
    &rest[..rest.find(end).unwrap_or_else(|| panic!("no {end:?} after {begin:?} in {rest}"))]
}

/// The texts of a piece of HTML, one after the other.
fn words(html: &str) -> String {
    let texts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text).trim());
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn api_reports_match_commands() {
    let (home, [first, second]) = home_with_workflows();
    let server = TestServer::start(&home, &[]);
    let list = home.json(&["workflow", "list"]);
    assert_eq!(list.as_array().map(Vec::len), Some(3));
    for path in ["/api/workflows", "/workflows"] {
        assert_eq!(server.get(path).json(), list, "{path}");
    }
    for path in ["/api/workflows/count-rounds", "/workflows/count-rounds", &format!("/api/workflows/{}", &second[..6])]
    {
        assert_eq!(server.get(path).json(), home.json(&["workflow", "show", "count-rounds"]), "{path}");
    }
    let path = format!("/api/workflows/{first}");
    assert_eq!(server.get(&path).json(), home.json(&["workflow", "show", &first]));
    let history = server.get("/api/workflows/count-rounds/history").json();
    assert_eq!(history, home.json(&["workflow", "history", "count-rounds"]));
    assert_eq!(history.as_array().map(Vec::len), Some(2));
    assert_eq!(server.get("/api/workflows/count-rounds").json()["history"], history);
    let named = list.as_array().unwrap().iter().find(|row| row["name"] == "count-rounds").unwrap();
    assert_eq!((&named["hash"], &named["timestamp"]), (&json!(second), &history[0]["timestamp"]));
    assert!(named["timestamp"].is_u64(), "{named}");
}

#[test]
fn menus_have_workflows_that_are_only_in_files() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    std::fs::create_dir(home.work().join(".workflows")).unwrap();
    let of_project = counting_workflow(5).replace("name: count-rounds", "name: of-project");
    std::fs::write(home.work().join(".workflows/of-project.yaml"), of_project).unwrap();
    let server = TestServer::start(&home, &[]);
    assert!(server.page("/").body.contains("<a href=\"/workflows/of-project/start\">of-project</a>"));
    assert!(!server.page("/?all=1").body.contains("<option value=\"of-project\""), "it has no thread yet");
    home.json(&["thread", "start", "of-project", "-p", "count"]);
    let list = server.page("/?all=1").body;
    for option in ["of-project", "worker", "succeeded"] {
        assert!(list.contains(&format!("<option value=\"{option}\">")), "{option}: {list}");
    }
    assert_eq!(list.matches(" data-row=").count(), 1, "{list}");
    assert_eq!(server.page("/?workflow=of-project&role=worker&all=1").body.matches(" data-row=").count(), 1);
}

#[test]
fn viewing_project_file_stores_nothing() {
    let (home, _) = home_with_workflows();
    let server = TestServer::start(&home, &[]);
    let nodes = || std::fs::read_dir(home.root().join("cas")).unwrap().count();
    let before = nodes();
    let shown = server.get("/api/workflows/of-project").json();
    assert_eq!((&shown["name"], &shown["timestamp"]), (&json!("of-project"), &json!(0)));
    assert_eq!(server.page("/workflows/of-project").status, 200);
    assert_eq!(server.page("/workflows/of-project/start").status, 200);
    assert_eq!(nodes(), before);
    let mut stored = home.json(&["workflow", "show", "of-project"]);
    assert_ne!(nodes(), before, "the command stores it");
    assert_eq!(server.get("/api/workflows/of-project").json(), stored);
    stored["timestamp"] = json!(0);
    assert_eq!(shown, stored);
}

#[test]
fn unknown_workflow_is_reported_without_reading_files() {
    let (home, _) = home_with_workflows();
    let server = TestServer::start(&home, &[]);
    let missing = server.get("/api/workflows/count-round");
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("count-rounds"), "the nearest name: {}", missing.body);
    let file = home.file("secret.yaml", "password: 1\n");
    let encoded = file.to_string_lossy().replace('/', "%2F");
    for path in ["secret.yaml", &encoded, "..%2Fwork%2Fsecret.yaml"] {
        let answer = server.get(&format!("/api/workflows/{path}"));
        assert_eq!((answer.status, answer.body.contains("password")), (404, false), "{}", answer.body);
    }
    assert_eq!(server.page("/workflows/no-such").status, 404);
}

#[test]
fn the_list_tells_how_much_workflows_are_used() {
    let (home, [first, _]) = home_with_workflows();
    home.start(&first, "an earlier version");
    let ended = home.start("count-rounds", "to the end");
    step(&home, &ended, 3);
    home.start("review-text", "is not begun");
    let nameless = home.file("lonely.yaml", &WORKFLOW.replace("review-text", "lonely"));
    home.start(&nameless.to_string_lossy(), "from a file");
    home.file(".workflows/broken.yaml", "name: broken\nroles: 7\n");
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows").body;
    let row = |id: &str| words(between(&page, &format!("<tr id=\"{id}\""), "</tr>"));
    assert!(
        row("workflow-count-rounds")
            .starts_with("count-rounds one role that counts 1 2 1 open · 1 ended 100 % just now")
    );
    assert_eq!(row("workflow-review-text"), "review-text a writer and a reviewer 2 1 1 open – just now Start");
    assert_eq!(row("project-of-project"), "of-project project one role that counts 1 1 none yet – never Start");
    let broken = row("project-broken");
    assert!(broken.contains("not valid: ") && !broken.ends_with("Start"), "{broken}");
    let nameless = words(between(&page, "Without a name", "</table>"));
    assert!(nameless.contains("lonely") && nameless.ends_with("1 open just now"), "{nameless}");
}

#[test]
fn workflow_page_shows_roles_versions_and_figures() {
    let (home, [first, second]) = home_with_workflows();
    let threads = [&first, &second].map(|version| home.start(version, "count"));
    step(&home, &threads[0], 2);
    step(&home, &threads[1], 1);
    home.script("worker", "#!/bin/sh\ncat > /dev/null\nexit 3\n");
    assert_ne!(home.uwf(&["thread", "step", &threads[1]]).code, Some(0));
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows/count-rounds").body;
    let figures = |page: &str| words(between(page, "<tr id=\"figures-worker\"", "</tr>"));
    assert!(figures(&page).starts_with("worker 3 1 (25 %) "), "{}", figures(&page));
    assert!(figures(&page).ends_with("s unknown unknown"), "{}", figures(&page));
    assert!(words(&page).contains("From 3 steps of 2 threads."));
    let this = server.page("/workflows/count-rounds?figures=this").body;
    assert!(figures(&this).starts_with("worker 1 1 (50 %) "), "{}", figures(&this));
    assert!(words(&this).contains("From 1 step of 1 thread."));
    assert_eq!(
        words(between(&page, "<details class=\"role\" id=\"fold-worker\"", "</table>")),
        "worker counts Goal Count. Output Keys of the output of worker Key Type Required Meaning n integer yes"
    );
    assert_eq!(
        words(between(&page, "<tr id=\"condition-enough\"", "</tr>")),
        "enough $count(steps) &gt;= 3 it was played often enough"
    );
    assert!(page.contains(&format!("href=\"/compare/{first}..{second}\"")), "{page}");
    let earlier = server.page(&format!("/workflows/{first}")).body;
    assert!(earlier.contains("earlier version"), "{earlier}");
}

#[test]
fn the_graph_leads_to_roles_and_conditions() {
    let (home, _) = home_with_workflows();
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows/review-text").body;
    let picture = between(&page, "<svg", "</svg>");
    for (link, anchor) in [("#role-writer", "id=\"role-writer\""), ("#condition-rejected", "id=\"condition-rejected\"")]
    {
        assert!(picture.contains(&format!("href=\"{link}\"")) && page.contains(anchor), "{link} in {picture}");
    }
    assert!(!page.contains("<style") && !page.contains("style="), "the policy forbids it");
    let table = words(between(&page, "View as table", "</table>"));
    assert_eq!(
        table,
        "View as table From To If $START writer always writer reviewer always reviewer writer rejected reviewer $END otherwise"
    );
}

#[test]
fn texts_of_authors_are_escaped() {
    let home = home();
    let hostile = WORKFLOW
        .replace("Write one sentence.", "<script>alert(1)</script> and [a link](javascript:alert(1))")
        .replace("a writer and a reviewer", "'<img src=x onerror=alert(1)>'")
        .replace("not good yet", "'<b>bold</b>'");
    home.put("review-text", &hostile);
    let server = TestServer::start(&home, &[]);
    for path in ["/workflows", "/workflows/review-text", "/workflows/review-text/start"] {
        let page = server.page(path).body;
        for markup in ["<script>alert", "<img src=x", "<b>bold", "href=\"javascript:"] {
            assert!(!page.contains(markup), "{markup} in {path}");
        }
    }
}

#[test]
fn an_empty_root_says_how_to_begin() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    assert_eq!(server.get("/api/workflows").json(), Value::Array(Vec::new()));
    let page = server.page("/workflows").body;
    assert!(words(&page).contains("No workflow is stored yet. uwf workflow put FILE"), "{page}");
}
