//! `uwf serve` and the limit of open files.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::machine::TestMachine;
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;

use crate::home;

/// A soft limit that the server must raise, and a hard one up to which it can.
const SOFT: &str = "-Sn 64 && ulimit -Hn 1000";

/// Clients that are more than that.
const CLIENTS: usize = 150;

/// An agent that notes how many files it may open.
fn noting_home() -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\nulimit -Sn > limit\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    (home, thread)
}

fn listener(server: &TestServer) -> TcpStream {
    server.open("GET", "/api/events", &[("authorization", &server.bearer())], "")
}

#[test]
fn server_raises_its_limit_but_not_for_children() {
    let (home, thread) = noting_home();
    let server = TestServer::start_limited(&home, &[], SOFT);
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| listener(&server)).collect();
    for client in &mut clients {
        let mut begin = [0; 15];
        client.read_exact(&mut begin).expect("all are answered while all are there");
        assert_eq!(&begin, b"HTTP/1.1 200 OK");
    }
    let body = json!({ "expectedHead": home.head(&thread) });
    let stepped = server.post(&format!("/api/threads/{thread}/step"), &body);
    assert_eq!(stepped.status, 200, "{}", stepped.body);
    assert_eq!(fs::read_to_string(home.work().join("limit")).unwrap().trim(), "64");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn a_machine_that_connects_raises_its_limit_too() {
    let home = home();
    let args = ["--name", "laptop", "--gateway", "http://127.0.0.1:1"];
    let machine = TestMachine::start_limited(&home, &args, &[("WORKFLOW_GATEWAY_TOKEN", "x")], SOFT);
    machine.says("not connected: ", 1);
    let limits = fs::read_to_string(format!("/proc/{}/limits", machine.pid())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("1000"), "{limits}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn server_at_limit_idles_until_clients_leave() {
    let home = home();
    let server = TestServer::start_limited(&home, &[], "-n 64");
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| listener(&server)).collect();
    let limit = || fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    until("it has all the files it may have", || limit() >= 64);
    let before = processor_time(server.pid());
    std::thread::sleep(Duration::from_secs(2));
    let used = processor_time(server.pid()) - before;
    assert!(used < Duration::from_millis(500), "{used:?} of processor time");
    drop(clients);
    until("it takes others", || server.get("/api/threads").status == 200);
}

/// What a process has used: fields 14 and 15 of its `stat`, in hundredths of a second.
fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
