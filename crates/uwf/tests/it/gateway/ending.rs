//! Machines and gateways that go away, and come back.

use std::time::{Duration, Instant};

use uwf_testing::processes::{signal, until};
use uwf_testing::server::TestServer;

use super::{Gateway, with_thread};
use crate::home;

/// Sooner than a frozen machine is noticed, also where others use the processor.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn dead_and_frozen_machines_are_detected() {
    let gateway = Gateway::start();
    let ((laptop, thread), desk) = (with_thread(), home());
    let mut killed = gateway.connect(&laptop, "laptop");
    let frozen = gateway.connect(&desk, "desk");
    until("its threads are known", || gateway.endpoint("laptop")["counts"]["active"] == 1);

    killed.kill();
    let begun = Instant::now();
    until("the gateway has noticed", || gateway.status("/m/laptop/api/threads") == 502);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    // It is shown with its last list, and since when it is away.
    let away = gateway.endpoint("laptop");
    assert_eq!((&away["connected"], &away["counts"]["active"]), (&false.into(), &1.into()), "{away}");
    let all = gateway.server.get("/api/gateway/threads").json();
    assert_eq!((&all[0]["thread"], &all[0]["connected"]), (&thread.clone().into(), &false.into()), "{all}");
    let page = gateway.server.page("/machines").body;
    assert!(page.contains("not connected, last seen ") && page.contains(&thread), "{page}");
    let page = gateway.server.page("/m/laptop/");
    assert!(
        page.status == 502 && page.body.contains("The machine laptop has not been connected since "),
        "{}",
        page.body
    );
    let json = gateway.server.get("/m/laptop/api/threads").json();
    assert!(
        json["error"]["message"].as_str().unwrap().starts_with("the machine laptop has not been connected since "),
        "{json}"
    );

    signal(frozen.pid(), "STOP");
    // Nobody's page waits for it meanwhile.
    let begun = Instant::now();
    assert_eq!(gateway.server.page("/").status, 200);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(gateway.status("/m/desk/api/threads"), 502);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    let begun = Instant::now();
    assert_eq!(gateway.status("/m/desk/api/threads"), 502);
    assert!(begun.elapsed() < SOON, "who knows does not wait again: {:?}", begun.elapsed());
    signal(frozen.pid(), "CONT");
    until("it is back", || gateway.status("/m/desk/api/threads") == 200);
}

#[test]
fn machine_reconnects_after_gateway_restart() {
    let mut gateway = Gateway::start();
    let (laptop, thread) = with_thread();
    let address = gateway.server.address.clone();
    let machine = gateway.connect(&laptop, "laptop");
    gateway.server.kill();
    machine.says("not connected: ", 1);
    machine.says("trying again in ", 2);
    let again = TestServer::start_at(&gateway.home, &address, &["--gateway"]);
    machine.says("connected to ", 2);
    assert_eq!(again.get(&format!("/m/laptop/api/threads/{thread}")).status, 200);
}
