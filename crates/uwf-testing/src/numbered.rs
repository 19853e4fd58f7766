//! Removes hashes from a report as well: hashes of steps depend on an agent's run time.

use crate::steady;

/// Characters of a hash.
const HASH: usize = 13;

/// The text of [`steady`], with every hash as `#1`, `#2`… in order of first appearance.
pub fn numbered(text: &str) -> String {
    let text = steady(text);
    let mut known: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(|symbol: char| symbol.is_ascii_alphanumeric()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = rest.find(|symbol: char| !symbol.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        rest = after;
        if !is_hash(word) {
            out.push_str(word);
            continue;
        }
        let number = known.iter().position(|hash| *hash == word).unwrap_or_else(|| {
            known.push(word);
            known.len() - 1
        });
        out.push_str(&format!("#{}", number + 1));
    }
    out.push_str(rest);
    out
}

fn is_hash(word: &str) -> bool {
    let is_symbol =
        |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase() && !matches!(byte, b'I' | b'L' | b'O' | b'U');
    word.len() == HASH && word.bytes().all(is_symbol) && word.starts_with(|first: char| first.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn hashes_are_numbered_in_order() {
        let text = "9XZ1V6TT9N4WF `2217292AB2217` 9XZ1V6TT9N4WF Z123456789ABC an ordinarytexts";
        assert_eq!(numbered(text), "#1 `#2` #1 Z123456789ABC an ordinarytexts");
    }
}
