//! Threads and workflows go from one store to another, and back.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::machine::Machine;
use crate::postgres::Postgres;
use crate::s3::Moto;

#[test]
fn what_goes_through_a_bucket_and_a_database_comes_back_the_same() {
    let (bucket, database) = (Moto::start(), Postgres::start());
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
