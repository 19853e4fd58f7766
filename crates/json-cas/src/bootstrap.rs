//! The root of all types: the meta-schema, which types every schema node, including itself.

use serde_json::Value;

use crate::hash::NodeHash;
use crate::node::NodeDraft;

/// The payload. Each byte is part of the format: a change would change every hash.
const TEXT: &str = include_str!("../schemas/meta.json");

/// Hash of the meta-schema node, and so the type of every schema node that this crate writes. Other writers of the format have their own
/// meta-schemas: a node is a schema if its type is its own type.
pub const HASH: NodeHash = NodeHash::literal("111ZGV99GA4Z7");

/// The meta-schema node.
pub fn draft() -> NodeDraft {
    let payload: Value = yaml_tree::json_value(TEXT).expect("the pinned text is JSON");
    NodeDraft::self_typed(payload).expect("the pinned text is shallow")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_pinned_and_its_own_type() {
        let draft = draft();
        assert_eq!(draft.hash(), HASH);
        assert_eq!(draft.type_hash(), HASH);
    }
}
