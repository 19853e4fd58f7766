#![no_main]

#[path = "../../crates/uwf-engine/tests/it/any_bytes/registry_file.rs"]
mod registry_file;

uwf_fuzz::target!(registry_file);
