//! Reads an agent's output while the agent prints it. The output files stay unredacted until the attempt is over, so
//! this module redacts what is shown.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use durable_files::regular;

use crate::attempt::redactor::SecretRedactor;

/// Bytes read at a time.
const AT_ONCE: u64 = 64 << 10;

/// The redacted text of a file after a position; advances the position. Until the attempt is over, leaves a possible
/// beginning of a secret for the next call. `None` if there is nothing new, or if the file cannot be read now.
pub(crate) fn new_text(path: &Path, from: &mut u64, is_over: bool, redactor: &SecretRedactor) -> Option<String> {
    let mut file = regular::open(path).ok()?;
    file.seek(SeekFrom::Start(*from)).ok()?;
    let mut bytes = Vec::new();
    file.take(AT_ONCE).read_to_end(&mut bytes).ok()?;
    let is_all = is_over && (bytes.len() as u64) < AT_ONCE;
    // Wait for the rest of a UTF-8 character (at most four bytes), but not after bytes that are not UTF-8.
    let whole = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    bytes.truncate(whole);
    if !is_all {
        let is_full = bytes.len() as u64 + 4 > AT_ONCE;
        let settled = redactor.settled(&bytes);
        // Don't wait for an escape sequence that is longer than this.
        let shown = if is_full && settled == 0 { bytes.len() } else { settled };
        bytes.truncate(shown);
    }
    *from += bytes.len() as u64;
    (!bytes.is_empty()).then(|| redactor.text(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use uwf_core::escapes::without_escapes;

    use super::*;

    /// Two secrets; the second begins as the first ends.
    const SECRETS: [&str; 2] = ["sk-0123456789", "789-ab\n\tcd9"];

    /// Invisible characters, and sequences that hide characters around them.
    fn unseen() -> impl Strategy<Value = String> {
        let whole = [
            "",
            "\0",
            "\u{7f}",
            "\u{85}",
            "\u{feff}",
            "\u{200b}",
            "\u{200d}",
            "\u{ad}",
            "\u{2028}",
            "\u{202e}",
            "\u{e0041}",
            "\u{fe0f}",
            "\u{1b}",
            "\u{1b}[0m",
            "\u{1b}[01;31m\u{1b}[K",
            "\u{1b}]0;title\u{7}",
            "\u{1b}]8;;x:y\u{1b}\\",
            "\u{9b}31m",
            "\u{9d}0;x\u{9c}",
            "\u{1b}(B",
            "\u{1b}7",
            "\u{90}q\u{9c}",
            "\u{1b}\u{1b}[0m[0m",
            "\u{9b}\u{1b}[0m1m",
            // Encoded as in JSON and URLs.
            "\\u001b[31m",
            "\\u0000",
            "%00",
            "%1b[0m",
            // Incomplete sequences.
            "\u{1b}[",
            "\u{1b}[1;",
            "\u{1b}]",
            "\u{1b}P",
            "\u{9b}",
            "\u{9d}",
            "\u{7}",
            "\u{9c}",
            "\u{1b}\\",
            "\r",
        ];
        let whole = select(whole.map(str::to_owned).to_vec());
        let controls = ('\0'..='\u{9f}').filter(|symbol| symbol.is_control()).map(String::from).collect::<Vec<_>>();
        prop_oneof![4 => whole, 1 => select(controls)]
    }

    /// A secret or part of one, with such characters inside.
    fn hidden() -> impl Strategy<Value = String> {
        let parts = proptest::collection::vec((unseen(), 0..14_usize), 0..4);
        (select(SECRETS.to_vec()), parts, 0..20_usize).prop_map(|(secret, parts, length)| {
            let mut text: Vec<String> = secret.chars().take(length.max(3)).map(String::from).collect();
            for (unseen, at) in parts {
                let at = at.min(text.len());
                text.insert(at, unseen);
            }
            text.concat()
        })
    }

    fn words() -> impl Strategy<Value = String> {
        let words = [
            "é",
            "\n",
            "\r\n",
            "word ",
            "sk",
            "-",
            "\u{1f468}\u{200d}\u{1f469}",
            "%2",
            "%41",
            "\\u00",
            "\\n",
            "[31m",
            "aGk=",
            "🎉",
        ];
        prop_oneof![3 => select(words.map(str::to_owned).to_vec()), 1 => unseen()]
    }

    /// Ways in which a text may be shown after cleaning.
    fn shown(text: &str) -> Vec<String> {
        let once = without_escapes(text).into_owned();
        let twice = without_escapes(&once).into_owned();
        let is_seen = |symbol: &char| {
            let is_invisible = matches!(
                symbol,
                '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}' | '\u{fe0f}' | '\u{e0000}'..='\u{e007f}'
            );
            matches!(symbol, '\n' | '\t') || !symbol.is_control() && !is_invisible
        };
        let seen = |text: &String| text.replace("\r\n", "\n").chars().filter(is_seen).collect::<String>();
        let texts = [text.to_owned(), once, twice];
        texts.iter().map(seen).chain(texts.clone()).collect()
    }

    fn tells_none(text: &str) {
        for (secret, shown) in
            SECRETS.iter().flat_map(|secret| shown(text).into_iter().map(move |shown| (secret, shown)))
        {
            assert!(!shown.contains(secret), "{shown:?} of {text:?}");
        }
    }

    /// The output shown for a text that grows to these lengths in turn.
    fn shown_live(text: &str, ends: &[proptest::sample::Index]) -> String {
        let (dir, redactor) = (tempfile::tempdir().unwrap(), redactor(&SECRETS));
        let path = dir.path().join("raw");
        let mut ends: Vec<usize> = ends.iter().map(|end| end.index(text.len() + 1)).collect();
        ends.sort_unstable();
        let (mut from, mut told) = (0, String::new());
        for end in ends {
            std::fs::write(&path, &text.as_bytes()[..end]).unwrap();
            told.extend(new_text(&path, &mut from, false, &redactor));
        }
        std::fs::write(&path, text).unwrap();
        told.extend(new_text(&path, &mut from, true, &redactor));
        assert_eq!(from, text.len() as u64);
        told
    }

    proptest! {
        #[test]
        fn secret_with_hidden_symbols_is_never_shown(
            parts in proptest::collection::vec(prop_oneof![hidden(), words()], 1..6),
            ends in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let text = parts.concat();
            tells_none(&redactor(&SECRETS).text(&text));
            tells_none(&shown_live(&text, &ends));
        }

        #[test]
        fn text_without_secret_is_unchanged(
            parts in proptest::collection::vec(prop_oneof![hidden(), words()], 0..8),
            ends in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            // Both secrets end with a digit that the text lacks.
            let text = parts.concat().replace('9', "");
            prop_assert_eq!(redactor(&SECRETS).text(&text), text.clone());
            prop_assert_eq!(shown_live(&text, &ends), text);
        }
    }

    fn redactor(secrets: &[&str]) -> SecretRedactor {
        let named = secrets.iter().enumerate().map(|(number, value)| (format!("KEY_{number}"), (*value).to_owned()));
        SecretRedactor::knowing([], &named.collect::<Vec<_>>(), &[])
    }

    #[test]
    fn growing_text_is_read_without_splitting_characters() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw");
        let mut from = 0;
        let none = SecretRedactor::default();
        assert_eq!(new_text(&path, &mut from, false, &none), None);
        let text = "größer";
        for length in 0..=text.len() {
            std::fs::write(&path, &text.as_bytes()[..length]).unwrap();
            let _ = new_text(&path, &mut from, false, &none);
            assert!(text.is_char_boundary(usize::try_from(from).unwrap()), "at {length}");
        }
        assert_eq!(from, text.len() as u64);
        std::fs::write(&path, [text.as_bytes(), b"\xff!"].concat()).unwrap();
        let told = new_text(&path, &mut from, false, &none);
        assert_eq!(told.as_deref(), Some("\u{fffd}!"), "what is no text does not stop it");
    }

    #[test]
    fn secret_is_never_shown_at_any_write_pace() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw");
        // One secret ends as it begins, and one is the beginning of another.
        let redactor = redactor(&["sk-0123456789", "abcdefga", "abcdefga-and-more"]);
        let text = "a sk-0123456789 b abcdefga c abcdefga-and-more sk-0123 abcdefgabcdefga sk-";
        for pace in 1..=text.len() {
            let (mut from, mut told) = (0, Vec::new());
            for end in (0..=text.len()).step_by(pace).chain([text.len()]) {
                std::fs::write(&path, &text[..end]).unwrap();
                told.extend(new_text(&path, &mut from, false, &redactor));
            }
            told.extend(new_text(&path, &mut from, true, &redactor));
            assert_eq!(told.concat(), redactor.text(text), "{pace} bytes at a time: {told:?}");
            assert_eq!(from, text.len() as u64);
        }
    }

    #[test]
    fn unterminated_sequence_does_not_block_later_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw");
        let text = format!("\u{1b}]0;{}", "x".repeat(usize::try_from(2 * AT_ONCE).unwrap()));
        std::fs::write(&path, &text).unwrap();
        let (mut from, redactor) = (0, redactor(&["sk-0123456789"]));
        let told: Vec<String> = std::iter::from_fn(|| new_text(&path, &mut from, true, &redactor)).collect();
        assert_eq!(told.concat(), text);
    }

    #[test]
    fn a_secret_between_two_reads_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw");
        let redactor = redactor(&["sk-0123456789"]);
        let before = "x".repeat(usize::try_from(AT_ONCE).unwrap() - 5);
        std::fs::write(&path, format!("{before}sk-0123456789!")).unwrap();
        let mut from = 0;
        assert_eq!(new_text(&path, &mut from, true, &redactor), Some(before));
        assert_eq!(new_text(&path, &mut from, true, &redactor).as_deref(), Some("[redacted KEY_0]!"));
        assert_eq!(new_text(&path, &mut from, true, &redactor), None);
    }
}
