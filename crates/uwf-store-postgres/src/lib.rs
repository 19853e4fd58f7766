//! A crate of its own because only who shares a store between machines needs a client of PostgreSQL.
//!
#![doc = include_str!("../README.md")]

mod address;
mod fault;
mod gate;
mod heads;
mod hosts;
mod migrations;
mod nodes;
mod notes;
mod password;
mod persist;
mod pool;
mod session;
mod store;
mod tls;
mod verifier;

pub use store::PostgresStore;
