//! The benchmark of uwf: whole processes with durable writes on, compared with a fixed floor and with git in
//! the same rounds. It is a crate of its own so that nothing of it gets into the product.
//!
//! Start reading at [`rows`]: each of its modules takes one group of figures.

pub mod error;
pub mod git;
pub mod long;
pub mod machine;
pub mod measure;
pub mod place;
pub mod programs;
pub mod report;
pub mod requests;
pub mod row;
pub mod rows;
pub mod seed;
pub mod sizes;

pub use error::{Error, Result};
