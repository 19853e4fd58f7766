#![no_main]

#[path = "../../crates/json-cas/tests/it/any_bytes/pack_file.rs"]
mod pack_file;

uwf_fuzz::target!(pack_file);
