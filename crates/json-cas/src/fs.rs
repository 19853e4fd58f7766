//! Objects and heads in local files.

mod heads;
mod index;
mod journal;
mod objects;
mod rebuild;
mod yaml;

pub use heads::{FsHeads, HeadsFiles};
pub use objects::FsObjects;
pub use rebuild::{Held, Salvaged};
