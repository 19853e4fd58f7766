//! The forms in which a secret is written.

use std::collections::BTreeSet;

use data_encoding::{BASE64, BASE64URL, HEXLOWER, HEXUPPER};

use super::{SHORTEST, view};

/// Forms without encoding: the secret itself, as a JSON string, and as a JSON string within JSON (the arguments of a tool). In JSON,
/// symbols beyond ASCII may be written as numbers, and `/` as `\\/`. Views have no invisible symbols, so each form also exists without
/// them.
pub(super) fn plain(value: &str) -> BTreeSet<String> {
    let quoted = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let seen = Some(view::seen(value)).filter(|seen| seen.len() >= SHORTEST);
    let forms = std::iter::once(value.to_owned()).chain(seen).flat_map(|value| {
        let once = [quoted(&value), by_number(&quoted(&value))];
        let slashed = once.clone().map(|form| form.replace('/', "\\/"));
        let twice = once.clone().map(|form| quoted(&form));
        // Web forms send blanks like this.
        let spaced = value.replace(' ', "+");
        [value, spaced].into_iter().chain(once).chain(slashed).chain(twice)
    });
    forms.collect()
}

/// Encoded forms: base64 in both alphabets, at any offset in the encoded data, and hexadecimal digits.
pub(super) fn encoded(value: &str) -> BTreeSet<String> {
    let bytes = value.as_bytes();
    let mut forms: BTreeSet<String> = [BASE64.encode(bytes), BASE64URL.encode(bytes)].into();
    for before in 0..3 {
        let shifted = [&[0; 2][..before.min(2)], bytes].concat();
        // Keep only the symbols that depend on no other bytes.
        let (from, to) = ((before * 8).div_ceil(6), shifted.len() * 8 / 6);
        for encoding in [&BASE64, &BASE64URL] {
            forms.insert(encoding.encode(&shifted)[from..to].to_owned());
        }
    }
    for digits in [HEXLOWER.encode(bytes), HEXUPPER.encode(bytes)] {
        let pairs: Vec<&str> = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]).collect();
        forms.extend([pairs.join(":"), pairs.join("\\x"), digits.clone()]);
    }
    forms
}

/// JSON with symbols beyond ASCII as numbers, as many programs write it.
fn by_number(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for symbol in json.chars() {
        match symbol.is_ascii() {
            true => ascii.push(symbol),
            false => symbol.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    ascii
}
