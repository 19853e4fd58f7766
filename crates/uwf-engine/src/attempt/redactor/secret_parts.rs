//! Secret parts of a variable's value, which an agent may print on their own.

use serde_json::Value;

/// Secret parts of an Azure connection string.
const PARTS: [&str; 2] = ["accountkey", "sharedaccesssignature"];

/// The value and its secret parts: the key in an Azure connection string, the signature in an Azure SAS token, and the
/// private key in the JSON of a Google service account.
pub(super) fn value_and_parts(value: String) -> Vec<String> {
    let of_json =
        || serde_json::from_str::<Value>(&value).ok()?["private_key"].as_str().map(|key| key.trim().to_owned());
    let mut parts = Vec::from_iter(if value.starts_with('{') { of_json() } else { None });
    for (name, part) in value.split(';').filter_map(|part| part.trim().split_once('=')) {
        if PARTS.contains(&&*name.to_ascii_lowercase()) {
            parts.push(part.to_owned());
        }
    }
    let signatures =
        value.split(['?', '&', ';']).filter_map(|pair| pair.split_once("sig=")).map(|(_, sig)| sig.to_owned());
    parts.extend(signatures);
    parts.push(value);
    parts
}

#[cfg(test)]
mod tests {
    use super::value_and_parts;

    #[test]
    fn the_parts_of_a_value_are_found() {
        let of = |value: &str| value_and_parts(value.to_owned());
        assert_eq!(of("sk-1"), ["sk-1"]);
        assert_eq!(of("AccountName=me;AccountKey=k==")[..1], ["k=="]);
        assert_eq!(of("?sv=1&sig=s%3D&se=2")[..1], ["s%3D"]);
        let connection = "BlobEndpoint=https://me;SharedAccessSignature=sv=1&sig=s%3D";
        assert_eq!(of(connection), ["sv=1&sig=s%3D", "s%3D", connection]);
        assert_eq!(of(r#"{"private_key": "-----"}"#)[..1], ["-----"]);
    }
}
