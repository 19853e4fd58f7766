//! Arguments and environment of a process, as `KERN_PROCARGS2` of macOS has them.

/// The command line and the environment, a word each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessWords {
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) environment: Vec<Vec<u8>>,
}

impl ProcessWords {
    /// Reads a buffer of `KERN_PROCARGS2`: the number of arguments, the path of the program, zeros, the arguments, the environment. The
    /// environment of a protected program is missing.
    #[cfg_attr(not(any(target_os = "macos", test)), expect(dead_code, reason = "only macOS has such buffers"))]
    pub(crate) fn of_buffer(buffer: &[u8]) -> ProcessWords {
        let Some((count, rest)) = buffer.split_first_chunk() else { return ProcessWords::default() };
        let count = usize::try_from(i32::from_ne_bytes(*count)).unwrap_or_default();
        let end_of_path = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let rest = &rest[end_of_path..];
        let begin = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
        let mut words = rest[begin..].split(|byte| *byte == 0).map(<[u8]>::to_vec);
        let arguments = words.by_ref().take(count).collect();
        // An empty word follows the last variable.
        let environment = words.take_while(|word| !word.is_empty()).collect();
        ProcessWords { arguments, environment }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(count: i32, rest: &[u8]) -> Vec<u8> {
        [&count.to_ne_bytes()[..], rest].concat()
    }

    #[test]
    fn words_of_a_process_are_read() {
        let read = |count, rest: &[u8]| ProcessWords::of_buffer(&buffer(count, rest));
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let whole = read(3, b"/bin/sh\0\0\0\0sh\0-c\0\0A=1\0B=\0\0ignored");
        assert_eq!((whole.arguments, whole.environment), (words(&["sh", "-c", ""]), words(&["A=1", "B="])));
        let protected = read(2, b"/bin/sleep\0\0sleep\x0060\0");
        assert_eq!((protected.arguments, protected.environment), (words(&["sleep", "60"]), words(&[])));
        for short in [&b""[..], b"\x01", b"\x01\0\0\0", b"\xff\xff\xff\xff/bin/sh\0"] {
            assert_eq!(ProcessWords::of_buffer(short).environment, words(&[]));
        }
    }
}
