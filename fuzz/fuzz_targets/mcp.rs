#![no_main]

#[path = "../../crates/agent-kit/tests/it/any_bytes/mcp.rs"]
mod mcp;

uwf_fuzz::target!(mcp);
