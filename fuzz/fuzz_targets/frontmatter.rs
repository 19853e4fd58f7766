#![no_main]

#[path = "../../crates/uwf-core/tests/it/any_bytes/frontmatter.rs"]
mod frontmatter;

uwf_fuzz::target!(frontmatter);
