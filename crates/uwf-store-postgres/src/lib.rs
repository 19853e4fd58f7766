//! This is a separate crate because only machines that share a store need a PostgreSQL client.
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
