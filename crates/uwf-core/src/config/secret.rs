//! Finds API keys in a config, where they don't belong: a config is shown, copied and committed.

use serde_json::Value;

use super::edit::KeyPath;

/// Prefixes of keys of providers and forges.
const KEY_BEGINNINGS: [&str; 14] = [
    "sk-",
    "sk_",
    "gsk_",
    "xai-",
    "AIza",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "hf_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];

/// Characters from which a text with such a prefix counts as a key.
const SHORTEST_KEY: usize = 16;

/// The path of a likely API key in a value for `path`. Below a key like `apiKey`, that is anything except the name of a variable;
/// elsewhere, it is a text that begins like a key.
#[must_use]
pub fn key_in(path: &KeyPath, value: &Value) -> Option<KeyPath> {
    match value {
        Value::String(text) => {
            let is_key_field = path.parts().iter().any(|part| is_named_api_key(part));
            (looks_like_key(text) || is_key_field && !is_variable(text)).then(|| path.clone())
        }
        Value::Array(items) => items.iter().find_map(|item| key_in(path, item)),
        Value::Object(map) => map.iter().find_map(|(key, value)| key_in(&KeyPath::below(Some(path), key), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_named_api_key(key: &str) -> bool {
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    letters.to_ascii_lowercase().starts_with("apikey")
}

pub(super) fn looks_like_key(text: &str) -> bool {
    let begins = KEY_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    begins
        && text.len() >= SHORTEST_KEY
        && !text.contains(char::is_whitespace)
        && text.contains(|c: char| c.is_ascii_digit())
}

/// Whether a text can be the name of a variable. A long text with lower-case letters and digits counts as a key.
pub(super) fn is_variable(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let has = |what: fn(&u8) -> bool| text.bytes().any(|byte| what(&byte));
    let is_key = text.len() >= 20 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    starts && !is_key && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_recognized_by_position_or_prefix() {
        for (path, value, found) in [
            ("providers.p.apiKey", json!("abcdef"), None),
            ("providers.p.apiKey", json!("abc-def"), Some("providers.p.apiKey")),
            ("providers.p.api_key", json!("abc.def"), Some("providers.p.api_key")),
            ("providers.p.apiKeyEnv", json!("OPENAI_API_KEY"), None),
            ("providers.p", json!({"baseUrl": "u", "apiKey": "k!"}), Some("providers.p.apiKey")),
            ("agents.a.args", json!(["--key", "sk-0123456789abcdef"]), Some("agents.a.args")),
            ("agents.a.args", json!(["sk-learn"]), None),
            ("defaultAgent", json!("coder"), None),
        ] {
            let path: KeyPath = path.parse().unwrap();
            assert_eq!(key_in(&path, &value).map(|path| path.to_string()), found.map(str::to_owned), "{path} {value}");
        }
    }
}
