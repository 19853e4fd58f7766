#![no_main]

#[path = "../../crates/uwf-agents/tests/it/any_bytes/trace.rs"]
mod trace;

uwf_fuzz::target!(trace);
