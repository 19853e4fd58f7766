//! The labels of a new thread.

use uwf_core::label::{self, LabelFilter, ThreadLabel, ThreadLabels};

use crate::error::CommandError;

/// Labels of a new thread.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LabelArgs {
    /// A label of the new thread. Repeat for several.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<ThreadLabel>,
}

impl LabelArgs {
    /// The labels by their keys.
    ///
    /// # Errors
    /// `Usage` if a key has two values.
    pub(crate) fn labels(&self) -> Result<ThreadLabels, CommandError> {
        label::by_key(self.labels.iter().cloned()).map_err(CommandError::usage)
    }
}

/// The labels of a new thread, in a command whose `--label` can also be a filter.
///
/// # Errors
/// `Usage` for a key without a value, and if a key has two values.
pub(crate) fn of_new_thread(typed: Vec<LabelFilter>) -> Result<ThreadLabels, CommandError> {
    let mut labels = Vec::new();
    for LabelFilter { key, value } in typed {
        let Some(value) = value else {
            return Err(CommandError::usage(format!("a label of a new thread is KEY=VALUE; `{key}` has no `=`")));
        };
        labels.push(ThreadLabel { key, value });
    }
    label::by_key(labels).map_err(CommandError::usage)
}
