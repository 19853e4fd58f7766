//! `uwf serve`: two threads, steps or versions of a workflow side by side.

use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::repository::{home_with_repository, start_in_worktree};
use crate::fixtures::review::{self, hashes, reviewing_home, step};

/// A thread whose text is rejected, and a fork behind the writer in which it is approved.
fn forked() -> (TestHome, String, String) {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats");
    step(&home, &thread, 3);
    let first = &hashes(&home, &thread)[1];
    let fork = text(&home.json(&["thread", "fork", first]), "thread");
    step(&home, &fork, 1);
    (home, thread, fork)
}

#[test]
fn forks_are_compared_from_where_they_part() {
    let (home, thread, fork) = forked();
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/compare/{thread}..{fork}")).body;
    let has = |text: &str| assert!(page.contains(text), "no {text} in {page}");
    has("1 step that both share");
    has("<del>false</del>");
    has("<ins>true</ins>");
    // Only the thread went back to the writer.
    has("one took step ");
    for cell in ["<th scope=\"col\">Difference</th>", "<th scope=\"row\">State</th>", "<td>−1</td>"] {
        has(cell);
    }
    has("<code>rejected</code> gave <code>true</code>");
    let [writer, reviewer] = [1, 2].map(|index| hashes(&home, &thread)[index].clone());
    has(&format!("href=\"/threads/{thread}/steps/{reviewer}\""));
    has(&format!("href=\"/threads/{thread}/steps/{writer}\""));
    let same = server.page(&format!("/compare/{thread}..{thread}")).body;
    assert!(same.contains("Both have the same steps."), "{same}");
}

#[test]
fn steps_are_compared_alone() {
    let (home, thread, fork) = forked();
    let [one, other] = [&thread, &fork].map(|thread| hashes(&home, thread)[2].clone());
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/compare/{one}..{other}")).body;
    assert!(page.contains("<del>false</del>") && page.contains("<ins>true</ins>"), "{page}");
    assert!(!page.contains("that both share"), "{page}");
    assert_eq!(page.matches("<article").count(), 1, "{page}");
    let chains = std::fs::read_dir(home.root().join("cache/chains")).unwrap().count();
    assert_eq!(chains, 2, "no chain is kept of what is no thread");
}

#[test]
fn json_request_returns_command_report() {
    let (home, thread, fork) = forked();
    let server = TestServer::start(&home, &[]);
    let answer = server.get(&format!("/compare/{thread}..{fork}"));
    let report = home.uwf(&["thread", "diff", &thread, &fork, "--format", "json"]).stdout;
    assert_eq!(answer.body, report.trim_end());
}

#[test]
fn form_redirects_to_comparison_page() {
    let (home, thread, _) = forked();
    let server = TestServer::start(&home, &[]);
    let answer = server.page(&format!("/compare?a={thread}&b=review-text"));
    let path = format!("/compare/{thread}..review-text");
    assert_eq!((answer.status, answer.header("location")), (303, Some(&*path)));
    assert!(server.page(&format!("/compare?a={thread}")).body.contains(&format!("value=\"{thread}\"")));
    let mixed = server.page(&path);
    assert_eq!(mixed.status, 400);
    assert!(mixed.body.contains("is a workflow, and the other is not"), "{}", mixed.body);
    assert_eq!(server.page("/compare/nothing").status, 400);
    assert_eq!(server.page(&format!("/compare/{thread}..nowhere")).status, 404);
}

#[test]
fn workflow_versions_are_compared_part_by_part() {
    let home = reviewing_home();
    let old = text(&home.json(&["workflow", "show", "review-text"]), "hash");
    let changed = review::WORKFLOW
        .replace("Write one sentence.", "Write two sentences.")
        .replace("    - { role: writer, condition: rejected }\n", "    - { role: editor, condition: rejected }\n")
        .replace("conditions:", "  editor:\n    goal: Edit it.\n    meta: { type: object }\nconditions:")
        .replace(
            "  writer: [ { role: reviewer } ]",
            "  writer: [ { role: reviewer } ]\n  editor: [ { role: reviewer } ]",
        )
        .replace("not good yet", "not good enough");
    home.put("review-text", &changed);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/compare/{old}..review-text")).body;
    let has = |text: &str| assert!(page.contains(text), "no {text} in {page}");
    has("Write <del>one sentence</del><ins>two sentences</ins>.");
    has("id=\"roles-editor\"");
    has("to <del>writer</del><ins>editor</ins> if rejected");
    has("not good <del>yet</del><ins>enough</ins>");
    has("1 the same");
    assert!(!page.contains("id=\"roles-reviewer\""), "it did not change: {page}");
    let json = server.get(&format!("/compare/{old}..review-text")).json();
    assert_eq!(json["a"], serde_json::json!(old));
    assert!(json["changes"].as_array().unwrap().iter().any(|change| change["at"] == "/roles/writer/goal"), "{json}");
    let same = server.page("/compare/review-text..review-text").body;
    assert!(same.contains("The two are the same."), "{same}");
}

#[test]
fn files_are_compared_where_they_are_known() {
    let home = home_with_repository(9);
    let (thread, _) = start_in_worktree(&home, &home.work().join("repo"));
    step(&home, &thread, 2);
    let [_, one, other] = hashes(&home, &thread).try_into().unwrap();
    let server = TestServer::start(&home, &[]);
    let fork = text(&home.json(&["thread", "fork", &one]), "thread");
    let page = server.page(&format!("/compare/{thread}..{fork}")).body;
    assert!(page.contains("<code>step-2.txt</code>"), "{page}");
    let patch = server.page(&format!("/compare/{thread}..{fork}?patch=1")).body;
    assert!(patch.contains("diff --git a/count b/count"), "{patch}");
    let unknown = server.page(&format!("/compare/{one}..{other}"));
    assert_eq!(unknown.status, 200);
    // The head of a thread's page links to its changes since the start.
    let shown = server.page(&format!("/threads/{thread}")).body;
    assert!(shown.contains("<a href=\"?patch=1#files\">+"), "{shown}");
    let changes = server.page(&format!("/threads/{thread}?patch=1"));
    assert_eq!(changes.status, 200, "{}", changes.body);
    assert!(changes.body.contains("diff --git a/step-2.txt b/step-2.txt"), "{}", changes.body);
}

#[test]
fn inputs_of_two_threads_are_compared() {
    let home = reviewing_home();
    let input = "input: { type: object, properties: { level: { enum: [low, high] } } }\nroles:\n";
    home.put("review-text", &review::WORKFLOW.replacen("roles:\n", input, 1));
    let start = |set: &str| text(&home.json(&["thread", "start", "review-text", "-p", "x", "--set", set]), "thread");
    let [low, high] = ["level=low", "level=high"].map(start);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/compare/{low}..{high}")).body;
    let row = page.split("<th scope=\"row\">Input</th>").nth(1).unwrap_or_else(|| panic!("no input in {page}"));
    let row = row.split("</tr>").next().unwrap();
    let cells: Vec<&str> = row.split("<td>").skip(1).collect();
    assert!(matches!(cells[..], [one, other, _] if one.contains("low") && other.contains("high")), "{row}");
    let plain = reviewing_home();
    let [one, other] = ["x", "y"].map(|task| plain.start("review-text", task));
    let server = TestServer::start(&plain, &[]);
    let page = server.page(&format!("/compare/{one}..{other}")).body;
    assert!(!page.contains("<th scope=\"row\">Input</th>"), "a workflow without inputs has no such row: {page}");
}
