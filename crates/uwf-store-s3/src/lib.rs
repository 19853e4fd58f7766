//! A crate of its own because it fences a heavy dependency: nobody who keeps nodes and heads in files pays for a client of S3.
//!
#![doc = include_str!("../README.md")]

mod address;
mod bucket;
mod credentials;
mod damaged;
mod failure;
mod format;
mod heads;
mod journal;
mod leases;
mod name;
mod notes;
mod objects;
mod parallel;
mod past;
mod profile;
mod requests;
mod seen;
mod store;
mod token;
mod transport;
mod wait;

pub use requests::Requests;
pub use store::S3Store;
