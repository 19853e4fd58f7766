#![no_main]

#[path = "../../crates/uwf-core/tests/it/any_bytes/config_file.rs"]
mod config_file;

uwf_fuzz::target!(config_file);
