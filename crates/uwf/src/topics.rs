//! The pages of the documentation, in the program itself: what a hint names is there wherever uwf is installed.

use crate::commands::reference;

/// A page.
pub(crate) struct Topic {
    /// What it is asked for by: `uwf help NAME`.
    pub(crate) name: &'static str,
    /// What it is about, for the list of topics.
    pub(crate) about: &'static str,
    /// Its text, markdown.
    pub(crate) text: fn() -> String,
}

/// A page of docs/, which is linked into the crate so that a package has it too.
macro_rules! page {
    ($name:literal) => {
        || include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/", $name, ".md")).to_owned()
    };
}

/// Every page.
pub(crate) const ALL: [Topic; 9] = [
    Topic {
        name: "workflow-format",
        about: "workflow files: roles, conditions, the graph, questions of authors",
        text: page!("reference/workflow-format"),
    },
    Topic {
        name: "configuration",
        about: "config.yaml, .env, setup: agents, models, limits",
        text: page!("reference/configuration"),
    },
    Topic {
        name: "agent-protocol",
        about: "agents: any command, the built-in ones, your own",
        text: page!("reference/agent-protocol"),
    },
    Topic {
        name: "trace-format",
        about: "what agents can print of their work, turn by turn",
        text: page!("reference/trace-format"),
    },
    Topic { name: "storage", about: "the files of a storage root, backup, hashes", text: page!("internals/storage") },
    Topic { name: "security", about: "the threat model: who can do what", text: page!("internals/security") },
    Topic {
        name: "reliability",
        about: "what is promised when something breaks, and how it is tested",
        text: page!("internals/reliability"),
    },
    Topic { name: "exit-codes", about: "what each exit code means", text: || format!("{}\n", crate::cli::EXIT_CODES) },
    Topic { name: "reference", about: "the help of all commands on one page", text: reference::page },
];

/// The page of a name.
pub(crate) fn find(name: &str) -> Option<&'static Topic> {
    ALL.iter().find(|topic| topic.name.eq_ignore_ascii_case(name))
}

/// The list of pages, for the help of `uwf help`.
pub(crate) fn overview() -> String {
    let rows = ALL.iter().map(|topic| format!("\n  {:<16} {}", topic.name, topic.about));
    format!("Topics, printed by `uwf help TOPIC`:{}", rows.collect::<String>())
}
