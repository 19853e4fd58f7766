#![no_main]

#[path = "../../crates/uwf-llm/tests/it/any_bytes/whole_json.rs"]
mod whole_json;

uwf_fuzz::target!(whole_json);
