//! Vectors of the format from an independent implementation, read where they are kept.

use std::path::PathBuf;

use json_cas::cbor::{decode, encode};
use json_cas::json_value;
use json_cas::{hash_bytes, xxh64};
use serde_json::Value;

fn shared(name: &str) -> Option<Value> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(error) => {
            eprintln!("{}: {error}; only the built-in vectors are tested", path.display());
            None
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `[type, json, cbor, hash]` worked out by hand from RFC 8949 and the XXH64 specification's
/// published value for no input.
#[test]
fn values_are_encoded_in_their_only_form() {
    for (json, cbor) in [
        ("{}", "a0"),
        ("-0", "00"),
        ("1.0", "01"),
        ("-1", "20"),
        ("24", "1818"),
        ("9007199254740991", "1b001fffffffffffff"),
        ("-9007199254740991", "3b001ffffffffffffe"),
        ("9007199254740992", "fb4340000000000000"),
        ("-9007199254740992", "fbc340000000000000"),
        ("18446744073709551615", "fb43f0000000000000"),
        ("0.5", "fb3fe0000000000000"),
        ("1e21", "fb444b1ae4d6e2ef50"),
        ("{\"b\":1,\"aa\":2,\"a\":3}", "a3616103616201626161 02"),
        ("[null,true,false,\"é\"]", "84f6f5f462c3a9"),
    ] {
        let bytes = encode(&json_value(json).unwrap()).unwrap();
        assert_eq!(hex(&bytes), cbor.replace(' ', ""), "{json}");
    }
    assert_eq!(xxh64(b"").to_string(), "EYHPV6X8XHTCS");
}

#[test]
fn shared_vectors_match_encoding_and_hash() {
    let Some(file) = shared("vectors/json-cas.json") else {
        return;
    };
    assert_eq!(xxh64(b"").to_string(), file["xxh64_empty"].as_str().unwrap());
    let vectors = file["vectors"].as_array().unwrap();
    assert!(vectors.len() > 40, "only {} vectors", vectors.len());
    for vector in vectors {
        let text = |key: &str| vector[key].as_str().unwrap();
        let name = text("name");
        let payload = json_value(text("json")).unwrap();
        let cbor = encode(&payload).unwrap();
        assert_eq!(hex(&cbor), text("cborHex"), "{name}");
        // The type strings are arbitrary: one byte per character.
        let type_bytes: Vec<u8> = text("type").chars().map(|c| c as u32 as u8).collect();
        assert_eq!(hash_bytes(&type_bytes, &cbor).to_string(), text("hash"), "{name}");
        assert_eq!(encode(&decode(&cbor).unwrap()).unwrap(), cbor, "{name}");
    }
}
