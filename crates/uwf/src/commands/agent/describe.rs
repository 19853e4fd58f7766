//! `uwf agent describe`

use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use uwf_agents::describe::{BuiltInDescription, describe};
use uwf_core::config::{AgentConfig, AgentDescription, UwfConfig};
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::bindings::AgentReference;
use uwf_engine::attempt::program;
use uwf_engine::attempt::self_description;

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf agent describe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf agent describe mock
  uwf agent describe my-alias
  uwf agent describe 'codex exec --json' --format json | jq .runs.program")]
pub(crate) struct Args {
    /// A built-in agent, an alias of config.yaml, or a command line.
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DescribeReport {
    name: String,
    /// Absent for programs unknown to uwf.
    version: Option<String>,
    capabilities: Vec<String>,
    config_schema: Option<Value>,
    /// The program of the agent; absent for a built-in agent without an alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<DescribedProgram>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DescribedProgram {
    #[serde(flatten)]
    spec: AgentSpec,
    /// The built-in agent that does the work or runs the command.
    built_in: Option<&'static str>,
    /// The program's file; absent if it is not found.
    program: Option<PathBuf>,
}

impl CommandReport for DescribeReport {
    fn text(&self) -> String {
        let version = self.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let mut text = format!("{}{version}\n", style::bold(&self.name));
        let mut line = |name: &str, value: String| text.push_str(&format!("{:<14}{value}\n", format!("{name}:")));
        if !self.capabilities.is_empty() {
            line("capabilities", self.capabilities.join(", "));
        }
        if let Some(schema) = &self.config_schema {
            line("config", settings(schema));
        }
        if let Some(runs) = &self.runs {
            runs.lines(&mut line);
        }
        text
    }
}

impl DescribedProgram {
    fn lines(&self, line: &mut impl FnMut(&str, String)) {
        let spec = &self.spec;
        let words: Vec<&str> = std::iter::once(&spec.command).chain(&spec.args).map(String::as_str).collect();
        line("command", words.join(" "));
        match (&self.program, self.built_in) {
            (Some(program), _) => line("program", program.display().to_string()),
            (None, Some(name)) => line("program", format!("built in: {name}")),
            (None, None) => line("program", style::red("not found")),
        }
        line("output", spec.output.clone());
        let optional = [
            ("model", spec.model.clone()),
            ("secrets", (!spec.env.is_empty()).then(|| spec.env.join(", "))),
            ("variables", (!spec.set.is_empty()).then(|| spec.set.keys().cloned().collect::<Vec<_>>().join(", "))),
            ("timeout", spec.timeout_ms.map(seconds)),
            ("idle timeout", spec.idle_timeout_ms.map(seconds)),
            ("expects file", spec.expect_file.clone()),
            ("settings", (!spec.config.is_empty()).then(|| Value::from(spec.config.clone()).to_string())),
        ];
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .for_each(|(name, value)| line(name, value));
    }
}

fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1000.0)
}

/// The keys in the schema of an agent's settings.
fn settings(schema: &Value) -> String {
    let keys = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|keys| keys.keys().cloned().collect::<Vec<_>>().join(", "));
    keys.filter(|keys| !keys.is_empty()).unwrap_or_else(|| "none of its own".to_owned())
}

/// Describes an agent.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let config = context.config()?;
    let alias = config.agent(&args.name);
    if let Some(description) = describe(&args.name).filter(|_| alias.is_none()) {
        return PrintableReport::new(&described(args.name.clone(), Some(built_in(&description)), None));
    }
    let spec = AgentReference::plain(&args.name)
        .spec(&config, &context.cwd)
        .map_err(|error| error.hint(format!("built-in agents: {}", uwf_agents::NAMES.join(", "))))?;
    let description = spec.played_by().and_then(describe);
    let played_by = description.as_ref().map(|description| description.name);
    let description = match (spec.built_in(), own(context, &config, alias, &spec)) {
        (Some(_), _) => description.as_ref().map(built_in),
        (None, Some(own)) => Some(own),
        // The version of the agent that runs a program is not the program's version.
        (None, None) => description.as_ref().map(|of| AgentDescription { version: None, ..built_in(of) }),
    };
    let program = program::look_up(&spec.command, &context.cwd).ok();
    PrintableReport::new(&described(
        args.name.clone(),
        description,
        Some(DescribedProgram { spec, built_in: played_by, program }),
    ))
}

/// The agent's description of itself, if it is not built in.
fn own(
    context: &CommandContext,
    config: &UwfConfig,
    alias: Option<&AgentConfig>,
    spec: &AgentSpec,
) -> Option<AgentDescription> {
    let of_command_line = || {
        let agent = AgentConfig::from_command(&spec.command, spec.args.clone());
        AgentConfig { output: spec.output_mode(), ..agent }
    };
    let agent = alias.cloned().unwrap_or_else(of_command_line);
    match self_description::describe_agent(&agent, Some(&context.cwd), &config.secret_names())? {
        Ok(description) => Some(description),
        Err(why) => {
            context.printer.warn(&format!("agent `{}`: {why}", spec.name));
            None
        }
    }
}

fn built_in(of: &BuiltInDescription) -> AgentDescription {
    AgentDescription {
        name: Some(of.name.to_owned()),
        version: Some(of.version.to_owned()),
        capabilities: of.capabilities.iter().map(|word| (*word).to_owned()).collect(),
        config_schema: Some(of.config_schema.clone()),
    }
}

fn described(name: String, description: Option<AgentDescription>, runs: Option<DescribedProgram>) -> DescribeReport {
    let AgentDescription { version, capabilities, config_schema, .. } = description.unwrap_or_default();
    DescribeReport { name, version, capabilities, config_schema, runs }
}
