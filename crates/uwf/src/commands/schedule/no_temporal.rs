//! Stands for `on_temporal` in builds without Temporal.

use super::{CreateArgs, ScheduleRow};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::CommandResult;

pub(super) fn is_known(context: &CommandContext) -> Result<bool, CommandError> {
    Ok(context.home.config()?.temporal.is_some())
}

pub(super) fn create(_: &CommandContext, _: CreateArgs) -> CommandResult {
    Err(CommandError::without_temporal())
}

pub(super) fn rows(_: &CommandContext) -> Result<Vec<ScheduleRow>, CommandError> {
    Err(CommandError::without_temporal())
}

pub(super) fn remove(_: &CommandContext, _: &str) -> Result<(), CommandError> {
    Err(CommandError::without_temporal())
}
