//! CBOR bytes → JSON value, for bytes from anywhere.

use std::borrow::Cow;

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::{CborError, MAX_DEPTH, MAX_SAFE_INTEGER};
use crate::pointer::Trail;

/// Nesting accepted on reading: a payload of [`MAX_DEPTH`] and the node map around it.
const MAX_READ_DEPTH: usize = MAX_DEPTH + 1;

/// The largest arguments that a head of 1, 2, 4 and 8 bytes is too long for.
const LARGEST_BELOW: [u64; 4] = [23, 0xff, 0xffff, 0xffff_ffff];

/// Entries a container gets room for before they are read.
const MAX_ROOM: usize = 16;

/// The value written in `bytes`.
///
/// Works in memory proportional to the bytes given, whatever lengths they claim, and never
/// panics. Whole floats within ±(2^53−1) come back as integers, the way they would be written.
///
/// # Errors
/// [`CborError::Malformed`] for anything that is not exactly one JSON value: trailing or missing
/// bytes, duplicate or non-text keys, byte strings, tags, NaN and infinities;
/// [`CborError::TooDeep`] for endless nesting.
pub fn decode(bytes: &[u8]) -> Result<Value, CborError> {
    let First { value, length, .. } = decode_first(bytes, 0)?;
    if length < bytes.len() {
        let rest = Reader { bytes, at: length, is_canonical: true };
        return Err(rest.malformed(Trail::Root, "bytes follow the value"));
    }
    Ok(value)
}

/// A value that was read from the beginning of some bytes.
pub(crate) struct First {
    pub(crate) value: Value,
    /// Bytes it takes.
    pub(crate) length: usize,
    /// Whether they are those [`encode`](super::encode) would write.
    pub(crate) is_canonical: bool,
}

/// The value that `bytes` begin with, as one that is nested `depth` deep.
///
/// # Errors
/// As [`decode`], but bytes may follow.
pub(crate) fn decode_first(bytes: &[u8], depth: usize) -> Result<First, CborError> {
    let mut reader = Reader { bytes, at: 0, is_canonical: true };
    let value = reader.value(depth, Trail::Root)?;
    Ok(First { value, length: reader.at, is_canonical: reader.is_canonical })
}

/// As [`decode_first`], but where the value is a map, it is given with no other fields than these. All of it is read; what
/// is not asked for is not built, which is most of the work.
///
/// # Errors
/// Those of [`decode_first`].
pub(crate) fn decode_first_fields(bytes: &[u8], depth: usize, fields: &[&str]) -> Result<First, CborError> {
    let mut reader = Reader { bytes, at: 0, is_canonical: true };
    let value = match reader.head(Trail::Root)? {
        (5, _, argument) => reader.map(argument, depth, Trail::Root, |key| fields.contains(&key))?,
        _ => return decode_first(bytes, depth),
    };
    Ok(First { value, length: reader.at, is_canonical: reader.is_canonical })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether all that was read is written in the one deterministic way.
    is_canonical: bool,
}

/// The argument of an item's head.
enum Argument {
    Count(u64),
    Indefinite,
}

impl<'a> Reader<'a> {
    fn malformed(&self, trail: Trail<'_>, reason: &'static str) -> CborError {
        CborError::Malformed { path: trail.pointer(), offset: self.at, reason }
    }

    fn take(&mut self, count: u64, trail: Trail<'_>) -> Result<&'a [u8], CborError> {
        let end = usize::try_from(count)
            .ok()
            .and_then(|count| self.at.checked_add(count))
            .filter(|end| *end <= self.bytes.len())
            .ok_or_else(|| self.malformed(trail, "the bytes end too early"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn unsigned(&mut self, width: u64, trail: Trail<'_>) -> Result<u64, CborError> {
        let bytes = self.take(width, trail)?;
        Ok(bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    /// Major type, low five bits and argument of the next item.
    fn head(&mut self, trail: Trail<'_>) -> Result<(u8, u8, Argument), CborError> {
        let first = self.take(1, trail)?[0];
        let (major, info) = (first >> 5, first & 31);
        let argument = match info {
            0..=23 => Argument::Count(u64::from(info)),
            24..=27 => {
                let count = self.unsigned(1 << (info - 24), trail)?;
                // What follows the head of a number is its bits, of other items a length that has a shortest form.
                self.is_canonical &= major == 7 || count > LARGEST_BELOW[usize::from(info - 24)];
                Argument::Count(count)
            }
            31 => {
                self.is_canonical = false;
                Argument::Indefinite
            }
            _ => return Err(self.malformed(trail, "a reserved length")),
        };
        Ok((major, info, argument))
    }

    fn value(&mut self, depth: usize, trail: Trail<'_>) -> Result<Value, CborError> {
        let (major, info, argument) = self.head(trail)?;
        match (major, argument) {
            (0, Argument::Count(count)) => {
                self.is_canonical &= count <= MAX_SAFE_INTEGER;
                Ok(Value::from(count))
            }
            (1, Argument::Count(count)) => {
                self.is_canonical &= count < MAX_SAFE_INTEGER;
                Ok(negative(count))
            }
            (2, _) => Err(self.malformed(trail, "a byte string, which JSON does not have")),
            (3, argument) => self.text(argument, trail).map(Value::String),
            (4 | 5, _) if depth >= MAX_READ_DEPTH => Err(CborError::TooDeep { path: trail.pointer() }),
            (4, argument) => self.array(argument, depth, trail),
            (5, argument) => self.map(argument, depth, trail, |_| true),
            (6, _) => Err(self.malformed(trail, "a tag, which JSON does not have")),
            (7, Argument::Count(bits)) => self.simple(info, bits, trail),
            (7, Argument::Indefinite) => Err(self.malformed(trail, "a break without a beginning")),
            (_, _) => Err(self.malformed(trail, "an integer without a length")),
        }
    }

    fn text(&mut self, argument: Argument, trail: Trail<'_>) -> Result<String, CborError> {
        if let Argument::Count(count) = argument {
            return self.chunk(count, trail).map(str::to_owned);
        }
        let mut text = String::new();
        while !self.at_break() {
            match self.head(trail)? {
                (3, _, Argument::Count(count)) => text.push_str(self.chunk(count, trail)?),
                _ => return Err(self.malformed(trail, "a piece of text is not text")),
            }
        }
        Ok(text)
    }

    fn chunk(&mut self, count: u64, trail: Trail<'_>) -> Result<&'a str, CborError> {
        let bytes = self.take(count, trail)?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(trail, "text that is not UTF-8"))
    }

    fn array(&mut self, argument: Argument, depth: usize, trail: Trail<'_>) -> Result<Value, CborError> {
        let mut items = Vec::new();
        while self.another(&argument, items.len(), trail)? {
            let item = self.value(depth + 1, Trail::Index(&trail, items.len()))?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    /// A key, which is not copied before it is known to be wanted.
    fn key(&mut self, trail: Trail<'_>) -> Result<Cow<'a, str>, CborError> {
        match self.head(trail)? {
            (3, _, Argument::Count(count)) => self.chunk(count, trail).map(Cow::Borrowed),
            (3, _, argument) => self.text(argument, trail).map(Cow::Owned),
            _ => Err(self.malformed(trail, "a key that is not text")),
        }
    }

    /// A map of those entries whose keys are wanted.
    fn map(
        &mut self,
        argument: Argument,
        depth: usize,
        trail: Trail<'_>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Value, CborError> {
        let mut map = Map::with_capacity(room(&argument));
        let mut last_key: &[u8] = &[];
        let mut read = 0;
        while self.another(&argument, read, trail)? {
            read += 1;
            let before_key = self.at;
            let key = self.key(trail)?;
            let after_key = self.at;
            // Keys stand in the order of their encodings, head included.
            let encoded = &self.bytes[before_key..after_key];
            self.is_canonical &= last_key < encoded;
            last_key = encoded;
            if !is_wanted(&key) {
                self.skip(depth + 1, Trail::Key(&trail, &key))?;
                continue;
            }
            let value = self.value(depth + 1, Trail::Key(&trail, &key))?;
            match map.entry(key.into_owned()) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(entry) => {
                    self.at = after_key;
                    return Err(self.malformed(Trail::Key(&trail, entry.key()), "the key occurs twice"));
                }
            };
        }
        Ok(Value::Object(map))
    }

    /// Steps over a value. What it says of the way it is written is what reading it says, except that a key that occurs twice
    /// is only not canonical.
    fn skip(&mut self, depth: usize, trail: Trail<'_>) -> Result<(), CborError> {
        let start = self.at;
        match self.head(trail)? {
            (3, _, Argument::Count(count)) => self.chunk(count, trail).map(drop),
            (4, _, Argument::Count(count)) if depth < MAX_READ_DEPTH => {
                (0..count).try_for_each(|_| self.skip(depth + 1, trail))
            }
            (5, _, Argument::Count(count)) if depth < MAX_READ_DEPTH => {
                let mut last_key: &[u8] = &[];
                for _ in 0..count {
                    let before_key = self.at;
                    let (3, _, Argument::Count(length)) = self.head(trail)? else {
                        return Err(self.malformed(trail, "a key that is not text"));
                    };
                    self.chunk(length, trail)?;
                    let encoded = &self.bytes[before_key..self.at];
                    self.is_canonical &= last_key < encoded;
                    last_key = encoded;
                    self.skip(depth + 1, trail)?;
                }
                Ok(())
            }
            _ => {
                self.at = start;
                self.value(depth, trail).map(drop)
            }
        }
    }

    /// Whether a container has a further entry after `read` of them. A claimed length is only
    /// counted up to, never allocated: each entry takes at least one byte that must be there.
    fn another(&mut self, argument: &Argument, read: usize, trail: Trail<'_>) -> Result<bool, CborError> {
        match argument {
            Argument::Indefinite => Ok(!self.at_break()),
            Argument::Count(count) => {
                let missing = count.saturating_sub(read as u64);
                if missing > (self.bytes.len() - self.at) as u64 {
                    return Err(self.malformed(trail, "the bytes end too early"));
                }
                Ok(missing > 0)
            }
        }
    }

    /// Steps over a break if one is next.
    fn at_break(&mut self) -> bool {
        let found = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(found);
        found
    }

    fn simple(&mut self, info: u8, bits: u64, trail: Trail<'_>) -> Result<Value, CborError> {
        let float = match info {
            20 => return Ok(Value::Bool(false)),
            21 => return Ok(Value::Bool(true)),
            // undefined: how other writers keep a missing value inside an array.
            22 | 23 => {
                self.is_canonical &= info == 22;
                return Ok(Value::Null);
            }
            25 => half(bits as u16),
            26 => f64::from(f32::from_bits(bits as u32)),
            27 => f64::from_bits(bits),
            _ => return Err(self.malformed(trail, "a simple value, which JSON does not have")),
        };
        let number = number(float).ok_or_else(|| self.malformed(trail, "a number that is not finite"))?;
        self.is_canonical &= info == 27 && number.is_f64();
        Ok(number)
    }
}

/// Entries to make room for: as many as are claimed, but no more than a small container has, whatever is claimed.
fn room(argument: &Argument) -> usize {
    match argument {
        Argument::Count(count) => usize::try_from(*count).map_or(MAX_ROOM, |count| count.min(MAX_ROOM)),
        Argument::Indefinite => 0,
    }
}

/// −1 − `count`; beyond 64 bits the nearest double.
fn negative(count: u64) -> Value {
    match i64::try_from(count) {
        Ok(count) => Value::from(-1 - count),
        Err(_) => number(-1.0 - count as f64).unwrap_or(Value::Null),
    }
}

fn number(float: f64) -> Option<Value> {
    if float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER as f64 {
        return Some(Value::from(float as i64));
    }
    Number::from_f64(float).map(Value::Number)
}

/// A half-precision float (RFC 8949 appendix D).
fn half(bits: u16) -> f64 {
    let exponent = i32::from((bits >> 10) & 31);
    let fraction = f64::from(bits & 1023);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::encode;
    use super::*;

    /// Whether the flag says what writing the value again says; `None` where there is no value.
    fn is_right(bytes: &[u8]) -> Option<bool> {
        let First { value, length, is_canonical } = decode_first(bytes, 1).ok()?;
        Some(is_canonical == (encode(&value).ok()? == bytes[..length]))
    }

    #[test]
    fn what_is_written_otherwise_is_not_canonical() {
        let others: [&[u8]; 13] = [
            b"\x18\x17",
            b"\x19\x00\xff",
            b"\x1a\x00\x00\xff\xff",
            b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff",
            b"\x1b\x00\x20\x00\x00\x00\x00\x00\x00",
            b"\x3b\x00\x1f\xff\xff\xff\xff\xff\xff",
            b"\x78\x01a",
            b"\x7f\x61a\xff",
            b"\x9f\x01\xff",
            b"\xa2\x61b\x01\x61a\x02",
            b"\xf7",
            b"\xf9\x38\x00",
            b"\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00",
        ];
        for bytes in others {
            let first = decode_first(bytes, 1).unwrap();
            assert!(!first.is_canonical && first.length == bytes.len(), "{} is {}", bytes.escape_ascii(), first.value);
            assert_eq!(is_right(bytes), Some(true), "{}", bytes.escape_ascii());
        }
        let value = json!({"b": [1, -1, 0.5, 1e300, true, null, "ä"], "a": {}, "aa": 9_007_199_254_740_991_u64});
        let bytes = [encode(&value).unwrap(), b"more".to_vec()].concat();
        let first = decode_first(&bytes, 1).unwrap();
        assert_eq!((first.value, first.length, first.is_canonical), (value, bytes.len() - 4, true));
    }

    fn values() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-300_i64..300).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number,
            ".{0,30}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("[a-c]{0,3}", inner, 0..6).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    /// Whether reading some fields of canonical bytes gives what reading all of them and dropping the others does, and
    /// whether it takes nothing for canonical that is not.
    fn is_part_of_whole(bytes: &[u8], fields: &[&str]) -> bool {
        let part = decode_first_fields(bytes, 1, fields);
        let Ok(First { mut value, length, is_canonical: true }) = decode_first(bytes, 1) else {
            return !part.is_ok_and(|part| part.is_canonical);
        };
        if let Value::Object(map) = &mut value {
            map.retain(|key, _| fields.contains(&key.as_str()));
        }
        part.is_ok_and(|part| part.value == value && part.length == length && part.is_canonical)
    }

    #[test]
    fn fields_are_read_as_deep_as_all_is() {
        let deepest = encode(&(0..MAX_DEPTH).fold(json!(1), |inner, _| json!({"a": inner}))).unwrap();
        let deeper = [b"\xa1\x61b", deepest.as_slice()].concat();
        for (bytes, is_read) in [(deepest, true), (deeper, false)] {
            assert_eq!(decode_first(&bytes, 1).is_ok(), is_read);
            assert_eq!(decode_first_fields(&bytes, 1, &[]).is_ok(), is_read);
        }
    }

    proptest! {
        #[test]
        fn some_fields_are_those_of_the_whole(value in values(), at in any::<prop::sample::Index>(), byte: u8) {
            let written = encode(&json!({"a": value, "b": [value], "cc": {"b": value}})).unwrap();
            let mut spoiled = written.clone();
            spoiled[at.index(written.len())] = byte;
            for fields in [&[][..], &["a"], &["cc", "b"], &["none"]] {
                prop_assert!(is_part_of_whole(&written, fields));
                prop_assert!(is_part_of_whole(&spoiled, fields), "{}", spoiled.escape_ascii());
            }
        }

        #[test]
        fn canonical_is_what_would_be_written(value in values(), at in any::<prop::sample::Index>(), byte: u8) {
            let written = encode(&value).unwrap();
            prop_assert!(decode_first(&written, 1).unwrap().is_canonical);
            let mut spoiled = written.clone();
            spoiled[at.index(written.len())] = byte;
            prop_assert_ne!(is_right(&spoiled), Some(false), "{}", spoiled.escape_ascii());
            spoiled.insert(at.index(written.len()), byte);
            prop_assert_ne!(is_right(&spoiled), Some(false), "{}", spoiled.escape_ascii());
        }
    }
}
