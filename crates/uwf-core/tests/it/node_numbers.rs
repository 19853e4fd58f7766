//! Numbers in nodes: every node that fits its type is read, and every node that uwf writes says the same when it is read again.

use std::sync::OnceLock;

use json_cas::{NodeDraft, NodeHash, Store};
use proptest::prelude::*;
use proptest::sample::select;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uwf_core::node::{
    self, AgentNode, AttemptNode, ContentNode, ExtractedBy, OWN_TYPES, ReactSession, ReactToolCall, ReactTurn,
    ResumedSession, StartNode, StepNode, ThreadEnd, TokenCounts, TracedAttempt, TypedPayload,
};
use uwf_core::number::{MAX_MONEY, MAX_WHOLE};
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::Workflow;

const REFERENCE: &str = "0000000000001";

/// A store that has the types of all nodes.
fn store() -> Store {
    static STORE: OnceLock<Store> = OnceLock::new();
    let with_types = || {
        let store = Store::memory();
        store.put_all(&node::schema_drafts()).expect("the types are stored");
        store
    };
    STORE.get_or_init(with_types).clone()
}

/// The node that a payload becomes when it is read and written again.
fn rewritten<T: TypedPayload + DeserializeOwned>(payload: &Value) -> Result<NodeDraft, String> {
    T::deserialize(payload).map(|read| read.draft()).map_err(|error| error.to_string())
}

/// The same for a node of a type.
fn rewrite(type_hash: NodeHash, payload: &Value) -> Result<NodeDraft, String> {
    match type_hash {
        node::WORKFLOW | node::WORKFLOW_WITH_SETTINGS | node::WORKFLOW_EXTENDED | node::WORKFLOW_RESOLVING => {
            Workflow::from_payload(payload).map(|read| read.draft()).map_err(|error| error.to_string())
        }
        node::START_NODE | node::START_WITH_INPUT => rewritten::<StartNode>(payload),
        node::STEP_NODE => rewritten::<StepNode>(payload),
        node::THREAD_END | node::END_WITH_OUTCOME => rewritten::<ThreadEnd>(payload),
        node::CONTENT => rewritten::<ContentNode>(payload),
        node::AGENT => rewritten::<AgentNode>(payload),
        node::ATTEMPT => rewritten::<AttemptNode>(payload),
        node::TRACED_ATTEMPT => rewritten::<TracedAttempt>(payload),
        node::REACT_SESSION => rewritten::<ReactSession>(payload),
        node::RESUMED_SESSION => rewritten::<ResumedSession>(payload),
        node::SESSION_WITH_CACHE_WRITES => rewritten::<ReactSession>(payload),
        node::ATTEMPT_WITH_CACHE_WRITES => rewritten::<TracedAttempt>(payload),
        node::REACT_TURN => rewritten::<ReactTurn>(payload),
        node::REACT_TOOL_CALL => rewritten::<ReactToolCall>(payload),
        other => panic!("{other} is a node type without a reader here"),
    }
}

/// The content of a store after a put.
fn stored(store: &Store, draft: &NodeDraft) -> Value {
    let hash = store.put(draft).expect("it fits its type");
    store.get(hash).expect("it is there").payload
}

/// Numbers near the ends of what JSON, CBOR, doubles and integers hold.
fn number(schema: &Value) -> BoxedStrategy<Value> {
    let is_whole = schema["type"] == "integer" || schema["type"][0] == "integer";
    let least = schema["minimum"].as_f64().or(schema["exclusiveMinimum"].as_f64());
    let whole = [0, 1, MAX_WHOLE - 1, MAX_WHOLE, MAX_WHOLE + 1, 1 << 62, 1 << 63, u64::MAX].map(|number| json!(number));
    let far = [9e15, 1e19, 1e300, f64::MAX].map(|number| json!(number));
    let below = [json!(-1), json!(i64::MIN), json!(-1e300)];
    let parts = [json!(0.1), json!(0.5), json!(5e-324), json!(MAX_MONEY + 0.5)];
    let is_above = |number: &Value| match least {
        Some(least) if schema["exclusiveMinimum"].is_null() => number.as_f64() >= Some(least),
        Some(least) => number.as_f64() > Some(least),
        None => true,
    };
    let most = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
    let is_above = |number: &Value| is_above(number) && number.as_f64() <= Some(most);
    let all = whole.into_iter().chain(far).chain(below).chain(parts.into_iter().filter(|_| !is_whole));
    select(all.filter(is_above).collect::<Vec<_>>()).boxed()
}

/// Values that fit a schema of a node type.
fn value(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(one) = schema.get("const") {
        return Just(one.clone()).boxed();
    }
    if let Some(words) = schema["enum"].as_array() {
        return select(words.clone()).boxed();
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        return proptest::strategy::Union::new(forms.iter().map(value)).boxed();
    }
    if let Some(types) = schema["type"].as_array() {
        let of = |kind: &Value| {
            let mut one = schema.clone();
            one["type"] = kind.clone();
            value(&one)
        };
        return proptest::strategy::Union::new(types.iter().map(of)).boxed();
    }
    match schema["type"].as_str().expect("one type") {
        "null" => Just(Value::Null).boxed(),
        "string" if schema["format"] == "cas_ref" => Just(json!(REFERENCE)).boxed(),
        "string" => Just(json!("text")).boxed(),
        "integer" | "number" => number(schema),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "array" => proptest::collection::vec(value(&schema["items"]), 0..3).prop_map(Value::from).boxed(),
        "object" => object(schema),
        other => panic!("no values of type {other}"),
    }
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    let Some(properties) = schema["properties"].as_object() else {
        let inner = match &schema["additionalProperties"] {
            Value::Object(inner) => value(&Value::Object(inner.clone())),
            // Anything may be there.
            _ => number(&json!({})),
        };
        return proptest::collection::btree_map("[a-z]{1,3}", inner, 0..3).prop_map(|map| json!(map)).boxed();
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let least = schema["minProperties"].as_u64().unwrap_or(0) as usize;
    let fields: Vec<_> = properties
        .iter()
        .map(|(name, schema)| {
            let is_there = if required.contains(&json!(name)) { Just(true).boxed() } else { any::<bool>().boxed() };
            (Just(name.clone()), is_there, value(schema))
        })
        .collect();
    let kept = |fields: Vec<(String, bool, Value)>| {
        let kept = fields.into_iter().filter(|(_, is_there, _)| *is_there);
        kept.map(|(name, _, value)| (name, value)).collect::<Map<String, Value>>()
    };
    fields
        .prop_map(kept)
        .prop_filter("enough properties", move |map| map.len() >= least)
        .prop_map(Value::Object)
        .boxed()
}

/// Counts, also those that no node holds.
fn counts() -> impl Strategy<Value = u64> {
    prop_oneof![select(vec![0, 1, MAX_WHOLE - 1, MAX_WHOLE, MAX_WHOLE + 1, 1 << 63, u64::MAX]), any::<u64>()]
}

fn amounts() -> impl Strategy<Value = f64> {
    let ends = vec![0.0, -0.0, -1.0, MAX_MONEY, 1e300, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324];
    prop_oneof![select(ends), any::<f64>()]
}

prop_compose! {
    fn tokens()(
        [input, output, cached, reasoning] in proptest::array::uniform4(proptest::option::of(counts())),
        cost in proptest::option::of(amounts()),
    ) -> TokenCounts {
        TokenCounts { input, output, cached, reasoning, cost, cache_write: None }
    }
}

/// A payload that uwf writes fits its type, and says the same when it is read and written again.
fn is_read_back<T: TypedPayload + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    store: &Store,
    written: &T,
) {
    let payload = stored(store, &written.draft());
    let read = T::deserialize(&payload).expect("it is readable");
    assert_eq!(read.draft().hash(), written.draft().hash());
    assert_eq!(T::deserialize(&stored(store, &read.draft())).expect("it is readable"), read);
}

proptest! {
    #[test]
    fn a_node_that_fits_its_type_is_read(values in OWN_TYPES.iter().map(|own| {
        value(&serde_json::from_str(own.schema).unwrap()).prop_map(|payload| (own.hash, payload))
    }).collect::<Vec<_>>()) {
        let store = store();
        for (type_hash, payload) in values {
            let first = stored(&store, &NodeDraft::new(type_hash, payload.clone()).unwrap());
            let read = rewrite(type_hash, &first).map_err(|error| TestCaseError::fail(format!("{payload}: {error}")))?;
            let again = rewrite(read.type_hash(), &stored(&store, &read)).unwrap();
            prop_assert_eq!(again.hash(), read.hash(), "{}", payload);
        }
    }

    #[test]
    fn a_node_that_uwf_writes_is_read_back(
        counted in proptest::option::of(tokens()),
        total_tokens in proptest::option::of(counts()),
        [duration_ms, latency_ms] in proptest::array::uniform2(counts()),
        [exit_code, code] in proptest::array::uniform2(any::<i32>()),
        depth in proptest::option::of(any::<u32>()),
    ) {
        let store = store();
        let hash: NodeHash = REFERENCE.parse().unwrap();
        let text = || "text".to_owned();
        let attempt = AttemptNode { role: text(), agent: hash, raw: hash, stderr: hash, exit_code: Some(exit_code), error: None };
        let session = ReactSession {
            agent: hash, role: text(), turns: vec![hash], raw: hash, attempts: vec![hash], total_tokens, tokens: counted.clone(),
            duration_ms, source: text(), extracted_by: ExtractedBy::Submit, session_id: None, extras: None, extraction: Vec::new(),
        };
        is_read_back(&store, &StartNode { workflow: hash, prompt: text(), parent: None, depth, input: None });
        is_read_back(&store, &attempt);
        is_read_back(&store, &TracedAttempt { attempt, turns: vec![], tokens: counted.clone(), source: text(), session_id: None });
        is_read_back(&store, &session);
        is_read_back(&store, &ResumedSession { session, resumed: true });
        is_read_back(&store, &ReactTurn { input: vec![], output: hash, tool_calls: vec![], tokens: counted, latency_ms });
        is_read_back(&store, &ReactToolCall { name: text(), arguments: hash, result: hash, duration_ms });
        let status = node::EndStatus::Killed;
        is_read_back(&store, &ThreadEnd { start: hash, last_step: None, status, reason: text(), return_code: code, summary: None, meaning: None });
    }

    #[test]
    fn limits_of_a_workflow_are_read_back(
        [steps, time, tokens] in proptest::array::uniform3(proptest::option::of(counts().prop_map(|count| count.max(1)))),
        cost in proptest::option::of(amounts().prop_filter("a limit", |cost| *cost > 0.0 && *cost <= MAX_MONEY)),
    ) {
        let limits = ThreadLimits { max_steps: steps, max_time: time, max_tokens: tokens, max_cost: cost };
        let (roles, conditions, graph) = Default::default();
        let workflow = Workflow {
            name: "w".to_owned(), description: String::new(), roles, conditions, graph, limits, workspace: Default::default(), input: None,
        };
        let store = store();
        let read = Workflow::from_payload(&stored(&store, &workflow.draft())).unwrap();
        prop_assert_eq!(read.draft().hash(), workflow.draft().hash());
    }
}
