//! Output of a command, within a size limit.

use std::collections::VecDeque;

/// The beginning and the end of a stream of bytes, never more than the cap.
#[derive(Debug)]
pub(crate) struct CappedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: usize,
}

impl CappedOutput {
    /// Keeps at most `cap` bytes.
    pub(crate) fn new(cap: usize) -> CappedOutput {
        CappedOutput { head: Vec::new(), tail: VecDeque::new(), half: cap / 2, total: 0 }
    }

    /// Adds the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let room = self.half - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The whole output, or its beginning and end with the number of bytes missing between. Invalid UTF-8 is shown as `�`.
    pub(crate) fn text(&self) -> String {
        let (a, b) = self.tail.as_slices();
        let tail = [a, b].concat();
        let cut = self.total - self.head.len() - tail.len();
        if cut == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {cut} bytes cut …]\n{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_however_it_comes() {
        for size in [1, 2, 3, 7, 100] {
            let mut kept = CappedOutput::new(8);
            for chunk in b"abcdefghijklmnop".chunks(size) {
                kept.push(chunk);
            }
            assert_eq!(kept.text(), "abcd\n[… 8 bytes cut …]\nmnop", "{size}");
        }
        let mut kept = CappedOutput::new(8);
        kept.push(b"abcdefgh");
        assert_eq!(kept.text(), "abcdefgh");
    }
}
