//! What an agent's process prints, read while it prints it. Its files are kept as they are until the attempt is over, so what is
//! shown of them is redacted here.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use durable_files::regular;

use crate::attempt::redactor::Redactor;

/// Bytes that are read at a time.
const AT_ONCE: u64 = 64 << 10;

/// What a file has after a position, without secrets; the position moves on. What could be the beginning of a secret is left for
/// the next time, unless the attempt is over. `None` if there is nothing new, or if the file cannot be read just now.
pub(crate) fn new_text(path: &Path, from: &mut u64, is_over: bool, redactor: &Redactor) -> Option<String> {
    let mut file = regular::open(path).ok()?;
    file.seek(SeekFrom::Start(*from)).ok()?;
    let mut bytes = Vec::new();
    file.take(AT_ONCE).read_to_end(&mut bytes).ok()?;
    let is_all = is_over && (bytes.len() as u64) < AT_ONCE;
    // A symbol has four bytes at most; what is not text at all is not waited for.
    let whole = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    bytes.truncate(whole);
    if !is_all {
        bytes.truncate(redactor.settled(&bytes));
    }
    *from += bytes.len() as u64;
    (!bytes.is_empty()).then(|| redactor.text(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let named = secrets.iter().enumerate().map(|(number, value)| (format!("KEY_{number}"), (*value).to_owned()));
        Redactor::knowing([], &named.collect::<Vec<_>>(), &[])
    }

    #[test]
    fn a_text_is_read_as_it_grows_and_no_symbol_is_torn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw");
        let mut from = 0;
        let none = Redactor::default();
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
    fn a_secret_is_never_shown_however_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw");
        // One ends as it begins, one begins as another does.
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
