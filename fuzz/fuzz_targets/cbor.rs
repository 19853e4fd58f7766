#![no_main]

#[path = "../../crates/json-cas/tests/it/any_bytes/cbor.rs"]
mod cbor;

uwf_fuzz::target!(cbor);
