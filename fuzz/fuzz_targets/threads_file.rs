#![no_main]

#[path = "../../crates/json-cas/tests/it/any_bytes/threads_file.rs"]
mod threads_file;

uwf_fuzz::target!(threads_file);
