//! Checking schemas, and telling what does not fit them.

use std::time::{Duration, Instant};

use json_cas::schema::{MAX_SCHEMA_DEPTH, Schema, Severity, check, is_remote_ref};
use json_cas::{Hash, Violation};
use serde_json::{Map, Value, json};

fn told(schema: Value, payload: Value) -> Vec<String> {
    let schema = Schema::compile(&schema).unwrap();
    let violations = schema.violations(&payload);
    assert_eq!(violations.is_empty(), schema.is_valid(&payload));
    violations.iter().map(Violation::to_string).collect()
}

fn problems(schema: Value) -> Vec<String> {
    check(&schema)
        .into_iter()
        .map(|problem| match problem.severity {
            Severity::Error => format!("error {problem}"),
            Severity::Warning => format!("warning {problem}"),
        })
        .collect()
}

#[test]
fn p() {
    for (s, v) in [
        (json!({"type":"object","properties":{"steps":{"type":"array","items":{"type":"string"}},"status":{"enum":["done","failed"]},"plan":{"type":"string","format":"cas_ref"}},"required":["steps","status","plan"],"additionalProperties":false}), json!({"status":"Done","plann":3})),
        (json!({"anyOf":[{"type":"string"},{"type":"null"}]}), json!(5)),
        (json!({"properties":{"a":{"anyOf":[{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]},{"type":"null"}]}}}), json!({"a":{"b":"x"}})),
        (json!({"properties":{"a":{"anyOf":[{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]},{"type":"null"}]}}}), json!({"a":{}})),
        (json!({"properties":{"a":{"anyOf":[{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]},{"type":"null"}]}}}), json!({"a":3})),
        (json!({"anyOf":[{"type":"string"},{"type":"integer"}]}), json!(true)),
        (json!({"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},"b":{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"string"}},"required":["kind","y"]}}}), json!({"kind":"b"})),
        (json!({"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},"b":{"type":"object","properties":{"y":{"type":"string"}},"required":["y"]}}}), json!({})),
        (json!({"oneOf":[{"type":"integer"},{"minimum":2}]}), json!(3)),
        (json!({"type":["string","null"]}), json!(3)),
        (json!({"not":{"type":"string"}}), json!("x")),
        (json!({"$ref":"#/$defs/p","$defs":{"p":{"type":"object","required":["q"],"properties":{"q":{"$ref":"#/$defs/p"}}}}}), json!({"q":{"q":{}}})),
        (json!({"propertyNames":{"pattern":"^[a-z]+$"}}), json!({"A":1})),
        (json!({"items":{"minLength":1,"format":"date"}}), json!(["", "x"])),
        (json!({"unevaluatedProperties":false,"properties":{"a":true}}), json!({"b":1})),
        (json!({"contains":{"const":1}}), json!([2])),
        (json!({"if":{"required":["a"]},"then":{"required":["b"]}}), json!({"a":1})),
        (json!({"dependentRequired":{"a":["b"]}}), json!({"a":1})),
        (json!({"minimum":3,"multipleOf":2}), json!(1)),
        (json!(false), json!(1)),
        (json!({"prefixItems":[{"type":"string"}],"items":false}), json!(["a",1])),
    ] {
        println!("{s}\n   {v}\n   => {:#?}", told(s.clone(), v));
    }
    for s in [
        json!({"type":"strng"}),
        json!({"propertees":{},"required":"a"}),
        json!({"properties":{"a":{"type":"string","format":"cas-ref","name":"x"}},"x-mine":1}),
        json!({"properties":[]}),
        json!({"items":[{"type":"string"}]}),
        json!({"$ref":"https://example.org/x"}),
        json!({"$ref":"#/$defs/nope"}),
        json!({"$ref":"other.json#/a"}),
        json!({"pattern":"(?=x)"}),
        json!({"patternProperties":{"(":{}}}),
        json!({"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}),
        json!({"$schema":"http://example.org/schema"}),
        json!({"minimum":"3", "enum":[], "required":["a","a"],"multipleOf":0,"minLength":-1,"type":["string","string"],"const":1}),
        json!({"anyOf":[]}),
        json!({"properties":{"a":3}}),
        json!(3),
        json!({"$ref":"https://json-schema.org/draft/2020-12/schema"}),
        json!({"$id":"https://example.org/a","$ref":"https://example.org/a#/$defs/x","$defs":{"x":{}}}),
        json!({"format":"foo","title":3}),
    ] {
        println!("{s}\n   => {:#?}", problems(s.clone()));
    }
}
