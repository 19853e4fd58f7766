//! Feeds parsers of external bytes with malformed input.
//!
//! A [`FuzzTarget`] is a property that must hold for every input. Two things feed it. A test of its own crate feeds it a fixed number of
//! damaged samples, the same every time ([`FuzzTarget::feed`]). libFuzzer feeds it for any length of time (`fuzz/`).

use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use tempfile::TempDir;

use crate::campaign::{SEED, asked_seed, is_long};

/// Factor of inputs in a long run.
const LONG_FACTOR: usize = 50;

/// Default seed: a test is the same every time.
const DEFAULT_SEED: u64 = 20_261_122;

/// Most changes of a sample at once. One change finds missing checks; many find forgotten combinations.
const MAX_CHANGES: usize = 6;

/// Largest size of an input in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Most repetitions of a piece.
const MAX_REPEATS: usize = 300;

/// CPU time for one input, which does not depend on the load of the machine. It is a thousand times what the slowest input takes, and
/// detects endless loops.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Most prefixes tried of a sample.
const MAX_BEGINNINGS: usize = 100;

/// Peak memory of the process, in KiB. Inputs are small, so the results must be small as well.
const MEMORY_LIMIT_KIB: u64 = 1 << 20;

/// A parser, and the property that must hold for every input.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Its name.
    pub name: &'static str,
    /// Small valid inputs.
    pub samples: &'static [&'static [u8]],
    /// Pieces with a meaning in such inputs.
    pub words: &'static [&'static str],
    /// Parses, and panics if the property does not hold.
    pub check: fn(&[u8]),
}

impl FuzzTarget {
    /// Checks every sample, prefixes of each, and `inputs` randomly changed samples: the same ones every time, others with `UWF_SEED`, and
    /// fifty times as many with `UWF_LONG`. Prints their number.
    ///
    /// # Panics
    /// If the property does not hold, with the input. Also if an input takes far too much time or memory.
    pub fn feed(&self, inputs: usize) {
        let beginnings = self.samples.iter().flat_map(|sample| {
            let step = sample.len().div_ceil(MAX_BEGINNINGS).max(1);
            (0..sample.len()).step_by(step).chain([sample.len()]).map(|end| sample[..end].to_vec())
        });
        self.check_all(beginnings.chain(self.changed_inputs(inputs)));
    }

    /// [`FuzzTarget::feed`] without the prefixes, for a check that starts a process.
    ///
    /// # Panics
    /// As [`FuzzTarget::feed`].
    pub fn feed_changed(&self, inputs: usize) {
        self.check_all(self.changed_inputs(inputs));
    }

    /// The inputs of [`FuzzTarget::feed_changed`], for a caller that feeds them another way.
    ///
    /// # Panics
    /// If `UWF_SEED` is not a number.
    pub fn changed_inputs(&self, inputs: usize) -> impl ExactSizeIterator<Item = Vec<u8>> + use<> {
        let count = if is_long() { inputs * LONG_FACTOR } else { inputs };
        let mut random = Rng::with_seed(seed());
        let subject = *self;
        (0..count).map(move |_| subject.changed(&mut random))
    }

    fn check_all(&self, inputs: impl Iterator<Item = Vec<u8>>) {
        let mut slowest = Duration::ZERO;
        let mut count = 0;
        for input in inputs {
            slowest = slowest.max(self.one(&input));
            count += 1;
        }
        self.print_progress(&format!("{count} inputs, {SEED}={}, the slowest took {} ms", seed(), slowest.as_millis()));
        if let Some(peak) = peak_memory_kib() {
            assert!(peak < MEMORY_LIMIT_KIB, "{}: {peak} KiB of memory were used", self.name);
        }
    }

    /// Writes the samples as files of `dir`, and the words as the dictionary `dir.dict`, in libFuzzer's formats.
    ///
    /// # Panics
    /// If writing fails.
    pub fn write_corpus(&self, dir: &Path) {
        std::fs::create_dir_all(dir).expect("the directory of a corpus can be made");
        for (number, sample) in self.samples.iter().enumerate() {
            std::fs::write(dir.join(format!("sample-{number}")), sample).expect("a sample can be written");
        }
        let escaped = |word: &&str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        let lines: String = self.words.iter().map(|word| format!("\"{}\"\n", escaped(word))).collect();
        std::fs::write(dir.with_extension("dict"), lines).expect("a dictionary can be written");
    }

    /// Checks one input, and returns its CPU time.
    fn one(&self, input: &[u8]) -> Duration {
        let begun = processor_time();
        let checked = std::panic::catch_unwind(|| (self.check)(input));
        let took = processor_time().saturating_sub(begun);
        let shown = || format!("{} reading b\"{}\"", self.name, input.escape_ascii());
        // The panic itself has reported what did not hold.
        assert!(checked.is_ok(), "{}", shown());
        assert!(took < TIME_LIMIT, "{took:?} for {}", shown());
        took
    }

    #[expect(clippy::print_stdout, reason = "a test says how much it has tried")]
    fn print_progress(&self, text: &str) {
        println!("{}: {text}", self.name);
    }

    /// A sample with a few changes.
    fn changed(&self, random: &mut Rng) -> Vec<u8> {
        let mut bytes = random.choice(self.samples).map_or_else(Vec::new, |sample| sample.to_vec());
        for _ in 0..random.usize(1..=MAX_CHANGES) {
            self.change(&mut bytes, random);
        }
        bytes.truncate(MAX_BYTES);
        bytes
    }

    fn change(&self, bytes: &mut Vec<u8>, random: &mut Rng) {
        let at = random.usize(0..=bytes.len());
        match random.u8(0..10) {
            0 => flip(bytes, random),
            1 => bytes.insert(
                at,
                *random.choice(b"\0\x01\x17\x18\x1b\x7f\x80\x9f\xbf\xff\"\\\n\r\t :{}[]-0'#&*").unwrap_or(&0),
            ),
            2 => drop(bytes.drain(piece(bytes, random))),
            3 => bytes.truncate(at),
            4 => {
                let copied = bytes[piece(bytes, random)].to_vec();
                bytes.splice(at..at, copied);
            }
            5 => {
                // Nesting, and long lists.
                let copied = bytes[piece(bytes, random)].to_vec();
                let room = MAX_BYTES.saturating_sub(bytes.len()) / copied.len().max(1);
                let times = random.usize(0..MAX_REPEATS).min(room);
                bytes.splice(at..at, copied.repeat(times));
            }
            6 => {
                let other = random.choice(self.samples).copied().unwrap_or_default();
                let taken = &other[piece(other, random)];
                bytes.splice(at..at, taken.iter().copied());
            }
            7 => {
                let word = random.choice(self.words).copied().unwrap_or_default();
                let replaced = piece(bytes, random);
                bytes.splice(replaced, word.bytes());
            }
            _ => {
                let word = random.choice(self.words).copied().unwrap_or_default();
                bytes.splice(at..at, word.bytes());
            }
        }
    }
}

fn seed() -> u64 {
    asked_seed().unwrap_or(DEFAULT_SEED)
}

fn flip(bytes: &mut [u8], random: &mut Rng) {
    if let Some(byte) = random.choice(bytes.iter_mut()) {
        *byte ^= 1 << random.u8(0..8);
    }
}

/// A random range of bytes, usually short.
fn piece(bytes: &[u8], random: &mut Rng) -> std::ops::Range<usize> {
    let start = random.usize(0..=bytes.len());
    let longest = if random.u8(0..4) == 0 { bytes.len() } else { 12 };
    start..bytes.len().min(start + random.usize(0..=longest))
}

/// A temporary directory, in memory if the system supports it: a campaign writes many files, and the disk is not under test.
///
/// # Panics
/// If it cannot be created.
pub fn dir_in_memory() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a temporary directory can be made")
}

/// CPU time of this thread; zero if the system does not report it.
fn processor_time() -> Duration {
    let schedule_stats = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedule_stats.and_then(|told| told.split(' ').next()?.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Peak memory of this process, if the system reports it.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    static SEEN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

    #[test]
    fn inputs_are_reproducible_and_diverse() {
        let check = |bytes: &[u8]| SEEN.lock().push(bytes.to_vec());
        let subject = FuzzTarget { name: "seen", samples: &[b"ab: {c}", b"[]"], words: &["word"], check };
        subject.feed(2000);
        let first = std::mem::take(&mut *SEEN.lock());
        subject.feed(2000);
        let second = std::mem::take(&mut *SEEN.lock());
        assert_eq!(first, second);
        assert_eq!(first[..4], [&b""[..], b"a", b"ab", b"ab:"], "every beginning");
        let different: std::collections::HashSet<_> = first.iter().collect();
        assert!(different.len() > 1000 && first.iter().any(|input| input.len() > 1000), "{}", different.len());
    }

    #[test]
    fn failing_check_reports_its_input() {
        let check = |bytes: &[u8]| assert!(!bytes.contains(&b'd'), "a d");
        let subject = FuzzTarget { name: "no d", samples: &[b"a\"", b"ad"], words: &[], check };
        let panic = std::panic::catch_unwind(|| subject.feed(0)).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().unwrap(), "no d reading b\"ad\"");
    }

    #[test]
    fn a_corpus_is_files_and_a_dictionary() {
        let dir = tempfile::tempdir().unwrap();
        let subject = FuzzTarget { name: "s", samples: &[b"one", b"\xff"], words: &["a\"", "é"], check: |_| () };
        subject.write_corpus(&dir.path().join("s"));
        assert_eq!(std::fs::read(dir.path().join("s/sample-1")).unwrap(), b"\xff");
        let dictionary = std::fs::read_to_string(dir.path().join("s.dict")).unwrap();
        assert_eq!(dictionary, "\"\\x61\\x22\"\n\"\\xc3\\xa9\"\n");
    }
}
