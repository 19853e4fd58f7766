//! Input of a thread: the values it is started with besides its task, checked against the schema of its workflow.

mod assignment;
mod defaults;
mod door;
mod given;
mod listing;
mod names;
mod problem;

pub(crate) use defaults::bad_defaults;
pub use door::InputDoor;
pub use given::{InputRequest, InputValues, NOT_A_MAPPING};
pub use listing::{InputField, fields};
pub use problem::InputProblem;

use json_cas::CompiledSchema;
use serde_json::{Map, Value};

use crate::number;
use crate::schema_shape::shape;

/// Most bytes of a thread's input, as JSON. Prompts and every decision read it, so the text of a file belongs elsewhere.
const MAX_INPUT: usize = 256 << 10;

/// Keywords that a value violates only because another value could not be read.
const OF_WHOLE_VALUES: [&str; 7] =
    ["required", "dependentRequired", "minProperties", "minItems", "anyOf", "oneOf", "if"];

/// The input of a thread: the given values, then the defaults of the schema.
///
/// # Errors
/// Every problem, in the order of the values; never empty.
pub fn complete(schema: &CompiledSchema, given: &InputRequest) -> Result<Value, Vec<InputProblem>> {
    let root = schema.value();
    let (values, places, mut problems) = given.gather(root);
    let mut value = Value::Object(values);
    let unknown = names::unknown(root, &value);
    for name in &unknown {
        names::remove(&mut value, &name.pointer);
        problems.push(InputProblem {
            place: places.place_of(&name.pointer),
            message: format!("`{}` is not an input", dotted(&name.pointer)),
            hint: Some(name.hint.clone()),
            missing: None,
        });
    }
    // A value that could not be read must not be reported as missing.
    let could_read = problems.len() == unknown.len();
    defaults::fill(root, &mut value);
    let missing = missing(root, &value);
    if could_read {
        problems.extend(missing.iter().map(|name| names::missing(root, name)));
    }
    let violations = schema.violations(&value).into_iter().chain(number::unstorable_numbers(&value));
    let others = violations.filter(|violation| match could_read {
        // The missing names of the whole input were just reported with their types.
        true => !(violation.keyword == "required" && violation.path.is_empty() && !missing.is_empty()),
        false => !OF_WHOLE_VALUES.contains(&&*violation.keyword),
    });
    problems.extend(others.map(|violation| InputProblem {
        place: places.place_of(&violation.path),
        message: match dotted(&violation.path) {
            name if name.is_empty() => violation.message,
            name => format!("`{name}`: {}", violation.message),
        },
        hint: None,
        missing: None,
    }));
    let size = value.to_string().len();
    if size > MAX_INPUT {
        problems.push(InputProblem {
            place: String::new(),
            message: format!("the input has {size} bytes, but at most {MAX_INPUT} are allowed"),
            hint: Some("put long texts into files, and pass their names".to_owned()),
            missing: None,
        });
    }
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

/// Returns the required names without a value, for a person who can be asked for them; empty if the given values have other problems.
#[must_use]
pub fn missing_fields(schema: &CompiledSchema, given: &InputRequest) -> Vec<InputField> {
    let problems = complete(schema, given).err().unwrap_or_default();
    let Some(missing) = problems.iter().map(|problem| problem.missing.as_deref()).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    fields(schema.value()).into_iter().filter(|field| missing.contains(&field.name.as_str())).collect()
}

/// Returns why an assignment `NAME=VALUE` is not valid, whatever other values are missing.
#[must_use]
pub fn fault_of_assignment(schema: &CompiledSchema, assignment: &str) -> Option<String> {
    let given = InputRequest { set: vec![assignment.to_owned()], ..InputRequest::default() };
    let problems = complete(schema, &given).err().unwrap_or_default();
    problems.into_iter().find(|problem| problem.missing.is_none()).map(|problem| problem.message)
}

/// Required names of the whole input that have no value.
fn missing(root: &Value, value: &Value) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for name in shape(root, &[root]).required() {
        if value.get(name).is_none() && !missing.iter().any(|known| known == name) {
            missing.push(name.to_owned());
        }
    }
    missing
}

/// A pointer as people write the place: `a.b.0`.
fn dotted(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
    parts.collect::<Vec<_>>().join(".")
}

/// Why a schema is not the schema of an input, and how to correct it; `None` if it is one.
pub(crate) fn fault_of_schema(schema: &Map<String, Value>) -> Option<(String, String)> {
    let is_object = match schema.get("type") {
        Some(said) => said == "object",
        None => schema.get("properties").is_some_and(Value::is_object),
    };
    if is_object {
        return None;
    }
    let names: Vec<&str> = schema.keys().map(String::as_str).collect();
    let message = "`input` must be the JSON Schema of an object".to_owned();
    let is_map_of_names = !names.is_empty() && schema.values().all(|below| below.is_object() || below.is_boolean());
    let hint = match is_map_of_names {
        true => format!(
            "put the names below `properties`: input: {{ type: object, properties: {{ {}: … }} }}",
            names.join(": …, ")
        ),
        false => "write `input: { type: object, properties: { NAME: { type: string } } }`".to_owned(),
    };
    Some((message, hint))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::SourceDocument;

    fn compiled(schema: Value) -> CompiledSchema {
        CompiledSchema::compile(&schema).unwrap()
    }

    fn release() -> CompiledSchema {
        compiled(json!({
            "type": "object",
            "properties": {
                "version": { "type": "string", "description": "the version" },
                "notes": { "type": "array", "items": { "type": "string" } },
                "dry": { "type": "boolean", "default": false },
                "retries": { "type": "integer", "minimum": 0 },
                "level": { "enum": ["low", "high"], "default": "low" },
                "target": {
                    "type": "object",
                    "properties": { "name": { "type": "string" }, "port": { "type": "integer", "default": 22 } },
                    "required": ["name"],
                },
                "tag": { "type": ["string", "null"] },
            },
            "required": ["version"],
        }))
    }

    fn set(assignments: &[&str]) -> InputRequest {
        InputRequest { set: assignments.iter().map(|text| (*text).to_owned()).collect(), ..InputRequest::default() }
    }

    fn problems(given: &InputRequest) -> Vec<String> {
        let problems = complete(&release(), given).unwrap_err();
        problems.into_iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn assignments_are_typed_by_the_schema() {
        let given = set(&["version=1.10", "notes=[a, 2b]", "dry=true", "retries=3", "target.name=on", "tag=12"]);
        assert_eq!(
            complete(&release(), &given),
            Ok(json!({
                "version": "1.10", "notes": ["a", "2b"], "dry": true, "retries": 3, "target": { "name": "on", "port": 22 },
                "tag": "12", "level": "low",
            }))
        );
        let other = complete(&release(), &set(&["version=a=b", "tag=null"])).unwrap();
        assert_eq!(json!([other["version"], other["tag"], other["dry"]]), json!(["a=b", null, false]));
        let empty = complete(&release(), &set(&["version=", "tag="])).unwrap();
        assert_eq!(json!([empty["version"], empty["tag"]]), json!(["", ""]));
    }

    #[test]
    fn assignments_win_over_the_document() {
        let document = SourceDocument::parse("version: '1'\ntarget: {name: a, port: 1}\n", "in.yaml").unwrap();
        let values = Some(InputValues::Document(Box::new(document)));
        let given = InputRequest { values, ..set(&["target.port=2", "level=high"]) };
        let value = complete(&release(), &given).unwrap();
        assert_eq!(value, json!({"version": "1", "target": {"name": "a", "port": 2}, "level": "high", "dry": false}));
    }

    #[test]
    fn unreadable_assignment_hides_no_other_problem() {
        let problems = problems(&set(&["dry", "retries=-1", "level=loud"]));
        let has = |words: &str| problems.iter().any(|problem| problem.contains(words));
        assert!(has("`--set dry` has no `=`") && has("retries") && has("level"), "{problems:?}");
        assert!(!has("version"), "it may be what could not be read: {problems:?}");
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        let document = SourceDocument::parse("retires: 1\nretries: -1\ntarget: {nam: a}\n", "in.yaml").unwrap();
        let values = Some(InputValues::Document(Box::new(document)));
        let found = problems(&InputRequest { values, ..set(&["lvel=low", "dry=3"]) });
        assert_eq!(
            found,
            [
                "in.yaml:1:1: `retires` is not an input; did you mean `retries`?",
                "in.yaml:3:10: `target.nam` is not an input; did you mean `target.name`?",
                "--set lvel: `lvel` is not an input; did you mean `level`?",
                "`version` has no value (string: the version)",
                "in.yaml:2:1: `retries`: expected 0 or more, found -1",
                "in.yaml:3:1: `target`: missing key `name` (string)",
                "--set dry: `dry`: expected a boolean, found 3",
            ]
        );
    }

    #[test]
    fn unreadable_assignments_are_refused() {
        for (assignments, why) in [
            (&["version"][..], "`--set version` has no `=`"),
            (&["=1"], "`--set =1` has no name"),
            (&["version=1", "version=2"], "--set version: `version` is set twice"),
            (&["version=1", "target.name=a", "target={name: b}"], "--set target: `target` and `target.name` overlap"),
            (&["version=1", "version.major=1"], "--set version.major: `version` and `version.major` overlap"),
            (&["version=1", "retries=[1"], "--set retries: "),
        ] {
            let found = problems(&set(assignments));
            assert!(found[0].starts_with(why), "{found:?}");
        }
    }

    #[test]
    fn large_input_is_refused() {
        let found = problems(&set(&[&format!("version={}", "x".repeat(MAX_INPUT))]));
        assert!(found[0].contains("at most 262144 are allowed"), "{found:?}");
    }

    #[test]
    fn names_without_properties_are_no_schema() {
        let schema = json!({ "topic": { "type": "string" } });
        let (_, hint) = fault_of_schema(schema.as_object().unwrap()).unwrap();
        assert!(hint.contains("below `properties`"), "{hint}");
        assert!(fault_of_schema(json!({ "type": "string" }).as_object().unwrap()).is_some());
        assert_eq!(fault_of_schema(json!({ "properties": {} }).as_object().unwrap()), None);
    }
}
