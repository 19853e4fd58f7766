//! A crate of its own because it fences a heavy dependency: nobody who keeps nodes and heads in files pays for
//! clients of buckets.
//!
#![doc = include_str!("../README.md")]

mod address;
mod bucket;
mod client;
mod damaged;
mod environment;
mod failure;
mod format;
mod heads;
mod journal;
mod key_servers;
mod leases;
mod listing;
mod name;
mod notes;
mod objects;
mod parallel;
mod past;
mod provider;
mod requests;
mod seen;
mod store;
mod tag;
mod token;
mod transport;
mod wait;

pub use requests::Requests;
pub use store::S3Store;
