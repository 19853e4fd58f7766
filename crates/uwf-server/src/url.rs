//! Paths and queries.

/// Encodes a text as a value in a query.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) { encoded.push(char::from(byte)) } else { encoded.push_str(&format!("%{byte:02X}")) }
    }
    encoded
}

/// Encodes a text as one segment of a path; `None` for texts that a browser would read as another directory.
pub(crate) fn segment(text: &str) -> Option<String> {
    (!matches!(text, "" | "." | "..")).then(|| encoded(text).replace('/', "%2F"))
}

/// Whether this is a path on this server. Browsers read `//` and `/\`, even with tabs or line breaks in between, as the start of another
/// server's name.
pub(crate) fn is_own_path(path: &str) -> bool {
    let is_plain = |symbol: char| symbol != '\\' && !symbol.is_control();
    path.starts_with('/') && !path.starts_with("//") && path.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::{is_own_path, segment};

    #[test]
    fn segment_leads_to_no_other_directory() {
        assert_eq!(segment("a b/../c").as_deref(), Some("a%20b%2F..%2Fc"));
        assert_eq!([segment(""), segment("."), segment("..")], [None, None, None]);
        assert_eq!(segment("%2e%2e").as_deref(), Some("%252e%252e"));
    }

    #[test]
    fn a_path_of_this_server_names_no_other() {
        assert!(is_own_path("/") && is_own_path("/threads/X?y=1&z=//a"));
        for elsewhere in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "",
            "evil",
        ] {
            assert!(!is_own_path(elsewhere), "{elsewhere:?}");
        }
    }
}
