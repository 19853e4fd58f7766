//! Removes everything that differs from run to run from a report, for snapshots.

/// Characters of a thread or attempt id.
const ID: usize = 26;

/// Digits of a time of this century in Unix milliseconds.
const MILLISECONDS: usize = 13;

/// Digits of a digest of a thread's steps.
const DIGEST: usize = 64;

/// The text with ids as `<id>`, digests as `<digest>`, Unix milliseconds as `<ms>` and times (`2026-11-21 22:05:31`) as `<time>`. Hashes
/// stay, because they depend only on content.
pub fn steady(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|symbol: char| symbol.is_ascii_alphanumeric()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let (known, length) = recognise(rest);
        out.push_str(known.unwrap_or(&rest[..length]));
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The replacement for the beginning of the text, if that differs from run to run, and its length.
fn recognise(text: &str) -> (Option<&'static str>, usize) {
    const TIME: &str = "dddd-dd-dd dd:dd:dd";
    let is_time = text.len() >= TIME.len()
        && text
            .bytes()
            .zip(TIME.bytes())
            .all(|(byte, shape)| if shape == b'd' { byte.is_ascii_digit() } else { byte == shape });
    if is_time {
        return (Some("<time>"), TIME.len());
    }
    let length = text.find(|symbol: char| !symbol.is_ascii_alphanumeric()).unwrap_or(text.len());
    let word = &text[..length];
    let all = |is_symbol: fn(&u8) -> bool| word.as_bytes().iter().all(is_symbol);
    let known = match length {
        ID if all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) => Some("<id>"),
        DIGEST if all(u8::is_ascii_hexdigit) => Some("<digest>"),
        MILLISECONDS if word.starts_with('1') && all(u8::is_ascii_digit) => Some("<ms>"),
        _ => None,
    };
    (known, length)
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn only_what_varies_is_replaced() {
        let text = "é 01ARZ3NDEKTSV4RRFFQ69G5FAV: \"9XZ1V6TT9N4WF\" 1795302555697, 2026-11-21 22:05:31 (2026) 42";
        assert_eq!(steady(text), "é <id>: \"9XZ1V6TT9N4WF\" <ms>, <time> (2026) 42");
    }
}
