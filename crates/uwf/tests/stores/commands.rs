//! Every command does on a shared store what it does on files.

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::azurite::AzuriteServer;
use uwf_testing::bucket::BucketServer;
use uwf_testing::s3_server::{S3Server, S3ServerKind};

use crate::machine::{Machine, paid};
use crate::postgres::Postgres;

#[test]
fn two_machines_share_thread_in_bucket() {
    let server = S3Server::start(S3ServerKind::Moto);
    go_through(server.variables("uwf"));
}

#[test]
fn two_machines_share_thread_in_azure_container() {
    let server = AzuriteServer::start();
    go_through(server.variables("uwf"));
}

#[test]
fn two_machines_share_thread_in_google_bucket() {
    let server = BucketServer::start_google();
    go_through(server.variables("uwf"));
}

#[test]
fn two_machines_share_thread_in_database() {
    let server = Postgres::start();
    go_through(server.variables("uwf"));
}

fn go_through(variables: Vec<(String, String)>) {
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let [one, two] = [(); 2].map(|()| Machine::new(variables.clone(), &ledger));

    let refused = one.uwf(&["thread", "list"]);
    assert_eq!(refused.code, Some(78), "before it is ready: {}", refused.stderr);
    assert!(refused.stderr.contains("`uwf store init` makes it ready"), "{}", refused.stderr);
    assert_eq!(one.json(&["store", "init"])["initialized"], true);
    assert_eq!(two.json(&["store", "init"])["initialized"], false);
    assert_eq!(two.json(&["store", "show"])["kind"], "shared");

    let thread = one.begin();
    assert_eq!(two.json(&["workflow", "list"])[0]["name"], "count-rounds", "names are shared");
    assert_eq!(two.json(&["thread", "list"])[0]["thread"], thread);
    one.step(&thread);
    assert_eq!(two.head(&thread), one.head(&thread));
    two.step(&thread);
    let steps = one.json(&["thread", "steps", &thread]);
    assert_eq!(steps["steps"].as_array().unwrap().len(), 3, "the start and a step of each machine");
    one.step(&thread);
    assert_eq!(paid(&ledger), 3);
    assert_eq!(two.json(&["thread", "show", &thread])["state"], "completed");
    assert_eq!(two.json(&["thread", "list", "--all"])[0]["state"], "completed", "the history is shared");

    // Each of the other commands finds what the other machine made.
    let head = one.head(&thread);
    for args in [
        &["thread", "why", &thread][..],
        &["thread", "read", &thread],
        &["thread", "step-details", &head],
        &["thread", "cost", &thread],
        &["workflow", "show", "count-rounds"],
        &["workflow", "history", "count-rounds"],
        &["cas", "get", &head],
        &["cas", "list", "--type", "StepNode"],
        &["log"],
        &["doctor"],
        &["api", "GET", "/threads"],
    ] {
        let done = two.uwf(args);
        assert_eq!(done.code, Some(0), "{args:?}: {}{}", done.stdout, done.stderr);
    }
    let verified = two.json(&["cas", "verify"]);
    assert_eq!(verified["problems"], json!([]));

    let fork = two.json(&["thread", "fork", steps["steps"][1]["hash"].as_str().unwrap()]);
    let fork = fork["thread"].as_str().unwrap().to_owned();
    two.json(&["thread", "kill", &fork]);
    assert_eq!(one.json(&["thread", "show", &fork])["state"], "killed");
    one.json(&["thread", "rm", &fork]);
    let young = one.json(&["gc", "--grace", "0s"]);
    assert_eq!(young["deletedEntries"], 0, "another machine may be about to use them: {young}");
    // The ages of objects in a bucket go by the clock of the bucket, which no test sets.
    if variables[0].1.starts_with("postgres") {
        let gone = one.later(40, &["gc"]);
        assert!(gone["deletedEntries"].as_u64().unwrap() > 0, "{gone}");
    }
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]), "what is used was kept");
    assert_eq!(two.json(&["workflow", "list"])[0]["name"], "count-rounds", "the names were kept");
    let next: Value = two.json(&["thread", "start", "count-rounds", "-p", "Count goats"]);
    two.step(next["thread"].as_str().unwrap());
    assert_eq!(two.json(&["recover"])["changed"], false);
    let refused = one.uwf(&["pack"]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(refused.stderr.contains("there is nothing to pack"), "{}", refused.stderr);
}

#[test]
fn machine_keeps_known_directory_or_gets_new_one() {
    let server = S3Server::start(S3ServerKind::Moto);
    let dir = TempDir::new().unwrap();
    let [one, two] = [(); 2].map(|()| Machine::new(server.variables("uwf"), &dir.path().join("ledger")));
    let thread = one.begin();
    let other = two.home.work().join("other");
    std::fs::create_dir(&other).unwrap();
    let where_to =
        |machine: &Machine, args: &[&str]| machine.json(&[&["thread", "step", &thread, "--dry-run"], args].concat());
    let unknown = two.uwf(&["thread", "step", &thread]);
    assert_eq!(unknown.code, Some(75), "{}", unknown.stderr);
    assert_eq!(where_to(&two, &["--cwd-if-unknown", "other"])["cwd"], other.to_str().unwrap());
    assert_eq!(two.json(&["thread", "step", &thread, "--cwd-if-unknown", "other"])["role"], "worker");
    assert_eq!(where_to(&two, &["--cwd-if-unknown", "."])["cwd"], other.to_str().unwrap(), "from then on");
    let own = one.home.work();
    assert_eq!(where_to(&one, &["--cwd-if-unknown", "/"])["cwd"], own.to_str().unwrap());
}

#[test]
fn concurrent_names_are_all_kept() {
    let server = Postgres::start();
    let dir = TempDir::new().unwrap();
    let machines: Vec<Machine> =
        (0..4).map(|_| Machine::new(server.variables("uwf"), &dir.path().join("ledger"))).collect();
    machines[0].json(&["store", "init"]);
    std::thread::scope(|scope| {
        for (number, machine) in machines.iter().enumerate() {
            let text = uwf_testing::counting_workflow(3).replace("count-rounds", &format!("count-{number}"));
            machine.home.file("count.yaml", &text);
            scope.spawn(move || machine.json(&["workflow", "put", "count.yaml"]));
        }
    });
    assert_eq!(machines[0].json(&["workflow", "list"]).as_array().unwrap().len(), 4);
}
