//! The filters by which commands select threads.

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeHash;
use uwf_core::label::LabelFilter;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::registry::{self, Registry};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::workflows::find_workflow::{self, PathTrust};
use uwf_engine::views::list::{self, ThreadFilter};

use super::which::HereArg;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;

/// The filters, by their ids.
pub(crate) const FILTERS: [&str; 5] = ["workflow", "state", "search", LABEL, "here"];

/// The filter by labels, by its id. `run` has one option for it and for the labels of a new thread.
pub(crate) const LABEL: &str = "label";

/// Filters of threads.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ThreadFilterArgs {
    /// Only threads of this workflow: path, name (all its versions), hash or unique prefix of one.
    #[arg(long, value_name = "WORKFLOW")]
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    pub(crate) workflow: Option<String>,
    /// Only threads in this state, or in one of several: stuck,waiting.
    #[arg(long, value_name = "STATE", value_parser = state_parser(), ignore_case = true, value_delimiter = ',')]
    pub(crate) state: Vec<ThreadState>,
    /// Only threads with this text in their id, the name of their workflow or their task; case does not matter.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) search: Option<String>,
    /// Only threads with this label, or with this key and any value. Repeat for several: a thread must have all of them.
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub(crate) label: Vec<LabelFilter>,
    #[command(flatten)]
    pub(crate) here: HereArg,
}

fn state_parser() -> impl TypedValueParser<Value = ThreadState> {
    PossibleValuesParser::new(ThreadState::ALL.map(ThreadState::name)).map(|name| {
        let named = ThreadState::ALL.into_iter().find(|state| state.name().eq_ignore_ascii_case(&name));
        named.unwrap_or(ThreadState::Active)
    })
}

impl ThreadFilterArgs {
    /// Whether no filter is given.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_narrower_than_state() && self.state.is_empty()
    }

    /// Whether a filter other than `--state` is given.
    pub(crate) fn is_narrower_than_state(&self) -> bool {
        self.workflow.is_some() || self.search.is_some() || !self.label.is_empty() || self.here.here
    }

    /// The filter of a listing.
    ///
    /// # Errors
    /// `NotFound` for an unknown workflow; `Usage` for `--here` outside of a project.
    pub(crate) fn filter(&self, context: &CommandContext, registry: &Registry) -> Result<ThreadFilter, CommandError> {
        let workflows = self.workflow.as_deref().map(|typed| versions(context, registry, typed)).transpose()?;
        Ok(ThreadFilter {
            workflows,
            states: self.state.clone(),
            search: self.search.clone(),
            labels: self.label.clone(),
            project: context.selected_project(self.here.here)?,
            ..ThreadFilter::default()
        })
    }
}

/// The names of workflows. If they are not readable, lists show hashes.
///
/// # Errors
/// If the shared store is unreachable: its threads can't be listed either.
pub(crate) fn registry(context: &CommandContext) -> Result<Registry, CommandError> {
    match registry::read(&context.home) {
        Err(error) if !error.is_remote() => {
            context.printer.warn(&error.to_string());
            Ok(Registry::new())
        }
        read => Ok(read?),
    }
}

/// The hashes a workflow is or was stored under: all versions of a name, or else the one typed.
fn versions(context: &CommandContext, registry: &Registry, typed: &str) -> Result<Vec<NodeHash>, CommandError> {
    let found = match find_workflow::workflow(&context.home, typed, &context.cwd, PathTrust::Untrusted) {
        Err(error) if error.kind == ErrorKind::NotFound => {
            let shown = list::workflows_shown_as(&context.home, registry, typed)?;
            return if shown.is_empty() { Err(error.into()) } else { Ok(shown) };
        }
        found => found?,
    };
    for note in &found.notes {
        context.printer.warn(note);
    }
    Ok(find_workflow::versions(registry, typed, &found))
}
