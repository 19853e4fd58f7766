//! `uwf agent extract`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_kit::ladder::{ExtractionLadder, LadderDescent, ValueExtractor};
use agent_kit::{AgentAnswer, Error};
use json_cas::CompiledSchema;
use serde::Serialize;
use serde_json::Value;
use uwf_agents::extractor::LlmExtractor;
use uwf_core::config::ExtractRungs;
use uwf_core::node::{ExtractedBy, RungResult};
use uwf_core::prompt::AnswerForm;
use uwf_engine::root::project;
use uwf_engine::thread::nodes;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf agent extract`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf agent extract review.schema.json answer.md
  some-model | uwf agent extract solve-issue.reviewer
  uwf agent extract solve-issue.reviewer answer.md --explain --no-llm

Reads like a step: first the header, tolerantly and typed by the schema; then with the model of
`modelOverrides.extract`, which must fail rather than invent. Prints the value as JSON. Without a value, prints every
reason and exits with 41.")]
pub(crate) struct Args {
    /// Schema of the value: a file with a JSON Schema, `WORKFLOW.ROLE`, or the hash of a stored schema.
    schema: String,
    /// The text; stdin when left out.
    file: Option<PathBuf>,
    /// Expect JSON, not Markdown under a header.
    #[arg(long)]
    json: bool,
    /// Do not ask a model.
    #[arg(long)]
    no_llm: bool,
    /// Show what was tried.
    #[arg(long)]
    explain: bool,
}

/// The value, and how it was extracted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExtractReport {
    value: Value,
    extracted_by: ExtractedBy,
    rungs: Vec<RungResult>,
}

impl CommandReport for ExtractReport {
    fn text(&self) -> String {
        let mut text: String = self.rungs.iter().map(line).collect();
        text.push_str(&format!("{:#}\n", self.value));
        text
    }
}

/// A rung as text.
fn line(rung: &RungResult) -> String {
    let sign = if rung.errors.is_empty() { style::green("✓") } else { style::red("✗") };
    let mut text = format!("{sign} {}\n", style::bold(&rung.rung));
    for note in rung.errors.iter().chain(&rung.fixes) {
        text.push_str(&style::dim(&format!("    {note}\n")));
    }
    text
}

/// Extracts a value from a text.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let schema = schema(context, &args.schema)?;
    let raw = match &args.file {
        Some(file) => input::from_file(file)?,
        None => input::from_stdin()?,
    };
    let form = if args.json { AnswerForm::Json } else { AnswerForm::Frontmatter };
    let mut climb = LadderDescent::new(form, &schema);
    let mut answer = AgentAnswer::text(raw);
    let mut extractor = LlmExtractor::new(&context.home);
    let ladder = ExtractionLadder {
        rungs: ExtractRungs { frontmatter: true, feedback: 0, ..project::config(&context.home, &context.cwd)?.extract },
        feedback: None,
        extractor: (!args.no_llm).then_some(&mut extractor as &mut dyn ValueExtractor),
    };
    let tried = match climb.first(&answer, &ladder.rungs) {
        Err(failure) => climb.lower(&mut answer, failure, ladder),
        found => found,
    };
    match tried {
        Ok((found, by)) if args.explain => {
            PrintableReport::new(&ExtractReport { value: found.value, extracted_by: by, rungs: climb.rungs })
        }
        Ok((found, _)) => Ok(PrintableReport::value(found.value)),
        Err(failure) => Err(nothing_found(context, args, &climb.rungs, &failure.errors)),
    }
}

fn nothing_found(context: &CommandContext, args: &Args, rungs: &[RungResult], errors: &[String]) -> CommandError {
    if args.explain {
        rungs.iter().for_each(|rung| context.printer.talk(line(rung).trim_end()));
    }
    let error = Error::not_extractable(format!("the text has no valid output: {}", errors.join("; ")));
    let error = CommandError::from(error);
    if args.no_llm || rungs.iter().any(|rung| rung.rung == "llm") {
        return error;
    }
    error.hint("no model is configured to read it: set `modelOverrides.extract` or `defaultModel` in config.yaml")
}

/// The typed schema.
fn schema(context: &CommandContext, typed: &str) -> Result<Arc<CompiledSchema>, CommandError> {
    let store = context.home.store();
    if Path::new(typed).is_file() {
        let value = input::parse(&input::from_file(Path::new(typed))?, typed)?;
        let compiled = CompiledSchema::compile(&value).map_err(|error| Error::data(format!("{typed}: {error}")))?;
        return Ok(Arc::new(compiled));
    }
    if let Some((workflow, role)) = typed.rsplit_once('.') {
        let hash = context.workflow(workflow)?;
        let workflow = nodes::workflow(store, hash)?;
        let Some(role) = workflow.roles.get(role) else {
            let known: Vec<&str> = workflow.roles.keys().map(String::as_str).collect();
            let message = format!("workflow `{}` has no role `{role}`", workflow.name);
            return Err(CommandError::usage(message).hint(format!("its roles: {}", known.join(", "))));
        };
        return Ok(store.schema(role.meta).map_err(Error::from)?);
    }
    let hash = context.node(typed).map_err(|error| error.hint("a schema is a file, WORKFLOW.ROLE, or a hash"))?;
    Ok(store.schema(hash).map_err(Error::from)?)
}
