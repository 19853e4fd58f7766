#![no_main]

#[path = "../../crates/uwf-engine/tests/it/any_bytes/record_file.rs"]
mod record_file;

uwf_fuzz::target!(record_file);
