//! Agents made with the kit, as real processes of real threads.

mod any_bytes;
mod json_rpc;
mod mcp;
mod word_count;
