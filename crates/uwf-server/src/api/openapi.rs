//! Describes the API: a table of its endpoints. The commands define fields and queries, and their reports define the answers.

mod hook;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use json_cas::NodeHash;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use uwf_engine::verbs::doctor::DoctorReport;
use uwf_engine::verbs::put::StoredWorkflow;
use uwf_engine::verbs::start::StartReport;
use uwf_engine::verbs::step::StepReport;
use uwf_engine::verbs::workflows::{NamedWorkflow, ShownWorkflow, WorkflowVersion};
use uwf_engine::views::cost::CostReport;
use uwf_engine::views::groups::GroupStatus;
use uwf_engine::views::list::NamedThreadRow;
use uwf_engine::views::ps::RunningStep;
use uwf_engine::views::show::ThreadStatus;
use uwf_engine::views::steps::StepListing;
use uwf_engine::views::stored_node::StoredNode;
use uwf_engine::views::why::ThreadExplanation;

use super::actions::{ACTIONS, ApiAction, COPY, EXPECT_ATTEMPT, SchemaOf};
use super::and_run;
use super::start;
use super::threads::ThreadAnswer;
use super::workflows;
use crate::app::AppState;
use crate::command_line::{CommandLine, json_name};
use crate::gateway::lists;

/// A value in a query.
enum QueryParameter {
    /// An option of the endpoint's command.
    Option(&'static str),
    /// A value with another name or meaning here.
    Own { name: &'static str, kind: &'static str, description: &'static str },
}

impl QueryParameter {
    fn name(&self) -> String {
        match self {
            QueryParameter::Option(option) => json_name(option),
            QueryParameter::Own { name, .. } => (*name).to_owned(),
        }
    }
}

/// An endpoint that reads. Changes of threads are in [`ACTIONS`].
struct ReadEndpoint {
    path: &'static str,
    summary: &'static str,
    /// The command whose report it returns; empty for other answers.
    command: &'static str,
    query: &'static [QueryParameter],
    /// Type of the answer.
    media: &'static str,
    /// Schema of the answer.
    schema: SchemaOf,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

const fn described(path: &'static str, command: &'static str, summary: &'static str, schema: SchemaOf) -> ReadEndpoint {
    ReadEndpoint { path, summary, command, query: &[], media: JSON, schema }
}

const fn report<T: JsonSchema>(path: &'static str, command: &'static str, summary: &'static str) -> ReadEndpoint {
    described(path, command, summary, SchemaGenerator::subschema_for::<T>)
}

const fn text(media: &'static str, path: &'static str, command: &'static str, summary: &'static str) -> ReadEndpoint {
    ReadEndpoint { media, ..report::<String>(path, command, summary) }
}

impl ReadEndpoint {
    const fn query(self, query: &'static [QueryParameter]) -> ReadEndpoint {
        ReadEndpoint { query, ..self }
    }
}

/// The node of a step. Its keys depend on its type.
fn expanded_node(generator: &mut SchemaGenerator) -> Schema {
    let hash = generator.subschema_for::<NodeHash>();
    json_schema!({
        "type": "object",
        "required": ["hash", "type", "timestamp"],
        "properties": { "hash": hash, "type": { "type": "string" }, "timestamp": { "type": "integer" } },
    })
}

/// This document.
fn openapi(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "required": ["openapi", "info", "paths", "components"] })
}

const COSTS: [QueryParameter; 4] = [
    QueryParameter::Option("since"),
    QueryParameter::Option("by"),
    QueryParameter::Option("until"),
    QueryParameter::Option("time-zone"),
];

const ENDPOINTS: &[ReadEndpoint] = &[
    report::<Vec<NamedThreadRow>>(
        "/threads",
        "uwf thread list --all",
        "Threads, newest first. The header Link has the next page.",
    )
    .query(&[
        QueryParameter::Option("state"),
        QueryParameter::Option("outcome"),
        QueryParameter::Option("workflow"),
        QueryParameter::Option("role"),
        QueryParameter::Option("label"),
        QueryParameter::Own {
            name: "q",
            kind: "string",
            description: "Only threads with this text in their id, the name of their workflow or their task.",
        },
        QueryParameter::Own { name: "limit", kind: "integer", description: "At most this many; 100 unless given." },
        QueryParameter::Option("after"),
    ]),
    report::<ThreadAnswer>(
        "/threads/{thread}",
        "uwf thread show",
        "The state of a thread, its newest group with the branches, and as `records` its start and steps.",
    ),
    report::<Vec<GroupStatus>>(
        "/threads/{thread}/groups",
        "",
        "The newest 100 groups of a thread, oldest first, with the state, thread, agent, times, cost and reason of each branch.",
    ),
    report::<Vec<RunningStep>>("/running", "uwf thread ps", "The steps that are under way."),
    text(EVENTS, "/events", "", "Reports when the list of threads changes."),
    text(
        EVENTS,
        "/threads/{thread}/events",
        "uwf thread live",
        "The events of a thread as they happen. `Last-Event-ID` continues after the client's last event.",
    )
    .query(&[QueryParameter::Option("tail"), QueryParameter::Option("debug")]),
    report::<StepListing>("/threads/{thread}/steps", "uwf thread steps", "The start of a thread and its steps."),
    described(
        "/threads/{thread}/steps/{step}",
        "uwf thread step-details",
        "A step with all its records.",
        expanded_node,
    ),
    report::<ThreadExplanation>("/threads/{thread}/steps/{step}/why", "uwf thread why", "Why a step was done."),
    report::<ThreadExplanation>(
        "/threads/{thread}/why",
        "uwf thread why",
        "Why a thread is in its state, and what comes next.",
    ),
    report::<CostReport>("/threads/{thread}/cost", "uwf thread cost", "Tokens and cost of a thread.").query(&COSTS),
    report::<CostReport>("/cost", "uwf thread cost", "Tokens and cost of all threads.").query(&COSTS),
    text("text/csv", "/cost.csv", "uwf thread cost --format csv", "Tokens and cost of all threads, as a table.")
        .query(&COSTS),
    report::<Vec<NamedWorkflow>>(
        "/workflows",
        "uwf workflow list",
        "The workflows that can be started, with the times of their names.",
    ),
    report::<ShownWorkflow>("/workflows/{workflow}", "uwf workflow show", "A workflow, with the versions of its name."),
    report::<Vec<WorkflowVersion>>(
        "/workflows/{workflow}/history",
        "uwf workflow history",
        "The versions of a workflow.",
    ),
    text(
        "application/yaml",
        "/workflows/{workflow}/source",
        "uwf workflow show --source",
        "A workflow as a file, which `uwf workflow put` stores as the same version.",
    ),
    report::<StoredNode>("/cas/{hash}", "uwf cas get", "A node."),
    report::<DoctorReport>("/doctor", "uwf doctor", "Problems in the storage root that reading can find."),
    report::<Vec<lists::MachineStatus>>(
        "/gateway/endpoints",
        "",
        "The machines of a gateway: since when each is connected or not, and its threads by state.",
    ),
    described(
        "/gateway/threads",
        "",
        "The threads of all machines that have not ended, each with the name of its machine.",
        lists::thread_schema,
    ),
    text(
        EVENTS,
        "/gateway/events",
        "",
        "Reports when the threads of a gateway or of its machines change, and which machines are connected.",
    ),
    described("/openapi.json", "", "This document.", openapi),
];

/// The names in the query of an endpoint that reads, by its path below `/api`. `None` if no endpoint has the path.
pub(super) fn query_names(path: &str) -> Option<Vec<String>> {
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.path == path)?;
    Some(endpoint.query.iter().map(QueryParameter::name).collect())
}

/// Statuses of answers, and their meanings.
const STATUSES: [(&str, &str); 11] = [
    ("200", "Done; the answer is the report."),
    ("201", "Started; the header Location says where it is."),
    ("202", "Started but not finished, or the thread waits for a person or is paused (exit codes 20 and 0)."),
    ("400", "The request makes no sense, or data are bad (exit codes 64 and 65)."),
    ("401", "The secret is missing or wrong."),
    ("403", "The server is read-only, or the change comes from a page of another site."),
    ("404", "Not found (exit code 69)."),
    ("409", "The head of the thread has moved, or another process is stepping it (exit code 75)."),
    ("422", "A limit was reached, the agent failed, or its answer could not be used (exit codes 30, 40, 41)."),
    ("429", "Too many wrong secrets or signatures."),
    ("500", "Files, the configuration, or a bug (exit codes 70, 74, 78)."),
];

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/openapi.json", get(|State(app): State<AppState>| async move { Json(document(app.commands())) }))
}

/// The document, OpenAPI 3.1.
pub(crate) fn document(commands: &CommandLine) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let operation = of_endpoint(endpoint, commands, &mut generator);
        add(&mut paths, endpoint.path, "get", operation);
    }
    add(&mut paths, "/threads", "post", of_start(commands, &mut generator));
    add(&mut paths, "/workflows", "post", of_put(commands, &mut generator));
    for action in ACTIONS {
        let operation = of_action(action, commands, &mut generator);
        add(&mut paths, &format!("/threads/{{thread}}/{}", action.name), "post", operation);
    }
    paths.insert(hook::PATH.to_owned(), hook::path_item(&mut generator));
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Failure".to_owned(), failure());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "uwf",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Workflows of AI agents. An answer is the report of the command it names; the command reference describes it.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/api" }],
        "security": [{ "secret": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "secret": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
        },
    })
}

fn add(paths: &mut Map<String, Value>, path: &str, method: &str, operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method] = operation;
}

fn of_endpoint(endpoint: &ReadEndpoint, commands: &CommandLine, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = path_parameters(endpoint.path);
    let words = endpoint.command.split(' ').skip(1).take_while(|word| !word.starts_with('-'));
    let command = words.collect::<Vec<_>>().join(" ");
    parameters.extend(endpoint.query.iter().map(|query| {
        let mut schema = match query {
            QueryParameter::Option(option) => single(commands.option_schema(&command, option)),
            QueryParameter::Own { kind, description, .. } => json!({ "type": kind, "description": description }),
        };
        let description = schema["description"].take();
        schema.as_object_mut().map(|schema| schema.shift_remove("description"));
        json!({ "name": query.name(), "in": "query", "description": description, "schema": schema })
    }));
    let schema = (endpoint.schema)(generator);
    let mut operation = json!({
        "operationId": operation_id("get", endpoint.path),
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": responses(endpoint.media, &[("200", json!(schema))]),
    });
    if !endpoint.command.is_empty() {
        operation["description"] = json!(format!("The report of `{}`.", endpoint.command));
    }
    operation
}

/// The meaning of the field with an agent.
const AGENT: &str = "Agent for every role: an alias. `agent.ROLE` is the one for a role.";

/// The meaning of the field with a label.
const LABEL: &str = "A label, KEY=VALUE. `label.KEY` is the value of one.";

/// The operation that starts a thread.
fn of_start(commands: &CommandLine, generator: &mut SchemaGenerator) -> Value {
    let own = |kind: &str, description: &str| json!({ "type": kind, "description": description });
    let mut properties = Map::new();
    properties.insert("workflow".to_owned(), own("string", "A name, or a hash."));
    properties.insert("prompt".to_owned(), commands.option_schema(start::COMMAND, "prompt"));
    let input = "Values of the workflow's input, which `GET /workflows/{workflow}` lists as `inputs`. `input.NAME` is one value, as `--set` reads it.";
    properties.insert("input".to_owned(), own("object", input));
    properties.extend(start::OPTIONS.map(|option| (json_name(option), commands.option_schema(start::COMMAND, option))));
    properties.insert(start::AGENT.to_owned(), own("string", AGENT));
    properties.insert(start::LABEL.to_owned(), own("string", LABEL));
    let worktree = "Whether it gets a git worktree of its own. Default: as configured.";
    properties.insert("worktree".to_owned(), own("boolean", worktree));
    properties.insert(start::STRICT_LIMITS.to_owned(), commands.option_schema(start::COMMAND, "strict-limits"));
    properties.insert("run".to_owned(), own("boolean", "Whether it is run at once; it continues by itself."));
    let body = json!({ "type": "object", "properties": properties, "required": ["workflow", "prompt"] });
    let run = json!({
        "description": "With `run`: the report of the first steps, the failure, or null if they are not over yet.",
        "anyOf": [generator.subschema_for::<StepReport>(), failure_reference(), { "type": "null" }],
    });
    let started = json!({
        "allOf": [generator.subschema_for::<StartReport>(), { "type": "object", "properties": { "run": run } }],
    });
    json!({
        "operationId": "post-threads",
        "summary": commands.about(start::COMMAND),
        "description": "The report of `uwf thread start`.",
        "requestBody": { "required": true, "content": { JSON: { "schema": body } } },
        "responses": responses(JSON, &[("201", started)]),
    })
}

/// The operation that stores a workflow.
fn of_put(commands: &CommandLine, generator: &mut SchemaGenerator) -> Value {
    let mut properties = Map::new();
    let source = "The text of a workflow file, YAML or JSON.";
    properties.insert(workflows::SOURCE.to_owned(), json!({ "type": "string", "description": source }));
    let options =
        workflows::OPTIONS.map(|option| (json_name(option), commands.option_schema(workflows::COMMAND, option)));
    properties.extend(options);
    let body = json!({ "type": "object", "properties": properties, "required": [workflows::SOURCE] });
    let stored = json!(generator.subschema_for::<StoredWorkflow>());
    json!({
        "operationId": "post-workflows",
        "summary": commands.about(workflows::COMMAND),
        "description": "The report of `uwf workflow put --no-trust`: the commands of its roles run once `uwf workflow trust` allows them.",
        "requestBody": { "required": true, "content": { JSON: { "schema": body } } },
        "responses": responses(JSON, &[("201", stored)]),
    })
}

/// The schema of an option that a command line may repeat. A request has it once.
fn single(mut schema: Value) -> Value {
    if let Some((once, _)) = schema["description"].as_str().and_then(|text| text.split_once(" Repeat for several")) {
        schema["description"] = json!(once.to_owned());
    }
    schema
}

fn of_action(action: &ApiAction, commands: &CommandLine, generator: &mut SchemaGenerator) -> Value {
    let path = format!("/threads/{{thread}}/{}", action.name);
    let text = |description: &str| json!({ "type": "string", "description": description });
    let mut properties = Map::new();
    for option in action.options {
        let schema = match *option {
            EXPECT_ATTEMPT => text(
                "Newest attempt at that head (`lastAttempt` of the thread), or `none`. If there is another one, nothing is done (409).",
            ),
            start::LABEL => text(LABEL),
            start::AGENT if action.name == "fork" => text(AGENT),
            option => single(commands.option_schema(action.command, option)),
        };
        properties.insert(json_name(option), schema);
    }
    properties.insert(
        "expectedHead".to_owned(),
        text("Head of the thread this is meant for. If the head differs, the server rejects the request (409)."),
    );
    let mut required = vec!["expectedHead"];
    match action.name {
        "fork" => {
            properties.insert("step".to_owned(), text("The step to fork at; then no head is expected."));
            properties.insert("prompt".to_owned(), commands.option_schema(action.command, "prompt"));
            let input = "Other values of the workflow's input, for a fork at the start of a thread. `input.NAME` is one value, as `--set` reads it.";
            properties.insert(start::INPUT.to_owned(), json!({ "type": "object", "description": input }));
            properties.insert(start::STRICT_LIMITS.to_owned(), commands.option_schema(action.command, "strict-limits"));
            required.clear();
        }
        "answer" => {
            let mut data = commands.option_schema(action.command, "data");
            data.as_object_mut().map(|data| data.shift_remove("type"));
            properties.insert("data".to_owned(), data);
            properties.insert("text".to_owned(), commands.option_schema(action.command, "message"));
        }
        "take" => {
            properties.insert(COPY.to_owned(), commands.positional_schema(action.command, 1));
            required.push(COPY);
        }
        _ if action.is_long => {
            let wait = json!({ "type": "integer", "minimum": 0, "maximum": 3600, "default": 30,
                "description": "Seconds to wait for the end. A longer command continues by itself (202)." });
            properties.insert("wait".to_owned(), wait);
        }
        _ => {}
    }
    if and_run::is_possible(action.name) {
        let run = "Whether the thread, or the one above that plays it, runs afterwards, until it is done, waiting, stuck or at a limit. Then \
                   `run` of the answer is the report of the run, or null if it continues.";
        properties.insert(and_run::RUN.to_owned(), json!({ "type": "boolean", "default": false, "description": run }));
    }
    let body = json!({ "type": "object", "properties": properties, "required": required });
    json!({
        "operationId": operation_id("post", &path),
        "summary": format!("{} {}", commands.about(action.command), action.note).trim_end(),
        "parameters": path_parameters(&path),
        "requestBody": { "required": true, "content": { JSON: { "schema": body } } },
        "responses": of_outcomes(action, generator),
    })
}

/// The parameters in braces in a path.
fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| {
            let description = match name {
                "thread" => "Its id, or its first or last symbols if they are unique.",
                "workflow" => "A name, or a hash.",
                _ => "A hash, or its first symbols if they are unique.",
            };
            json!({ "name": name, "in": "path", "required": true, "description": description, "schema": { "type": "string" } })
        })
        .collect()
}

/// The answers of an action. With 202, a step or run that continues returns the status of its thread, and a thread that waits returns the
/// failure. With 422, a run that stops after the given number of steps returns its report.
fn of_outcomes(action: &ApiAction, generator: &mut SchemaGenerator) -> Value {
    let report = json!((action.report)(generator));
    if !action.is_long {
        return responses(JSON, &[("200", report), ("202", failure_reference())]);
    }
    let begun = json!({ "anyOf": [generator.subschema_for::<ThreadStatus>(), failure_reference()] });
    let limited = json!({ "anyOf": [failure_reference(), report] });
    responses(JSON, &[("200", report), ("202", begun), ("422", limited)])
}

/// The answers of an operation: those with their own schema, and the failures that each operation can return.
fn responses(media: &str, schemas: &[(&str, Value)]) -> Value {
    let mut responses = Map::new();
    for (status, meaning) in STATUSES {
        let content = match schemas.iter().find(|(of, _)| *of == status) {
            Some((_, schema)) => json!({ media: { "schema": schema } }),
            None if status.starts_with('2') => continue,
            None => json!({ JSON: { "schema": failure_reference() } }),
        };
        responses.insert(status.to_owned(), json!({ "description": meaning, "content": content }));
    }
    Value::Object(responses)
}

fn failure_reference() -> Value {
    json!({ "$ref": "#/components/schemas/Failure" })
}

fn operation_id(method: &str, path: &str) -> String {
    let words = path.split(['/', '.']).filter(|word| !word.is_empty());
    std::iter::once(method.to_owned())
        .chain(words.map(|word| word.trim_matches(['{', '}']).to_owned()))
        .collect::<Vec<_>>()
        .join("-")
}

fn failure() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "hints"],
                "properties": {
                    "kind": { "type": "string" },
                    "message": { "type": "string" },
                    "hints": { "type": "array", "items": { "type": "string" } },
                    "exitCode": { "type": ["integer", "null"] },
                    "until": { "type": "integer", "description": "When a usage limit ends, Unix milliseconds." },
                    "answered": {
                        "type": "object",
                        "description": "The answer that came first: its author and its time in Unix milliseconds.",
                        "required": ["at"],
                        "properties": { "by": { "type": "string" }, "at": { "type": "integer" } },
                    },
                },
            },
        },
    })
}
