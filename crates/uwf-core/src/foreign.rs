//! Schemas for the node types of other implementations, for stores that lack these schemas.

use json_cas::NodeHash;
use serde_json::{Value, json};

use crate::node::{FOREIGN_TYPES, NodeKind};

/// A replacement for the schema of a foreign type. It says which fields are references, and requires only the fields that readers need.
/// `None` for any other type.
pub fn known_schema(type_hash: NodeHash) -> Option<Value> {
    let (kind, _) = FOREIGN_TYPES.iter().find(|(_, hash)| *hash == type_hash)?;
    let reference = || json!({"type": "string", "format": "cas_ref"});
    let references = || json!({"type": "array", "items": {"type": "string", "format": "cas_ref"}});
    let schema = match kind {
        NodeKind::Workflow => {
            let role = json!({"type": "object", "properties": {"meta": reference(), "outputSchema": reference(), "schema": reference()}});
            object(json!({"roles": {"type": "object", "additionalProperties": role}}), &["name", "roles", "graph"])
        }
        NodeKind::StartNode => {
            object(json!({"workflow": reference(), "prompt": {"type": "string"}}), &["workflow", "prompt"])
        }
        NodeKind::StepNode => {
            let previous = json!({"anyOf": [reference(), {"type": "null"}]});
            let fields = json!({"start": reference(), "prev": previous, "output": reference(), "detail": reference()});
            object(fields, &["start", "prev", "role", "output", "detail", "agent"])
        }
        NodeKind::HermesDetail => object(json!({"turns": references(), "raw": reference()}), &[]),
        NodeKind::HermesTurn => object(json!({}), &[]),
        NodeKind::HermesRaw => json!({"type": ["string", "object"]}),
        // Other implementations don't write such nodes.
        NodeKind::ThreadEnd
        | NodeKind::Content
        | NodeKind::Agent
        | NodeKind::Attempt
        | NodeKind::ReactSession
        | NodeKind::ReactTurn
        | NodeKind::ReactToolCall => return None,
    };
    Some(titled(schema, kind.title()))
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn titled(mut schema: Value, title: &str) -> Value {
    schema["title"] = json!(title);
    schema
}

#[cfg(test)]
mod tests {
    use json_cas::CompiledSchema;

    use super::*;

    #[test]
    fn foreign_types_have_valid_schemas() {
        for (kind, hash) in FOREIGN_TYPES {
            let schema = known_schema(*hash).unwrap();
            assert_eq!(CompiledSchema::compile(&schema).unwrap().title(), Some(kind.title()));
        }
        assert_eq!(known_schema(crate::node::CONTENT), None);
    }

    #[test]
    fn references_are_found() {
        let step = json!({"start": "0000000000001", "prev": null, "role": "r", "output": "0000000000002", "detail": "0000000000003", "agent": "a"});
        let schema = CompiledSchema::compile(&known_schema(NodeHash::literal("9C2318PXN2HYE")).unwrap()).unwrap();
        let refs: Vec<String> = schema.refs(&step).iter().map(NodeHash::to_string).collect();
        assert_eq!(refs, ["0000000000001", "0000000000002", "0000000000003"]);
        let workflow = json!({"name": "w", "roles": {"r": {"outputSchema": "0000000000004"}}, "graph": {}});
        let schema = CompiledSchema::compile(&known_schema(NodeHash::literal("7K4MG7ZQ4JV1R")).unwrap()).unwrap();
        assert_eq!(schema.refs(&workflow), [NodeHash::literal("0000000000004")]);
    }
}
