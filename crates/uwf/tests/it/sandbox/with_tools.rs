//! Sandboxes by bubblewrap, and programs in Python that use the network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::fixtures::acp::{heard, prompts, scripted};

/// A program that tries every way to the network.
const NETWORK: &str = include_str!("network.py");

#[test]
fn bubblewrap_refuses_hostile_program() {
    tries(home(), Some("{}")).check_kept();
}

#[test]
fn bubblewrap_leaves_ending_to_keeper() {
    check_ends(&home());
}

#[test]
fn program_sees_only_listed_files() {
    let home = home();
    let user = user_dir(&home);
    fs::write(user.join("listed"), "listed\n").unwrap();
    fs::write(user.join("unlisted"), "unlisted\n").unwrap();
    home.script(
        "worker",
        "#!/bin/sh\ncat > /dev/null\ncat ~/listed > seen\ncat ~/unlisted >> seen\nls ~ >> seen\necho '{\"n\": 1}'\n",
    );
    configure(&home, Some("{ read: [~/listed] }"));
    home.put("count-rounds", &counting_workflow(1));
    let thread = home.start("count-rounds", "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
    assert_eq!(fs::read_to_string(home.work().join("seen")).unwrap(), "listed\nbin\nlisted\nwork\n");
}

#[test]
fn directory_that_became_link_is_refused() {
    let home = home();
    let user = user_dir(&home);
    fs::create_dir(user.join("precious")).unwrap();
    fs::create_dir(home.work().join("out")).unwrap();
    // The first attempt replaces a directory that later attempts may write.
    home.script(
        "worker",
        "#!/bin/sh\ncat > /dev/null\nrmdir out && ln -s ~/precious out\ntouch out/file\necho '{\"n\": 1}'\n",
    );
    configure(&home, Some("{ write: [workspace, out] }"));
    home.put("count-rounds", &counting_workflow(3));
    let thread = home.start("count-rounds", "count");
    home.uwf(&["thread", "step", &thread]);
    // A mount in the place of `out` may have kept it from that.
    if !home.work().join("out").is_symlink() {
        fs::remove_dir_all(home.work().join("out")).unwrap();
        std::os::unix::fs::symlink(user.join("precious"), home.work().join("out")).unwrap();
    }
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("`write`: out leads out of the workspace"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(user.join("precious")).unwrap().count(), 0);
}

/// Servers outside every sandbox.
struct Outside {
    home: TestHome,
    thread: String,
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _socket: (UnixListener, UnixListener),
}

/// A server that answers each request, and keeps its head.
fn http_server(requests: &Arc<Mutex<Vec<String>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::clone(requests);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            requests.lock().push(head.join("\n"));
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    port
}

impl Outside {
    fn start() -> Outside {
        let home = home();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (port, other) = (http_server(&requests), http_server(&requests));
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let udp_port = udp.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut bytes = [0; 100];
            while let Ok((count, from)) = udp.recv_from(&mut bytes) {
                let _ = udp.send_to(&bytes[..count], from);
            }
        });
        home.put("count-rounds", &counting_workflow(1));
        let thread = home.start("count-rounds", "count");
        let name = format!("uwf-test-{}", std::process::id());
        let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let dir = home.root().join("threads/socket");
        fs::create_dir_all(&dir).unwrap();
        // The path of a socket is short.
        let socket = UnixListener::bind(dir.join("s")).unwrap();
        home.file(
            "targets.json",
            &json!({
                "port": port, "otherPort": other, "udpPort": udp_port, "abstract": name, "socket": dir.join("s"),
            })
            .to_string(),
        );
        home.script("worker", &format!("#!/usr/bin/env python3\n{NETWORK}"));
        Outside { home, thread, port, requests, _socket: (abstract_socket, socket) }
    }

    /// The tries of the program in a sandbox that succeeded.
    fn done(&self, sandbox: Option<&str>) -> Vec<String> {
        configure(&self.home, sandbox);
        let ran = self.home.uwf(&["thread", "step", &self.thread]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let report = fs::read_to_string(self.home.work().join("report")).unwrap();
        report.lines().filter_map(|line| line.strip_suffix(" done")).map(str::to_owned).collect()
    }
}

#[test]
fn program_without_sandbox_reaches_everything() {
    let done = Outside::start().done(None);
    assert_eq!(done[..4], ["tcp", "udp", "abstract-socket", "socket-of-other-thread"]);
}

#[test]
fn program_without_network_reaches_nothing() {
    assert_eq!(Outside::start().done(Some("{ network: none }")), ["own-local-sockets"]);
    let outside = Outside::start();
    break_bubblewrap(&outside.home);
    assert_eq!(outside.done(Some("{ network: none }")), ["own-local-sockets"], "Landlock");
}

#[test]
fn open_network_has_no_local_sockets() {
    assert_eq!(Outside::start().done(Some("{}")), ["tcp", "udp", "own-local-sockets"]);
    let outside = Outside::start();
    break_bubblewrap(&outside.home);
    assert_eq!(outside.done(Some("{}")), ["tcp", "udp", "own-local-sockets"], "Landlock");
}

#[test]
fn program_reaches_only_listed_hosts() {
    let outside = Outside::start();
    let hosts = format!("{{ network: [\"127.0.0.1:{}\", localhost.localdomain] }}", outside.port);
    assert_eq!(outside.done(Some(&hosts)), ["own-local-sockets", "proxied-listed"]);
    assert_eq!(outside.requests.lock().len(), 1);
    let shown = outside.home.json(&["thread", "show", &outside.thread]);
    let denied: Vec<&str> = shown["denied"].as_array().unwrap().iter().map(|call| call.as_str().unwrap()).collect();
    for host in ["169.254.169.254:80", &format!("localhost:{}", outside.port)] {
        assert!(denied.contains(&format!("Network({host})").as_str()), "{denied:?}");
    }
    let refusal = fs::read_to_string(outside.home.work().join("refusal")).unwrap();
    let is_refused =
        refusal.starts_with("uwf: the sandbox of agent `w` does not allow localhost.localdomain:80 (127.0.0.1)");
    assert!(is_refused || refusal.starts_with("uwf: cannot reach localhost.localdomain"), "{refusal}");
}

/// A program that sends its secret to a host, and keeps what it sees of it.
const SENDER: &str = r#"#!/usr/bin/env python3
import os, sys, urllib.request
sys.stdin.read()
key = os.environ["A_SECRET"]
open("seen", "w").write(key + "\n" + open("/proc/self/environ").read())
for url in open("urls").read().split():
    request = urllib.request.Request(url, data=b"a body", headers={"Authorization": "Bearer " + key})
    urllib.request.urlopen(request, timeout=10).read()
print('{"n": 1}')
"#;

/// A home with the secret and a program that sends it to these addresses.
fn sender(outside: &Outside, urls: &str) {
    fs::write(outside.home.root().join(".env"), "A_SECRET=hidden-value\n").unwrap();
    outside.home.file("urls", urls);
    outside.home.script("worker", SENDER);
}

#[test]
fn secret_is_sent_but_not_seen() {
    let outside = Outside::start();
    let other = http_server(&outside.requests);
    let port = outside.port;
    sender(&outside, &format!("http://127.0.0.1:{port}/a http://127.0.0.1:{other}/b"));
    let policy = format!(
        "{{ network: [\"127.0.0.1:{port}\", \"127.0.0.1:{other}\"], secrets: {{ A_SECRET: \"http://127.0.0.1:{port}\" }} }}"
    );
    configure(&outside.home, Some(&policy));
    let ran = outside.home.uwf(&["thread", "step", &outside.thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let requests = outside.requests.lock();
    assert!(requests[0].starts_with("POST /a HTTP/1.1\n"), "{requests:?}");
    assert!(requests[0].contains("Authorization: Bearer hidden-value"), "{requests:?}");
    assert!(requests[1].contains("Authorization: Bearer uwf-placeholder-A_SECRET-"), "{requests:?}");
    let seen = fs::read_to_string(outside.home.work().join("seen")).unwrap();
    assert!(seen.starts_with("uwf-placeholder-A_SECRET-") && !seen.contains("hidden-value"), "{seen}");
}

#[test]
fn secret_without_value_starts_no_agent() {
    let outside = Outside::start();
    let port = outside.port;
    sender(&outside, "");
    fs::write(outside.home.root().join(".env"), "").unwrap();
    let policy = format!("{{ network: [\"127.0.0.1:{port}\"], secrets: {{ A_SECRET: \"http://127.0.0.1:{port}\" }} }}");
    configure(&outside.home, Some(&policy));
    let ran = outside.home.uwf(&["thread", "step", &outside.thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("secret `A_SECRET` has no value: put it into .env"), "{}", ran.stderr);
    assert!(!outside.home.work().join("seen").exists());
}

/// A server with TLS that keeps the header with the secret.
const TLS_SERVER: &str = r#"
import http.server, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open("got", "w").write(self.headers["Authorization"] + " " + body.decode())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

#[test]
fn secret_leaves_over_tls() {
    let outside = Outside::start();
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(dir.path().join("certificate.pem"), made.cert.pem()).unwrap();
    fs::write(dir.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let mut server = Command::new("python3");
    server.args(["-c", TLS_SERVER]).current_dir(dir.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Bystander(server.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim();
    sender(&outside, &format!("http://localhost:{port}/a"));
    configure(
        &outside.home,
        Some(&format!("{{ network: [\"localhost:{port}\"], secrets: {{ A_SECRET: \"localhost:{port}\" }} }}")),
    );
    let mut step = outside.home.command(&["thread", "step", &outside.thread]);
    let ran = FinishedRun::from(step.env("SSL_CERT_FILE", dir.path().join("certificate.pem")).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(dir.path().join("got")).unwrap(), "Bearer hidden-value a body");
    let mut rest = String::new();
    let _ = fs::File::open(outside.home.work().join("seen")).unwrap().read_to_string(&mut rest);
    assert!(!rest.contains("hidden-value"));
}

#[test]
fn acp_agent_works_in_sandbox() {
    let config = |settings: &str| {
        format!(
            "agents:\n  a: {{ command: uwf-acp, args: [scripted-acp], sandbox: {{ network: none }}{settings} }}\ndefaultAgent: a\n"
        )
    };
    let script = prompts(json!([[{ "text": "\n---\nn: 1\n---\n" }]]));
    let (home, thread) = scripted(&config(", config: { mcp: true }"), &script);
    let refused = home.uwf(&["thread", "step", &thread]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(
        refused.stderr.contains("agent `a` has a sandbox, where the tool `submit` does not work"),
        "{}",
        refused.stderr
    );
    home.config(&config(""));
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let opening = heard(&home).into_iter().find(|message| message["method"] == "session/new").unwrap();
    assert_eq!(opening["params"]["mcpServers"], json!([]));
}
