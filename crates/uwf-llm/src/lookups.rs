//! Lookups of a model before it gives a value.

use std::time::Duration;

use crate::message::ChatToolCall;
use crate::request::ChatTool;

/// Tools for lookups, besides the tool that takes the value. A model without tool support gets a message instead. The implementation limits
/// the total amount of lookups; [`LookupTools::max_rounds`] limits the rounds.
pub trait LookupTools {
    /// The tools. Their names must differ from the value's name.
    fn tools(&self) -> Vec<ChatTool>;

    /// The result of a tool call.
    ///
    /// # Errors
    /// The reason, in words for the model. It does not end the exchange.
    fn look_up(&mut self, call: &ChatToolCall) -> Result<String, String>;

    /// A message for a model that cannot use the tools, if it needs one.
    fn instead(&self) -> Option<String>;

    /// Most rounds of lookups, over all modes. After them the model must give the value.
    fn max_rounds(&self) -> u32;
}

/// A lookup that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedUp {
    /// The call.
    pub call: ChatToolCall,
    /// Its result, or why it failed.
    pub result: Result<String, String>,
    /// Its duration.
    pub took: Duration,
}

/// No lookups at all.
pub(crate) struct NoLookups;

impl LookupTools for NoLookups {
    fn tools(&self) -> Vec<ChatTool> {
        Vec::new()
    }

    fn look_up(&mut self, call: &ChatToolCall) -> Result<String, String> {
        Err(format!("unknown tool `{}`", call.name))
    }

    fn instead(&self) -> Option<String> {
        None
    }

    fn max_rounds(&self) -> u32 {
        0
    }
}
