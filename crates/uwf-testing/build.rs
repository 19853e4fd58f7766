//! Builds nothing. Without it, cargo ignores the build dependencies, which are here for their features only.

fn main() {}
