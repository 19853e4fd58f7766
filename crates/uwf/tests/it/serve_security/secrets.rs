//! Keys, tokens and the configuration: in no page, no report, no event; and agents that a server starts do not get its secret.

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use super::crawl;
use crate::home;

const KEY: &str = "sk-very-secret-0123456789";

const CHOSEN: &str = "a-secret-that-somebody-chose";

/// A home whose agent is given a key, and says it wherever it can.
fn talkative() -> (TestHome, String) {
    let home = home();
    home.script(
        "worker",
        "#!/bin/sh\ncat > /dev/null\necho \"debug $A_KEY\" >&2\nif [ -e seen ]; then echo \"The key is $A_KEY.\"; exit 3; fi\n\
         touch seen\nenv > environment\nprintf -- '---\\nn: 1\\n---\\nThe key is %s.\\n' \"$A_KEY\"\n",
    );
    home.config(
        "agents:\n  w: { command: worker, output: text, env: [A_KEY] }\ndefaultAgent: w\nproviders:\n  mine: { baseUrl: \
         'https://models.example/v1', apiKeyEnv: A_KEY }\n",
    );
    fs::write(home.root().join(".env"), format!("A_KEY={KEY}\n")).unwrap();
    let thread = home.start_counting(5, "count");
    (home, thread)
}

/// Every report the API has, for one thread.
fn reports(home: &TestHome, server: &TestServer, thread: &str) -> Vec<(String, String)> {
    let document = home.json(&["api", "GET", "/openapi.json"]);
    let step = text(&home.json(&["thread", "show", thread]), "head");
    let paths = document["paths"].as_object().expect("paths").iter().filter(|(_, item)| item.get("get").is_some());
    // The list's events never end.
    let paths = paths.map(|(path, _)| path.clone()).filter(|path| path != "/events");
    let filled = paths.map(|path| {
        let path = path.replace("{thread}", thread).replace("{step}", &step).replace("{hash}", &step);
        format!("/api{}", path.replace("{workflow}", "count"))
    });
    // A thread's events end with it; this one is killed before it is asked for them.
    filled.map(|path| (path.clone(), server.get(&path).body)).collect()
}

#[test]
fn responses_contain_no_key_or_server_secret() {
    let (home, thread) = talkative();
    let server = TestServer::start_with(&home, &[], &[("WORKFLOW_DASHBOARD_SECRET", CHOSEN)]);
    let status = server.get(&format!("/api/threads/{thread}")).json();
    let first = server.post(&format!("/api/threads/{thread}/step"), &json!({ "expectedHead": status["head"] }));
    assert_eq!(first.status, 200, "{first:?}");
    let failed = server.post(&format!("/api/threads/{thread}/step"), &json!({ "expectedHead": first.json()["head"] }));
    assert_eq!(failed.status, 422, "{failed:?}");
    let mut answers = vec![("a step".to_owned(), first.body), ("an attempt that failed".to_owned(), failed.body)];
    let killed = server.post(
        &format!("/api/threads/{thread}/kill"),
        &json!({ "expectedHead": text(&home.json(&["thread", "show", &thread]), "head") }),
    );
    assert_eq!(killed.status, 200, "{killed:?}");
    let reports = reports(&home, &server, &thread);
    assert!(reports.len() >= 6, "{:?}", reports.iter().map(|(path, _)| path).collect::<Vec<_>>());
    answers.extend(reports);
    answers.push(("stderr".to_owned(), server.get(&format!("/api/threads/{thread}/events?debug=true")).body));
    let pages = crawl::pages(
        &server,
        &["/".to_owned(), "/?all=1".to_owned(), format!("/threads/{thread}"), "/doctor".to_owned(), "/cost".to_owned()],
    );
    assert!(pages.values().any(|page| page.body.contains("[redacted A_KEY]")), "the agent's text is among them");
    answers.extend(pages.into_iter().map(|(path, page)| (path, page.body)));
    let session = server.cookie();
    let session = session.split_once('=').expect("a value").1;
    for (path, body) in &answers {
        for secret in [KEY, CHOSEN, session, "models.example"] {
            assert!(!body.contains(secret), "{path} holds {secret}: {body}");
        }
    }
}

#[test]
fn agent_does_not_inherit_server_secret() {
    let (home, thread) = talkative();
    let server = TestServer::start_with(&home, &[], &[("WORKFLOW_DASHBOARD_SECRET", CHOSEN)]);
    let status = server.get(&format!("/api/threads/{thread}")).json();
    let ran = server.post(&format!("/api/threads/{thread}/step"), &json!({ "expectedHead": status["head"] }));
    assert_eq!(ran.status, 200, "{ran:?}");
    let environment = fs::read_to_string(home.work().join("environment")).unwrap();
    assert!(environment.contains(KEY), "this is what the agent was given: {environment}");
    assert!(!environment.contains(CHOSEN) && !environment.contains("WORKFLOW_DASHBOARD_SECRET"), "{environment}");
    assert!(!home.root().join("dashboard.token").exists(), "a secret that somebody chose is kept in no file");
}

/// Neither where it listens nor why it cannot: what it says goes to logs that others read.
#[test]
fn server_output_contains_no_environment_secret() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    const PASSWORD: &str = "hush-hush-password";
    let home = home();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let store = format!("postgres://uwf:{PASSWORD}@127.0.0.1:1/db?sslmode=sometimes");
    let (short, long, blanks) = (&CHOSEN[..11], CHOSEN.repeat(50), format!("{CHOSEN} {CHOSEN}"));
    let odd = OsStr::from_bytes(b"a-secret-that-somebody-chose\xff");
    let with = |address: &str, variables: &[(&str, &OsStr)]| {
        let mut command = home.command(&["serve", "--address", address]);
        command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(2);
        while server.try_wait().unwrap().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = server.kill();
        let output = server.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), said.concat())
    };
    let secret = |text: &'static str| ("WORKFLOW_DASHBOARD_SECRET", OsStr::new(text));
    for (address, variables, code) in [
        ("127.0.0.1:0", vec![secret(CHOSEN)], None),
        ("0.0.0.0:0", vec![secret(CHOSEN)], None),
        (&*taken, vec![secret(CHOSEN)], Some(74)),
        ("127.0.0.1:0", vec![secret(short)], Some(78)),
        ("127.0.0.1:0", vec![("WORKFLOW_DASHBOARD_SECRET", OsStr::new(&*long))], Some(78)),
        ("127.0.0.1:0", vec![("WORKFLOW_DASHBOARD_SECRET", OsStr::new(&*blanks))], Some(78)),
        ("127.0.0.1:0", vec![("WORKFLOW_DASHBOARD_SECRET", odd)], Some(78)),
        ("127.0.0.1:0", vec![secret(CHOSEN), ("UWF_STORE_URL", OsStr::new(&*store))], None),
    ] {
        let (ended, said) = with(address, &variables);
        assert_eq!(ended, code, "{variables:?}: {said}");
        assert!(!said.contains("token="), "nothing derived from it: {said}");
        assert!(!said.is_empty() && !said.contains(short) && !said.contains(PASSWORD), "{variables:?}: {said}");
    }
}
