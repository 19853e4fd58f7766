//! This is a separate crate because it fences off a heavy dependency: builds that keep nodes and heads in files don't pay for bucket
//! clients.
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

pub use requests::RequestCounts;
pub use store::S3Store;
