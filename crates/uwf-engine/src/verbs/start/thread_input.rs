//! The input of a new thread: checked against the schema of its workflow, and stored as a node of that type.

use json_cas::{NodeDraft, NodeHash, StoreError};
use uwf_core::input::{self, InputDoor, InputRequest};
use uwf_core::workflow::Workflow;

use crate::attempt::redactor::SecretRedactor;
use crate::error::{Error, Result};
use crate::root::home::Home;

/// The input of a new thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadInput {
    /// Its node; `None` if the workflow has no input.
    pub(crate) node: Option<NodeDraft>,
    /// A note for the person.
    pub(crate) note: Option<String>,
}

impl ThreadInput {
    /// The hash of its node.
    pub(crate) fn hash(&self) -> Option<NodeHash> {
        self.node.as_ref().map(NodeDraft::hash)
    }
}

/// The input of a new thread: the given values and the defaults.
///
/// # Errors
/// `Usage` with every problem of the values, or if the workflow has no input; errors of the store.
pub(crate) fn prepare(
    home: &Home,
    workflow: &Workflow,
    given: &InputRequest,
    redactor: &SecretRedactor,
) -> Result<ThreadInput> {
    let name = &workflow.name;
    let Some(type_hash) = workflow.input else {
        return match given.is_empty() {
            true => Ok(ThreadInput::default()),
            false => Err(Error::usage(format!("workflow `{name}` takes no input"))
                .hint("declare the names in its file: `input: { type: object, properties: { … } }`")),
        };
    };
    let schema = home.store().schema(type_hash)?;
    let value = input::complete(&schema, given).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        let missing: Vec<&str> = problems.iter().filter_map(|problem| problem.missing.as_deref()).collect();
        let hint = (!missing.is_empty()).then(|| given.door.hint(&missing));
        let listed = match given.door {
            InputDoor::Request => format!("`inputs` of `{name}` in the list of workflows has their types"),
            InputDoor::CommandLine | InputDoor::Hook => format!("`uwf workflow show {name}` lists its inputs"),
        };
        Error::usage(format!("the input does not fit workflow `{name}`:{}", lines.concat())).hints(hint).hint(listed)
    })?;
    let redacted = redactor.value(&value);
    let note = (redacted != value).then(|| {
        "the input had the value of a secret in it, which was replaced, because nodes are permanent".to_owned()
    });
    if note.is_some() && !schema.is_valid(&redacted) {
        return Err(Error::usage("the input has the value of a secret in it")
            .hint("take it out: agents are given secrets by `env` in config.yaml"));
    }
    let node = NodeDraft::new(type_hash, redacted).map_err(StoreError::from)?;
    Ok(ThreadInput { node: Some(node), note })
}
