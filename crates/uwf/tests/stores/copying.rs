//! Threads and workflows go from one store to another, and back.

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::azurite::AzuriteServer;
use uwf_testing::bucket::BucketServer;
use uwf_testing::s3_server::{S3Server, S3ServerKind};

use crate::machine::Machine;
use crate::postgres::Postgres;

#[test]
fn bucket_and_database_copies_are_lossless() {
    let (bucket, database) = (S3Server::start(S3ServerKind::Moto), Postgres::start());
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    // Credentials of the bucket, and no store named: this one has files.
    let mut variables = bucket.variables("uwf");
    let s3 = variables.remove(0).1;
    let postgres = database.variables("uwf").remove(0).1;
    let here = Machine::new(variables.clone(), &ledger);
    here.json(&["workflow", "put", "count.yaml"]);
    let threads = [here.start(), here.start(), here.start(), here.start()];
    (0..3).for_each(|_| drop(here.step(&threads[0])));
    here.step(&threads[1]);
    here.json(&["thread", "kill", &threads[2]]);
    here.json(&["thread", "pause", &threads[3], "--reason", "until Monday"]);
    let before = all(&here, None);

    for store in [&s3, &postgres] {
        let mut init = here.command(&["store", "init"]);
        assert!(init.env("UWF_STORE_URL", store).output().unwrap().status.success(), "{store}");
    }
    let copied = here.json(&["store", "copy", ".", &s3]);
    assert_eq!(outcomes(&copied), ["copied"; 4]);
    assert_eq!(copied["names"], json!([{ "name": "count-rounds", "outcome": "copied" }]));
    assert_eq!(outcomes(&here.json(&["store", "copy", &s3, &postgres])), ["copied"; 4]);
    assert_eq!(all(&here, Some(&postgres)), before, "as a machine sees it that uses the database");
    let back = dir.path().join("back");
    std::fs::create_dir(&back).unwrap();
    here.json(&["store", "copy", &postgres, back.to_str().unwrap()]);
    let again = here.json(&["store", "copy", back.to_str().unwrap(), "."]);
    assert_eq!(outcomes(&again), ["present"; 4], "byte for byte what it was");
    assert_eq!(again["newNodes"], 0);
}

#[test]
fn amazon_copies_to_azure_and_google_losslessly() {
    let servers = (S3Server::start(S3ServerKind::Moto), AzuriteServer::start(), BucketServer::start_google());
    let mut variables = [servers.0.variables("uwf"), servers.1.variables("uwf"), servers.2.variables("uwf")];
    let [s3, az, gs] = variables.each_mut().map(|variables| variables.remove(0).1);
    let dir = TempDir::new().unwrap();
    let here = Machine::new(variables.concat(), &dir.path().join("ledger"));
    here.json(&["workflow", "put", "count.yaml"]);
    let threads = [here.start(), here.start()];
    (0..3).for_each(|_| drop(here.step(&threads[0])));
    here.step(&threads[1]);
    for store in [&s3, &az, &gs] {
        let init = here.command(&["store", "init"]).env("UWF_STORE_URL", store).output().unwrap();
        assert!(init.status.success(), "{store}: {}", String::from_utf8_lossy(&init.stderr));
    }
    for (from, to) in [(".", &*s3), (&*s3, &*az), (&*az, &*gs)] {
        assert_eq!(outcomes(&here.json(&["store", "copy", from, to])), ["copied"; 2], "{from} {to}");
    }
    let there = [&s3, &az, &gs].map(|store| all(&here, Some(store)));
    assert_eq!(there, [(); 3].map(|()| all(&here, None)));
    // A thread that continued in one store continues in the other.
    let stepped = here.command(&["thread", "step", &threads[1]]).env("UWF_STORE_URL", &az).output().unwrap();
    assert!(stepped.status.success(), "{}", String::from_utf8_lossy(&stepped.stderr));
    let copied = here.json(&["store", "copy", &az, &gs]);
    assert_eq!(outcomes(&copied).iter().filter(|outcome| **outcome == "advanced").count(), 1, "{copied}");
    assert_eq!(all(&here, Some(&gs)), all(&here, Some(&az)));
}

#[test]
fn later_pause_reaches_copied_thread() {
    let server = BucketServer::start();
    let dir = TempDir::new().unwrap();
    let mut variables = server.variables("uwf");
    let store = variables.remove(0).1;
    let here = Machine::new(variables, &dir.path().join("ledger"));
    here.json(&["workflow", "put", "count.yaml"]);
    let [still, stepped, ended] = [here.start(), here.start(), here.start()];
    let there = |args: &[&str]| here.command(args).env("UWF_STORE_URL", &store).output().unwrap();
    assert!(there(&["store", "init"]).status.success());
    assert_eq!(outcomes(&here.json(&["store", "copy", ".", &store])), ["copied"; 3]);
    here.step(&stepped);
    for thread in [&still, &stepped, &ended] {
        here.json(&["thread", "pause", thread, "--reason", "until Monday"]);
    }
    here.json(&["thread", "kill", &ended]);
    for outcome in [["present", "advanced", "advanced"], ["present"; 3]] {
        assert_eq!(outcomes(&here.json(&["store", "copy", ".", &store])), outcome);
        let list: Value = serde_json::from_slice(&there(&["thread", "list", "--all"]).stdout).unwrap();
        assert_eq!(list, here.json(&["thread", "list", "--all"]), "as they are here");
    }
    for thread in [&still, &stepped] {
        let show = String::from_utf8(there(&["thread", "show", thread]).stdout).unwrap();
        assert!(show.contains("until Monday"), "{show}");
    }
}

fn outcomes(report: &Value) -> Vec<&str> {
    report["threads"].as_array().unwrap().iter().map(|thread| thread["outcome"].as_str().unwrap()).collect()
}

/// All threads as they are listed, from the machine's files or from a store.
fn all(machine: &Machine, store: Option<&str>) -> Vec<[String; 3]> {
    let mut command = machine.command(&["thread", "list", "--all"]);
    command.envs(store.map(|store| ("UWF_STORE_URL", store)));
    let rows: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let row = |row: &Value| ["thread", "head", "state"].map(|key| row[key].as_str().unwrap().to_owned());
    rows.as_array().unwrap().iter().map(row).collect()
}
