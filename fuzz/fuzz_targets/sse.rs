#![no_main]

#[path = "../../crates/uwf-llm/tests/it/any_bytes/sse.rs"]
mod sse;

uwf_fuzz::target!(sse);
