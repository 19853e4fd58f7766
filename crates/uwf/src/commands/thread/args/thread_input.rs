//! The values of a new thread's input.

use std::path::{Path, PathBuf};

use serde_json::json;
use uwf_core::document::{EMPTY_FILE, SourceDocument};
use uwf_core::input::{InputDoor, InputRequest, InputValues, NOT_A_MAPPING};
use uwf_engine::error::ErrorKind;

use crate::error::CommandError;
use crate::input;

/// Values for the input of a workflow.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct InputArgs {
    /// A value of the workflow's input, such as `--set level=high`; `a.b=1` sets a value in an object. Repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// A file with values of the workflow's input, as YAML or JSON; `-` reads it from stdin. `--set` wins.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) input: Option<PathBuf>,
}

impl InputArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.input.is_none()
    }

    /// Whether the values are read from stdin.
    pub(crate) fn is_stdin(&self) -> bool {
        self.input.as_deref() == Some(Path::new("-"))
    }

    /// The values as given.
    ///
    /// # Errors
    /// `NotFound`, `Io`; `Data` for a file that is neither YAML nor JSON.
    pub(crate) fn given(self) -> Result<InputRequest, CommandError> {
        let values = match &self.input {
            None => None,
            Some(path) => {
                let origin = if self.is_stdin() { "stdin".to_owned() } else { path.display().to_string() };
                Some(document(&input::from_file(path)?, &origin)?)
            }
        };
        Ok(InputRequest { values, set: self.set, door: InputDoor::CommandLine })
    }
}

/// Values in a text, which is YAML or JSON. A text without a value gives no values.
///
/// # Errors
/// `Data` with every problem of the text, also if it is not a mapping.
pub(crate) fn document(text: &str, origin: &str) -> Result<InputValues, CommandError> {
    match SourceDocument::parse(text, origin) {
        Ok(document) if document.value.is_object() => Ok(InputValues::Document(Box::new(document))),
        Ok(document) => Err(CommandError::new(ErrorKind::Data, format!("{}: {NOT_A_MAPPING}", document.place("")))),
        Err(problems) if problems.iter().all(|problem| problem.code == EMPTY_FILE) => {
            Ok(InputValues::Value { value: json!({}), origin: origin.to_owned() })
        }
        Err(problems) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(CommandError::new(ErrorKind::Data, problems.join("\n")))
        }
    }
}
