//! put(json_value(print(get h))) = h, and readers that survive any bytes.

use json_cas::cbor::{CborError, MAX_DEPTH, decode, encode};
use json_cas::json_value;
use json_cas::{NodeDraft, NodeHash, Store, bootstrap};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const TYPE: NodeHash = bootstrap::HASH;

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        proptest::num::f64::SUBNORMAL.prop_map(Value::from),
        (-1000i64..1000).prop_map(Value::from),
        (-1000i64..1000).prop_map(|whole| Value::from(whole as f64)),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        any::<String>().prop_map(Value::from),
        "[a-z]{20,30}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The same value with the keys of every object in reverse order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(map) => {
            let entries = map.iter().rev().map(|(key, item)| (key.clone(), reversed(item)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn encoding_is_canonical_and_survives_printing(value in any_value()) {
        let bytes = encode(&value).unwrap();
        let decoded = decode(&bytes).unwrap();
        prop_assert_eq!(&encode(&decoded).unwrap(), &bytes);
        prop_assert_eq!(&encode(&reversed(&value)).unwrap(), &bytes);
        let printed = json_value(&decoded.to_string()).unwrap();
        prop_assert_eq!(&encode(&printed).unwrap(), &bytes);
    }

    #[test]
    fn a_truncated_encoding_is_an_error(value in any_value(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&value).unwrap();
        let cut = cut.index(bytes.len());
        prop_assert!(decode(&bytes[..cut]).is_err());
    }

    #[test]
    fn parse_never_panics(text in any::<String>()) {
        if let Ok(value) = json_value(&text) {
            prop_assert_eq!(&value, &serde_json::from_str::<Value>(&text).unwrap());
        }
    }
}

/// 10,000 doubles of every size, through a store and through their printed form.
#[test]
fn ten_thousand_doubles_round_trip() {
    let store = Store::memory();
    let numbers = store.put_schema(json!({"type": "array", "items": {"type": "number"}})).unwrap();
    // SplitMix64: any bits that are a finite double.
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    };
    let mut doubles = Vec::new();
    while doubles.len() < 10_000 {
        let double = f64::from_bits(next());
        if double.is_finite() {
            doubles.push(double);
        }
    }
    for chunk in doubles.chunks(100) {
        let payload: Value = chunk.iter().copied().map(Value::from).collect();
        let hash = store.put(&NodeDraft::new(numbers, payload).unwrap()).unwrap();
        let node = store.get(hash).unwrap();
        let read: Vec<f64> = node.payload.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
        let bits = |doubles: &[f64]| -> Vec<u64> { doubles.iter().map(|d| d.to_bits()).collect() };
        assert_eq!(bits(&read), bits(chunk));
        let printed = json_value(&node.payload.to_string()).unwrap();
        assert_eq!(store.put(&NodeDraft::new(numbers, printed).unwrap()).unwrap(), hash);
    }
}

#[test]
fn decimals_round_trip() {
    for text in ["0.1", "1e-7", "123456789.123456789", "8.98846567431158e307", "4.35", "-2.5e-3"] {
        let draft = NodeDraft::new(TYPE, json_value(text).unwrap()).unwrap();
        let again = NodeDraft::new(TYPE, json_value(&draft.payload().to_string()).unwrap()).unwrap();
        assert_eq!(again.hash(), draft.hash(), "{text}");
    }
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

#[test]
fn depth_is_limited_both_ways() {
    let deepest = encode(&nested(MAX_DEPTH)).unwrap();
    assert_eq!(decode(&deepest).unwrap(), nested(MAX_DEPTH));
    assert_eq!(
        encode(&json!({"a": nested(MAX_DEPTH)})).unwrap_err(),
        CborError::TooDeep { path: format!("/a{}", "/0".repeat(MAX_DEPTH - 1)) }
    );
    let bomb = vec![0x81; 1_000_000];
    assert!(matches!(decode(&bomb).unwrap_err(), CborError::TooDeep { .. }));
    // Printed inside a report, the deepest payload can still be read.
    let report = json!({"nodes": [{"payload": nested(MAX_DEPTH)}]});
    assert_eq!(json_value(&report.to_string()).unwrap(), report);
}

#[test]
fn accepts_what_other_writers_leave() {
    for (bytes, value) in [
        (&b"\x18\x01"[..], json!(1)),
        (b"\x1b\0\0\0\0\0\0\0\x01", json!(1)),
        (b"\x38\x00", json!(-1)),
        (b"\xf9\x3c\x00", json!(1)),
        (b"\xf9\x3e\x00", json!(1.5)),
        (b"\xf9\x00\x01", json!(5.960464477539063e-8)),
        (b"\xf9\xc4\x00", json!(-4)),
        (b"\xfa\x3f\xc0\x00\x00", json!(1.5)),
        (b"\xfb\x3f\xf0\0\0\0\0\0\0", json!(1)),
        (b"\xf7", Value::Null),
        (b"\x9f\x01\xff", json!([1])),
        (b"\xbf\x61a\x01\xff", json!({"a": 1})),
        (b"\x7f\x61a\x61b\xff", json!("ab")),
        (b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", json!(-18446744073709551616.0)),
    ] {
        assert_eq!(decode(bytes).unwrap(), value, "{bytes:02x?}");
    }
}

#[test]
fn refuses_what_is_no_json() {
    let message = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    let place = "not CBOR of a JSON value at byte";
    for (bytes, expected) in [
        (&b""[..], format!("{place} 0, in the root: the bytes end too early")),
        (b"\x01\x02", format!("{place} 1, in the root: bytes follow the value")),
        (b"\x41a", format!("{place} 1, in the root: a byte string, which JSON does not have")),
        (b"\x81\xc0\x01", format!("{place} 2, in /0: a tag, which JSON does not have")),
        (b"\xa1\x01\x02", format!("{place} 2, in the root: a key that is not text")),
        (b"\xa2\x61a\x01\x61a\x02", format!("{place} 6, in /a: the key occurs twice")),
        (b"\xf9\x7c\x00", format!("{place} 3, in the root: a number that is not finite")),
        (b"\xfb\x7f\xf8\0\0\0\0\0\0", format!("{place} 9, in the root: a number that is not finite")),
        (b"\xe0", format!("{place} 1, in the root: a simple value, which JSON does not have")),
        (b"\xff", format!("{place} 1, in the root: a break without a beginning")),
        (b"\x1c", format!("{place} 1, in the root: a reserved length")),
        (b"\x1f", format!("{place} 1, in the root: an integer without a length")),
        (b"\x61\xff", format!("{place} 2, in the root: text that is not UTF-8")),
        (b"\x7f\x01\xff", format!("{place} 2, in the root: a piece of text is not text")),
        (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", format!("{place} 9, in the root: the bytes end too early")),
        (b"\x7b\xff\xff\xff\xff\xff\xff\xff\xffa", format!("{place} 9, in the root: the bytes end too early")),
    ] {
        assert_eq!(message(bytes), expected, "{bytes:02x?}");
    }
}
