#![no_main]

#[path = "../../crates/uwf-core/tests/it/any_bytes/condition.rs"]
mod condition;

uwf_fuzz::target!(condition);
