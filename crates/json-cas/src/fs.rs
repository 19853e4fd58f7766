//! Objects and heads in local files.

mod heads;
mod index;
mod journal;
mod objects;
mod packing;
mod rebuild;
mod yaml;

pub use heads::{FsHeads, HeadsFiles};
pub use objects::FsObjects;
pub use packing::{ForgottenPack, PackRequest, PackRunOutcome, UnpackRunOutcome};
pub use rebuild::{FsHeadsLock, SalvagedIndex};
