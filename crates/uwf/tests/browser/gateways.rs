//! A gateway and the pages of its machines.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::machine::TestMachine;
use uwf_testing::processes::{signal, until};
use uwf_testing::server::TestServer;
use uwf_testing::text;

use crate::browse;
use crate::looks::{Page, described};
use crate::showcase::{Showcase, staffed, waiting};

/// A gateway with two machines: a laptop with threads in every state, and a desk with one that waits.
struct Two {
    // Fields are dropped in this order: machines before the gateway they would look for.
    laptop: TestMachine,
    desk: TestMachine,
    server: TestServer,
    showcase: Showcase,
    office: TestHome,
    /// The thread of the desk.
    asked: String,
    _gateway: TestHome,
}

impl Two {
    fn new() -> Two {
        let (gateway, showcase, office) = (TestHome::new(uwf_testing::uwf_program()), Showcase::new(), staffed());
        let asked = waiting(&office, "Announce the office hours.");
        let server = TestServer::start(&gateway, &["--gateway"]);
        let laptop = connected(&gateway, &server, &showcase.home, "laptop");
        let desk = connected(&gateway, &server, &office, "desk");
        Two { laptop, desk, server, showcase, office, asked, _gateway: gateway }
    }

    /// Looks at pages in all modes.
    fn look(&self, pages: &[Page]) {
        browse(&self.showcase.home, &self.server, "pages.look_right", json!({ "pages": described(pages) }));
    }

    /// Waits until the gateway knows that a machine is away.
    fn is_away(&self, name: &str) {
        until(&format!("{name} is away"), || {
            let all = self.server.get("/api/gateway/endpoints").json();
            all.as_array().unwrap().iter().any(|machine| machine["name"] == name && machine["connected"] == false)
        });
    }
}

pub(crate) fn connected(gateway: &TestHome, server: &TestServer, home: &TestHome, name: &str) -> TestMachine {
    let token = text(&gateway.json(&["gateway", "token", name]), "token");
    let url = format!("http://{}", server.address);
    let machine =
        TestMachine::start(home, &["--name", name, "--gateway", &url], &[("WORKFLOW_GATEWAY_TOKEN", token.as_str())]);
    machine.says("connected to ", 1);
    machine
}

#[test]
fn pages_of_a_gateway() {
    let two = Two::new();
    let threads = ["On all machines", "laptop", "desk", "Announce the next release", "Announce the office hours."];
    let rows = ["Needs you", "laptop", "desk", "Announce the next release", "Announce the office hours."];
    let found = ["On desk", "Announce the office hours.", "On laptop", "Announce the next release"];
    two.look(&[
        Page::new("machines", "/machines", &threads),
        Page::new("gateway-inbox", "/", &rows),
        Page::new("gateway-list", "/?state=waiting", &["desk", "Announce the office hours."]),
        Page::new("gateway-search", "/search?q=announce", &found),
    ]);
    assert!(!two.server.page("/").body.contains("Nothing needs you"));
}

#[test]
fn pages_of_a_machine() {
    let two = Two::new();
    let thread = format!("/m/laptop/threads/{}", two.showcase.done);
    two.look(&[
        Page::new(
            "gateway-machine",
            "/m/laptop/",
            &["Announce the next release", "503 Service Unavailable", "Running"],
        ),
        Page::new("gateway-thread", thread, &["Pages that follow", "reviewer", "editor"]),
    ]);
}

#[test]
fn machines_that_are_away_are_shown_as_such() {
    let mut two = Two::new();
    // Their lists are known.
    for path in ["/machines", "/"] {
        assert_eq!(two.server.page(path).status, 200);
    }
    two.laptop.kill();
    signal(two.desk.pid(), "STOP");
    two.is_away("laptop");
    two.is_away("desk");
    let away = |machine: &str| format!("The machine {machine} has not been connected since");
    let (killed, frozen) = (away("laptop"), away("desk"));
    two.look(&[
        Page::new("machines-away", "/machines", &["laptop", "desk", "not connected, last seen", "waiting"]),
        Page::new("gateway-inbox-away", "/", &["desk", "Offline or slow: desk, laptop."]),
        Page { status: 502, ..Page::new("gateway-killed", "/m/laptop/", &[&killed, "uwf connect"]) },
        Page { status: 502, ..Page::new("gateway-frozen", "/m/desk/", &[&frozen, "uwf connect"]) },
    ]);
    signal(two.desk.pid(), "CONT");
    two.desk.says("connected to ", 2);
    two.look(&[Page::new("gateway-thawed", "/m/desk/", &["Announce the office hours."])]);
}

#[test]
fn everything_on_a_machine_works_below_its_name() {
    let two = Two::new();
    let it = &two.showcase;
    let with = json!({
        "prefix": "/m/laptop", "workflow": "publish-post", "done": it.done, "active": it.active, "waiting": it.waiting,
        "node": it.step(1),
    });
    browse(&it.home, &two.server, "gateway.works_below_a_prefix", with);
}

#[test]
fn a_page_of_a_machine_follows_its_steps() {
    let two = Two::new();
    let path = format!("/m/desk/threads/{}", two.asked);
    let with = json!({ "thread": two.asked, "path": path, "pid": two.desk.pid() });
    browse(&two.office, &two.server, "gateway.follows", with);
}

#[test]
fn a_menu_leads_from_machine_to_machine() {
    let two = Two::new();
    browse(&two.office, &two.server, "gateway.changes_machines", json!({ "pid": two.desk.pid() }));
}

#[test]
fn gateway_rows_are_compared_on_their_machine() {
    let two = Two::new();
    browse(&two.office, &two.server, "gateway.compares_rows", json!({}));
}

#[test]
fn one_inbox_answers_on_every_machine() {
    let two = Two::new();
    browse(&two.office, &two.server, "gateway.answers_from_one_inbox", json!({ "thread": two.asked }));
    assert_eq!(
        text(&two.office.json(&["thread", "show", &two.asked]), "state"),
        "completed",
        "it was answered and run"
    );
}

#[test]
fn pages_of_a_gateway_follow_its_machines() {
    let two = Two::new();
    let with = json!({ "thread": two.asked, "pid": two.desk.pid() });
    browse(&two.office, &two.server, "gateway.shows_machines_come_and_go", with);
}
