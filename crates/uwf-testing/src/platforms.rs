//! Runs a test once more with processes of uwf that use only what POSIX promises.

use std::cell::Cell;

/// The variable by which a process of uwf chooses its platform.
pub(crate) const VARIABLE: &str = uwf_platform::PLATFORM_VARIABLE;

thread_local! {
    static CHOSEN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The platform of new homes of this thread; `None` for the real one.
pub(crate) fn chosen() -> Option<&'static str> {
    CHOSEN.get()
}

/// Runs a test. Homes that it makes are for plain POSIX.
pub fn as_posix<T>(test: impl FnOnce() -> T) -> T {
    CHOSEN.set(Some(uwf_platform::POSIX));
    let done = test();
    CHOSEN.set(None);
    done
}

/// Runs tests of this module a second time, in a module `posix`, with processes of uwf that use only what POSIX promises.
#[macro_export]
macro_rules! also_as_posix {
    ($($test:ident),+ $(,)?) => {
        mod posix {
            $(
                #[test]
                fn $test() {
                    $crate::platforms::as_posix(super::$test)
                }
            )+
        }
    };
}
