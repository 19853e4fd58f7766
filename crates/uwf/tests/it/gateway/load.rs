//! Much at once through one tunnel.

use std::io::Read;
use std::time::Duration;

use serde_json::json;
use uwf_testing::processes::until;
use uwf_testing::text;

use super::{Gateway, with_thread};

/// Clients of events at once.
const CLIENTS: usize = 200;

/// Bytes of a large text.
const LARGE: usize = 1_000_000;

#[test]
fn two_hundred_clients_get_events_through_one_tunnel() {
    let gateway = Gateway::start();
    let (laptop, thread) = with_thread();
    let _machine = gateway.connect(&laptop, "laptop");
    let bearer = gateway.server.bearer();
    let headers = [("authorization", bearer.as_str()), ("accept", "text/event-stream")];
    let open = || {
        let stream = gateway.server.open("GET", "/m/laptop/api/events", &headers, "");
        stream.set_nonblocking(true).unwrap();
        (stream, String::new())
    };
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| open()).collect();
    let mut heard = |events: usize| {
        clients.iter_mut().all(|(stream, text)| {
            let mut bytes = [0; 8 << 10];
            if let Ok(length) = stream.read(&mut bytes) {
                assert_ne!(length, 0, "the stream ended: {text}");
                text.push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
            text.matches("event: threads").count() + text.matches("event:threads").count() >= events
        })
    };
    until("all hear where they begin", || heard(1));
    laptop.json(&["thread", "step", &thread]);
    until("all hear of the step", || heard(2));
    // All leave at once: what they asked for ends on the machine, and the tunnel stays.
    drop(clients);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(gateway.status("/m/laptop/api/threads"), 200);
    assert_eq!(gateway.endpoint("laptop")["connected"], true);
}

#[test]
fn large_bodies_pass_in_both_directions() {
    let gateway = Gateway::start();
    let (laptop, thread) = with_thread();
    let _machine = gateway.connect(&laptop, "laptop");
    let prompt = "0123456789".repeat(LARGE / 10);
    let body = json!({ "expectedHead": laptop.head(&thread), "prompt": prompt });
    let forked = gateway.server.post(&format!("/m/laptop/api/threads/{thread}/fork"), &body);
    assert_eq!(forked.status, 200, "{}", forked.body);
    let thread = text(&forked.json(), "thread");
    let shown = gateway.server.get(&format!("/m/laptop/api/threads/{thread}")).json();
    assert_eq!(shown["task"].as_str().map(str::len), Some(LARGE));
    assert_eq!(shown["task"], prompt);
}
