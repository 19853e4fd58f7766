//! What an agent may write to the MCP server. The checks are those that libFuzzer runs too (`fuzz/`).

mod mcp;

#[test]
fn mcp() {
    mcp::SUBJECT.feed(1_500);
}
