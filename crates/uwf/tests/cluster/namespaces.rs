//! The box: namespaces of its own that the demonstration runs in.

use std::process::Command;

use uwf_testing::repository;

use crate::servers::{S3_PORT, store_variables};

/// Variable that is set in the box.
const IN_BOX: &str = "UWF_CLUSTER_BOX";

/// Whether this process is in the box.
pub(crate) fn is_in_box() -> bool {
    std::env::var_os(IN_BOX).is_some()
}

/// Runs a test of this program once more, in a box: namespaces of its own, where it may make machines, and where whatever it
/// started ends with it.
pub(crate) fn run_in_box(test: &str) {
    let dir = repository().join("target/cluster");
    // What the last run left.
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let mut command = Command::new(repository().join("scripts/namespaces.sh"));
    command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    command.env(IN_BOX, "1").env("TMPDIR", dir);
    // This process looks at the store from outside.
    let ended = command.envs(store_variables(&format!("http://127.0.0.1:{S3_PORT}"))).status().unwrap();
    assert!(ended.success(), "the demonstration failed: its report is above");
}
