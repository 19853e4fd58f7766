//! `uwf serve`: what threads cost, and what is wrong with the storage root.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, counting_workflow};

use crate::fixtures::review::step;
use crate::home;

/// An agent whose run costs a quarter of a dollar.
const PAID: &str = r#"#!/bin/sh
cat > /dev/null
echo '{"type": "session", "sessionId": "'"$UWF_ATTEMPT"'", "durationMs": 1500, "tokens": {"input": 1200000, "output": 100000, "cost": 0.25}}'
printf '%s\n' '{"type": "turn", "input": "a", "output": "---\nn: 1\n---\n", "latencyMs": 1500, "tokens": {"input": 1200000, "output": 100000}}'
"#;

/// Two threads: one of two paid steps, one of a paid step and one of which nothing is known.
fn spending_home() -> (TestHome, [String; 2]) {
    let home = home();
    home.script("paid", PAID);
    home.script("plain", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.config(
        "agents:\n  t: { command: paid, output: text, model: big, config: { trace: jsonl } }\n  \
         p: { command: plain, output: json }\ndefaultAgent: t\n",
    );
    home.put("count-rounds", &counting_workflow(5));
    let threads = ["Count <b>sheep</b>", "Count goats"].map(|task| home.start("count-rounds", task));
    step(&home, &threads[0], 2);
    step(&home, &threads[1], 1);
    home.json(&["thread", "step", &threads[1], "--agent", "p"]);
    (home, threads)
}

#[test]
fn costs_are_those_of_the_command() {
    let (home, _) = spending_home();
    let server = TestServer::start(&home, &[]);
    for by in ["thread", "role", "agent", "model", "workflow", "day"] {
        let command = home.json(&["thread", "cost", "--by", by]);
        assert_eq!(command["total"]["steps"], 4);
        assert_eq!(server.get(&format!("/api/cost?by={by}")).json(), command, "{by}");
        assert_eq!(server.get(&format!("/cost?by={by}&since=")).json(), command, "{by}");
    }
    let since = home.json(&["thread", "cost", "--since", "2999-01-01"]);
    assert_eq!(server.get("/api/cost?since=2999-01-01").json(), since);
    let csv = server.get("/api/cost.csv?by=agent&since=1d");
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"cost.csv\""));
    assert_eq!(csv.body, home.uwf(&["thread", "cost", "--by", "agent", "--since", "1d", "--format", "csv"]).stdout);
}

#[test]
fn cached_costs_follow_later_changes() {
    let (home, threads) = spending_home();
    let server = TestServer::start(&home, &[]);
    let compare = |what: &str| {
        for by in ["thread", "agent"] {
            let command = home.json(&["thread", "cost", "--by", by]);
            assert_eq!(server.get(&format!("/api/cost?by={by}")).json(), command, "{what}");
        }
    };
    compare("at first");
    step(&home, &threads[0], 1);
    compare("after a step");
    home.script("paid", &PAID.replace("cat > /dev/null", "cat > /dev/null; trap 'exit 3' EXIT"));
    assert_eq!(home.uwf(&["thread", "step", &threads[0]]).code, Some(40));
    compare("after a try that failed");
    assert_eq!(home.uwf(&["thread", "step", &threads[0]]).code, Some(40));
    compare("after another one at the same step");
    home.json(&["thread", "fork", &threads[0]]);
    compare("after a fork");
    home.json(&["thread", "kill", &threads[0]]);
    compare("after its end");
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("model: big", "model: large"));
    compare("with another configuration");
}

#[test]
fn page_separates_known_and_unknown_costs() {
    let (home, threads) = spending_home();
    let server = TestServer::start(&home, &[]);
    let page = server.page("/cost?by=thread").body;
    for words in [
        "≥ $0.75",
        "The cost of 1 of 4 runs is unknown and left out of the sums (no model named).",
        "The tokens of 1 of 4 runs were not counted.",
        "<span>67 %</span>",
        "<rect class=\"bar-fill\" width=\"33.3\" height=\"8\">",
        "Count &lt;b&gt;sheep&lt;/b&gt;",
        &format!("href=\"/threads/{}\"", threads[0]),
        "href=\"/api/cost.csv?since=7d&amp;by=thread&amp;timeZone=UTC\"",
    ] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
    assert!(!page.contains("style="), "the policy forbids it");
    let by_day = server.page("/cost").body;
    assert!(
        by_day.contains("Day (UTC)")
            && by_day.contains("<b>UTC</b>, as on the server.")
            && by_day.contains("aria-current=\"true\">7 days</a>"),
        "{by_day}"
    );
    let never = server.page("/cost?since=2999-01-01").body;
    assert!(never.contains("No spending in this period."), "{never}");
}

#[test]
fn days_are_those_of_the_named_time_zone() {
    let (home, _) = spending_home();
    // It is never the same day in both: they are 25 hours apart.
    let [east, west] = ["Pacific/Kiritimati", "Pacific/Niue"];
    let server = TestServer::start_with(&home, &[], &[("TZ", west)]);
    let days = |path: &str| {
        let report = server.get(path).json();
        let row = report["rows"][0]["name"].as_str().unwrap().to_owned();
        (row, report["timeZone"].as_str().unwrap().to_owned())
    };
    let (here, zone) = days("/api/cost?by=day");
    let (there, other) = days(&format!("/api/cost?by=day&timeZone={east}"));
    assert!(here < there && zone == west && other == east, "{here} {zone}, {there} {other}");
    let command = home.uwf(&["thread", "cost", "--by", "day", "--time-zone", east, "--format", "text"]).stdout;
    assert!(command.starts_with(&format!("day ({east})")) && command.contains(&there), "{command}");
    for (cookie, day, words) in [
        ("", &here, format!("<b>{west}</b>, as on the server.")),
        ("uwf-zone=Pacific/Kiritimati", &there, format!("<b>{east}</b>, as in your browser.")),
        ("uwf-zone=Middle/Earth", &here, format!("<b>{west}</b>, as on the server.")),
    ] {
        let cookies = format!("{}; {cookie}", server.cookie());
        let page = server.send("GET", "/cost", &[("cookie", &cookies), ("accept", "text/html")], "").body;
        assert!(page.contains(&words), "{cookie}: {page}");
        let columns: Vec<&str> = page.split("&amp;until=").skip(1).collect();
        let today = columns.iter().find(|column| column.contains(&format!("title=\"{day}: "))).unwrap();
        assert!(today.contains(" so far\"") && today.contains("<span class=\"day\">today</span>"), "{today}");
        assert!(page.contains(&format!("id=\"row-{day}\"")), "{cookie}: {page}");
    }
    let tomorrow = server.get(&format!("/api/cost?timeZone={west}&since={there}")).json();
    assert_eq!(tomorrow["total"]["steps"], 0, "a day of a period begins in the time zone");
    let refused = server.get("/api/cost?timeZone=Middle/Earth");
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["message"], "this machine does not know the time zone `Middle/Earth`");
    assert_eq!(home.uwf(&["thread", "cost", "--time-zone", "Middle/Earth"]).code, Some(64));
}

#[test]
fn a_time_that_is_none_is_refused() {
    let (home, _) = spending_home();
    let server = TestServer::start(&home, &[]);
    let refused = server.get("/api/cost?since=soon");
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["message"], "`soon` is not a time");
    let page = server.page("/cost?since=soon");
    assert!(page.status == 400 && page.body.contains("<code>soon</code> is not a time"), "{}", page.body);
    assert_eq!(server.get("/api/cost?by=colour").status, 400);
}

/// Findings by check and status, without those that only the command has and without sizes, which differ from call to call.
fn checks(report: &Value) -> Vec<Value> {
    let found = report["checks"].as_array().expect("a report has checks");
    let is_shared = |check: &&Value| {
        let name = check["check"].as_str().unwrap_or_default();
        name != "uwf" && !name.starts_with("agent") && !name.starts_with("sandbox")
    };
    let told = |check: &Value| {
        let has_sizes = ["storage", "store"].contains(&check["check"].as_str().unwrap_or_default());
        if has_sizes { json!([check["check"], check["status"]]) } else { check.clone() }
    };
    found.iter().filter(is_shared).map(told).collect()
}

#[test]
fn doctor_matches_command_and_repairs_nothing() {
    let (home, _) = spending_home();
    fs::write(home.root().join(".env"), "A_KEY=0123456789\n").unwrap();
    let registry = home.root().join("registry.yaml");
    let text = fs::read_to_string(&registry).unwrap();
    let lost = "\"lost\":\n  hash: \"0000000000001\"\n  timestamp: 1\n  history: []\n";
    fs::write(&registry, format!("{text}{lost}")).unwrap();
    let server = TestServer::start(&home, &[]);
    let command = home.uwf(&["doctor", "--offline", "--format", "json"]);
    let command: Value = serde_json::from_str(&command.stdout).unwrap();
    for path in ["/api/doctor", "/doctor"] {
        let report = server.get(path).json();
        assert_eq!(report["ok"], false);
        assert_eq!(checks(&report), checks(&command), "{path}");
    }
    let page = server.page("/doctor").body;
    let [fails, warns, fine] = ["Problems", "Warnings", "Passed"]
        .map(|title| page.find(title).unwrap_or_else(|| panic!("no {title} in {page}")));
    assert!(fails < warns && warns < fine);
    assert!(page[fails..warns].contains("lost"), "{page}");
    assert!(page[warns..fine].contains("is open to others") && page[warns..fine].contains("Hint: "), "{page}");
    assert!(!page.contains("0123456789"));
}

/// When each directory below this one, itself included, has last got or lost a file.
fn changed(dir: &Path) -> Vec<(PathBuf, SystemTime)> {
    let inside = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut all: Vec<_> = inside.flat_map(|path| changed(&path)).collect();
    all.push((dir.to_owned(), fs::metadata(dir).unwrap().modified().unwrap()));
    all.sort();
    all
}

#[test]
fn doctor_page_writes_no_temporary_files() {
    let (home, _) = spending_home();
    let server = TestServer::start(&home, &["--read-only"]);
    let before = changed(&home.root());
    for path in ["/api/doctor", "/doctor"] {
        let report = server.get(path).json();
        let storage = report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "storage").unwrap();
        assert!(storage["message"].as_str().unwrap().contains("(not tried)"), "{storage}");
    }
    assert_eq!(changed(&home.root()), before);
    let tried = home.uwf(&["doctor", "--offline"]);
    assert!(tried.stdout.contains("/root can be written"), "{}", tried.transcript());
}
