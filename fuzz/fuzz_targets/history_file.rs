#![no_main]

#[path = "../../crates/json-cas/tests/it/any_bytes/history_file.rs"]
mod history_file;

uwf_fuzz::target!(history_file);
