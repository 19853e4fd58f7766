#![no_main]

#[path = "../../crates/uwf-llm/tests/it/any_bytes/find_json.rs"]
mod find_json;

uwf_fuzz::target!(find_json);
