//! `uwf workflow show`

use clap_complete::engine::ArgValueCompleter;
use serde_json::Value;
use uwf_core::input::InputField;
use uwf_core::text::one_line;
use uwf_core::workflow::{START, Transition, Workflow, branches_in_words, role_order};
use uwf_engine::verbs::workflows::{self, ShownWorkflow};

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::role_commands::RoleCommands;
use crate::style;
use crate::table::{self, TextTable};

/// Arguments of `uwf workflow show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow show solve-issue
  uwf workflow show 2XY1PEX26ZD0Y
  uwf workflow show flows/solve-issue.yaml --format json | jq .payload.roles
  uwf workflow show solve-issue --source > solve-issue.yaml

`timestamp` is when the workflow was first stored, in Unix milliseconds. `history` has the versions of the name, newest first.")]
pub(crate) struct Args {
    /// The workflow: a file, a name, or a hash.
    #[arg(value_name = "NAME|HASH|FILE")]
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
    /// Print the workflow as a file, which `workflow put` stores as the same version. A stored workflow
    /// has no comments.
    #[arg(long)]
    source: bool,
}

impl CommandReport for ShownWorkflow {
    fn text(&self) -> String {
        let mut text = format!("{}  {}\n", style::bold(&one_line(&self.name)), self.hash);
        if !self.workflow.description.is_empty() {
            text.push_str(&format!("{}\n", self.workflow.description.trim_end()));
        }
        text.push_str(&style::dim(&format!("stored {}\n", table::time(self.timestamp))));
        if !self.inputs.is_empty() {
            text.push_str(&format!("\n{}\n{}", style::bold("inputs"), inputs(&self.inputs)));
        }
        text.push_str(&format!("\n{}\n{}", style::bold("roles"), roles(self)));
        if self.workflow.groups().next().is_some() {
            text.push_str(&format!("\n{}\n{}", style::bold("groups"), groups(&self.workflow)));
        }
        let commands = RoleCommands::stored(&self.workflow);
        if !commands.is_empty() {
            text.push_str(&format!("\n{}\n{}", style::bold("commands"), commands.text()));
        }
        if !self.workflow.conditions.is_empty() {
            text.push_str(&format!("\n{}\n{}", style::bold("conditions"), conditions(&self.workflow)));
        }
        text.push_str(&format!("\n{}\n{}", style::bold("graph"), graph(&self.workflow)));
        text
    }
}

fn inputs(fields: &[InputField]) -> String {
    let mut table = TextTable::new(&["input", "type", "value", "description"]).flexible([1, 3]);
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for field in fields {
        let kind = match &field.values {
            Some(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
            None if field.types.is_empty() => "any".to_owned(),
            None => field.types.join(" or "),
        };
        let value = match (&field.default, field.required) {
            (Some(default), _) => format!("default: {}", shown(default)),
            (None, true) => "required".to_owned(),
            (None, false) => String::new(),
        };
        let description = one_line(field.description.as_deref().unwrap_or_default());
        table.row(vec![field.name.clone(), kind, value, description.to_string()]);
    }
    table.text()
}

fn roles(shown: &ShownWorkflow) -> String {
    let mut table = TextTable::new(&["role", "output", "description"]).flexible([0, 1]);
    for name in role_order(&shown.workflow) {
        let output = match shown.output_of(name) {
            Some(output) => output,
            // The graph names a role that the workflow does not define.
            None if !shown.schemas.contains_key(name) => String::new(),
            None => style::red("its schema is not readable"),
        };
        let description = shown.workflow.roles.get(name).map(|role| one_line(&role.description));
        table.row(vec![name.to_owned(), output, description.unwrap_or_default()]);
    }
    table.text()
}

/// The groups with what each plays at the same time.
fn groups(workflow: &Workflow) -> String {
    let mut table = TextTable::new(&["group", "branches", "at once", "if one fails"]).flexible([1, 1]);
    for name in role_order(workflow) {
        let Some(group) = workflow.roles.get(name).and_then(|role| role.more.play.as_ref()) else { continue };
        let failing: Vec<&str> =
            group.roles.iter().filter(|branch| branch.may_fail).map(|branch| branch.role.as_str()).collect();
        let if_fails = match failing.as_slice() {
            _ if group.may_fail => "continues".to_owned(),
            [] => "stuck".to_owned(),
            roles => format!("continues without {}", roles.join(", ")),
        };
        let branches = branches_in_words(workflow, name).join(", ");
        table.row(vec![name.to_owned(), branches, group.max().to_string(), if_fails]);
    }
    table.text()
}

fn conditions(workflow: &Workflow) -> String {
    let mut table = TextTable::new(&["condition", "expression", "description"]).flexible([0, 1]);
    for (name, condition) in &workflow.conditions {
        table.row(vec![name.clone(), one_line(&condition.expression), one_line(&condition.description)]);
    }
    table.text()
}

fn graph(workflow: &Workflow) -> String {
    let mut table = TextTable::new(&["from", "to", "if"]).flexible([0, 1]);
    for from in std::iter::once(START).chain(role_order(workflow)) {
        let transitions = workflow.graph.get(from).into_iter().flatten();
        for (index, Transition { role, condition, outcome }) in transitions.enumerate() {
            let from = if index == 0 { from.to_owned() } else { String::new() };
            let condition =
                condition.clone().unwrap_or_else(|| style::dim(if index == 0 { "always" } else { "otherwise" }));
            let to = outcome.as_ref().map_or_else(|| role.clone(), |outcome| format!("{role} ({outcome})"));
            table.row(vec![from, to, condition]);
        }
    }
    table.text()
}

/// Shows a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    if args.source {
        let text = workflows::source(&context.home, &args.workflow, &context.cwd)?;
        return Ok(PrintableReport::bytes(text.into_bytes()));
    }
    PrintableReport::new(&workflows::show_by(&context.home, &args.workflow, context.workflow(&args.workflow)?)?)
}
