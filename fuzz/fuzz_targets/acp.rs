#![no_main]

#[path = "../../crates/uwf-agents/tests/it/any_bytes/acp.rs"]
mod acp;

uwf_fuzz::target!(acp);
