//! A server that is away, lets nobody in, or has no such namespace.

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
        (vec!["--address", "not an address"], 78, "is no address"),
        (vec!["--namespace", "nobody"], 69, "temporal operator namespace create"),
        (vec!["--tls-ca", "/nonexistent"], 78, "cannot read /nonexistent"),
        (vec!["--max-agents", "0"], 64, "--max-agents"),
    ];
    for (args, code, says) in cases {
        let refused = place.uwf(&[&worker[..], &args].concat());
        assert_eq!(refused.code, Some(code), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{args:?}: {}", refused.stderr);
    }
    let mut away = place.command(&["thread", "run", "--on", "temporal", &thread]);
    let away = uwf_testing::Ran::from(away.env("TEMPORAL_ADDRESS", "127.0.0.1:9").output().unwrap());
    assert_eq!(away.code, Some(69), "{}", away.stderr);
    assert_eq!(place.state(&thread), "active", "{}", away.stderr);
}

#[test]
fn a_key_never_stands_in_an_error() {
    let server = Server::start();
    let place = Place::new(&server);
    let mut command = place.command(&["worker", "--engine", "temporal"]);
    let refused = uwf_testing::Ran::from(command.env("TEMPORAL_API_KEY", "hush-this").output().unwrap());
    assert_eq!(refused.code, Some(69), "the server speaks no TLS: {}", refused.stderr);
    assert!(!refused.stderr.contains("hush-this"), "{}", refused.stderr);
}
