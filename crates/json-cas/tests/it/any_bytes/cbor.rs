//! CBOR: what is read has one encoding, and no other bytes pass for it.

use json_cas::cbor::{MAX_DEPTH, decode, encode};
use json_cas::json_value;
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "cbor",
    samples: &[
        b"\xa3\x61a\x83\x01\x20\xfb\x3f\xe0\0\0\0\0\0\0\x61b\xa0\x64name\x65caf\xc3\xa9",
        b"\x84\x18\x18\x19\x01\x00\x1a\x00\x01\x00\x00\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
        b"\x83\x3b\x00\x1f\xff\xff\xff\xff\xff\xfe\x1b\x00\x1f\xff\xff\xff\xff\xff\xff\xfb\x7f\xef\xff\xff\xff\xff\xff\xff",
        b"\x9f\xf4\xf5\xf6\xf7\xff",
        b"\xbf\x61a\x7f\x61b\x61c\xff\xff",
        b"\x83\xf9\x3c\x00\xfa\x3f\xc0\x00\x00\xf9\xc4\x00",
        b"\x81\x81\x81\xa1\x60\x80",
    ],
    words: &["\0\0\0\0\0\0\0\0", "a", "aa", "é", "\u{1f600}", "\x01", "\x18", "\x19", "\x1a", "\x1b", "\x20", "\x60", "\x61"],
    check,
};

fn check(bytes: &[u8]) {
    let Ok(value) = decode(bytes) else {
        assert!(!is_canonical(bytes), "refused, though it is as it should be");
        return;
    };
    let Ok(canonical) = encode(&value) else {
        // The one level that is read but never written is the map around a payload.
        assert!(!is_canonical(bytes));
        return;
    };
    assert!(is_canonical(&canonical), "{canonical:02x?}");
    assert_eq!(is_canonical(bytes), canonical == bytes, "{value}: {canonical:02x?}");
    let again = decode(&canonical).expect("what was written is read");
    assert_eq!(encode(&again).as_ref(), Ok(&canonical));
    let printed = json_value(&value.to_string()).expect("what was printed is read");
    assert_eq!(encode(&printed), Ok(canonical));
}

/// Largest whole number that is written as an integer.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Whether bytes are a JSON value in its one form: a second opinion, which shares nothing with the reader.
fn is_canonical(bytes: &[u8]) -> bool {
    rest_of_value(bytes, 0).is_some_and(<[u8]>::is_empty)
}

fn rest_of_value(bytes: &[u8], depth: usize) -> Option<&[u8]> {
    let (major, argument, mut rest) = head(bytes)?;
    match major {
        0 => (argument <= MAX_SAFE).then_some(rest),
        1 => (argument < MAX_SAFE).then_some(rest),
        3 => rest_of_text(argument, rest),
        4 if depth < MAX_DEPTH => {
            for _ in 0..argument {
                rest = rest_of_value(rest, depth + 1)?;
            }
            Some(rest)
        }
        5 if depth < MAX_DEPTH => {
            let mut last: &[u8] = &[];
            for _ in 0..argument {
                let (3, length, text) = head(rest)? else { return None };
                let after = rest_of_text(length, text)?;
                let key = &rest[..rest.len() - after.len()];
                if key <= last {
                    return None;
                }
                last = key;
                rest = rest_of_value(after, depth + 1)?;
            }
            Some(rest)
        }
        7 => match bytes[0] & 31 {
            20..=22 => Some(rest),
            27 => {
                let float = f64::from_bits(argument);
                let is_integer = float.fract() == 0.0 && float.abs() <= MAX_SAFE as f64;
                (float.is_finite() && !is_integer).then_some(rest)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Major type and argument of an item in its shortest form, and what follows.
fn head(bytes: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (major, info) = (first >> 5, first & 31);
    let width = match info {
        0..24 => return Some((major, u64::from(info), rest)),
        24..28 => 1 << (info - 24),
        _ => return None,
    };
    let (argument, rest) = rest.split_at_checked(width)?;
    let argument = argument.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
    let least = match width {
        1 => 24,
        2 => 1 << 8,
        4 => 1 << 16,
        _ => 1 << 32,
    };
    (major == 7 || argument >= least).then_some((major, argument, rest))
}

fn rest_of_text(length: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (text, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    std::str::from_utf8(text).ok().map(|_| rest)
}
