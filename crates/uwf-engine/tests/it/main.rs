//! Tests of the public face of the crate, one binary. Those of whole commands are with the command.

mod any_bytes;
