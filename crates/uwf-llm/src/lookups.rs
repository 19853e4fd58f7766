//! What a model may look up before it gives a value.

use std::time::Duration;

use crate::message::ToolCall;
use crate::request::Tool;

/// Tools beside the one that takes the value. A model that can call tools is offered them; one that cannot is told
/// something instead. How much there is to look up in all is for the implementation to limit; how often a model may ask
/// for it, [`Lookups::max_rounds`] says.
pub trait Lookups {
    /// The tools, by names other than that of the value.
    fn tools(&self) -> Vec<Tool>;

    /// What a call of one of them finds.
    ///
    /// # Errors
    /// Why there is nothing, in words for the model: it is a fact like any other, and ends nothing.
    fn look_up(&mut self, call: &ToolCall) -> Result<String, String>;

    /// A message for a model that has to do without the tools; `None` when there is nothing to say.
    fn instead(&self) -> Option<String>;

    /// Replies with lookups that are answered, all ways of asking together. After them the value is asked for.
    fn max_rounds(&self) -> u32;
}

/// A lookup that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedUp {
    /// What was asked for.
    pub call: ToolCall,
    /// What was found, or why there is nothing.
    pub result: Result<String, String>,
    /// How long it took.
    pub took: Duration,
}

/// No lookups at all.
pub(crate) struct Nothing;

impl Lookups for Nothing {
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    fn look_up(&mut self, call: &ToolCall) -> Result<String, String> {
        Err(format!("there is no tool `{}`", call.name))
    }

    fn instead(&self) -> Option<String> {
        None
    }

    fn max_rounds(&self) -> u32 {
        0
    }
}
