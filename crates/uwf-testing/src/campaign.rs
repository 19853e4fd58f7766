//! How much a campaign tries, and which sample: what every campaign asks the environment.

/// Variable that, set to anything but nothing, asks for all there is to try.
const LONG: &str = "UWF_LONG";

/// Variable that asks for another sample: any number.
pub const SEED: &str = "UWF_SEED";

/// Whether all is to be tried.
pub fn is_long() -> bool {
    std::env::var_os(LONG).is_some_and(|long| !long.is_empty())
}

/// The seed that is asked for.
///
/// # Panics
/// When it is no number.
pub fn asked_seed() -> Option<u64> {
    std::env::var(SEED).ok().map(|seed| seed.parse().expect("UWF_SEED is a number"))
}
