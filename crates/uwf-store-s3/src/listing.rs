//! Filters lists of keys down to the entries that the client can read.
//!
//! The client rejects a whole page for a single key that it takes for an invalid path, such as `notes/..`. It also changes keys that begin
//! or end with a slash. uwf never stores such objects, but other programs with access to the bucket can. So their entries are removed from
//! the answer before the client reads it.

use std::borrow::Cow;

use object_store::path::Path;
use ureq::http::Uri;

/// XML elements of an entry and its key: first for Amazon and Google, then for Azure.
const ENTRIES: [(&str, &str); 2] = [("Contents", "Key"), ("Blob", "Name")];

/// Whether a request asks for a list.
pub(crate) fn is_asked(uri: &Uri) -> bool {
    let mut parts = uri.query().unwrap_or_default().split('&');
    parts.any(|part| part == "list-type=2" || part == "comp=list")
}

/// The answer without entries whose keys the client can't read.
pub(crate) fn readable(answer: Vec<u8>) -> Vec<u8> {
    // The client itself reports a body that is not text.
    let Ok(text) = std::str::from_utf8(&answer) else { return answer };
    let mut kept = Cow::Borrowed(text);
    for (entry, key) in ENTRIES {
        if let Some(without) = without_unreadable(&kept, entry, key) {
            kept = Cow::Owned(without);
        }
    }
    match kept {
        Cow::Borrowed(_) => answer,
        Cow::Owned(kept) => kept.into_bytes(),
    }
}

/// The text without entries whose keys the client can't read; `None` if it can read all of them.
fn without_unreadable(text: &str, entry: &str, key: &str) -> Option<String> {
    let (begin, end) = (format!("<{entry}>"), format!("</{entry}>"));
    let mut kept = String::new();
    let mut rest = text;
    // In XML text, `<` always begins a tag.
    while let Some((before, after)) = rest.split_once(&*begin) {
        let Some((inside, next)) = after.split_once(&*end) else { break };
        kept.push_str(before);
        if key_in(inside, key).is_none_or(|key| is_path(&key)) {
            kept.extend([&*begin, inside, &*end]);
        }
        rest = next;
    }
    kept.push_str(rest);
    (kept.len() < text.len()).then_some(kept)
}

/// Whether the client reads a key unchanged.
fn is_path(key: &str) -> bool {
    Path::parse(key).is_ok_and(|path| path.as_ref() == key)
}

/// The key in an entry.
fn key_in<'e>(entry: &'e str, name: &str) -> Option<Cow<'e, str>> {
    let (_, after) = entry.split_once(&format!("<{name}"))?;
    // Azure has an attribute that says whether a name is encoded.
    let (_, after) = after.split_once('>')?;
    let (key, _) = after.split_once("</")?;
    Some(unescaped(key))
}

/// Decodes XML text.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('&');
    let mut meant = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(';').and_then(|(name, after)| Some((symbol(name)?, after))) {
            Some((symbol, after)) => {
                meant.push(symbol);
                meant.push_str(after);
            }
            None => {
                meant.push('&');
                meant.push_str(part);
            }
        }
    }
    Cow::Owned(meant)
}

/// The character of an XML entity.
fn symbol(entity: &str) -> Option<char> {
    let number = |digits, base| u32::from_str_radix(digits, base).ok().and_then(char::from_u32);
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match entity.strip_prefix("#x") {
            Some(digits) => number(digits, 16),
            None => number(entity.strip_prefix('#')?, 10),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entry: &str, key: &str, keys: &[&str]) -> String {
        let entries = keys.iter().map(|name| format!("<{entry}><{key}>{name}</{key}><Size>1</Size></{entry}>"));
        format!("<?xml version=\"1.0\"?><List><Prefix>notes/..</Prefix>{}<Next/></List>", entries.collect::<String>())
    }

    #[test]
    fn entries_with_unreadable_keys_are_left_out() {
        let bad =
            ["notes/..", "notes/./a.json", "notes//a", "/notes/a", "notes/a.json/", "notes/a&#xA;b", "a&#x7f;", "/"];
        for (entry, key) in ENTRIES {
            let good = ["notes/a.json", "notes/a &amp; b", "notes/..a", "&lt;Key&gt;", "a&b", "notes/&#246;"];
            let all: Vec<&str> = bad.iter().chain(&good).chain(&bad).copied().collect();
            let kept = readable(list(entry, key, &all).into_bytes());
            assert_eq!(String::from_utf8(kept).unwrap(), list(entry, key, &good));
        }
    }

    #[test]
    fn other_texts_stay_unchanged() {
        for text in ["", "no XML", "<Contents><Key>..</Key>", "<Contents></Contents>", "<Key>..</Key>", "<Blob><Name"] {
            assert_eq!(readable(text.into()), text.as_bytes());
        }
        assert_eq!(readable(vec![0xff, b'<']), [0xff, b'<']);
    }
}
