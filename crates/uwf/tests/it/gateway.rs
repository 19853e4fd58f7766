//! `uwf serve --gateway`, `uwf connect`, `uwf gateway`: machines that are reached through one server.

mod encrypted;
mod ending;
mod hostile;
mod load;
mod proxied;

use serde_json::{Value, json};
use uwf_testing::machine::TestMachine;
use uwf_testing::processes::{signal, until};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::home;
use crate::thread_cost::{PRICES, spending_home};

/// A gateway, and machines that connect to it.
struct Gateway {
    home: TestHome,
    server: TestServer,
}

impl Gateway {
    fn start() -> Gateway {
        let home = home();
        let server = TestServer::start(&home, &["--gateway"]);
        Gateway { home, server }
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Makes the token of a machine.
    fn token(&self, name: &str) -> String {
        text(&self.home.json(&["gateway", "token", name]), "token")
    }

    /// Starts a machine with its token.
    fn dialled(&self, home: &TestHome, name: &str, token: &str, args: &[&str]) -> TestMachine {
        let url = self.url();
        let mut line = vec!["--name", name, "--gateway", &url];
        line.extend(args);
        TestMachine::start(home, &line, &[("WORKFLOW_GATEWAY_TOKEN", token)])
    }

    /// Connects a machine.
    fn connect(&self, home: &TestHome, name: &str) -> TestMachine {
        let machine = self.dialled(home, name, &self.token(name), &[]);
        machine.says("connected to ", 1);
        machine
    }

    /// What the gateway says of a machine.
    fn endpoint(&self, name: &str) -> Value {
        let all = self.server.get("/api/gateway/endpoints").json();
        all.as_array().unwrap().iter().find(|machine| machine["name"] == name).cloned().unwrap_or_default()
    }

    fn status(&self, path: &str) -> u16 {
        self.server.get(path).status
    }
}

/// A home with a thread that can be stepped; its id.
fn with_thread() -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    (home, thread)
}

#[test]
fn a_machine_is_served_through_its_gateway() {
    let gateway = Gateway::start();
    let (laptop, thread) = with_thread();
    let machine = gateway.connect(&laptop, "laptop");
    let direct = TestServer::start(&laptop, &[]);
    for path in ["/api/threads", &format!("/api/threads/{thread}"), "/api/threads/none", "/api/none"] {
        let (far, near) = (gateway.server.get(&format!("/m/laptop{path}")), direct.get(path));
        assert_eq!((far.status, far.json()), (near.status, near.json()), "{path}");
    }
    // What the gateway itself knows has the machine's name with it.
    assert_eq!(gateway.server.get("/api/threads").json(), json!([]));
    let all = gateway.server.get("/api/gateway/threads").json();
    assert_eq!((all[0]["machine"].as_str(), all[0]["thread"].as_str()), (Some("laptop"), Some(thread.as_str())));
    let endpoint = gateway.endpoint("laptop");
    assert!(endpoint["since"].as_u64().is_some_and(|since| since > 1_700_000_000_000), "{endpoint}");
    let expected = json!({
        "name": "laptop", "connected": true, "since": endpoint["since"], "version": env!("CARGO_PKG_VERSION"),
        "readOnly": false, "counts": { "active": 1 },
    });
    assert_eq!(endpoint, expected);
    let link = format!("href=\"/m/laptop/threads/{thread}\"");
    for path in ["/machines", "/"] {
        let page = gateway.server.page(path);
        assert!(page.status == 200 && page.body.contains(&link), "{}", page.body);
    }
    // A change comes back with what the machine reports, and the machine's owner sees who asked.
    let body = json!({ "expectedHead": laptop.head(&thread) });
    let paused = gateway.server.post(&format!("/m/laptop/api/threads/{thread}/pause"), &body);
    assert_eq!(paused.status, 200, "{}", paused.body);
    assert_eq!(text(&laptop.json(&["thread", "show", &thread]), "state"), "paused");
    machine.says(&format!("script at 127.0.0.1 requested POST /api/threads/{thread}/pause"), 1);
}

#[test]
fn first_page_has_rows_of_all_machines() {
    let gateway = Gateway::start();
    let ((laptop, first), (desk, second)) = (with_thread(), with_thread());
    let _machines = [gateway.connect(&laptop, "laptop"), gateway.connect(&desk, "desk")];
    for path in ["/", "/?state=active"] {
        let page = gateway.server.page(path).body;
        for (machine, thread) in [("laptop", &first), ("desk", &second)] {
            assert!(page.contains(&format!("href=\"/m/{machine}/threads/{thread}\"")), "{path}: {page}");
            assert!(page.contains(&format!("action=\"/m/{machine}/api/threads/{thread}/run\"")), "{path}: {page}");
        }
        assert!(page.contains("<span class=\"number\">2</span>"), "the counts are sums: {page}");
    }
    assert!(!gateway.server.page("/?state=stuck").body.contains(&first));
    let found = gateway.server.page("/search?q=count").body;
    assert!(found.contains("On <a") && found.contains(&first) && found.contains(&second), "{found}");
    let straight = gateway.server.page(&format!("/search?q={second}"));
    assert_eq!(straight.header("location"), Some(&*format!("/m/desk/threads/{second}")), "{}", straight.body);
}

#[test]
fn costs_are_added_up_over_machines() {
    let gateway = Gateway::start();
    let (laptop, desk) = (spending_home(PRICES), spending_home(PRICES));
    let threads = [&laptop, &desk].map(|home| {
        let thread = home.start("count-rounds", "count");
        home.json(&["thread", "step", &thread]);
        thread
    });
    let _machines = [gateway.connect(&laptop, "laptop"), gateway.connect(&desk, "desk")];
    let one = laptop.json(&["thread", "cost"])["total"]["cost"][0]["amount"].as_f64().unwrap();
    let cell = |amount: f64| format!("<td class=\"number\" data-label=\"Cost\">{amount:.2} EUR");
    for by in ["day", "workflow", "role", "agent", "model"] {
        let page = gateway.server.page(&format!("/cost?by={by}")).body;
        assert_eq!(page.matches(&cell(one)).count(), 2, "a row for each machine: {page}");
        assert_eq!(page.matches(&cell(2.0 * one)).count(), 2, "{by}: one row and the total: {page}");
        assert!(page.contains(&format!("href=\"/m/laptop/cost?since=7d&amp;by={by}\"")), "{page}");
    }
    let page = gateway.server.page("/cost?by=thread").body;
    for (machine, thread) in ["laptop", "desk"].iter().zip(&threads) {
        assert!(page.contains(&format!("href=\"/m/{machine}/threads/{thread}\"")), "{page}");
    }
    let page = gateway.server.page("/workflows").body;
    assert!(page.contains("href=\"/m/desk/workflows/count-rounds\""), "{page}");
}

#[test]
fn machines_that_are_away_are_named_with_costs() {
    let gateway = Gateway::start();
    let (home, _) = with_thread();
    let machine = gateway.connect(&home, "laptop");
    drop(machine);
    until("the machine is away", || gateway.endpoint("laptop")["connected"] == false);
    let page = gateway.server.page("/cost").body;
    assert!(page.contains("did not answer, so its costs are missing"), "{page}");
    assert!(gateway.server.page("/workflows").body.contains("The machine did not answer."));
}

#[test]
fn pages_of_a_machine_stay_below_its_name() {
    let gateway = Gateway::start();
    let (laptop, thread) = with_thread();
    let _machine = gateway.connect(&laptop, "laptop");
    let first = gateway.server.page("/m/laptop");
    assert_eq!((first.status, first.header("location")), (308, Some("/m/laptop/")));
    for path in ["/m/laptop/", &format!("/m/laptop/threads/{thread}"), "/m/laptop/none"] {
        let page = gateway.server.page(path);
        assert!(page.body.contains("data-base=\"/m/laptop\""), "{path}: {}", page.body);
        let tags =
            page.body.split('<').filter(|tag| !tag.split('>').next().is_some_and(|tag| tag.ends_with(" data-outside")));
        for tag in tags {
            for attribute in ["href=\"/", "src=\"/", "action=\"/", "data-live=\"/"] {
                let Some((_, target)) = tag.split_once(attribute) else { continue };
                assert!(target.starts_with("m/laptop/"), "{path}: {tag}");
            }
        }
    }
    let page = gateway.server.page("/m/laptop/");
    let (_, style) = page.body.split_once("rel=\"stylesheet\" href=\"").unwrap();
    let style = gateway.server.page(style.split('"').next().unwrap());
    assert_eq!((style.status, style.header("content-type")), (200, Some("text/css; charset=utf-8")));
    // The menu has all machines on the machine's pages, too.
    let other = home();
    let _other = gateway.connect(&other, "other");
    let page = gateway.server.page("/m/laptop/").body;
    for link in
        ["<a href=\"/m/other/\" data-outside>", "<a href=\"/machines\" data-outside>", "<a href=\"/\" data-outside>"]
    {
        assert!(page.contains(link), "{link}: {page}");
    }
}

#[test]
fn a_browser_names_neither_prefix_nor_user() {
    let gateway = Gateway::start();
    let (laptop, _) = with_thread();
    let machine = gateway.connect(&laptop, "laptop");
    let (cookie, origin) = (gateway.server.cookie(), gateway.url());
    let forged = [("x-forwarded-prefix", "/m/evil"), ("x-uwf-machines", "evil"), ("x-uwf-user", "evil")];
    let of_browser = [("cookie", cookie.as_str()), ("accept", "text/html"), ("origin", &origin)];
    let headers: Vec<(&str, &str)> = of_browser.into_iter().chain(forged).collect();
    for (path, base) in [("/", ""), ("/m/laptop/", "/m/laptop")] {
        let page = gateway.server.send("GET", path, &headers, "").body;
        assert!(!page.contains("evil") && page.contains(&format!("data-base=\"{base}\"")), "{page}");
    }
    gateway.server.send("POST", "/m/laptop/seen", &headers, "");
    machine.says("browser at 127.0.0.1 requested POST /seen", 1);
}

#[test]
fn redirects_and_cookies_stay_below_machine_path() {
    let gateway = Gateway::start();
    let (laptop, _) = with_thread();
    let _machine = gateway.connect(&laptop, "laptop");
    let origin = gateway.url();
    let (cookie, server) = (gateway.server.cookie(), &gateway.server);
    let headers = [("cookie", cookie.as_str()), ("origin", origin.as_str()), ("accept", "text/html")];
    let seen = server.send("POST", "/m/laptop/seen", &headers, "");
    assert_eq!((seen.status, seen.header("location")), (303, Some("/m/laptop/")));
    let cookie = seen.header("set-cookie").unwrap_or_default();
    assert!(cookie.starts_with("uwf-seen=") && cookie.contains("; Path=/m/laptop/;"), "{cookie}");
    // A form of another site changes nothing here either.
    let headers = [headers[0], ("origin", "http://evil.example"), headers[2]];
    assert_eq!(server.send("POST", "/m/laptop/seen", &headers, "").status, 403);
}

#[test]
fn machine_connects_only_with_its_own_token() {
    let gateway = Gateway::start();
    let laptop = home();
    let token = gateway.token("laptop");
    let dial = |headers: &[(&str, &str)]| {
        let socket = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let headers: Vec<(&str, &str)> = socket.iter().chain(headers).copied().collect();
        gateway.server.send("GET", "/api/gateway/connect/laptop", &headers, "").status
    };
    let of_people = gateway.server.bearer();
    assert_eq!(dial(&[]), 401);
    assert_eq!(dial(&[("authorization", "Bearer wrong")]), 401);
    assert_eq!(dial(&[("authorization", &of_people)]), 401, "what people know is no token");
    let of_machine = format!("Bearer {token}");
    let headers = [("authorization", of_machine.as_str())];
    assert_eq!(gateway.server.send("GET", "/api/gateway/connect/laptop", &headers, "").status, 426);
    assert_eq!(gateway.server.send("GET", "/api/gateway/connect/other", &headers, "").status, 401);
    assert_eq!(gateway.server.send("GET", "/api/threads", &headers, "").status, 401, "a token is nothing for people");

    let mut wrong = gateway.dialled(&laptop, "laptop", "wrong", &[]);
    assert_eq!(wrong.code(), Some(78));
    assert!(
        wrong.said().contains("the gateway refuses laptop: this is not the token of this machine"),
        "{}",
        wrong.said()
    );
    let kept = std::fs::read_to_string(gateway.home.root().join("gateway.json")).unwrap();
    assert!(!kept.contains(&token), "only its hash is kept");
}

#[test]
fn a_revoked_token_ends_the_connection() {
    let gateway = Gateway::start();
    let laptop = home();
    let mut machine = gateway.connect(&laptop, "laptop");
    assert_eq!(gateway.status("/m/laptop/api/threads"), 200);
    gateway.home.json(&["gateway", "revoke", "laptop"]);
    assert_eq!(machine.code(), Some(78));
    assert!(machine.said().contains("its token is no longer valid"), "{}", machine.said());
    assert_eq!(gateway.status("/m/laptop/api/threads"), 404);
    let again = gateway.home.uwf(&["gateway", "revoke", "laptop"]);
    assert_eq!(again.code, Some(69), "{}", again.stderr);
    assert_eq!(gateway.home.json(&["gateway", "list"]), json!([]));
}

#[test]
fn second_connection_replaces_first_of_same_name() {
    let gateway = Gateway::start();
    let (one, thread) = with_thread();
    let two = home();
    let token = gateway.token("laptop");
    let mut first = gateway.dialled(&two, "laptop", &token, &[]);
    first.says("connected to ", 1);
    let second = gateway.dialled(&one, "laptop", &token, &[]);
    second.says("connected to ", 1);
    // It does not come back and throw out the other one again.
    assert_eq!(first.code(), Some(75));
    assert!(first.said().contains("another `uwf connect` has connected as laptop"), "{}", first.said());
    assert_eq!(gateway.status(&format!("/m/laptop/api/threads/{thread}")), 200);
    assert_eq!(gateway.endpoint("laptop")["connected"], true);
}

#[test]
fn read_only_machine_rejects_changes() {
    let gateway = Gateway::start();
    let (laptop, thread) = with_thread();
    let machine = gateway.dialled(&laptop, "laptop", &gateway.token("laptop"), &["--read-only"]);
    machine.says("as laptop, read-only", 1);
    assert_eq!(gateway.endpoint("laptop")["readOnly"], true);
    let body = json!({ "expectedHead": laptop.head(&thread) });
    let refused = gateway.server.post(&format!("/m/laptop/api/threads/{thread}/pause"), &body);
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(gateway.status(&format!("/m/laptop/api/threads/{thread}")), 200);
    assert_eq!(text(&laptop.json(&["thread", "show", &thread]), "state"), "active");
}

#[test]
fn ctrl_c_ends_a_machine_cleanly() {
    let gateway = Gateway::start();
    let laptop = home();
    let mut machine = gateway.connect(&laptop, "laptop");
    signal(machine.pid(), "INT");
    assert_eq!(machine.code(), Some(0), "{}", machine.said());
    until("the gateway has noticed", || gateway.endpoint("laptop")["connected"] == false);
}

#[test]
fn token_needs_private_file_or_environment() {
    use std::os::unix::fs::PermissionsExt;
    let laptop = home();
    let url = "http://127.0.0.1:1";
    let none = laptop.uwf(&["connect", "--name", "laptop", "--gateway", url]);
    assert_eq!(none.code, Some(64), "{}", none.stderr);
    let file = laptop.file("token", "0123456789abcdef\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = laptop.uwf(&["connect", "--name", "laptop", "--gateway", url, "--token-file", &file.to_string_lossy()]);
    assert_eq!(open.code, Some(78), "{}", open.stderr);
    assert!(open.stderr.contains("chmod 600"), "{}", open.stderr);
    let nowhere = laptop.uwf(&["connect", "--name", "laptop"]);
    assert!(nowhere.code == Some(64) && nowhere.stderr.contains("WORKFLOW_GATEWAY_URL"), "{}", nowhere.stderr);
    let inside = laptop.uwf(&["connect", "--gateway", "http://laptop:secret@127.0.0.1"]);
    assert_eq!(inside.code, Some(64), "{}", inside.stderr);
}

#[test]
fn the_token_may_stand_in_the_env_file() {
    let gateway = Gateway::start();
    let laptop = home();
    let token = gateway.token("laptop");
    std::fs::write(laptop.root().join(".env"), format!("WORKFLOW_GATEWAY_TOKEN={token}\n")).unwrap();
    let machine = TestMachine::start(&laptop, &["--name", "laptop", "--gateway", &gateway.url()], &[]);
    machine.says("connected to ", 1);
}

#[test]
fn a_server_that_is_no_gateway_says_so() {
    let laptop = home();
    let plain = home();
    let server = TestServer::start(&plain, &[]);
    assert_eq!(server.get("/api/gateway/endpoints").status, 404);
    assert_eq!(server.get("/m/laptop/api/threads").status, 404);
    let url = format!("http://{}", server.address);
    let args = ["--name", "laptop", "--gateway", url.as_str()];
    let mut machine = TestMachine::start(&laptop, &args, &[("WORKFLOW_GATEWAY_TOKEN", "x")]);
    assert_eq!(machine.code(), Some(78));
    assert!(machine.said().contains("this server is not a gateway"), "{}", machine.said());
}
