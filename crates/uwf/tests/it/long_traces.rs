//! Agents with hundreds of turns: what it costs to look at them while they run.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use uwf_core::node::TokenCounts;
use uwf_engine::attempt::live_trace::LiveTraceWriter;
use uwf_engine::attempt::recorded::AttemptOutputFiles;
use uwf_engine::attempt::turns::{AgentToolCall, AgentTurn};
use uwf_engine::root::home::Home;
use uwf_testing::TestHome;
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;

use crate::home;

/// Waits for the file `go`.
const WAITING: &str = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\necho '{\"n\": 1}'\n";

/// Bytes of a tool's result.
const RESULT: usize = 16 << 10;

/// Requests whose processor time is measured together: the kernel counts it in units of 10 ms.
const REQUESTS: usize = 20;

/// A running step whose agent talks with a model, and sends it all that was said before at each turn.
struct Agent {
    step: Child,
    writer: LiveTraceWriter,
    said: Vec<Arc<str>>,
    turns: usize,
}

impl Agent {
    fn start(home: &TestHome, thread: &str) -> Agent {
        let step = home.command(&["thread", "step", thread]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let attempt = || {
            let running = home.json(&["thread", "ps"]);
            let own = running.as_array().unwrap().iter().find(|step| step["thread"] == thread)?;
            own["pid"].is_u64().then(|| own["attempt"].as_str().unwrap().to_owned())
        };
        until("the agent runs", || attempt().is_some());
        let files = AttemptOutputFiles::paths_of_attempt(
            &Home::open(home.root(), "/there/is/no/uwf"),
            &thread.parse().unwrap(),
            &attempt().unwrap(),
        );
        let writer = LiveTraceWriter::begin(&files).unwrap();
        Agent { step: step.unwrap(), writer, said: vec!["the task".into()], turns: 0 }
    }

    /// A turn that is over: a call of a tool with a long result.
    fn turn(&mut self) {
        self.turns += 1;
        let turn = self.calling(&format!("cat file-{}", self.turns), &self.result());
        self.writer.turn(&turn).unwrap();
        self.said.extend([turn.output.as_str().into(), turn.tool_calls[0].result.as_str().into()]);
    }

    /// A turn whose tool still runs.
    fn call(&mut self, arguments: &str) {
        self.turns += 1;
        self.writer.under_way(&self.calling(arguments, "")).unwrap();
    }

    fn calling(&self, arguments: &str, result: &str) -> AgentTurn {
        let call = AgentToolCall {
            name: "shell".to_owned(),
            arguments: arguments.to_owned(),
            result: result.to_owned(),
            duration_ms: 3,
        };
        let tokens = TokenCounts { input: Some(10), output: Some(1), ..TokenCounts::default() };
        let output = format!("I look at file {}", self.turns);
        AgentTurn { output, tool_calls: vec![call], tokens: Some(tokens), ..AgentTurn::asked(self.said.clone()) }
    }

    fn result(&self) -> String {
        let line = format!("turn {}: what the file says\n", self.turns);
        line.repeat(RESULT / line.len())
    }

    fn end(mut self, home: &TestHome) {
        home.file("go", "");
        self.step.wait().unwrap();
    }
}

/// A server whose use of memory and processor is measured.
struct ServerUsage(TestServer);

impl ServerUsage {
    /// The most memory it had, in MB.
    fn peak(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }

    /// Processor time so far, in ms.
    fn used(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.pid())).unwrap();
        let ticks = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
        ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() * 10.0
    }

    /// Processor time of a request on average, in ms.
    fn per_request(&self, path: &str) -> f64 {
        let before = self.used();
        for _ in 0..REQUESTS {
            assert_eq!(self.0.get(path).status, 200, "{path}");
        }
        (self.used() - before) / REQUESTS as f64
    }
}

fn running(server: &ServerUsage) -> Value {
    server.0.get("/api/running").json()[0].clone()
}

/// Reads a stream of events, and says of each turn its number and whether it is over.
fn turns_of(stream: TcpStream) -> Receiver<(u64, bool)> {
    let (found, turns) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let events = lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
        for event in events.filter(|event| event["event"] == "turn") {
            // The test may have seen enough.
            let _ = found.send((event["turn"].as_u64().unwrap(), event["done"] == true));
        }
    });
    turns
}

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    /// Most memory of the server, in MB. With all features it had 60.4.
    const LARGEST_MB: f64 = 80.0;

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
    fn server_sends_only_new_turns_to_followers() {
        let home = home();
        home.worker("output: json", WAITING);
        let thread = home.start_counting(1, "x");
        let mut agent = Agent::start(&home, &thread);
        (0..400).for_each(|_| agent.turn());
        let server = ServerUsage(TestServer::start(&home, &[]));
        let headers = [("authorization", server.0.bearer()), ("accept", "text/event-stream".to_owned())];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let turns = turns_of(server.0.open("GET", &format!("/api/threads/{thread}/events"), &headers, ""));
        let past: Vec<(u64, bool)> = turns.iter().take(400).collect();
        assert_eq!(past, (1..=400).map(|number| (number, true)).collect::<Vec<_>>());
        let before = server.used();
        for number in 401..=420 {
            agent.turn();
            assert_eq!(turns.iter().find(|(_, is_over)| *is_over), Some((number, true)));
        }
        let (used, peak) = ((server.used() - before) / 20.0, server.peak());
        assert!(used <= 50.0 && peak <= LARGEST_MB, "{used} ms for each turn, {peak} MB");
        agent.end(&home);
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
    fn server_reads_only_new_trace_data() {
        let home = home();
        home.worker("output: json", WAITING);
        let thread = home.start_counting(1, "x");
        let mut agent = Agent::start(&home, &thread);
        (0..400).for_each(|_| agent.turn());
        agent.call("cargo test");
        let server = ServerUsage(TestServer::start(&home, &[]));
        let first = running(&server);
        assert_eq!(
            json!([first["tokens"], first["doing"]]),
            json!([{"input": 4010, "output": 401}, "runs cargo test"])
        );
        let [page, list] = ["/", "/api/running"].map(|path| server.per_request(path));
        assert_eq!(server.0.get(&format!("/threads/{thread}")).status, 200);
        let peak = server.peak();
        assert!(page <= 50.0 && list <= 50.0 && peak <= LARGEST_MB, "/ {page} ms, /api/running {list} ms, {peak} MB");
        agent.turn();
        let later = running(&server);
        assert_eq!(
            json!([later["tokens"], later["doing"]]),
            json!([{"input": 4010, "output": 401}, "runs cat file-402"])
        );
        assert_eq!(home.json(&["thread", "ps"])[0], later, "a process that looks for the first time says the same");
        agent.end(&home);
    }
}
