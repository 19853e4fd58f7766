//! Output of any size in bounded memory: its beginning and its end.

use std::collections::VecDeque;

/// What is kept of an output: all of it, or its beginning and its end.
pub(super) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<Vec<u8>>,
    tail_bytes: usize,
    cut: usize,
}

impl Kept {
    /// Keeps at most `cap` bytes, and one piece more.
    pub(super) fn new(cap: usize) -> Kept {
        Kept { half: cap / 2, head: Vec::new(), tail: VecDeque::new(), tail_bytes: 0, cut: 0 }
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, piece: Vec<u8>) {
        if self.tail.is_empty() && self.head.len() + piece.len() <= self.half {
            self.head.extend_from_slice(&piece);
            return;
        }
        self.tail_bytes += piece.len();
        self.tail.push_back(piece);
        while self.tail_bytes > self.half && self.tail.len() > 1 {
            let oldest = self.tail.pop_front().map_or(0, |piece| piece.len());
            self.tail_bytes -= oldest;
            self.cut += oldest;
        }
    }

    /// What was kept, with a line that says what was cut. Bytes that are no UTF-8 are shown as `�`.
    pub(super) fn text(self) -> String {
        let mut bytes = self.head;
        if self.cut > 0 {
            bytes.extend_from_slice(format!("\n[… {} bytes cut …]\n", self.cut).as_bytes());
        }
        self.tail.iter().for_each(|piece| bytes.extend_from_slice(piece));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_and_the_cut_is_said() {
        let mut kept = Kept::new(8);
        for piece in ["ab", "cd", "ef", "gh", "ij", "kl"] {
            kept.push(piece.as_bytes().to_vec());
        }
        assert_eq!(kept.text(), "abcd\n[… 4 bytes cut …]\nijkl");
        let mut all = Kept::new(8);
        all.push(b"abcdefgh".to_vec());
        assert_eq!(all.text(), "abcdefgh");
    }
}
