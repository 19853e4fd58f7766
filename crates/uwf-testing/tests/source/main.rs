//! Statements about the source code as a whole: its modules, its files and what its crates make public.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod folder_sizes;
mod forgotten_files;
mod module_cycles;
mod modules;
mod named_tests;
mod names;
mod platform_door;
mod prose;
mod unused_public_items;
