//! `uwf serve`: starting threads, by the form and by the API.

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::repository::home_with_repository;
use crate::home;

/// A home with a workflow of two rounds, its agent, and another agent that always fails.
fn counting_home() -> TestHome {
    let home = home();
    home.script("worker", "#!/bin/sh\ncat > told\necho '{\"n\": 1}'\n");
    home.script("broken", "#!/bin/sh\ncat > /dev/null\nexit 3\n");
    home.config(
        "agents:\n  w: { command: worker, output: json }\n  b: { command: broken, output: json, env: [A_KEY] }\n\
         defaultAgent: w\nsecrets: [A_KEY]\nkillGrace: 1\n",
    );
    std::fs::write(home.root().join(".env"), "A_KEY=0123456789abcdef\n").unwrap();
    home.put("count-rounds", &counting_workflow(2));
    home
}

/// A browser sends the form of a workflow's page.
fn send_form(server: &TestServer, fields: &[(&str, &str)]) -> TestServerResponse {
    let workflow = fields.iter().find(|(name, _)| *name == "workflow").map_or("", |(_, value)| *value);
    send_form_to(server, &format!("/workflows/{workflow}/start"), fields)
}

fn send_form_to(server: &TestServer, path: &str, fields: &[(&str, &str)]) -> TestServerResponse {
    let encoded = |text: &str| {
        let byte = |byte: u8| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect::<String>()
    };
    let body: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let origin = format!("http://{}", server.address);
    let headers = [
        ("cookie", &*server.cookie()),
        ("accept", "text/html"),
        ("origin", &origin),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    server.send("POST", path, &headers, &body.join("&"))
}

fn threads(home: &TestHome) -> Vec<Value> {
    home.json(&["thread", "list", "--all"]).as_array().expect("a list").clone()
}

#[test]
fn a_script_starts_a_thread() {
    let home = counting_home();
    let elsewhere = home.work().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let server = TestServer::start(&home, &[]);
    let request = json!({
        "workflow": "count-rounds", "prompt": "--count\nthe sheep", "cwd": elsewhere, "agent.worker": "w", "maxSteps": 7, "maxCost": 2.5,
    });
    let started = server.post("/api/threads", &request);
    assert_eq!(started.status, 201, "{started:?}");
    let thread = text(&started.json(), "thread");
    assert_eq!(started.header("location"), Some(&*format!("/api/threads/{thread}")));
    let shown = home.json(&["thread", "show", &thread]);
    let note = "agent `w` reports neither tokens nor cost, so `maxCost` cannot stop it";
    let report = json!({ "workflow": shown["workflow"], "thread": thread, "notes": [note] });
    assert_eq!(started.json(), report, "the command's report");
    assert_eq!((&shown["task"], &shown["workspace"]), (&json!("--count\nthe sheep"), &json!(elsewhere)));
    let limits = home.json(&["thread", "limit", &thread]);
    assert_eq!((&limits["limits"]["maxSteps"], &limits["limits"]["maxCost"]), (&json!(7), &json!(2.5)), "{limits}");
    assert_eq!((&shown["state"], &shown["steps"]), (&json!("active"), &json!(0)), "nothing ran");
    let mut standing = server.get(&format!("/api/threads/{thread}")).json();
    let records = standing.as_object_mut().unwrap().remove("records");
    assert_eq!(records, Some(home.json(&["thread", "steps", &thread])["steps"].take()));
    assert_eq!(standing, shown);
}

#[test]
fn a_form_starts_a_thread_and_runs_it() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows/count-rounds/start").body;
    // The option of the command has the meaning and the keys of a limit.
    assert!(
        page.contains("name=\"maxCost\" inputmode=\"decimal\"") && page.contains("name=\"maxTime\" inputmode=\"text\""),
        "{page}"
    );
    assert!(page.contains("title=\"Limit of the thread: number of steps.\""), "{page}");
    for part in [
        "<textarea id=\"prompt\" name=\"prompt\"",
        &format!("name=\"cwd\" required spellcheck=\"false\" autocomplete=\"off\" value=\"{}\"", home.work().display()),
        "<select id=\"agent.worker\" name=\"agent.worker\"",
        "<option value=\"\">As configured: w</option>",
        "<option value=\"b\">b</option>",
        "<button class=\"primary\" name=\"run\" value=\"yes\">Start and run</button>",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("0123456789abcdef") && !page.contains("A_KEY"), "{page}");
    let nothing_else = [("agent.worker", ""), ("worktree", ""), ("maxSteps", ""), ("maxTime", " "), ("maxCost", "")];
    let filled_in = [("workflow", "count-rounds"), ("prompt", "Count\r\nthe sheep"), ("run", "yes")];
    let answer = send_form(&server, &[&filled_in[..], &nothing_else].concat());
    let [thread] = &threads(&home)[..] else { panic!("one thread: {answer:?}") };
    let thread = text(thread, "thread");
    assert_eq!((answer.status, answer.header("location")), (303, Some(&*format!("/threads/{thread}"))));
    until("the thread has run to its end", || home.json(&["thread", "show", &thread])["state"] == "completed");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!((&shown["task"], &shown["steps"]), (&json!("Count\nthe sheep"), &json!(2)));
}

#[test]
fn rejected_form_keeps_typed_values() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let typed = [
        ("workflow", "count-rounds"),
        ("prompt", "Count <sheep>"),
        ("cwd", "/no/such/directory"),
        ("agent.worker", "b"),
        ("maxTime", "2h"),
    ];
    let answer = send_form(&server, &typed);
    assert_eq!(answer.status, 422, "{answer:?}");
    for part in [
        "No thread was started.",
        "/no/such/directory",
        "Count &lt;sheep&gt;</textarea>",
        "value=\"/no/such/directory\"",
        "<option value=\"b\" selected>b</option>",
        "value=\"2h\"",
    ] {
        assert!(answer.body.contains(part), "{part} is not in {}", answer.body);
    }
    // The message is also at its field.
    let cwd = answer.body.split("id=\"cwd\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert!(
        cwd.contains("aria-invalid=\"true\"")
            && cwd.contains("<p class=\"problem small\" id=\"fault\" aria-live=\"polite\">"),
        "{cwd}"
    );
    assert_eq!(answer.body.matches("aria-invalid").count(), 1, "{}", answer.body);
    for (field, value) in [("prompt", "  "), ("maxTime", "soon"), ("maxSteps", "0"), ("worktree", "perhaps")] {
        let typed = [("workflow", "count-rounds"), ("prompt", "Count"), (field, value)];
        let first: Vec<_> = typed.into_iter().filter(|(name, other)| *name != field || *other == value).collect();
        let answer = send_form(&server, &first);
        assert_eq!((answer.status, answer.body.contains("No thread was started.")), (400, true), "{field}: {answer:?}");
        if field.starts_with("max") {
            let limit = answer.body.split(&format!("id=\"{field}\"")).nth(1).unwrap().split("</div>").next().unwrap();
            assert!(limit.contains("id=\"fault\""), "{field}: {limit}");
        }
    }
    assert_eq!(send_form(&server, &[("workflow", "no-such"), ("prompt", "Count")]).status, 404);
    assert_eq!(threads(&home), Vec::<Value>::new());
}

#[test]
fn api_reports_same_errors_as_command() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let command = home.uwf(&["thread", "start", "count-round", "-p", "x"]);
    let refused = server.post("/api/threads", &json!({ "workflow": "count-round", "prompt": "x" }));
    let (_, error) = command.error().unwrap();
    assert_eq!((refused.status, &refused.json()["error"]), (404, &error["error"]));
    let unknown = server.post("/api/threads", &json!({ "workflow": "count-rounds", "prompt": "x", "colour": "red" }));
    assert_eq!(unknown.status, 400);
    assert_eq!(unknown.json()["error"]["message"], "starting a thread takes no field `colour`");
    for missing in [json!({ "prompt": "x" }), json!({ "workflow": "count-rounds" }), json!([])] {
        assert_eq!(server.post("/api/threads", &missing).status, 400, "{missing}");
    }
    let option = server.post("/api/threads", &json!({ "workflow": "--help", "prompt": "x" }));
    assert_eq!(option.status, 404, "a name is never an option: {option:?}");
    assert_eq!(threads(&home), Vec::<Value>::new());
}

/// The id that a form has for the thread it will start.
fn id_in(page: &str) -> String {
    let from = page.find("name=\"id\" value=\"").expect("the form has an id") + "name=\"id\" value=\"".len();
    page[from..from + 26].to_owned()
}

#[test]
fn form_sent_twice_starts_one_thread() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let id = id_in(&server.page("/workflows/count-rounds/start").body);
    let form = [("workflow", "count-rounds"), ("id", &id), ("prompt", "Count"), ("run", "yes")];
    let first = send_form(&server, &form);
    until("the thread has run to its end", || home.json(&["thread", "show", &id])["state"] == "completed");
    let again = send_form(&server, &form);
    for answer in [&first, &again] {
        assert_eq!((answer.status, answer.header("location")), (303, Some(&*format!("/threads/{id}"))), "{answer:?}");
    }
    assert_eq!(threads(&home).len(), 1);
    assert_eq!(home.json(&["thread", "show", &id])["steps"], 2, "it ran once");
    let script = json!({ "workflow": "count-rounds", "id": id, "prompt": "Count" });
    assert_eq!(server.post("/api/threads", &script).json()["thread"], json!(id));
    // Somebody went back in the browser and wrote another task: that is another thread.
    let other = [("workflow", "count-rounds"), ("id", &id), ("prompt", "Count on")];
    let refused = send_form(&server, &other);
    assert!(refused.status == 400 && refused.body.contains("No thread was started."), "{refused:?}");
    let fresh = id_in(&refused.body);
    assert_ne!(fresh, id);
    assert_eq!(send_form(&server, &[other[0], ("id", &fresh), other[2]]).status, 303);
    assert_eq!(threads(&home).len(), 2);
}

#[test]
fn api_form_redirects_to_thread() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let answer = send_form_to(&server, "/api/threads", &[("workflow", "count-rounds"), ("prompt", "Count")]);
    let thread = text(&threads(&home)[0], "thread");
    assert_eq!((answer.status, answer.header("location")), (303, Some(&*format!("/threads/{thread}"))));
}

#[test]
fn failed_run_leaves_stuck_thread() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let request = json!({ "workflow": "count-rounds", "prompt": "x", "agent": "b", "run": true });
    let started = server.post("/api/threads", &request);
    assert_eq!(started.status, 201, "{started:?}");
    let thread = text(&started.json(), "thread");
    until("the thread is stuck", || home.json(&["thread", "show", &thread])["state"] == "stuck");
}

#[test]
fn thread_gets_worktree_on_request() {
    let home = home_with_repository(1);
    let server = TestServer::start(&home, &[]);
    let request =
        json!({ "workflow": "count-rounds", "prompt": "x", "cwd": home.work().join("repo"), "worktree": true });
    let started = server.post("/api/threads", &request);
    assert_eq!(started.status, 201, "{started:?}");
    assert!(
        started.json()["worktree"]["branch"].as_str().is_some_and(|branch| branch.starts_with("uwf/")),
        "{started:?}"
    );
}

#[test]
fn read_only_visitor_starts_nothing() {
    let home = counting_home();
    let server = TestServer::start(&home, &["--read-only"]);
    assert_eq!(server.page("/workflows/count-rounds/start").status, 403);
    assert!(!server.page("/workflows").body.contains("/start"));
    assert!(!server.page("/workflows/count-rounds").body.contains("/start"));
    assert_eq!(server.post("/api/threads", &json!({ "workflow": "count-rounds", "prompt": "x" })).status, 403);
    assert_eq!(send_form(&server, &[("workflow", "count-rounds"), ("prompt", "x")]).status, 403);
    assert_eq!(threads(&home), Vec::<Value>::new());
}

#[test]
fn another_sites_form_starts_nothing() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let headers = [
        ("cookie", &*server.cookie()),
        ("origin", "http://evil.example"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let answer = server.send("POST", "/api/threads", &headers, "workflow=count-rounds&prompt=x");
    assert_eq!(answer.status, 403);
    assert_eq!(threads(&home), Vec::<Value>::new());
}

/// A workflow with inputs, besides those of [`counting_home`].
fn home_with_inputs() -> TestHome {
    let home = counting_home();
    let properties = "level: { enum: [low, high], default: low, description: How much. }, \
                      dry: { type: boolean, default: true }, \
                      n: { type: integer }, \
                      tags: { type: array, items: { type: string } }, \
                      version: { type: string }";
    let input = format!("input: {{ type: object, properties: {{ {properties} }}, required: [version] }}\nroles:\n");
    home.put("count-rounds", &counting_workflow(2).replacen("roles:\n", &input, 1));
    home
}

#[test]
fn api_takes_input_and_reports_problems() {
    let home = home_with_inputs();
    let server = TestServer::start(&home, &[]);
    let start = |input: Value| {
        server.post("/api/threads", &json!({ "workflow": "count-rounds", "prompt": "x", "input": input }))
    };
    let started = start(json!({ "version": "1.10", "tags": ["a"], "dry": false }));
    assert_eq!(started.status, 201, "{started:?}");
    let thread = text(&started.json(), "thread");
    let input = json!({ "version": "1.10", "tags": ["a"], "dry": false, "level": "low" });
    assert_eq!(server.get(&format!("/api/threads/{thread}")).json()["input"], input);
    let refused = start(json!({ "vresion": "1", "n": "x" }));
    assert_eq!(refused.status, 400, "{refused:?}");
    let message = text(&refused.json()["error"], "message");
    for part in ["input: `vresion` is not an input; did you mean `version`?", "`n`", "`version` has no value"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let large = start(json!({ "version": "x".repeat(200 << 10) }));
    assert_eq!(large.status, 201, "an argument of a command could not hold it: {large:?}");
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains("<details id=\"input\">") && page.contains("1.10"), "{page}");
    let workflow = server.page("/workflows/count-rounds").body;
    assert!(workflow.contains("Inputs of the workflow") && workflow.contains("How much."), "{workflow}");
}

#[test]
fn api_fork_changes_input() {
    let home = home_with_inputs();
    let thread = text(&home.json(&["thread", "start", "count-rounds", "-p", "x", "--set", "version=1"]), "thread");
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let server = TestServer::start(&home, &[]);
    let fork = |fields: Value| {
        let mut body = json!({ "expectedHead": head });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        server.post(&format!("/api/threads/{thread}/fork"), &body)
    };
    let input_of = |forked: &TestServerResponse| {
        assert!(matches!(forked.status, 200 | 201), "{forked:?}");
        home.json(&["thread", "show", &text(&forked.json(), "thread")])["input"].take()
    };
    let kept = json!({ "version": "1", "dry": true, "level": "low" });
    assert_eq!(input_of(&fork(json!({}))), kept);
    let changed = json!({ "version": "1.10", "tags": ["a"], "n": 3, "dry": false, "level": "high" });
    let values = json!({ "version": "1.10", "tags": ["a"], "n": 3 });
    assert_eq!(input_of(&fork(json!({ "input": values, "input.dry": "false", "input.level": "high" }))), changed);
    let other_task = fork(json!({ "prompt": "y", "input.version": "2" }));
    assert_eq!(input_of(&other_task)["version"], "2");
    for (fields, said) in [
        (json!({ "input": { "vresion": "1" } }), "did you mean `version`?"),
        (json!({ "input.n": "many" }), "`n`"),
        (json!({ "input": "version" }), "`input` is an object"),
    ] {
        let refused = fork(fields);
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(text(&refused.json()["error"], "message").contains(said), "{said}: {refused:?}");
    }
    let unknown = fork(json!({ "bogus": 1 })).json()["error"]["hints"].to_string();
    for field in ["redo", "step", "prompt", "input", "strictLimits"] {
        assert!(unknown.contains(field), "{field}: {unknown}");
    }
    let paused = server.post(&format!("/api/threads/{thread}/pause"), &json!({ "expectedHead": head, "input.n": "1" }));
    assert_eq!(paused.status, 400, "only a fork takes it: {paused:?}");
}

#[test]
fn form_has_fields_for_inputs() {
    let home = home_with_inputs();
    let server = TestServer::start(&home, &[]);
    let page = server.page("/workflows/count-rounds/start").body;
    for part in [
        "<select id=\"input.level\" name=\"input.level\"",
        "<option value=\"\">Default: low</option>",
        "<option value=\"high\">high</option>",
        "<input type=\"checkbox\" name=\"input.dry\" value=\"true\" checked>",
        "<input id=\"input.n\" name=\"input.n\" inputmode=\"numeric\"",
        "<textarea class=\"mono\" id=\"input.tags\" name=\"input.tags\"",
        "<input id=\"input.version\" name=\"input.version\" inputmode=\"text\" autocomplete=\"off\" required",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let sent = |version: &str| {
        let fields = [
            ("workflow", "count-rounds"),
            ("prompt", "x"),
            ("input.level", ""),
            // The box is not checked.
            ("input.dry", "false"),
            ("input.n", "3"),
            ("input.tags", "- a\r\n- b\r\n"),
            ("input.version", version),
        ];
        send_form(&server, &fields)
    };
    let again = sent("");
    assert_eq!(again.status, 400, "{again:?}");
    assert!(again.body.contains("<code>version</code> has no value"), "{}", again.body);
    assert!(again.body.contains("value=\"3\""), "the typed values are kept: {}", again.body);
    assert_eq!(threads(&home), Vec::<Value>::new());
    assert_eq!(sent("1.10").status, 303);
    let shown = home.json(&["thread", "show", "@"]);
    assert_eq!(shown["input"], json!({ "version": "1.10", "n": 3, "tags": ["a", "b"], "dry": false, "level": "low" }));
}
