//! Decodes untrusted CBOR bytes into a JSON value.

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::{CborError, MAX_DEPTH, MAX_SAFE_INTEGER};
use crate::pointer::ValueTrail;

/// Maximum nesting when reading: a payload of [`MAX_DEPTH`], and the node map around it.
const MAX_READ_DEPTH: usize = MAX_DEPTH + 1;

/// Decodes the value in `bytes`.
///
/// Memory use is proportional to the size of `bytes`, whatever lengths they claim, and decoding never panics. Whole floats within
/// ±(2^53−1) are returned as integers, the way they would be written.
///
/// # Errors
/// [`CborError::Malformed`] for anything that is not exactly one JSON value: trailing or missing bytes, duplicate or non-text keys, byte
/// strings, tags, NaN and infinities; [`CborError::TooDeep`] for excessive nesting.
pub fn decode(bytes: &[u8]) -> Result<Value, CborError> {
    let mut reader = CborReader { bytes, at: 0 };
    let value = reader.value(0, ValueTrail::Root)?;
    if reader.at < bytes.len() {
        return Err(reader.malformed(ValueTrail::Root, "bytes follow the value"));
    }
    Ok(value)
}

struct CborReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The argument of an item's head.
enum CborArgument {
    Count(u64),
    Indefinite,
}

impl<'a> CborReader<'a> {
    fn malformed(&self, trail: ValueTrail<'_>, reason: &'static str) -> CborError {
        CborError::Malformed { path: trail.pointer(), offset: self.at, reason }
    }

    fn take(&mut self, count: u64, trail: ValueTrail<'_>) -> Result<&'a [u8], CborError> {
        let end = usize::try_from(count)
            .ok()
            .and_then(|count| self.at.checked_add(count))
            .filter(|end| *end <= self.bytes.len())
            .ok_or_else(|| self.malformed(trail, "the bytes end too early"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn unsigned(&mut self, width: u64, trail: ValueTrail<'_>) -> Result<u64, CborError> {
        let bytes = self.take(width, trail)?;
        Ok(bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    /// Major type, low five bits and argument of the next item.
    fn head(&mut self, trail: ValueTrail<'_>) -> Result<(u8, u8, CborArgument), CborError> {
        let first = self.take(1, trail)?[0];
        let (major, info) = (first >> 5, first & 31);
        let argument = match info {
            0..=23 => CborArgument::Count(u64::from(info)),
            24..=27 => CborArgument::Count(self.unsigned(1 << (info - 24), trail)?),
            31 => CborArgument::Indefinite,
            _ => return Err(self.malformed(trail, "a reserved length")),
        };
        Ok((major, info, argument))
    }

    fn value(&mut self, depth: usize, trail: ValueTrail<'_>) -> Result<Value, CborError> {
        let (major, info, argument) = self.head(trail)?;
        match (major, argument) {
            (0, CborArgument::Count(count)) => Ok(Value::from(count)),
            (1, CborArgument::Count(count)) => Ok(negative(count)),
            (2, _) => Err(self.malformed(trail, "a byte string, which JSON does not have")),
            (3, argument) => self.text(argument, trail).map(Value::String),
            (4 | 5, _) if depth >= MAX_READ_DEPTH => Err(CborError::TooDeep { path: trail.pointer() }),
            (4, argument) => self.array(argument, depth, trail),
            (5, argument) => self.map(argument, depth, trail),
            (6, _) => Err(self.malformed(trail, "a tag, which JSON does not have")),
            (7, CborArgument::Count(bits)) => self.simple(info, bits, trail),
            (7, CborArgument::Indefinite) => Err(self.malformed(trail, "a break without a beginning")),
            (_, _) => Err(self.malformed(trail, "an integer without a length")),
        }
    }

    fn text(&mut self, argument: CborArgument, trail: ValueTrail<'_>) -> Result<String, CborError> {
        if let CborArgument::Count(count) = argument {
            return self.chunk(count, trail).map(str::to_owned);
        }
        let mut text = String::new();
        while !self.at_break() {
            match self.head(trail)? {
                (3, _, CborArgument::Count(count)) => text.push_str(self.chunk(count, trail)?),
                _ => return Err(self.malformed(trail, "a piece of text is not text")),
            }
        }
        Ok(text)
    }

    fn chunk(&mut self, count: u64, trail: ValueTrail<'_>) -> Result<&'a str, CborError> {
        let bytes = self.take(count, trail)?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(trail, "text that is not UTF-8"))
    }

    fn array(&mut self, argument: CborArgument, depth: usize, trail: ValueTrail<'_>) -> Result<Value, CborError> {
        let mut items = Vec::new();
        while self.another(&argument, items.len(), trail)? {
            let item = self.value(depth + 1, ValueTrail::Index(&trail, items.len()))?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, argument: CborArgument, depth: usize, trail: ValueTrail<'_>) -> Result<Value, CborError> {
        let mut map = Map::new();
        while self.another(&argument, map.len(), trail)? {
            let (3, _, length) = self.head(trail)? else {
                return Err(self.malformed(trail, "a key that is not text"));
            };
            let key = self.text(length, trail)?;
            let after_key = self.at;
            let value = self.value(depth + 1, ValueTrail::Key(&trail, &key))?;
            match map.entry(key) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(entry) => {
                    self.at = after_key;
                    return Err(self.malformed(ValueTrail::Key(&trail, entry.key()), "the key occurs twice"));
                }
            };
        }
        Ok(Value::Object(map))
    }

    /// Whether a container has another entry after `read` entries. The claimed length is only a limit for counting and is never allocated:
    /// each entry takes at least one byte, which must be there.
    fn another(&mut self, argument: &CborArgument, read: usize, trail: ValueTrail<'_>) -> Result<bool, CborError> {
        match argument {
            CborArgument::Indefinite => Ok(!self.at_break()),
            CborArgument::Count(count) => {
                let missing = count.saturating_sub(read as u64);
                if missing > (self.bytes.len() - self.at) as u64 {
                    return Err(self.malformed(trail, "the bytes end too early"));
                }
                Ok(missing > 0)
            }
        }
    }

    /// Consumes a break code if it is next.
    fn at_break(&mut self) -> bool {
        let found = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(found);
        found
    }

    fn simple(&mut self, info: u8, bits: u64, trail: ValueTrail<'_>) -> Result<Value, CborError> {
        let float = match info {
            20 => return Ok(Value::Bool(false)),
            21 => return Ok(Value::Bool(true)),
            // undefined: other writers use it for a missing value inside an array.
            22 | 23 => return Ok(Value::Null),
            25 => half(bits as u16),
            26 => f64::from(f32::from_bits(bits as u32)),
            27 => f64::from_bits(bits),
            _ => return Err(self.malformed(trail, "a simple value, which JSON does not have")),
        };
        number(float).ok_or_else(|| self.malformed(trail, "a number that is not finite"))
    }
}

/// −1 − `count`; the nearest double if it exceeds 64 bits.
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
