//! TLS, by the server itself and by nginx in front of it.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::process::Command;

use uwf_testing::installed::free_ports;
use uwf_testing::machine::TestMachine;
use uwf_testing::nginx::NginxServer;
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use super::{Gateway, with_thread};
use crate::home;

/// A certificate for `localhost` and `gateway.test`: `cert.pem` and `key.pem` in the working directory of a home.
pub(super) fn certified(home: &TestHome) -> (String, String) {
    let made =
        rcgen::generate_simple_self_signed(["localhost", "127.0.0.1", "gateway.test"].map(str::to_owned)).unwrap();
    let (cert, key) =
        (home.file("cert.pem", &made.cert.pem()), home.file("key.pem", &made.signing_key.serialize_pem()));
    (cert.to_string_lossy().into_owned(), key.to_string_lossy().into_owned())
}

/// Asks for a page over TLS by another program than ours; its status and headers.
fn over_tls(home: &TestHome, cert: &str, url: &str) -> String {
    let script = "import ssl, sys, urllib.request\n\
                  class Stay(urllib.request.HTTPRedirectHandler):\n    def redirect_request(self, *args): return None\n\
                  context = ssl.create_default_context(cafile=sys.argv[1])\n\
                  opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), Stay)\n\
                  try: answer = opener.open(sys.argv[2], timeout=20)\n\
                  except urllib.error.HTTPError as error: answer = error\n\
                  print(answer.status, answer.headers)";
    let mut command = Command::new("python3");
    home.prepare(&mut command);
    let ran = command.args(["-c", script, cert, url]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn unusable_certificate_is_reported_at_start() {
    let of_gateway = home();
    let (cert, key) = certified(&of_gateway);
    let serve = |cert: &str, key: &str| {
        let ran = of_gateway.uwf(&["serve", "--address", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key]);
        (ran.code, ran.stderr)
    };
    let (code, said) = serve("none.pem", &key);
    assert!(code == Some(78) && said.contains("cannot read certificates in none.pem"), "{said}");
    let (code, said) = serve(&cert, &cert);
    assert!(code == Some(78) && said.contains("cannot read the private key in"), "{said}");
    let (_, other) = certified(&home());
    let (code, said) = serve(&cert, &other);
    assert!(code == Some(78), "{said}");
}

#[test]
fn connections_that_never_begin_tls_end_each_other() {
    let home = home();
    let (cert, key) = certified(&home);
    let server = TestServer::start(&home, &["--tls-cert", &cert, "--tls-key", &key]);
    let open = || {
        let stream = TcpStream::connect(&server.address).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let has_ended =
        |mut stream: &TcpStream| !matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    let first = open();
    let others: Vec<TcpStream> = (0..32).map(|_| open()).collect();
    until("the first has made room", || has_ended(&first));
    assert!(!has_ended(&others[31]), "all were ended for being slow");
}

/// Requests through nginx, unencrypted.
struct Through<'g> {
    gateway: &'g Gateway,
    port: u16,
}

impl Through<'_> {
    fn open(&mut self, path: &str) -> std::net::TcpStream {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (port, bearer) = (self.port, self.gateway.server.bearer());
        let head = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: {bearer}\r\n");
        stream.write_all(format!("{head}accept: text/html\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
        stream
    }

    fn get(&mut self, path: &str) -> String {
        let mut answer = String::new();
        self.open(path).read_to_string(&mut answer).unwrap();
        answer
    }
}

mod with_tools {
    use super::*;

    #[test]
    fn machine_connects_over_tls_with_trusted_certificate() {
        let of_gateway = home();
        let (cert, key) = certified(&of_gateway);
        let server = TestServer::start(&of_gateway, &["--gateway", "--tls-cert", &cert, "--tls-key", &key]);
        let port = server.address.rsplit(':').next().unwrap().to_owned();
        let url = format!("https://localhost:{port}");
        let answer = over_tls(&of_gateway, &cert, &format!("{url}/login?token={}", server.secret));
        assert!(answer.starts_with("303 ") && answer.contains("SameSite=Strict; Secure"), "{answer}");

        let laptop = home();
        let token = text(&of_gateway.json(&["gateway", "token", "laptop"]), "token");
        let args = ["--name", "laptop", "--gateway", url.as_str()];
        let trusting = [("WORKFLOW_GATEWAY_TOKEN", token.as_str()), ("SSL_CERT_FILE", cert.as_str())];
        let machine = TestMachine::start(&laptop, &args, &trusting);
        machine.says("connected to https://localhost:", 1);
        drop(machine);
        let doubting = TestMachine::start(&laptop, &args, &trusting[..1]);
        doubting.says("invalid peer certificate", 1);
        assert!(!doubting.said().contains("connected to https"), "{}", doubting.said());
    }

    #[test]
    fn pages_events_and_machines_pass_through_nginx() {
        let gateway = Gateway::start();
        let (cert, key) = certified(&gateway.home);
        let ports = free_ports(2);
        let (plain, encrypted) = (ports[0], ports[1]);
        // What the guide shows.
        let settings = format!(
            "map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
        server {{
          listen 127.0.0.1:{plain};
          listen 127.0.0.1:{encrypted} ssl;
          ssl_certificate {cert};
          ssl_certificate_key {key};
          location / {{
            proxy_pass http://{address};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
          }}
        }}",
            address = gateway.server.address
        );
        let _nginx = NginxServer::start(&gateway.home.work().join("nginx"), encrypted, &settings);

        // A machine dials through TLS of nginx.
        let (laptop, thread) = with_thread();
        let token = gateway.token("laptop");
        let url = format!("https://localhost:{encrypted}");
        let args = ["--name", "laptop", "--gateway", url.as_str()];
        let machine = TestMachine::start(
            &laptop,
            &args,
            &[("WORKFLOW_GATEWAY_TOKEN", token.as_str()), ("SSL_CERT_FILE", cert.as_str())],
        );
        machine.says("connected to https://localhost:", 1);

        // Pages, and the cookie, which is marked by what nginx says of itself.
        let login = over_tls(&gateway.home, &cert, &format!("{url}/login?token={}", gateway.server.secret));
        assert!(login.starts_with("303 ") && login.contains("; Secure"), "{login}");
        let mut through = Through { gateway: &gateway, port: plain };
        assert!(through.get("/m/laptop/").contains("data-base=\"/m/laptop\""));
        assert!(through.get(&format!("/m/laptop/api/threads/{thread}")).contains(" 200 "));

        // Events come at once, not when a buffer is full.
        let mut stream = through.open("/m/laptop/api/events");
        stream.set_nonblocking(true).unwrap();
        let mut heard = String::new();
        let mut hears = |events: usize| {
            until("an event comes", || {
                let mut bytes = [0; 8 << 10];
                if let Ok(length) = stream.read(&mut bytes) {
                    assert_ne!(length, 0, "the stream ended: {heard}");
                    heard.push_str(&String::from_utf8_lossy(&bytes[..length]));
                }
                heard.matches("event: threads").count() + heard.matches("event:threads").count() >= events
            });
        };
        hears(1);
        laptop.json(&["thread", "step", &thread]);
        hears(2);
    }
}
