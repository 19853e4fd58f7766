//! Length and seed of a test campaign, from the environment.

/// Variable that requests the complete campaign if it is not empty.
const LONG: &str = "UWF_LONG";

/// Variable with another seed: any number.
pub const SEED: &str = "UWF_SEED";

/// Whether to run the complete campaign.
pub fn is_long() -> bool {
    std::env::var_os(LONG).is_some_and(|long| !long.is_empty())
}

/// The requested seed.
///
/// # Panics
/// If it is not a number.
pub fn asked_seed() -> Option<u64> {
    std::env::var(SEED).ok().map(|seed| seed.parse().expect("UWF_SEED is a number"))
}
