//! Spans in OTLP: the JSON form of an `ExportTraceServiceRequest`.
//!
//! Ids are hexadecimal; times are nanoseconds, and are strings, as all integers are.

use serde_json::{Value, json};

/// A span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OtelSpan {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Unix milliseconds.
    pub(super) begun_at: u64,
    /// Unix milliseconds.
    pub(super) ended_at: u64,
    pub(super) attributes: SpanAttributes,
    /// The error, if it failed.
    pub(super) error: Option<String>,
}

/// Id of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceId(pub(super) [u8; 16]);

/// Id of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) [u8; 8]);

/// Where the work of a span runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// On this machine.
    Internal = 1,
    /// By a remote service: a model.
    Client = 3,
}

/// Attributes of a span, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SpanAttributes(Vec<(&'static str, Value)>);

impl SpanAttributes {
    /// Adds an attribute, if it is known.
    pub(super) fn add(&mut self, key: &'static str, value: Option<impl Into<Value>>) -> &mut SpanAttributes {
        self.0.extend(value.map(|value| (key, value.into())));
        self
    }
}

impl TraceId {
    pub(super) fn hex(self) -> String {
        hex(&self.0)
    }
}

impl SpanId {
    pub(super) fn hex(self) -> String {
        hex(&self.0)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A request that exports spans.
pub(super) fn request(spans: &[OtelSpan]) -> Value {
    enclosed(spans.iter().map(span).collect())
}

/// Requests that together export spans, in order, of about `most` bytes each. A span is never split.
pub(super) fn requests(spans: &[OtelSpan], most: usize) -> impl Iterator<Item = Value> {
    let mut spans = spans.iter().map(span).peekable();
    std::iter::from_fn(move || {
        let first = spans.next()?;
        let mut bytes = first.to_string().len();
        let mut together = vec![first];
        while let Some(next) = spans.peek() {
            bytes += next.to_string().len();
            if bytes > most {
                break;
            }
            together.extend(spans.next());
        }
        Some(enclosed(together))
    })
}

fn enclosed(spans: Vec<Value>) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", json!("uwf")), ("service.version", json!(version))];
    json!({ "resourceSpans": [{
        "resource": { "attributes": attributes(&resource) },
        "scopeSpans": [{
            "scope": { "name": "uwf", "version": version },
            "spans": spans,
        }],
    }] })
}

fn span(span: &OtelSpan) -> Value {
    let mut value = json!({ "traceId": span.trace.hex(), "spanId": span.id.hex() });
    if let Some(parent) = span.parent {
        value["parentSpanId"] = json!(parent.hex());
    }
    value["name"] = json!(span.name);
    value["kind"] = json!(span.kind as u8);
    value["startTimeUnixNano"] = json!(nanoseconds(span.begun_at));
    value["endTimeUnixNano"] = json!(nanoseconds(span.ended_at));
    value["attributes"] = attributes(&span.attributes.0);
    if let Some(message) = &span.error {
        value["status"] = json!({ "code": 2, "message": message });
    }
    value
}

fn nanoseconds(ms: u64) -> String {
    // An absurd timestamp must not make the whole request unreadable.
    ms.saturating_mul(1_000_000).to_string()
}

fn attributes(attributes: &[(&'static str, Value)]) -> Value {
    attributes.iter().map(|(key, value)| json!({ "key": key, "value": any_value(value) })).collect()
}

/// An `AnyValue`; a value that is not a string, number or boolean is sent as its JSON text.
fn any_value(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({ "stringValue": text }),
        Value::Bool(is) => json!({ "boolValue": is }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => json!({ "intValue": whole.to_string() }),
            None => json!({ "doubleValue": number }),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => json!({ "stringValue": value.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> OtelSpan {
        OtelSpan {
            trace: TraceId([1; 16]),
            id: SpanId([1; 8]),
            parent: None,
            name: name.to_owned(),
            kind: SpanKind::Internal,
            begun_at: 1,
            ended_at: 2,
            attributes: SpanAttributes::default(),
            error: None,
        }
    }

    #[test]
    fn requests_are_cut_by_their_size() {
        let spans = [named("a"), named("b"), named(&"c".repeat(2000)), named("d"), named("e")];
        let names = |request: Value| -> Vec<String> {
            let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
            spans.iter().map(|span| span["name"].as_str().unwrap()[..1].to_owned()).collect()
        };
        let cut: Vec<Vec<String>> = requests(&spans, 1000).map(names).collect();
        assert_eq!(cut, [vec!["a", "b"], vec!["c"], vec!["d", "e"]]);
        assert_eq!(requests(&spans, usize::MAX).count(), 1);
        assert_eq!(requests(&[], 1000).count(), 0);
    }

    #[test]
    fn span_follows_protocol_format() {
        let mut own = SpanAttributes::default();
        own.add("text", Some("t")).add("whole", Some(7)).add("cost", Some(0.5)).add("is", Some(true));
        own.add("unknown", None::<u64>).add("list", Some(json!([{"a": 1}])));
        let written = span(&OtelSpan {
            trace: TraceId([0x5b; 16]),
            id: SpanId([1, 2, 3, 4, 5, 6, 7, 0xff]),
            parent: None,
            name: "n".to_owned(),
            kind: SpanKind::Client,
            begun_at: 1_544_712_660_000,
            ended_at: u64::MAX,
            attributes: own,
            error: Some("why".to_owned()),
        });
        assert_eq!(
            written,
            json!({
                "traceId": "5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b", "spanId": "01020304050607ff", "name": "n", "kind": 3,
                "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": "18446744073709551615",
                "attributes": [
                    { "key": "text", "value": { "stringValue": "t" } },
                    { "key": "whole", "value": { "intValue": "7" } },
                    { "key": "cost", "value": { "doubleValue": 0.5 } },
                    { "key": "is", "value": { "boolValue": true } },
                    { "key": "list", "value": { "stringValue": "[{\"a\":1}]" } },
                ],
                "status": { "code": 2, "message": "why" },
            })
        );
    }
}
