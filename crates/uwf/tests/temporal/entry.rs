//! Getting in: client certificates and API keys. Temporal's development server has neither, so something that asks for them
//! stands in front of it.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use uwf_testing::FinishedRun;
use uwf_testing::installed::free_ports;
use uwf_testing::nginx::NginxServer;
use uwf_testing::processes::until;

use crate::place::Place;
use crate::server::Server;

/// A certificate for `localhost` that signs itself: its file and the one of its key.
fn certificate(dir: &Path, name: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost", "127.0.0.1"].map(str::to_owned)).unwrap();
    let file = |name: String, text: String| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    (file(format!("{name}.pem"), made.cert.pem()), file(format!("{name}.key"), made.signing_key.serialize_pem()))
}

/// What ends TLS in front of the server, ended when the value is dropped.
struct Terminator(Child);

impl Drop for Terminator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Terminator {
    fn start(port: u16, (cert, key): &(String, String), clients: &str, server: &Server) -> Terminator {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/temporal/terminator.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(port.to_string()).args([cert, key, clients]);
        command.arg(server.address().rsplit(':').next().unwrap());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Terminator(command.spawn().unwrap());
        until("TLS is listened for", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        started
    }
}

/// Runs a command that finds the server by these variables.
fn run(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> FinishedRun {
    place.command(args).envs(variables.iter().copied()).output().unwrap().into()
}

#[test]
fn only_trusted_certificate_grants_access() {
    let server = Server::start();
    let place = Place::new(&server);
    let [of_server, own, strange] = ["server", "own", "strange"].map(|name| certificate(&place.home.work(), name));
    let port = free_ports(1)[0];
    let _terminator = Terminator::start(port, &of_server, &own.0, &server);
    let address = format!("localhost:{port}");

    let thread = place.start(2);
    let files = ["--address", &address, "--tls-ca", &of_server.0, "--tls-cert", &own.0, "--tls-key", &own.1];
    let _worker = place.worker("one", 0, &files);
    let variables = [
        ("TEMPORAL_ADDRESS", address.as_str()),
        ("TEMPORAL_TLS_SERVER_CA_CERT_PATH", &of_server.0),
        ("TEMPORAL_TLS_CLIENT_CERT_PATH", &own.0),
        ("TEMPORAL_TLS_CLIENT_KEY_PATH", &own.1),
    ];
    let ran = run(&place, &["thread", "run", "--on", "temporal", &thread], &variables);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(place.paid(), ["one", "one"]);

    let listing = ["schedule", "list"];
    let nobody = run(&place, &listing, &variables[..2]);
    assert_eq!(nobody.code, Some(78), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("--tls-cert"), "{}", nobody.stderr);
    let mut another = variables;
    (another[2].1, another[3].1) = (&strange.0, &strange.1);
    let another = run(&place, &listing, &another);
    assert_eq!(another.code, Some(78), "{}", another.stderr);
    assert!(another.stderr.contains("--tls-cert"), "{}", another.stderr);
    let mut mistrusted = variables;
    mistrusted[1].1 = &strange.0;
    let mistrusted = run(&place, &listing, &mistrusted);
    assert_eq!(mistrusted.code, Some(69), "{}", mistrusted.stderr);
    assert!(mistrusted.stderr.contains("certificate"), "{}", mistrusted.stderr);
    let unencrypted = run(&place, &listing, &variables[..1]);
    assert_eq!(unencrypted.code, Some(69), "{}", unencrypted.stderr);
    assert!(unencrypted.stderr.contains("TLS"), "{}", unencrypted.stderr);
}

#[test]
fn only_api_key_grants_access() {
    let server = Server::start();
    let dir = TempDir::new().unwrap();
    let (cert, key) = certificate(dir.path(), "server");
    let port = free_ports(1)[0];
    let settings = format!(
        "server {{
          listen 127.0.0.1:{port} ssl http2;
          ssl_certificate {cert};
          ssl_certificate_key {key};
          location / {{
            if ($http_authorization != 'Bearer open-sesame') {{ return 401; }}
            grpc_pass grpc://{backend};
          }}
        }}",
        backend = server.address()
    );
    let _nginx = NginxServer::start(&dir.path().join("nginx"), port, &settings);

    let address = format!("localhost:{port}");
    let variables = [
        ("TEMPORAL_ADDRESS", address.as_str()),
        ("TEMPORAL_TLS_SERVER_CA_CERT_PATH", &cert),
        ("TEMPORAL_API_KEY", "open-sesame"),
    ];
    // A header, and what a codec wants.
    let others = [("TEMPORAL_GRPC_META_TEAM", "open-barrel"), ("TEMPORAL_CODEC_AUTH", "open-bottle")];
    let owned = variables.iter().chain(&others).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let place = Place::sharing(&server, owned.collect());
    place.home.script(
        "paid",
        "#!/bin/sh\ncat > /dev/null\nenv > \"${LEDGER%ledger}seen\"\necho '{\"n\": 1, \"words\": \"x\"}'\n",
    );
    let thread = place.start(2);
    let _worker = place.worker("one", 0, &[]);
    let ran = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let seen = std::fs::read_to_string(place.home.work().join("seen")).unwrap();
    assert!(seen.contains("WORKER=one") && !seen.contains("open-"), "{seen}");
    assert!(!place.log("one").contains("open-sesame"), "{}", place.log("one"));

    let mut wrong = variables;
    wrong[2].1 = "open-barley";
    for (refused, said) in [
        (run(&place, &["schedule", "list"], &wrong), "TEMPORAL_API_KEY"),
        (run(&place, &["worker", "--engine", "temporal"], &wrong), "TEMPORAL_API_KEY"),
    ] {
        assert_eq!(refused.code, Some(78), "{}", refused.stderr);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
        assert!(!refused.stderr.contains("open-barley"), "{}", refused.stderr);
    }
}
