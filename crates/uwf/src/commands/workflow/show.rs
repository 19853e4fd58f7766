//! `uwf workflow show`

use clap_complete::engine::ArgValueCompleter;
use std::collections::BTreeMap;

use json_cas::{Hash, Store};
use serde::Serialize;
use serde_json::Value;
use uwf_core::text::one_line;
use uwf_core::workflow::{START, Transition, Workflow, role_order};
use uwf_engine::thread::nodes;

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;
use crate::table::{self, Table};

/// Arguments of `uwf workflow show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow show solve-issue
  uwf workflow show 2XY1PEX26ZD0Y
  uwf workflow show flows/solve-issue.yaml --format json | jq .payload.roles

`timestamp` is when the workflow was first stored, in Unix milliseconds.")]
pub(crate) struct Args {
    /// The workflow: a file, a name, or a hash.
    #[arg(value_name = "NAME|HASH|FILE")]
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
}

#[derive(Serialize)]
struct Shown {
    hash: Hash,
    name: String,
    r#type: Hash,
    payload: Value,
    timestamp: u64,
    #[serde(skip)]
    workflow: Workflow,
    /// Role → keys of its output.
    #[serde(skip)]
    outputs: BTreeMap<String, String>,
}

impl Report for Shown {
    fn text(&self) -> String {
        let mut text = format!("{}  {}\n", style::bold(&self.name), self.hash);
        if !self.workflow.description.is_empty() {
            text.push_str(&format!("{}\n", self.workflow.description.trim_end()));
        }
        text.push_str(&style::dim(&format!("stored {}\n", table::time(self.timestamp))));
        text.push_str(&format!("\n{}\n{}", style::bold("roles"), self.roles()));
        if !self.workflow.conditions.is_empty() {
            text.push_str(&format!("\n{}\n{}", style::bold("conditions"), self.conditions()));
        }
        text.push_str(&format!("\n{}\n{}", style::bold("graph"), graph(&self.workflow)));
        text
    }
}

impl Shown {
    fn roles(&self) -> String {
        let mut table = Table::new(&["role", "output", "description"]).flexible([0, 1]);
        for name in role_order(&self.workflow) {
            let output = self.outputs.get(name).cloned().unwrap_or_default();
            let description = self.workflow.roles.get(name).map(|role| one_line(&role.description));
            table.row(vec![name.to_owned(), output, description.unwrap_or_default()]);
        }
        table.text()
    }

    fn conditions(&self) -> String {
        let mut table = Table::new(&["condition", "expression", "description"]).flexible([0, 1]);
        for (name, condition) in &self.workflow.conditions {
            table.row(vec![name.clone(), one_line(&condition.expression), one_line(&condition.description)]);
        }
        table.text()
    }
}

fn graph(workflow: &Workflow) -> String {
    let mut table = Table::new(&["from", "to", "if"]).flexible([0, 1]);
    for from in std::iter::once(START).chain(role_order(workflow)) {
        let transitions = workflow.graph.get(from).into_iter().flatten();
        for (index, Transition { role, condition }) in transitions.enumerate() {
            let from = if index == 0 { from.to_owned() } else { String::new() };
            let condition =
                condition.clone().unwrap_or_else(|| style::dim(if index == 0 { "always" } else { "otherwise" }));
            table.row(vec![from, role.clone(), condition]);
        }
    }
    table.text()
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let hash = context.workflow(&args.workflow)?;
    let store = context.home.store();
    let workflow = nodes::workflow(store, hash)?;
    let node = store.get(hash)?;
    let outputs = workflow.roles.iter().map(|(name, role)| (name.clone(), keys(store, role.meta))).collect();
    Printed::new(&Shown {
        hash,
        name: workflow.name.clone(),
        r#type: node.type_hash,
        payload: node.payload,
        timestamp: node.timestamp,
        workflow,
        outputs,
    })
}

/// The keys of a role's output, those that may be absent with a `?`.
fn keys(store: &Store, schema: Hash) -> String {
    let Ok(schema) = store.schema(schema) else { return style::red("its schema is not readable") };
    let schema = schema.value();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return String::new() };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let keys =
        properties.keys().map(|key| if required.contains(&key.as_str()) { key.clone() } else { format!("{key}?") });
    keys.collect::<Vec<_>>().join(", ")
}
