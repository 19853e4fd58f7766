#![no_main]

#[path = "../../crates/json-cas/tests/it/any_bytes/node_file.rs"]
mod node_file;

uwf_fuzz::target!(node_file);
