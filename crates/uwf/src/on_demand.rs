//! Commands that are described to clap only when they are called.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// Arguments or commands of a group whose description is built when it is needed: for parsing them, for their help, or
/// for listing everything. uwf has some fifty commands, each process uses one, and a step starts several processes.
#[derive(Debug)]
pub(crate) struct OnDemand<T>(pub(crate) T);

impl<T: FromArgMatches> FromArgMatches for OnDemand<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(OnDemand)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for OnDemand<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| keeping_about(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| keeping_about(command, T::augment_args_for_update))
    }
}

impl<T: Subcommand> Subcommand for OnDemand<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| keeping_about(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(|command| keeping_about(command, T::augment_subcommands_for_update))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// A command as described by `augment`, but what it is for stays what its place in the tree says.
fn keeping_about(command: Command, augment: fn(Command) -> Command) -> Command {
    let (Some(about), long) = (command.get_about().cloned(), command.get_long_about().cloned()) else {
        return augment(command);
    };
    let described = augment(command).about(about);
    match long {
        Some(long) => described.long_about(long),
        None => described.long_about(None),
    }
}
