//! The placeholders of the format example. Prompts contain them, and they never count as an answer.

/// Words of a placeholder, joined by ` or `: `<text>`, `<text or null>`, `<true or false>`.
pub(crate) const WORDS: &[&str] = &[
    TEXT,
    "string",
    "number",
    "integer",
    "boolean",
    "true",
    "false",
    "null",
    HASH,
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
    "regex",
    ANY,
    "value",
    KEY,
    "object",
    "list",
    "array",
];

/// Word for a free text.
pub(crate) const TEXT: &str = "text";
/// Word for the hash of a stored node.
pub(crate) const HASH: &str = "hash";
/// Word for a value that the schema doesn't describe.
pub(crate) const ANY: &str = "any value";
/// Word for a key the schema leaves open.
pub(crate) const KEY: &str = "key";

/// Separator between the values of an `enum`.
pub(crate) const CHOICE: &str = " | ";
/// Prefix of the only allowed value.
pub(crate) const EXACTLY: &str = "exactly ";

/// Returns a placeholder.
pub(crate) fn placeholder(words: &str) -> String {
    format!("<{words}>")
}

/// Whether a text is a placeholder rather than a value.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else {
        return false;
    };
    if inner.contains(CHOICE) || inner.starts_with(EXACTLY) {
        return true;
    }
    inner.split(" or ").all(|word| WORDS.iter().any(|known| word.trim().eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_angle_brackets_are_not_placeholders() {
        for text in [
            "<text>",
            "<string>",
            " <Text or null> ",
            "<true or false>",
            "<any value>",
            "<a | b or null>",
            "<exactly a>",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["<T>", "<br>", "text", "<text", "<>", "a <text> b", "<https://a.invalid>"] {
            assert!(!is_placeholder(text), "{text}");
        }
        assert!(is_placeholder(&placeholder(TEXT)));
    }
}
