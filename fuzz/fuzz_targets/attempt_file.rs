#![no_main]

#[path = "../../crates/uwf-engine/tests/it/any_bytes/attempt_file.rs"]
mod attempt_file;

uwf_fuzz::target!(attempt_file);
