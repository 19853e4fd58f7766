//! Agents made with the kit, as real processes of real threads.

mod frames;
mod mcp;
mod word_count;
