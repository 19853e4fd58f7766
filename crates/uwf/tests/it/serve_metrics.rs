//! `uwf serve`: metrics and probes.

use std::fs;

use uwf_testing::server::{TestServer, TestServerResponse};

use crate::thread_cost::{PRICES, spending_home};

fn without_secret(server: &TestServer, path: &str, host: &str) -> TestServerResponse {
    server.send("GET", path, &[("host", host)], "")
}

#[test]
fn metrics_count_threads_attempts_and_money() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    home.json(&["thread", "step", &thread]);
    home.file("broken", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    home.start("count-rounds", "count again");
    let server = TestServer::start(&home, &[]);
    let answer = server.get("/metrics");
    let kind = answer.header("content-type").unwrap();
    assert!(answer.status == 200 && kind.starts_with("application/openmetrics-text; version=1.0.0"), "{answer:?}");
    let cost = home.json(&["thread", "cost"]);
    let amount = cost["total"]["cost"][0]["amount"].as_f64().unwrap();
    for line in [
        &format!("uwf_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")),
        "uwf_threads{state=\"stuck\"} 1",
        "uwf_threads{state=\"active\"} 1",
        "uwf_threads{state=\"killed\"} 0",
        "uwf_steps_total 1",
        "uwf_attempts_total{agent=\"t\",outcome=\"succeeded\"} 1",
        "uwf_attempts_total{agent=\"t\",outcome=\"failed\"} 1",
        &format!("uwf_tokens_total{{agent=\"t\",type=\"input\"}} {}", cost["total"]["tokens"]["input"]),
        &format!("uwf_cost_total{{agent=\"t\",currency=\"EUR\",source=\"prices\"}} {amount}"),
        "uwf_store_requests_total{result=\"answered\"} 0",
        "# UNIT uwf_agent_work_seconds seconds",
        "# EOF",
    ] {
        assert!(answer.body.lines().any(|known| known == line), "no {line} in {}", answer.body);
    }
    assert_eq!(without_secret(&server, "/metrics", &server.address).status, 401);
    assert_eq!(without_secret(&server, "/metrics", "elsewhere:1").status, 421);
}

#[test]
fn probes_need_no_secret() {
    let home = spending_home("");
    let server = TestServer::start(&home, &[]);
    for path in ["/healthz", "/readyz"] {
        let answer = without_secret(&server, path, "10.1.2.3:7433");
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"), "{path}");
    }
    let config = home.root().join("config.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, "agents: [").unwrap();
    assert_eq!(without_secret(&server, "/healthz", "10.1.2.3").status, 200);
    let unready = without_secret(&server, "/readyz", "10.1.2.3");
    assert_eq!(unready.status, 503, "{unready:?}");
    assert!(
        unready.body.contains("the storage root can't be read") && !unready.body.contains("config.yaml"),
        "{unready:?}"
    );
    fs::write(&config, text).unwrap();
    assert_eq!(without_secret(&server, "/readyz", "10.1.2.3").status, 200);
}
