#![no_main]

#[path = "../../crates/uwf-core/tests/it/any_bytes/workflow_file.rs"]
mod workflow_file;

uwf_fuzz::target!(workflow_file);
