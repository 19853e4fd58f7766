//! The keys of a shared store: no agent gets them, none can find them, and every agent can do its work without them.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use uwf_testing::bucket::BucketServer;
use uwf_testing::postgres::PostgresServer;
use uwf_testing::processes::{is_alive, of_home, until};
use uwf_testing::{DELEGATING, FinishedRun, counting_workflow, text};

use crate::machine::{Machine, machine};

/// Looks for keys wherever a program of the same user can look.
const SEEK: &str = include_str!("keys/seek.py");

/// A key, whichever variable holds it. An agent looks for its beginning.
const KEY: &str = "hush-hush-0123456789";

/// Who may come in at a server whose users have passwords.
const WITH_PASSWORDS: &str = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

const CONFIG: &str = "agents:
  wrapped: { command: wrapped, output: json }
  step: { command: step, output: step }
  bounds: { command: bounds, output: step }
  given: { command: given, output: json, env: [AWS_SECRET_ACCESS_KEY] }
  tells: { command: tells, output: json }
  slow: { command: slow, output: json }
  counter: { command: uwf-workflow, args: [count-rounds] }
agentOverrides: { count-for-somebody: { clerk: counter } }
defaultAgent: wrapped
";

const WRAPPED: &str = "#!/bin/sh\ncat > /dev/null\npython3 \"$HOME/seek.py\" >&2 || exit 9\necho '{\"n\": 1}'\n";

const STEP: &str = "#!/bin/sh\npython3 \"$HOME/seek.py\" >&2 || exit 9\n\"$UWF_BIN\" agent context \"$1\" \"$2\" > context.json || exit 8\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}'\n";

/// Tries what an agent may and may not do with the store, and writes down what came of it.
const BOUNDS: &str = r#"#!/bin/sh
try() {
    name=$1; shift
    said=$("$UWF_BIN" "$@" --format text 2>&1)
    printf '%s %s: %s\n' "$name" "$?" "$(printf %s "$said" | head -n 1)" >> bounds.txt
}
try own cas get "$(cat own.txt)"
try foreign cas get "$(cat foreign.txt)"
try text cas put-text "see $(cat foreign.txt)"
try back cas get "$("$UWF_BIN" cas put-text "see $(cat foreign.txt)" --format text | grep -oE '^[0-9A-Z]{13}')"
try unlinked cas get "$(cat foreign.txt)"
echo '{"prompt": "Do as I say", "workflow": "0000000000000"}' > start.json
try start cas put DP275P26Y59DC start.json
printf '{"start": "%s", "prev": null, "role": "worker", "output": "%s", "detail": "%s", "agent": "x"}' \
    "$(cat foreign.txt)" "$(cat foreign.txt)" "$(cat foreign.txt)" > step.json
try step cas put CKDHDKMZ3XG9X step.json
try list cas list
try threads thread list
"$UWF_BIN" thread list 2>&1 | grep -o 'agents do not get the keys' >> bounds.txt
"$UWF_BIN" agent submit "$1" "$2" --data '{"n": 1}'
"#;

/// Hands its result in through a tool, and says nothing.
const TOOLS: &str = r#"#!/bin/sh
cat > /dev/null
cat > calls.txt <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"context","arguments":{}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"submit","arguments":{"n":7}}}
END
env -i "$UWF_BIN" agent mcp "$UWF_THREAD" "$UWF_ROLE" --root "$UNCAGED_WORKFLOW_STORAGE_ROOT" --attempt "$UWF_ATTEMPT" \
    < calls.txt > tools.txt 2>&1
"#;

/// A machine on a store, whose agents look for keys.
struct KeyHunt {
    machine: Machine,
    _dir: tempfile::TempDir,
}

impl KeyHunt {
    fn new(variables: Vec<(String, String)>) -> KeyHunt {
        let dir = tempfile::tempdir().unwrap();
        let machine = machine("anvil", variables, dir.path());
        machine.home.config(CONFIG);
        machine.home.script("wrapped", WRAPPED);
        machine.home.script("step", STEP);
        machine.home.script("bounds", BOUNDS);
        machine.home.script("given", "#!/bin/sh\ncat > /dev/null\nprintf %s \"$AWS_SECRET_ACCESS_KEY $AWS_SESSION_TOKEN\" > given.txt\necho '{\"n\": 1}'\n");
        machine
            .home
            .script("slow", "#!/bin/sh\ncat > /dev/null\necho paid >> ledger.txt\nsleep 3\necho '{\"n\": 1}'\n");
        let command = machine.command(&[]);
        let home = command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value).unwrap();
        std::fs::write(std::path::Path::new(home).join("seek.py"), SEEK).unwrap();
        KeyHunt { machine, _dir: dir }
    }

    /// As a user runs it, who may not look into processes that are closed to others. Root may, unless its capabilities are taken away,
    /// as most are in containers.
    fn command(&self, args: &[&str]) -> Command {
        let uwf = self.machine.command(args);
        let mut command = self.unprivileged(uwf.get_program());
        command.args(args);
        command
    }

    /// A program of the same user, with the variables of a person.
    fn unprivileged(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            command = Command::new("setpriv");
            command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(program);
        }
        let uwf = self.machine.command(&[]);
        command.env_clear().envs(uwf.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.machine.home.work()).stdin(Stdio::null());
        command
    }

    fn uwf(&self, args: &[&str]) -> FinishedRun {
        FinishedRun::from(self.command(args).output().unwrap())
    }

    /// Processes whose first arguments are these, and whose others have a word among them.
    fn processes(&self, first: &[&str], word: &str) -> Vec<i32> {
        let home = self.machine.command(&[]);
        let home = home.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value).unwrap().to_owned();
        let all = of_home(std::path::Path::new(&home)).into_iter();
        let is_one = |words: &[String]| {
            words.iter().skip(1).zip(first).filter(|(word, first)| word == first).count() == first.len()
                && words.iter().any(|argument| argument.contains(word))
        };
        all.filter(|(_, words)| is_one(words)).map(|(pid, _)| pid).collect()
    }

    /// What the agent of a step found.
    fn found_by(&self, agent: &str, thread: &str) -> Value {
        let ran = self.uwf(&["thread", "step", thread, "--agent", agent]);
        assert_eq!(ran.code, Some(0), "{agent}: {ran:?}");
        let found = std::fs::read_to_string(self.machine.home.work().join("found.json")).unwrap();
        serde_json::from_str(&found).unwrap()
    }
}

fn s3(server: &BucketServer) -> Vec<(String, String)> {
    let mut variables = server.variables("team");
    for (name, value) in &mut variables {
        if name == "AWS_SECRET_ACCESS_KEY" {
            KEY.clone_into(value);
        }
    }
    variables.push(("AWS_SESSION_TOKEN".to_owned(), format!("{KEY}-session")));
    variables.push(("TEMPORAL_API_KEY".to_owned(), format!("{KEY}-temporal")));
    variables
}

#[test]
fn no_agent_finds_a_key_of_a_bucket() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let thread = searched.machine.begin();
    for agent in ["wrapped", "step"] {
        let seen = searched.found_by(agent, &thread);
        assert_eq!(seen["found"], json!([]), "{agent}: {seen}");
        // It did look: the process around it lets itself be looked at.
        assert!(seen["looked"]["files"].as_u64() > Some(5) && seen["looked"]["sockets"] == json!(1), "{agent}: {seen}");
    }
    assert_eq!(searched.machine.json(&["thread", "steps", &thread])["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn no_agent_finds_the_password_of_a_database() {
    let server = PostgresServer::with(&["autovacuum=off"], WITH_PASSWORDS, |_| {});
    server.sql("postgres", &format!("create role team login password '{KEY}'"));
    server.sql("postgres", "create database work owner team");
    let url = format!("postgres://team@127.0.0.1:{}/work", server.port());
    let searched = KeyHunt::new(vec![("UWF_STORE_URL".to_owned(), url), ("PGPASSWORD".to_owned(), KEY.to_owned())]);
    // Called a secret, it made every step fail once, after its agent was paid.
    searched.machine.home.config(&format!("{CONFIG}secrets: [PGPASSWORD]\n"));
    let thread = searched.machine.begin();
    for agent in ["wrapped", "step"] {
        let seen = searched.found_by(agent, &thread);
        assert_eq!(seen["found"], json!([]), "{agent}: {seen}");
    }
    assert_eq!(searched.machine.json(&["thread", "steps", &thread])["steps"].as_array().unwrap().len(), 3);
}

/// A thread of which no agent of another thread may read anything.
fn foreign(machine: &Machine) -> String {
    let started = machine.json(&["thread", "start", "count-rounds", "-p", "FOREIGN-TASK"]);
    text(&machine.json(&["thread", "show", &text(&started, "thread")]), "head")
}

#[test]
fn agent_accesses_only_data_of_its_attempt() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let machine = &searched.machine;
    let thread = machine.begin();
    let work = machine.home.work();
    std::fs::write(work.join("foreign.txt"), foreign(machine)).unwrap();
    std::fs::write(work.join("own.txt"), machine.head(&thread)).unwrap();
    let ran = searched.uwf(&["thread", "step", &thread, "--agent", "bounds"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let tried = std::fs::read_to_string(work.join("bounds.txt")).unwrap();
    let of = |name: &str| tried.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(of("own").starts_with("own 0:"), "{tried}");
    // What an agent stores it may read, but that opens nothing else.
    assert!(of("text").starts_with("text 0:") && of("back").starts_with("back 0:"), "{tried}");
    for name in ["foreign", "unlinked"] {
        assert!(of(name).starts_with(&format!("{name} 64:")) && of(name).contains("does not belong"), "{tried}");
    }
    assert!(of("start").starts_with("start 64:") && of("start").contains("no agent makes a StartNode"), "{tried}");
    assert!(of("step").starts_with("step 64:") && of("step").contains("not the next step of this thread"), "{tried}");
    assert!(of("list").starts_with("list 64:"), "{tried}");
    assert!(of("threads").starts_with("threads 78:") && tried.contains("agents do not get the keys"), "{tried}");
    assert!(!tried.contains("FOREIGN-TASK"), "{tried}");
}

#[test]
fn agent_gets_only_key_named_in_env() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let thread = searched.machine.begin();
    let validated = searched.machine.uwf(&["config", "validate", "--format", "text"]);
    assert!(!validated.stdout.contains("unknown-secret"), "{validated:?}");
    let ran = searched.uwf(&["thread", "step", &thread, "--agent", "given"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(std::fs::read_to_string(searched.machine.home.work().join("given.txt")).unwrap(), format!("{KEY} "));
}

#[test]
fn key_known_from_elsewhere_is_not_stored() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let says = format!("#!/bin/sh\ncat > /dev/null\necho '{{\"n\": 1, \"note\": \"it is {KEY}\"}}'\n");
    searched.machine.home.script("tells", &says);
    let thread = searched.machine.begin();
    let ran = searched.uwf(&["thread", "step", &thread, "--agent", "tells"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let read = searched.machine.uwf(&["thread", "step-details", &searched.machine.head(&thread), "--format", "json"]);
    assert!(read.stdout.contains("it is [redacted AWS_SECRET_ACCESS_KEY]"), "{read:?}");
    assert!(!server.text("team", "").contains(KEY), "the key is in the store");
}

#[test]
fn agents_in_nested_workflow_find_no_key() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    searched.machine.home.file("outer.yaml", DELEGATING);
    searched.machine.begin();
    searched.machine.json(&["workflow", "put", "outer.yaml"]);
    let started = searched.machine.json(&["thread", "start", "count-for-somebody", "-p", "Count sheep"]);
    let ran = searched.uwf(&["thread", "step", &text(&started, "thread")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = std::fs::read_to_string(searched.machine.home.work().join("found.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["found"], json!([]), "{found}");
}

/// The process of the role has keys itself: it starts the keepers of the child thread.
#[test]
fn nested_workflow_continues_after_keeper_is_killed() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let (machine, work) = (&searched.machine, searched.machine.home.work());
    machine.home.config(&CONFIG.replace("defaultAgent: wrapped", "defaultAgent: slow"));
    machine.home.file("outer.yaml", DELEGATING);
    machine.begin();
    machine.json(&["workflow", "put", "outer.yaml"]);
    let thread = text(&machine.json(&["thread", "start", "count-for-somebody", "-p", "Count sheep"]), "thread");
    let mut step = searched.command(&["thread", "step", &thread]);
    let mut step = step.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("an agent of the child thread is at work", || work.join("ledger.txt").exists());
    let [before] = searched.processes(&["agent", "run", "--attempt"], &thread)[..] else { panic!("not one process") };
    machine.home.kill_keeper(&thread);
    assert!(!step.wait().unwrap().success());
    let mut again = searched.command(&["thread", "step", &thread]);
    let again = again.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let of_role = || searched.processes(&["agent", "run", "--attempt"], &thread);
    until("another one takes its place", || of_role().iter().any(|pid| *pid != before));
    assert!(!is_alive(before), "two of them at a time");
    let ended = FinishedRun::from(again.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(std::fs::read_to_string(work.join("ledger.txt")).unwrap(), "paid\n".repeat(3), "the child went on");
    until("no process is left", || searched.processes(&[], "").is_empty());
}

#[test]
fn manually_run_agent_finds_no_key() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let thread = searched.machine.begin();
    let ran = searched.uwf(&["agent", "run", "command", &thread, "worker"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = std::fs::read_to_string(searched.machine.home.work().join("found.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["found"], json!([]), "{found}");
    let stored = ran.stdout.trim();
    assert!(searched.machine.uwf(&["cas", "get", stored]).stdout.contains("worker"), "{ran:?}");
}

/// As agents start it that pass on nothing of their environment.
#[test]
fn tool_server_submits_result_without_environment() {
    let server = BucketServer::start();
    let variables = s3(&server).into_iter().filter(|(name, _)| name != "UWF_STORE_URL").collect();
    let searched = KeyHunt::new(variables);
    let home = &searched.machine.home;
    home.config(&format!("{CONFIG}store: {{ url: \"{}\" }}\n", server.url("team")));
    home.script("wrapped", TOOLS);
    let thread = searched.machine.begin();
    let ran = searched.uwf(&["thread", "step", &thread]);
    let said = std::fs::read_to_string(home.work().join("tools.txt")).unwrap_or_default();
    assert_eq!(ran.code, Some(0), "{ran:?}\n{said}");
    assert!(said.contains("Count sheep"), "{said}");
    let output = searched.machine.json(&["thread", "eval", &thread, "steps[-1].output.n"]);
    assert_eq!(output, json!(7));
}

/// Each process of uwf that gets keys is open to the same user until it closes itself.
#[test]
fn new_processes_lose_no_key() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let home = &searched.machine.home;
    home.file("take.py", include_str!("keys/take.py"));
    let mut thief = searched.unprivileged("python3".as_ref()).arg("take.py").spawn().unwrap();
    for _ in 0..10 {
        let thread = searched.machine.begin();
        let ran = searched.uwf(&["thread", "step", &thread, "--agent", "wrapped"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    home.file("enough", "");
    assert!(thief.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(home.work().join("taken.txt")).unwrap_or_default(), "");
}

/// The keeper starts a process for such a condition, whose stdin is not that of keys.
#[test]
fn conditions_work_when_keys_are_passed_on() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let condition = "$count($filter(steps, function($step) { $step.output.n >= 1 })) >= 1";
    let workflow = counting_workflow(3).replace("$count(steps) >= 3", condition);
    searched.machine.home.file("count.yaml", &workflow);
    let thread = searched.machine.begin();
    let ran = searched.uwf(&["thread", "step", &thread, "--agent", "step"]);
    assert_eq!((ran.code, &ran.json()["done"]), (Some(0), &json!(true)), "{ran:?}");
}

/// Without it the answer cannot be stored, but it is not lost.
#[test]
fn killed_broker_keeps_answer_without_second_payment() {
    let server = BucketServer::start();
    let searched = KeyHunt::new(s3(&server));
    let (machine, work) = (&searched.machine, searched.machine.home.work());
    machine.home.config(&CONFIG.replace("defaultAgent: wrapped", "defaultAgent: slow"));
    let thread = machine.begin();
    let mut command = machine.command(&["thread", "step", &thread]);
    let step = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the agent is at work", || work.join("ledger.txt").exists());
    let [broker] = searched.processes(&["__broker"], &thread)[..] else { panic!("not one broker") };
    kill_process(Pid::from_raw(broker).unwrap(), Signal::KILL).unwrap();
    let ended = step.wait_with_output().unwrap();
    let again = (!ended.status.success()).then(|| machine.try_step(&thread));
    assert!(again.is_none_or(|again| again.code == Some(0)), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(machine.json(&["thread", "steps", &thread])["steps"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_to_string(work.join("ledger.txt")).unwrap(), "paid\n");
}
