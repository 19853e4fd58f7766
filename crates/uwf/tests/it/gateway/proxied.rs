//! Machines that reach their gateway only through a proxy.

use uwf_testing::machine::TestMachine;
use uwf_testing::proxy::TestProxy;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use super::encrypted::certified;
use crate::home;

/// A gateway by a name that only a proxy knows.
struct Named {
    home: TestHome,
    server: TestServer,
    url: String,
}

impl Named {
    fn start(args: &[&str]) -> Named {
        let home = home();
        let server = TestServer::start(&home, &[&["--gateway", "--host", "gateway.test"], args].concat());
        let scheme = if args.is_empty() { "http" } else { "https" };
        let url = format!("{scheme}://gateway.test:{}", server.address.rsplit(':').next().unwrap());
        Named { home, server, url }
    }

    /// A machine that dials, with these variables.
    fn dialled(&self, home: &TestHome, variables: &[(&str, &str)]) -> TestMachine {
        let token = text(&self.home.json(&["gateway", "token", "laptop"]), "token");
        let variables = [&[("WORKFLOW_GATEWAY_TOKEN", token.as_str())], variables].concat();
        TestMachine::start(home, &["--name", "laptop", "--gateway", &self.url], &variables)
    }
}

/// One that wants `me` and `p@ss`.
fn locked() -> TestProxy {
    let is_right = |line: &str| line.eq_ignore_ascii_case("proxy-authorization: Basic bWU6cEBzcw==");
    TestProxy::start(move |head| if head.lines().any(is_right) { 200 } else { 407 })
}

#[test]
fn machine_connects_through_authenticated_proxy() {
    let (proxy, laptop) = (locked(), home());
    let gateway = Named::start(&[]);
    let through = format!("http://me:p%40ss@{}", proxy.address);
    let machine = gateway.dialled(&laptop, &[("HTTP_PROXY", &through), ("NO_PROXY", "other.test,10.0.0.0/8")]);
    machine.says("connected to http://gateway.test:", 1);
    assert_eq!(gateway.server.get("/m/laptop/api/threads").status, 200);
    let asked = proxy.asked();
    let target = gateway.url.trim_start_matches("http://");
    assert!(asked.len() == 1 && asked[0].starts_with(&format!("CONNECT {target} HTTP/1.1\r\n")), "{asked:?}");
    assert!(!asked[0].contains("Bearer"), "the token is for the gateway alone: {asked:?}");
}

#[test]
fn tls_goes_through_the_proxy_to_the_gateway() {
    let (proxy, laptop) = (TestProxy::start(|_| 200), home());
    let (cert, key) = certified(&laptop);
    let gateway = Named::start(&["--tls-cert", &cert, "--tls-key", &key]);
    let variables = [("https_proxy", proxy.address.as_str()), ("SSL_CERT_FILE", &cert)];
    let machine = gateway.dialled(&laptop, &variables);
    machine.says("connected to https://gateway.test:", 1);
    assert_eq!(proxy.asked().len(), 1);
}

#[test]
fn proxy_errors_name_environment_variable() {
    let laptop = home();
    let gateway = Named::start(&[]);
    let (locked, shut) = (locked(), TestProxy::start(|_| 403));
    let plain = |proxy: &TestProxy| format!("http://{}", proxy.address);
    let wrong = format!("http://me:guessed@{}", locked.address);
    for (variable, value, why) in [
        ("HTTP_PROXY", plain(&locked), "(from HTTP_PROXY) needs a name and a password"),
        ("http_proxy", wrong, "(from http_proxy) does not take this name and password"),
        ("ALL_PROXY", plain(&shut), "(from ALL_PROXY) does not connect to http://gateway.test:"),
        ("ALL_PROXY", "socks5://127.0.0.1:1".to_owned(), "(from ALL_PROXY): only a proxy at http:// can be used"),
    ] {
        let mut machine = gateway.dialled(&laptop, &[(variable, &value)]);
        assert_eq!(machine.code(), Some(78), "{}", machine.said());
        let said = machine.said();
        assert!(said.contains(why) && said.contains("NO_PROXY") && !said.contains("guessed"), "{said}");
    }
    // Later it may be there.
    let away = gateway.dialled(&laptop, &[("HTTP_PROXY", "http://127.0.0.1:1")]);
    away.says("not connected: cannot reach the proxy http://127.0.0.1:1 (from HTTP_PROXY): ", 2);
}

#[test]
fn excluded_hosts_bypass_proxy() {
    let (proxy, laptop) = (TestProxy::start(|_| 200), home());
    let mut gateway = Named::start(&[]);
    let through = format!("http://{}", proxy.address);
    let direct = gateway.dialled(&laptop, &[("HTTP_PROXY", &through), ("NO_PROXY", ".test")]);
    direct.says("not connected: cannot reach http://gateway.test:", 1);
    // No proxy reaches this very machine.
    gateway.url = format!("http://{}", gateway.server.address);
    gateway.dialled(&laptop, &[("HTTP_PROXY", &through)]).says("connected to ", 1);
    assert_eq!(proxy.asked(), Vec::<String>::new());
}
