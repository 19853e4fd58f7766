//! The pages of the documentation, built into the program: every page that a hint names can be read wherever uwf is installed.

use std::fmt::Write as _;

use crate::help_text;

/// Exit codes, as every help text lists them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    success; also when the thread ended (10 with --exit-code)
  11   the thread ended with another outcome than `succeeded`: failed, no-match, stopped, killed …
  20   waiting for a person, or paused
  30   a limit or budget was hit, or an agent is at its usage limit
  40   the agent failed
  41   the agent's answer has no valid output
  64   usage
  65   bad data: workflow, condition, corrupt node
  69   not found, or not active
  70   internal error
  74   files: disk full, permissions
  75   busy or the head moved: try again
  78   configuration
  130  interrupted (143: terminated)

Errors are explained on stderr. With JSON output, stdout also has the error:
{\"error\": {kind, message, hints, exitCode}, …}, with the state of the thread.";

/// Columns of the reference page.
const PAGE_WIDTH: usize = 100;

/// Options of every command; the page describes them once.
const COMMON: [&str; 2] = ["format", "help"];

/// A page of the documentation.
pub(crate) struct HelpTopic {
    /// The name in `uwf help NAME`.
    pub(crate) name: &'static str,
    /// One line for the list of topics.
    pub(crate) about: &'static str,
    /// Its text in Markdown; parts are generated from the whole command line.
    pub(crate) text: fn(clap::Command) -> String,
}

/// A page of docs/, linked into the crate so that its package includes the page.
macro_rules! page {
    ($name:literal) => {
        |_| include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/", $name, ".md")).to_owned()
    };
}

const fn topic(name: &'static str, about: &'static str, text: fn(clap::Command) -> String) -> HelpTopic {
    HelpTopic { name, about, text }
}

/// Every page.
pub(crate) const ALL: [HelpTopic; 34] = [
    topic("tutorial", "a first workflow: run it, break it, let a person decide, fork it", page!("guide/tutorial")),
    topic("agents", "declaring agents, how their answers are read, writing one", page!("guide/agents")),
    topic("workflows", "writing workflows: roles, groups, inputs, conditions", page!("guide/workflows")),
    topic("operating", "schedulers, exit codes, states, crashes, backups", page!("guide/operating")),
    topic("dashboard", "pages in a browser, for one machine or many", page!("guide/dashboard")),
    topic(
        "shared-store",
        "nodes and heads in a bucket or in Postgres, for several machines",
        page!("guide/shared-store"),
    ),
    topic("temporal", "steps on several machines, and schedules", page!("guide/temporal")),
    topic("watching", "a thread as it happens, and what runs now", page!("guide/watching")),
    topic("steering", "limits, many threads, notifications, failures", page!("guide/steering")),
    topic("keeping", "data on the disk, and how to remove it", page!("guide/keeping")),
    topic("for-agents", "instructions for agents that use uwf, and the commands as tools", page!("guide/for-agents")),
    topic("tracing", "spans of threads for a collector of OpenTelemetry", page!("guide/tracing")),
    topic("explaining", "why a step happened, the cost of threads, their state", page!("guide/explaining")),
    topic("isolating", "a git worktree and a branch for each thread", page!("guide/isolating")),
    topic("coming-from", "the same workflow in other tools and in uwf", page!("guide/coming-from")),
    topic("faq", "questions and answers", page!("guide/faq")),
    topic(
        "workflow-format",
        "workflow files: every key, errors and warnings, older forms",
        page!("reference/workflow-format"),
    ),
    topic("configuration", "config.yaml, .env, setup: agents, models, limits", page!("reference/configuration")),
    topic(
        "agent-protocol",
        "the protocol of agents, the prompt, every built-in agent",
        page!("reference/agent-protocol"),
    ),
    topic("trace-format", "a format for agents to report their work turn by turn", page!("reference/trace-format")),
    topic("events", "events of a thread, for programs", page!("reference/events")),
    topic("http-api", "the HTTP API of `uwf serve`", page!("reference/http-api")),
    topic("mock-scripts", "scripts that play a workflow without a model", page!("reference/mock-scripts")),
    topic("schemas", "JSON Schemas of the files, for editors", page!("reference/schemas")),
    topic("storage", "the files of a storage root, backup, hashes", page!("internals/storage")),
    topic("security", "the threat model: who can do what", page!("internals/security")),
    topic("reliability", "guarantees when something breaks, and their tests", page!("internals/reliability")),
    topic("reliability-crash", "crashes and damage: guarantees and tests", page!("internals/reliability-crash")),
    topic(
        "reliability-concurrency",
        "many processes at once: guarantees and tests",
        page!("internals/reliability-concurrency"),
    ),
    topic(
        "reliability-fuzzing",
        "arbitrary bytes as input: guarantees and tests",
        page!("internals/reliability-fuzzing"),
    ),
    topic("cluster", "three machines on a failing network: guarantees and tests", page!("internals/cluster")),
    topic("scale", "load on a shared store with many threads", page!("scale")),
    topic("exit-codes", "the meaning of each exit code", |_| format!("{EXIT_CODES}\n")),
    topic("reference", "the help of all commands on one page", reference),
];

/// The page with this name.
pub(crate) fn find(name: &str) -> Option<&'static HelpTopic> {
    ALL.iter().find(|topic| topic.name.eq_ignore_ascii_case(name))
}

/// The text of the page with this name.
pub(crate) fn text_of(name: &str) -> Option<String> {
    find(name).map(|topic| (topic.text)(clap::Command::new("uwf")))
}

/// The list of pages, for the help of `uwf help`.
pub(crate) fn overview() -> String {
    let width = ALL.iter().map(|topic| topic.name.len()).max().unwrap_or_default();
    let rows = ALL.iter().map(|topic| format!("\n  {:<width$}  {}", topic.name, topic.about));
    format!("Topics, printed by `uwf help TOPIC`:{}", rows.collect::<String>())
}

/// The reference page, generated from the same definitions as `--help`.
pub(crate) fn reference(root: clap::Command) -> String {
    let mut root = help_text::laid_out(root, PAGE_WIDTH);
    let mut markdown = String::from(
        "# Reference\n\nMade by `uwf reference` from the same definitions as `--help`. Every command also takes `--format`\n\
         and `--help`; the first section lists the exit codes.\n",
    );
    section(&mut markdown, &mut root, "uwf");
    markdown
}

fn section(markdown: &mut String, command: &mut clap::Command, path: &str) {
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    // A list of commands under headings has a heading for options even if all are hidden.
    let help = help.replace("\nOptions:\n\n\n", "\n");
    // Writing to a String never fails.
    let _ = write!(markdown, "\n## `{path}`\n\n```text\n{}\n```\n", help.trim_end());
    for sub in command.get_subcommands_mut().filter(|sub| !sub.is_hide_set()) {
        let name = sub.get_name().to_owned();
        let mut brief =
            COMMON.into_iter().fold(sub.clone(), |sub, option| sub.mut_arg(option, |option| option.hide(true)));
        section(markdown, &mut brief, &format!("{path} {name}"));
    }
}
