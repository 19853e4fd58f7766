//! Real agents, driven through whole threads against a scripted model: `./test --real-agents` installs them and runs
//! these tests. Nothing here is about what a model would say; it is about what the programs do with it.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod claude;
mod codex;
mod documents;
mod failures;
mod gemini;
mod hermes;
mod mcp;
mod opencode;
mod permissions;
mod skills;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, LlmServerRequest, ScriptedAnswer};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow, failed_attempts, text};

/// A fresh storage root that finds these programs of the installed agents, the counting workflow in it.
fn home(programs: &[(&str, &str)]) -> TestHome {
    let home = TestHome::new(uwf_testing::uwf_program());
    for (name, path) in programs {
        symlink(installed(path), home.bin_dir().join(name)).unwrap();
    }
    home.put("count-rounds", &counting_workflow(1));
    home
}

/// A file of the directory the agents were installed in.
fn installed(path: &str) -> PathBuf {
    let dir = std::env::var_os("UWF_REAL_AGENTS").expect("UWF_REAL_AGENTS is set: run `./test --real-agents`");
    let file = PathBuf::from(dir).join(path);
    assert!(file.exists(), "{} was not installed", file.display());
    file
}

/// Starts a thread whose task comes from stdin, so that it can have any size.
fn start(home: &TestHome, workflow: &str, task: &str) -> String {
    let file = home.file("task.md", task);
    let mut command = home.command(&["thread", "start", workflow, "-p", "-"]);
    let started = command.stdin(fs::File::open(file).unwrap()).output().unwrap();
    text(&serde_json::from_slice(&started.stdout).unwrap(), "thread")
}

/// A command that counts the lines of `a.txt` as soon as the file `go` exists.
const COUNTING: &str = "while [ ! -e go ]; do sleep 0.1; done; wc -l < a.txt";

/// Steps a thread whose agent runs that command, and lets it finish once the turn and the command are shown.
fn step_shows_command(home: &TestHome, thread: &str) {
    step_shows(home, thread, |_| true);
}

/// The same, once what is shown of the agent besides is as expected.
fn step_shows(home: &TestHome, thread: &str, is_expected: impl Fn(&Value) -> bool) {
    let mut step = home.command(&["thread", "step", thread]).stdout(Stdio::null()).spawn().unwrap();
    until("`ps` shows the command while it runs", || {
        let running = home.json(&["thread", "ps"]).pointer("/0").cloned().unwrap_or_default();
        let does = running["doing"].as_str().is_some_and(|doing| doing == format!("runs {COUNTING}"));
        does && is_expected(&running)
    });
    home.file("go", "");
    assert!(step.wait().unwrap().success());
}

/// The answer of a provider whose limit ends in two hours.
fn two_hours(body: &Value) -> ScriptedAnswer {
    let limited = ScriptedAnswer::raw(429, "application/json", body.to_string());
    limited.header("retry-after", "7200").header("x-should-retry", "false").repeated()
}

/// The time in so many seconds, Unix seconds.
fn seconds_from_now(seconds: u64) -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds
}

/// Minutes for which a limit is assumed whose end the program does not say.
const UNKNOWN_LIMIT: u64 = 15;

/// Lets a role play, and checks that the thread is at its agent's usage limit for so many minutes, and asks the model nothing more.
fn reaches_limit(home: &TestHome, model: &LlmServer, minutes: u64) {
    let thread = start(home, "count-rounds", "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!((&shown["state"], &shown["failure"]), (&json!("limited"), &json!("usage-limit")), "{shown:#}");
    let expected = seconds_from_now(minutes * 60);
    let off = (shown["until"].as_u64().unwrap() / 1000).abs_diff(expected);
    assert!(off < 300, "{off} s off: {shown:#}");
    let asked = model.asked().len();
    assert_eq!(home.uwf(&["run", &thread]).code, Some(30));
    assert_eq!(model.asked().len(), asked, "it is not asked again before the end");
}

/// Detail of the step at the head, with references expanded.
fn detail(home: &TestHome, thread: &str) -> Value {
    let head = text(&home.json(&["thread", "show", thread]), "head");
    home.json(&["thread", "step-details", &head, "--format", "json"])["detail"].clone()
}

/// Lets a role play twice in the counting workflow and gives both details. `between` happens before the second visit.
fn twice(home: &TestHome, between: impl FnOnce()) -> (Value, Value) {
    home.put("count-rounds", &counting_workflow(3));
    let thread = start(home, "count-rounds", "count the lines of a.txt");
    home.json(&["thread", "step", &thread]);
    let first = detail(home, &thread);
    between();
    home.json(&["thread", "step", &thread]);
    (first, detail(home, &thread))
}

/// Lets a role play twice and checks that the second visit continued in the session of the first.
fn goes_on(home: &TestHome, model: &LlmServer) -> Value {
    let (first, second) = twice(home, || {});
    went_on(model, &first, &second);
    second
}

/// Checks that the second visit continued in the session of the first: the model was sent what it had said, and only what is
/// new since.
fn went_on(model: &LlmServer, first: &Value, second: &Value) {
    assert_eq!(json!([second["resumed"], second["sessionId"]]), json!([true, first["sessionId"]]), "{second:#}");
    let asked = model.asked().into_iter().rfind(has_tools).unwrap();
    assert!(
        asked.text.contains("You are back in your earlier session") && asked.text.contains("FIRST"),
        "{}",
        asked.text
    );
    assert!(!asked.text.contains("is your own last answer"), "{}", asked.text);
    // codex-acp warns of the model's name before the answer.
    assert!(
        matches!(outputs(second)[..], [said] if said.ends_with(SECOND)),
        "the turns are those of this visit: {second:#}"
    );
}

/// Checks that the second visit was played with the whole prompt, in a new session.
fn begins_anew(model: &LlmServer, first: &Value, second: &Value) {
    assert_eq!(
        json!([second["resumed"], failed_attempts(second), second["raw"]]),
        json!([null, 0, SECOND]),
        "{second:#}"
    );
    assert_ne!(first["sessionId"], second["sessionId"]);
    let asked = model.asked().into_iter().rfind(has_tools).unwrap();
    assert!(asked.text.contains("is your own last answer") && asked.text.contains("FIRST"), "{}", asked.text);
}

const FIRST: &str = "---\nn: 1\n---\nThe FIRST answer.";
const SECOND: &str = "---\nn: 1\n---\nThe second answer.";

/// Checks that the program has reported this model, so that a price of the configuration applies to its tokens.
fn prices_apply(home: &TestHome, thread: &str, model: &str) {
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let prices = format!("prices: {{ date: 2026-11-01, models: {{ {model}: {{ input: 1000, output: 1000 }} }} }}\n");
    home.config(&format!("{config}{prices}"));
    let costs = home.json(&["thread", "cost", thread, "--by", "model"]);
    let row = &costs["rows"][0];
    assert_eq!((&row["name"], &row["costUnknown"]), (&json!(model), &json!(0)), "{costs}");
    assert!(row["cost"][0]["amount"].as_f64().is_some_and(|amount| amount > 0.0), "{costs}");
}

/// Outputs of the turns.
fn outputs(detail: &Value) -> Vec<&str> {
    detail["turns"].as_array().unwrap().iter().filter_map(|turn| turn["output"].as_str()).collect()
}

/// Names, arguments and results of the tool calls.
fn calls(detail: &Value) -> Vec<String> {
    let turns = detail["turns"].as_array().unwrap().iter();
    let calls = turns.flat_map(|turn| turn["toolCalls"].as_array().unwrap());
    calls
        .map(|call| format!("{} {} -> {}", text(call, "name"), text(call, "arguments"), text(call, "result")))
        .collect()
}

/// Whether a request is the agent's own: those for a session's title and the like offer the model no tools.
fn has_tools(request: &LlmServerRequest) -> bool {
    !offered(request).is_empty()
}

/// Names of the tools the model is offered, in whatever wire; those of a namespace as `NAMESPACE.TOOL`.
fn offered(request: &LlmServerRequest) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().map(str::to_owned);
    let names = list(&request.body["tools"]).into_iter().flat_map(|tool| {
        let in_namespace = list(&tool["tools"]);
        let declared = list(&tool["functionDeclarations"]);
        let namespace = name(&tool).unwrap_or_default();
        let own = name(&tool["function"]).or_else(|| name(&tool).filter(|_| in_namespace.is_empty()));
        let inside = in_namespace.iter().filter_map(|tool| Some(format!("{namespace}.{}", name(tool)?)));
        own.into_iter().chain(inside).chain(declared.iter().filter_map(name)).collect::<Vec<_>>()
    });
    names.collect()
}

/// Answers the agent's requests in order; whatever else it asks gets a word.
fn in_order(answers: impl Into<Vec<ScriptedAnswer>>) -> LlmScript {
    let mut answers = answers.into().into_iter();
    LlmScript::deciding(move |request| {
        if has_tools(request) {
            answers.next().unwrap_or_else(|| ScriptedAnswer::status(418, "no answer is left"))
        } else {
            ScriptedAnswer::text("Counting")
        }
    })
}

/// A model that hands in a value that is rejected, then a right one by the tool `submit`, whatever the agent calls it, and
/// then says so.
fn submitting() -> LlmScript {
    let mut round = 0;
    LlmScript::deciding(move |request| {
        let Some(submit) = offered(request).into_iter().find(|name| name.ends_with("submit")) else {
            return ScriptedAnswer::text("Counting");
        };
        round += 1;
        match round {
            1 => ScriptedAnswer::call(&submit, json!({ "n": "one" })),
            2 => ScriptedAnswer::call(&submit, json!({ "n": 1 })),
            _ => ScriptedAnswer::text("Handed in."),
        }
    })
}
