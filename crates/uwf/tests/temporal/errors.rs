//! A server that is away, lets nobody in, has no such namespace, or is another one; arguments that make no sense.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use crate::place::Place;
use crate::server::Server;

#[test]
fn each_fault_is_one_clear_error() {
    let server = Server::start();
    let place = Place::new(&server);
    let thread = place.start(1);
    let worker = ["worker", "--engine", "temporal"];
    let cases = [
        (vec!["--address", "127.0.0.1:9"], 69, "does not answer at 127.0.0.1:9"),
        (vec!["--address", "nowhere.invalid:7233"], 69, "does not answer at nowhere.invalid:7233"),
        (vec!["--address", "not an address"], 78, "is not an address"),
        (vec!["--namespace", "nobody"], 69, "temporal operator namespace create"),
        (vec!["--tls-ca", "/nonexistent"], 78, "cannot read /nonexistent"),
        (vec!["--max-agents", "0"], 64, "--max-agents"),
        (vec!["--cwd", "/dev/null"], 64, "--cwd /dev/null is not a directory"),
        (vec!["--cwd", "/nonexistent"], 64, "--cwd /nonexistent is not a directory"),
        (vec!["--task-queue", ""], 64, "--task-queue"),
        (vec!["--namespace", ""], 64, "--namespace"),
        (vec!["--address", "127.0.0.2"], 69, "does not answer at 127.0.0.2:7233"),
    ];
    for (args, code, says) in cases {
        let refused = place.uwf(&[&worker[..], &args].concat());
        assert_eq!(refused.code, Some(code), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{args:?}: {}", refused.stderr);
    }
    let mut away = place.command(&["thread", "run", "--on", "temporal", &thread]);
    let away = uwf_testing::FinishedRun::from(away.env("TEMPORAL_ADDRESS", "127.0.0.1:9").output().unwrap());
    assert_eq!(away.code, Some(69), "{}", away.stderr);
    assert_eq!(place.state(&thread), "active", "{}", away.stderr);
}

#[test]
fn a_key_never_stands_in_an_error() {
    let server = Server::start();
    let place = Place::new(&server);
    let mut command = place.command(&["worker", "--engine", "temporal"]);
    let refused = uwf_testing::FinishedRun::from(command.env("TEMPORAL_API_KEY", "hush-this").output().unwrap());
    assert_eq!(refused.code, Some(69), "the server speaks no TLS: {}", refused.stderr);
    assert!(!refused.stderr.contains("hush-this"), "{}", refused.stderr);
}

#[test]
fn settings_that_do_not_do_are_named() {
    let server = Server::start();
    let place = Place::new(&server);
    place.home.file("broken.toml", "x = [\n");
    for (variable, value, says) in [
        ("TEMPORAL_ADDRESS", "", "Invalid address"),
        ("TEMPORAL_PROFILE", "nobody", "'nobody'"),
        ("TEMPORAL_CONFIG_FILE", "broken.toml", "line 1"),
    ] {
        let mut command = place.command(&["worker", "--engine", "temporal"]);
        let refused = uwf_testing::FinishedRun::from(command.env(variable, value).output().unwrap());
        assert_eq!(refused.code, Some(78), "{variable}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{variable}: {}", refused.stderr);
        assert!(refused.stderr.contains("TEMPORAL_PROFILE and the other TEMPORAL_ variables"), "{}", refused.stderr);
    }
}

/// A server that answers whatever it is sent like this.
fn another_server(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test.
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 1024]).and_then(|_| connection.write_all(answer));
        }
    });
    address
}

#[test]
fn non_temporal_server_is_identified() {
    let server = Server::start();
    let place = Place::new(&server);
    for answer in
        [&b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"[..], b"E\0\0\0\x20SFATAL\0unsupported\0", b""]
    {
        let address = another_server(answer).to_string();
        let refused = place.uwf(&["worker", "--engine", "temporal", "--address", &address]);
        assert_eq!(refused.code, Some(69), "{}", refused.stderr);
        assert!(refused.stderr.contains(&address) && refused.stderr.contains("TLS"), "{}", refused.stderr);
        assert!(!refused.stderr.contains("tonic") && !refused.stderr.contains("hyper"), "{}", refused.stderr);
    }
}
