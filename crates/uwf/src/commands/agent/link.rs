//! `uwf agent link`

use std::path::PathBuf;

use serde::Serialize;
use uwf_engine::verbs::agent_link;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf agent link`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf agent link ~/.local/bin
  uwf-hermes 01ARZ3NDEKTSV4RRFFQ69G5FAV coder     once that directory is on PATH

A step needs no links: a command `uwf-NAME` of the configuration is the built-in agent anyway. What has one of the names \
and is another program is left alone, and then nothing is changed.")]
pub(crate) struct Args {
    /// The directory; it is made if there is none.
    dir: PathBuf,
}

#[derive(Serialize)]
struct Links {
    links: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    path: String,
    /// False when it was there already.
    made: bool,
}

impl Report for Links {
    fn text(&self) -> String {
        let line = |Link { path, made }: &Link| format!("{path}{}\n", if *made { "" } else { " (was there)" });
        self.links.iter().map(line).collect()
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let linked = agent_link::link(context.home.bin(), &context.cwd.join(&args.dir))?;
    let links = linked.into_iter().map(|link| Link { path: link.path.display().to_string(), made: link.made });
    Printed::new(&Links { links: links.collect() })
}
