//! Paths and queries.

/// A text as a value in a query.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) { encoded.push(char::from(byte)) } else { encoded.push_str(&format!("%{byte:02X}")) }
    }
    encoded
}
