//! Rules of layout at seven widths, with long titles and many roles.

use std::fmt::Write;

use serde_json::json;
use uwf_testing::server::TestServer;
use uwf_testing::text;

use crate::browse;
use crate::showcase::{Showcase, staffed, waiting};

/// A title of 160 characters.
fn long_title(number: usize) -> String {
    let mut title =
        format!("Title {number} of a thread that says in one breath what is to be done, by whom and until when, ");
    while title.len() < 160 {
        title.push_str("and then some more of it ");
    }
    title.truncate(160);
    title
}

/// Two reviewers at once, one of them a group of its own.
const PANEL: &str = "name: panel
roles:
  security-of-everything: { goal: You look for holes. }
  docs: { goal: You read the manual. }
  style: { goal: You read the code. }
  texts: { play: [ docs, style ] }
  reviews: { play: [ security-of-everything, texts ] }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

/// A workflow with sixteen roles, of which each may return to the one before it.
fn sixteen_roles() -> String {
    let mut workflow = "name: many-roles\ndescription: sixteen roles\nroles:\n".to_owned();
    let mut graph = "graph:\n  $START: [ { role: role-1-with-a-name } ]\n".to_owned();
    for number in 1..=16 {
        let _ = writeln!(
            workflow,
            "  role-{number}-with-a-name: {{ description: does part {number}, goal: Do part {number}. }}"
        );
        let next = if number == 16 { "$END".to_owned() } else { format!("role-{}-with-a-name", number + 1) };
        let back = if number > 1 {
            format!("{{ role: role-{}-with-a-name, condition: worseThanBefore }}, ", number - 1)
        } else {
            String::new()
        };
        let _ = writeln!(graph, "  role-{number}-with-a-name: [ {back}{{ role: {next} }} ]");
    }
    workflow
        + "conditions:\n  worseThanBefore: { description: the part before must be done again, expression: '$contains($string(steps[-1].output), \"worse\")' }\n"
        + &graph
}

#[test]
fn layout_rules_hold_at_every_width() {
    let it = Showcase::new();
    it.home.put("many-roles", &sixteen_roles());
    let many = it.home.start("many-roles", &long_title(0));
    for number in 1..4 {
        waiting(&it.home, &long_title(number));
    }
    let of = |thread: &str| format!("/threads/{thread}");
    let pages = json!({
        "inbox": "/", "list": "/?all=1", "done": of(&it.done), "waiting": of(&it.waiting), "stuck": of(&it.stuck),
        "running": of(&it.running), "many": of(&many), "step": format!("/threads/{}/steps/{}", it.done, it.step(1)),
        "compare": format!("/compare/{}..{}", it.done, it.waiting), "search": "/search?q=title", "workflows": "/workflows",
        "workflow": "/workflows/many-roles", "start": "/workflows/publish-post/start", "editor": "/workflows/many-roles/edit", "cost": "/cost?by=thread", "doctor": "/doctor",
    });
    let server = TestServer::start(&it.home, &[]);
    browse(&it.home, &server, "layout.holds", json!({ "pages": pages, "shows": { "stuck": ".current .fails" } }));
}

#[test]
fn layout_rules_hold_for_bars_and_charts() {
    let home = staffed();
    home.put("panel", PANEL);
    let panel = home.start("panel", &long_title(4));
    let ran = home.uwf(&["run", &panel, "--agent", "paid"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let pages = json!({ "panel": format!("/threads/{panel}"), "costs": "/cost", "costs of a month": "/cost?since=30d&by=role" });
    // Each page has the elements that the rules are about.
    let shows =
        json!({ "costs": ".columns .amount", "costs of a month": ".columns a", "panel": ".nested .bar-of-time" });
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "layout.holds", json!({ "pages": pages, "shows": shows }));
}

#[test]
fn inbox_shows_fourteen_rows() {
    let it = Showcase::new();
    for number in 0..12 {
        waiting(&it.home, &long_title(number));
    }
    let rows = it.home.json(&["thread", "list"]);
    assert!(!text(&rows[0], "thread").is_empty());
    let server = TestServer::start(&it.home, &[]);
    browse(&it.home, &server, "layout.shows_many_rows", json!({}));
}

#[test]
fn nothing_moves_while_someone_types() {
    let it = Showcase::new();
    let server = TestServer::start(&it.home, &[]);
    browse(&it.home, &server, "layout.stays_while_typing", json!({ "workflow": "publish-post" }));
}
