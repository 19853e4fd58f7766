//! A target of libFuzzer is a subject of the tests, fed for as long as one likes.

#[doc(hidden)]
pub use libfuzzer_sys;
use std::path::PathBuf;
use uwf_testing::Subject;

/// Variable that names the directory of a target's corpus. The samples of the subject are written there before the fuzzer
/// reads it, and its words beside it as the dictionary `DIR.dict`.
const CORPUS: &str = "UWF_FUZZ_CORPUS";

/// Makes the beginning of a corpus, when one is asked for.
pub fn prepare(subject: &Subject) {
    if let Some(dir) = std::env::var_os(CORPUS) {
        subject.write_corpus(&PathBuf::from(dir));
    }
}

/// The target of the `SUBJECT` of a module.
#[macro_export]
macro_rules! target {
    ($subject:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(
            init: $crate::prepare(&$subject::SUBJECT),
            |bytes: &[u8]| ($subject::SUBJECT.check)(bytes)
        );
    };
}
