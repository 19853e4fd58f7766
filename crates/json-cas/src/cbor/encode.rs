//! Encodes a JSON value as deterministic CBOR.

use serde_json::{Map, Number, Value};

use super::{CborError, MAX_DEPTH, MAX_SAFE_INTEGER};
use crate::pointer::ValueTrail;

/// The only CBOR form of `value`.
///
/// # Errors
/// [`CborError::TooDeep`] if more than [`MAX_DEPTH`] arrays and objects are nested.
pub fn encode(value: &Value) -> Result<Vec<u8>, CborError> {
    let mut bytes = Vec::with_capacity(128);
    write_value(&mut bytes, value, 0, ValueTrail::Root)?;
    Ok(bytes)
}

fn write_value(out: &mut Vec<u8>, value: &Value, depth: usize, trail: ValueTrail<'_>) -> Result<(), CborError> {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(false) => out.push(0xf4),
        Value::Bool(true) => out.push(0xf5),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => {
            return Err(CborError::TooDeep { path: trail.pointer() });
        }
        Value::Array(items) => {
            write_head(out, 4, items.len() as u64);
            for (index, item) in items.iter().enumerate() {
                write_value(out, item, depth + 1, ValueTrail::Index(&trail, index))?;
            }
        }
        Value::Object(map) => write_map(out, map, depth, &trail)?,
    }
    Ok(())
}

fn write_map(
    out: &mut Vec<u8>,
    map: &Map<String, Value>,
    depth: usize,
    trail: &ValueTrail<'_>,
) -> Result<(), CborError> {
    write_head(out, 5, map.len() as u64);
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    // Order of the encoded keys: a longer text has a greater head, so the length is compared first.
    entries.sort_unstable_by_key(|(key, _)| (key.len(), key.as_bytes()));
    for (key, value) in entries {
        write_text(out, key);
        write_value(out, value, depth + 1, ValueTrail::Key(trail, key))?;
    }
    Ok(())
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    if let Some(whole) = number.as_u64().filter(|n| *n <= MAX_SAFE_INTEGER) {
        write_head(out, 0, whole);
        return;
    }
    if let Some(whole) = number.as_i64().filter(|n| n.unsigned_abs() <= MAX_SAFE_INTEGER) {
        // CBOR encodes a negative number n as -1 - n; `whole` is negative here.
        write_head(out, 1, whole.unsigned_abs() - 1);
        return;
    }
    // Without arbitrary_precision every serde_json number has a finite f64.
    let float = number.as_f64().unwrap_or(0.0);
    if float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER as f64 {
        if float < 0.0 {
            write_head(out, 1, (-float) as u64 - 1);
        } else {
            write_head(out, 0, float as u64);
        }
    } else {
        out.push(0xfb);
        out.extend_from_slice(&float.to_be_bytes());
    }
}

pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    write_head(out, 3, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn write_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let major = major << 5;
    if argument < 24 {
        out.push(major | argument as u8);
    } else if let Ok(byte) = u8::try_from(argument) {
        out.extend_from_slice(&[major | 24, byte]);
    } else if let Ok(short) = u16::try_from(argument) {
        out.push(major | 25);
        out.extend_from_slice(&short.to_be_bytes());
    } else if let Ok(word) = u32::try_from(argument) {
        out.push(major | 26);
        out.extend_from_slice(&word.to_be_bytes());
    } else {
        out.push(major | 27);
        out.extend_from_slice(&argument.to_be_bytes());
    }
}
