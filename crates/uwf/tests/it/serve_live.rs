//! `uwf serve`: events as they happen.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::home;

/// A client of a stream of events, and what it has got so far.
struct Client {
    stream: TcpStream,
    text: String,
    /// The server ended the stream.
    has_ended: bool,
}

/// A message: `id`, `event` and `data`.
#[derive(Debug, Clone, PartialEq)]
struct Message {
    id: Option<String>,
    event: String,
    data: Value,
}

impl Client {
    fn of(server: &TestServer, path: &str, seen: Option<&str>) -> Client {
        let bearer = server.bearer();
        let mut headers = vec![("authorization", bearer.as_str()), ("accept", "text/event-stream")];
        headers.extend(seen.map(|id| ("last-event-id", id)));
        let stream = server.open("GET", path, &headers, "");
        stream.set_nonblocking(true).unwrap();
        Client { stream, text: String::new(), has_ended: false }
    }

    /// Takes what is there.
    fn read(&mut self) -> &str {
        let mut bytes = [0; 64 << 10];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.has_ended = true,
                Ok(length) => {
                    self.text.push_str(&String::from_utf8_lossy(&bytes[..length]));
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            return &self.text;
        }
    }

    fn messages(&mut self) -> Vec<Message> {
        self.read();
        let blocks = self.text.split("\n\n").filter(|block| block.contains("data: "));
        let line = |block: &str, name: &str| {
            block.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned())
        };
        let message = |block: &str| Message {
            id: line(block, "id:"),
            event: line(block, "event:").unwrap(),
            data: serde_json::from_str(&line(block, "data:").unwrap()).unwrap(),
        };
        blocks.map(message).collect()
    }

    /// Waits for a message.
    fn until(&mut self, event: &str) -> Message {
        let found = |messages: Vec<Message>| messages.into_iter().find(|message| message.event == event);
        until(&format!("`{event}` comes"), || found(self.messages()).is_some());
        found(self.messages()).unwrap()
    }

    /// Waits for the end of the stream; the events that came.
    fn end(mut self) -> Vec<Message> {
        until("the stream ends", || {
            self.read();
            self.has_ended
        });
        self.messages()
    }
}

/// What happened, in order.
fn names(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.event.as_str()).collect()
}

fn counting(rounds: usize) -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(rounds, "count");
    (home, thread)
}

#[test]
fn list_event_is_sent_only_on_change() {
    let (home, thread) = counting(2);
    let server = TestServer::start(&home, &[]);
    let mut client = Client::of(&server, "/api/events", None);
    let first = client.until("threads");
    assert_eq!(first.data, json!({ "version": first.id }));
    let head = client.text.clone();
    for header in ["content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"] {
        assert!(head.contains(header), "{head}");
    }
    let mut same = Client::of(&server, "/api/events", first.id.as_deref());
    let mut other = Client::of(&server, "/api/events", Some("another"));
    assert_eq!(other.until("threads"), first, "whoever has seen another version is told at once");
    // Some looks at files that nobody changes.
    std::thread::sleep(Duration::from_millis(900));
    assert_eq!((same.messages(), client.messages()), (vec![], vec![first.clone()]));
    home.json(&["thread", "step", &thread]);
    let second = same.until("threads");
    assert_ne!(second.id, first.id);
    until("the last version is announced", || same.messages().last() == client.messages().last());
}

#[test]
fn thread_events_match_live_command() {
    let (home, thread) = counting(2);
    let server = TestServer::start(&home, &[]);
    let path = format!("/api/threads/{thread}/events");
    let mut client = Client::of(&server, &path, None);
    client.until("thread");
    home.json(&["thread", "step", &thread]);
    let step = client.until("step");
    assert_eq!((step.id.clone(), step.data["index"].as_u64()), (home.head(&thread), Some(1)));
    home.json(&["run", &thread]);
    let messages = client.end();
    assert_eq!((messages.last().unwrap().event.as_str(), messages.last().unwrap().id.as_deref()), ("end", Some("end")));
    // Who comes later gets what the command prints.
    let printed = home.uwf(&["live", &thread, "--format", "json"]).stdout;
    let printed: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let past = Client::of(&server, &path, None).end();
    assert_eq!(past.iter().map(|message| message.data.clone()).collect::<Vec<_>>(), printed);
    assert!(past.iter().all(|message| message.data["event"] == message.event.as_str()), "{past:?}");
    // Who saw the first step gets the second one and the end; who saw the end is told that there is nothing.
    let rest = Client::of(&server, &path, step.id.as_deref()).end();
    assert_eq!(names(&rest), ["thread", "step", "end"]);
    assert_eq!(rest[1].data["index"], 2);
    let newest = Client::of(&server, &format!("{path}?tail=0"), None).end();
    assert_eq!(names(&newest), ["thread", "end"]);
    let bearer = server.bearer();
    let nothing = server.send("GET", &path, &[("authorization", &bearer), ("last-event-id", "end")], "");
    assert_eq!(nothing.status, 204);
}

#[test]
fn client_without_steps_resumes_at_last_head() {
    let (home, thread) = counting(3);
    home.json(&["thread", "step", &thread]);
    let server = TestServer::start(&home, &[]);
    let path = format!("/api/threads/{thread}/events?tail=0");
    let mut client = Client::of(&server, &path, None);
    let state = client.until("state");
    assert_eq!((names(&client.messages()), &state.id), (vec!["thread", "state"], &home.head(&thread)));
    drop(client);
    home.json(&["thread", "step", &thread]);
    let step = Client::of(&server, &path, state.id.as_deref()).until("step");
    assert_eq!(step.data["index"], 2);
}

#[test]
fn running_and_killed_agents_are_shown() {
    let home = home();
    home.worker("output: text", "#!/bin/sh\necho looking >&2\necho begun\nexec sleep 600\n");
    let thread = home.start_counting(1, "count");
    let server = TestServer::start(&home, &[]);
    let path = format!("/api/threads/{thread}/events");
    let mut quiet = Client::of(&server, &path, None);
    let mut debug = Client::of(&server, &format!("{path}?debug=true"), None);
    let mut list = Client::of(&server, "/api/events", None);
    quiet.until("thread");
    let mut run = home.command(&["run", &thread]).spawn().unwrap();
    assert_eq!(quiet.until("output").data["text"], "begun\n");
    for path in ["/", "/?state=running", "/?all=1"] {
        let page = server.page(path).body;
        assert!(page.contains("last output "), "{path}: {page}");
    }
    let stderr = |message: &Message| message.data["stream"] == "stderr";
    until("stderr is shown to whoever wants it", || debug.messages().iter().any(stderr));
    assert!(!quiet.messages().iter().any(stderr));
    let before = list.messages();
    home.json(&["thread", "kill", &thread]);
    run.wait().unwrap();
    assert_eq!(quiet.end().last().unwrap().data["status"], "killed");
    until("the list has changed", || list.messages().len() > before.len());
}

#[test]
fn unknown_thread_has_no_events() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let answer = server.get("/api/threads/01AAAAAAAAAAAAAAAAAAAAAAAA/events");
    assert_eq!((answer.status, text(&answer.json()["error"], "kind").as_str()), (404, "not-found"));
}

/// Clients of the load test. Each is a socket here and one in the server.
const CROWD: usize = 1000;

/// CPU time that the server may use for them, and how soon each must be notified. Alone on two cores it is about 0.3 s.
const MAX_RSS_KB: u64 = 128 << 10;
const MAX_THREADS: u64 = 20;
const SOON: Duration = Duration::from_secs(10);

/// Many systems let a process have 1,024 files unless it asks for more. The server inherits it.
fn allow_sockets() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// Half of them listen to the thread, half to the list.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn a_thousand_clients_each_get_a_step() {
    allow_sockets();
    let (home, thread) = counting(2);
    let server = TestServer::start(&home, &[]);
    let path = format!("/api/threads/{thread}/events?tail=0");
    let mut clients: Vec<Client> = (0..CROWD)
        .map(|number| Client::of(&server, if number % 2 == 0 { &path } else { "/api/events" }, None))
        .collect();
    let count = |clients: &mut [Client], word: &str| {
        clients.iter_mut().map(|client| client.read().matches(word).count()).filter(|count| *count > 0).count()
    };
    until("everybody is connected", || count(&mut clients, "event: ") == CROWD);
    let seen: Vec<usize> = clients.iter().map(|client| client.text.len()).collect();
    home.json(&["thread", "step", &thread]);
    let begun = Instant::now();
    let mut late = CROWD;
    while late > 0 && begun.elapsed() < SOON {
        let news = clients.iter_mut().zip(&seen).filter_map(|(client, seen)| client.read().get(*seen..));
        late = CROWD - news.filter(|news| news.contains("event: step") || news.contains("event: threads")).count();
    }
    assert_eq!(late, 0, "clients without the step after {:?}", begun.elapsed());
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let figure = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let (rss, threads) = (figure("VmRSS:"), figure("Threads:"));
    assert!(rss <= MAX_RSS_KB && threads <= MAX_THREADS, "{rss} kB, {threads} threads");
    // It takes others when these have gone.
    drop(clients);
    assert_eq!(names(&[Client::of(&server, &path, None).until("thread")]), ["thread"]);
}

/// Threads that are stepped while people watch, and people.
const STEPPED: usize = 200;
const WATCHERS: usize = 50;

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    /// A step moves a thread from one head to the next, and a list may show the one or the other: never an earlier one again, and in
    /// the end, once everybody was told, the last one.
    #[test]
    fn many_threads_are_stepped_while_many_watch() {
        allow_sockets();
        let (home, first) = counting(2);
        let others = (1..STEPPED).map(|number| home.start("count-rounds", &format!("count {number}")));
        let threads: Vec<String> = std::iter::once(first).chain(others).collect();
        let server = TestServer::start(&home, &[]);
        let mut watchers: Vec<Client> = (0..WATCHERS).map(|_| Client::of(&server, "/api/events", None)).collect();
        watchers.iter_mut().for_each(|client| drop(client.until("threads")));
        let shown = || server.get("/api/threads?limit=1000").json();
        let mut lists = vec![shown()];
        std::thread::scope(|scope| {
            let stepping = scope.spawn(|| home.uwf(&["run", "--all", "--jobs", "4"]));
            let mut seen = 0;
            while !stepping.is_finished() {
                let messages = watchers[seen % WATCHERS].messages().len();
                // A page asks after each message.
                if messages > seen {
                    seen = messages;
                    lists.push(shown());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let stepped = stepping.join().unwrap();
            assert_eq!(stepped.code, Some(0), "{}", stepped.stderr);
        });
        let last_told = |client: &mut Client| client.messages().last().unwrap().id.clone();
        // Asked each time: on a busy machine the server sees the last change only after the command has ended.
        until("all watchers have the last version", || {
            let newest = Client::of(&server, "/api/events", None).until("threads").id;
            watchers.iter_mut().all(|client| last_told(client) == newest)
        });
        lists.push(shown());
        assert!(lists.len() > 10, "{} lists were shown meanwhile", lists.len());
        for thread in &threads {
            let steps = home.json(&["thread", "steps", thread]);
            let order: Vec<String> = steps["steps"].as_array().unwrap().iter().map(|step| text(step, "hash")).collect();
            assert_eq!(order.len(), 3, "nothing is lost");
            let heads = lists.iter().map(|list| {
                let row =
                    list.as_array().unwrap().iter().find(|row| row["thread"] == **thread).expect("it is in every list");
                order.iter().position(|hash| row["head"] == **hash).expect("its head is one of its steps")
            });
            let heads: Vec<usize> = heads.collect();
            assert!(heads.is_sorted(), "{thread} was shown at {heads:?}");
            assert_eq!(heads.last(), Some(&2), "in the end it is shown where it is");
        }
        assert!(lists.last().unwrap().as_array().unwrap().iter().all(|row| row["state"] == "completed"));
    }
}
