//! The command line: groups of commands, and the hidden commands with which uwf calls itself.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use uwf_agents::orphan_answer;
use uwf_agents::sandbox::inside;
use uwf_engine::attempt::{broker, keeper};
use uwf_engine::root::home::AttemptId;
use uwf_engine::root::received_keys;
use uwf_engine::thread::evaluate;
use uwf_engine::verbs::notify::NOTIFY_ARGUMENT;
use uwf_engine::verbs::{otel as spans, step_keeper};
use uwf_server::CommandLine;

use crate::commands::{
    agent, api, cas, completions, config, connect, doctor, gateway, gc, help, hook, init, log, man, mcp, notify, otel,
    pack, recover, reference, schedule, schema, serve, setup, skill, store, thread, top, worker, workflow,
};
use crate::complete;
use crate::context::CommandContext;
use crate::described;
use crate::error::CommandError;
use crate::help_text;
use crate::printer::{CommandPrinter, CommandResult, PrintableReport, ReportFormat, StdoutContent};
use crate::topics::EXIT_CODES;
use crate::usage;

/// Stateless workflow engine for AI agents: every step is one process, every output is kept.
#[derive(Debug, Parser)]
#[command(name = "uwf", version, after_help = AFTER_HELP, after_long_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"), disable_help_subcommand = true)]
pub(crate) struct UwfCli {
    /// How to print the report; UWF_FORMAT does the same. Default: text on a terminal, one line of JSON in a pipe.
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) format: Option<ReportFormat>,

    #[command(subcommand)]
    command: CommandGroup,
}

const AFTER_HELP: &str = "\
Examples:
  uwf workflow put solve-issue.yaml           store a workflow under its name
  uwf thread start solve-issue -p 'Fix #42'   create a thread without running it
  uwf thread step 7Q2M                        run one step
  uwf run solve-issue -p 'Fix #42'            start and step until the end
  uwf thread read 7Q2M                        print the whole thread

Name a thread by its id, by a unique start or end of its id, or by @ (newest), @2 (second newest), …
Short forms: uwf ls, step, show and read are uwf thread list, step, show and read.

`uwf help TOPIC` prints the documentation: workflow-format, configuration, agent-protocol and more.
The storage root is $UNCAGED_WORKFLOW_STORAGE_ROOT, else $WORKFLOW_STORAGE_ROOT, else ~/.uncaged/workflow.";

const THREAD_EXAMPLES: &str = "\
Examples:
  uwf thread start solve-issue -p 'Fix #42'
  uwf thread step 7Q2M
  uwf thread list --state stuck
  uwf thread read 7Q2M";

#[derive(Debug, Subcommand)]
enum CommandGroup {
    /// Store, check, list and draw workflows.
    #[command(subcommand, after_help = workflow::EXAMPLES)]
    Workflow(workflow::Command),
    /// Start, step, inspect, fork and end threads.
    #[command(subcommand, after_help = THREAD_EXAMPLES)]
    Thread(thread::Command),
    /// Start or continue a thread, and run it until it is done, waiting, stuck or at a limit.
    Run(Box<thread::run::Args>),
    /// Show all threads on one live screen.
    Top(top::Args),
    /// Short for `uwf thread list`.
    #[command(hide = true)]
    Ls(thread::list::Args),
    /// Short for `uwf thread ps`.
    #[command(hide = true)]
    Ps(thread::ps::Args),
    /// Short for `uwf thread step`.
    #[command(hide = true)]
    Step(thread::step::Args),
    /// Short for `uwf thread show`.
    #[command(hide = true)]
    Show(thread::show::Args),
    /// Short for `uwf thread read`.
    #[command(hide = true)]
    Read(thread::read::Args),
    /// Short for `uwf thread live`.
    #[command(hide = true)]
    Live(thread::live::Args),
    /// Read and write nodes of the content-addressed store.
    #[command(subcommand, after_help = cas::EXAMPLES)]
    Cas(cas::Command),
    /// Commands for agents in any language.
    #[command(subcommand, after_help = agent::EXAMPLES)]
    Agent(agent::Command),
    /// Show log messages of threads.
    Log(log::Args),
    /// Export threads as OpenTelemetry spans.
    #[command(subcommand, after_help = otel::EXAMPLES)]
    Otel(otel::Command),
    /// Serve the commands to agents as tools of an MCP server.
    Mcp(mcp::Args),
    /// Read, change and check the configuration.
    #[command(subcommand, after_help = config::EXAMPLES)]
    Config(config::Command),
    /// Choose provider, key, model and default agent, and test them.
    Setup(setup::Args),
    /// Check the installation, the configuration and leftovers.
    Doctor(doctor::Args),
    /// Rebuild a damaged or missing thread index.
    Recover(recover::Args),
    /// Remove unreferenced nodes.
    Gc(gc::Args),
    /// Create starter files: a project, a workflow from a template.
    #[command(subcommand, after_help = init::EXAMPLES)]
    Init(init::Command),
    /// Move the nodes of ended threads into compressed files.
    Pack(pack::Args),
    /// JSON Schemas of workflow files, config.yaml, mock scripts and events, for editors.
    Schema(schema::Args),
    /// Serve the HTTP API and a live dashboard of threads, their state and their cost.
    Serve(serve::Args),
    /// Try the hooks of the configuration, which `uwf serve --hooks` serves.
    #[command(subcommand, after_help = hook::EXAMPLES)]
    Hook(hook::Command),
    /// Call the HTTP API without a server.
    Api(api::Args),
    /// Receive answers of people from a phone or from Slack.
    #[command(subcommand, after_help = notify::EXAMPLES)]
    Notify(notify::Command),
    /// Connect this machine to a gateway, which then shows its pages and API.
    Connect(connect::Args),
    /// Manage the machines that may connect to this storage root's gateway.
    #[command(subcommand, after_help = gateway::EXAMPLES)]
    Gateway(gateway::Command),
    /// Run steps that Temporal distributes to several machines.
    Worker(worker::Args),
    /// Start threads at set times.
    #[command(subcommand, after_help = schedule::EXAMPLES)]
    Schedule(schedule::Command),
    /// Show, prepare and copy stores: local files, or a store that several machines share.
    #[command(subcommand, after_help = store::EXAMPLES)]
    Store(store::Command),
    /// Print reference texts for agents: commands, writing workflows, writing agents.
    Skill(skill::Args),
    /// Help for a command, or a page of the documentation.
    Help(help::Args),
    /// Print or install shell completions.
    Completions(completions::Args),
    /// Print or install manual pages.
    Man(man::Args),
    /// Print the reference page of all commands.
    #[command(hide = true)]
    Reference,
}

impl CommandGroup {
    /// The kind of output that the command writes to stdout.
    fn stdout(&self) -> StdoutContent {
        match self {
            CommandGroup::Workflow(command) => command.stdout(),
            CommandGroup::Mcp(_) => StdoutContent::Protocol,
            CommandGroup::Schema(args) => args.stdout(),
            CommandGroup::Skill(args) => args.stdout(),
            CommandGroup::Thread(command) => command.stdout(),
            CommandGroup::Agent(command) => command.stdout(),
            CommandGroup::Otel(command) => command.stdout(),
            CommandGroup::Completions(args) if args.installs() => StdoutContent::Report,
            CommandGroup::Man(args) if args.installs() => StdoutContent::Report,
            CommandGroup::Completions(_)
            | CommandGroup::Man(_)
            | CommandGroup::Help(_)
            | CommandGroup::Reference
            | CommandGroup::Read(_) => StdoutContent::Document(ReportFormat::Text),
            CommandGroup::Run(_)
            | CommandGroup::Live(_)
            | CommandGroup::Top(_)
            | CommandGroup::Log(_)
            | CommandGroup::Ls(_)
            | CommandGroup::Ps(_)
            | CommandGroup::Step(_)
            | CommandGroup::Show(_)
            | CommandGroup::Cas(_)
            | CommandGroup::Config(_)
            | CommandGroup::Setup(_)
            | CommandGroup::Doctor(_)
            | CommandGroup::Recover(_)
            | CommandGroup::Gc(_)
            | CommandGroup::Init(_)
            | CommandGroup::Pack(_)
            | CommandGroup::Serve(_)
            | CommandGroup::Api(_) => StdoutContent::Report,
            CommandGroup::Connect(_)
            | CommandGroup::Gateway(_)
            | CommandGroup::Notify(_)
            | CommandGroup::Store(_)
            | CommandGroup::Worker(_)
            | CommandGroup::Hook(_)
            | CommandGroup::Schedule(_) => StdoutContent::Report,
        }
    }

    /// Whether agents call this group. Agents access a shared store through the broker of their attempt.
    fn is_for_agents(&self) -> bool {
        matches!(self, CommandGroup::Agent(_) | CommandGroup::Cas(_))
    }

    /// The attempt named in the command.
    fn attempt(&self) -> Option<AttemptId<'_>> {
        match self {
            CommandGroup::Agent(command) => command.attempt(),
            _ => None,
        }
    }

    /// The storage root named in the command.
    fn root(&self) -> Option<&Path> {
        match self {
            CommandGroup::Agent(command) => command.root(),
            CommandGroup::Mcp(args) => args.root.as_deref(),
            _ => None,
        }
    }
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    // Before anything else, because other processes must not see the keys of this one.
    received_keys::close_if_keyed();
    received_keys::receive_if_sent();
    let args = uwf_server::give_back_open_files(std::env::args_os().collect());
    if let Some(code) = own_child(&args) {
        return ExitCode::from(code);
    }
    if complete::answered(&args, completed_command) {
        return ExitCode::SUCCESS;
    }
    let args = crate::commands::agent::by_program_name(args);
    let args = help_first(args);
    let asked = usage::asked_format(&args);
    let mut root = command();
    let parsed = root.try_get_matches_from_mut(&args);
    let forgotten = parsed.as_ref().ok().and_then(|parsed| usage::option_as_text(&root, parsed, &args));
    let parsed = parsed.and_then(|parsed| UwfCli::from_arg_matches(&parsed).map_err(|error| error.format(&mut root)));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return parse_failure(error, &args, asked),
    };
    let printer = match CommandPrinter::new(cli.format, cli.command.stdout()) {
        Ok(printer) => printer,
        Err(failure) => return ExitCode::from(CommandPrinter::plain().failure(&failure)),
    };
    if let Some(failure) = forgotten {
        return ExitCode::from(printer.failure(&failure));
    }
    let code = match run(cli.command, printer) {
        Ok(report) => printer.report(&report),
        Err(failure) => printer.failure(&failure),
    };
    ExitCode::from(code)
}

/// Rewrites `uwf thread help step` to `uwf help thread step`, because people ask for help where they are.
fn help_first(args: Vec<OsString>) -> Vec<OsString> {
    let Some(place) = args.iter().position(|arg| arg == "help").filter(|place| *place > 1) else { return args };
    let mut root = command();
    root.build();
    let mut at = &root;
    for arg in &args[1..place] {
        match arg.to_str().and_then(|word| at.find_subcommand(word)) {
            Some(below) if below.has_subcommands() => at = below,
            // Here `help` is a value.
            _ => return args,
        }
    }
    let words = args[1..place].iter().chain(&args[place + 1..]).cloned();
    args.first().cloned().into_iter().chain([OsString::from("help")]).chain(words).collect()
}

fn run(command: CommandGroup, printer: CommandPrinter) -> CommandResult {
    match command {
        CommandGroup::Completions(args) => completions::run(&args),
        CommandGroup::Man(args) => man::run(&args, UwfCli::command()),
        CommandGroup::Help(args) => help::run(&args, UwfCli::command(), help_text::width()),
        CommandGroup::Reference => reference::run(UwfCli::command()),
        CommandGroup::Schema(args) => schema::run(&args),
        CommandGroup::Init(command) => init::run(&command),
        CommandGroup::Skill(args) => skill::run(&args, UwfCli::command()),
        command => {
            let context = match command.is_for_agents() {
                true => CommandContext::open_for_agents(command.root(), command.attempt(), printer)?,
                false => CommandContext::open_at(command.root(), printer)?,
            };
            in_root(&context, command).map_err(|failure| context.with_standing(failure))
        }
    }
}

fn in_root(context: &CommandContext, command: CommandGroup) -> CommandResult {
    match command {
        CommandGroup::Completions(_)
        | CommandGroup::Man(_)
        | CommandGroup::Help(_)
        | CommandGroup::Reference
        | CommandGroup::Schema(_)
        | CommandGroup::Init(_)
        | CommandGroup::Skill(_) => Ok(PrintableReport::nothing()),
        CommandGroup::Workflow(command) => workflow::run(context, command),
        CommandGroup::Thread(command) => thread::run(context, command),
        CommandGroup::Run(args) => thread::run(context, thread::Command::Run(args)),
        CommandGroup::Top(args) => top::run(context, &args),
        CommandGroup::Ls(args) => thread::run(context, thread::Command::List(args)),
        CommandGroup::Ps(args) => thread::run(context, thread::Command::Ps(args)),
        CommandGroup::Step(args) => thread::run(context, thread::Command::Step(args)),
        CommandGroup::Show(args) => thread::run(context, thread::Command::Show(args)),
        CommandGroup::Read(args) => thread::run(context, thread::Command::Read(args)),
        CommandGroup::Live(args) => thread::run(context, thread::Command::Live(args)),
        CommandGroup::Cas(command) => cas::run(context, command),
        CommandGroup::Agent(command) => agent::run(context, command),
        CommandGroup::Setup(args) => setup::run(context, &args),
        CommandGroup::Doctor(args) => doctor::run(context, &args),
        CommandGroup::Recover(args) => recover::run(context, &args),
        CommandGroup::Gc(args) => gc::run(context, &args),
        CommandGroup::Pack(args) => pack::run(context, &args),
        CommandGroup::Serve(args) => serve::run(context, args, command_line),
        CommandGroup::Api(args) => api::run(context, &args, command_line),
        CommandGroup::Notify(command) => notify::run(context, command),
        CommandGroup::Connect(args) => connect::run(context, args, command_line),
        CommandGroup::Gateway(command) => gateway::run(context, command),
        CommandGroup::Store(command) => store::run(context, command),
        #[cfg(feature = "temporal")]
        CommandGroup::Worker(args) => worker::run(context, args),
        CommandGroup::Hook(command) => hook::run(context, command),
        CommandGroup::Schedule(command) => schedule::run(context, command),
        #[cfg(not(feature = "temporal"))]
        CommandGroup::Worker(_) => Err(CommandError::without_temporal()),
        CommandGroup::Config(command) => config::run(context, command),
        CommandGroup::Log(args) => log::run(context, &args),
        CommandGroup::Otel(command) => otel::run(context, command),
        CommandGroup::Mcp(args) => mcp::run(context, &args, command_line()),
    }
}

/// The whole command line, as defined for clap.
pub(crate) fn command() -> clap::Command {
    UwfCli::command()
}

/// The commands, as described for the HTTP API and the tools.
fn command_line() -> CommandLine {
    described::command_line(command())
}

/// The command line for shell completion. `uwf help` takes names of commands, so its completer is added here, where all commands are known.
fn completed_command() -> clap::Command {
    let words = ArgValueCompleter::new(|typed: &OsStr| complete::help(command(), typed));
    command().mut_subcommand("help", |help| help.mut_arg("words", |arg| arg.add(words)))
}

/// Calls of uwf by itself. They are handled before argument parsing, to save its cost.
fn own_child(args: &[OsString]) -> Option<u8> {
    let done = match args.get(1)?.to_str()? {
        inside::INSIDE_ARGUMENT => return Some(inside::main(&args[2..])),
        keeper::KEEPER_ARGUMENT => {
            step_keeper::keeper_main(args.get(2)?.to_str()?, orphan_answer::keep_locked).map_err(CommandError::from)
        }
        broker::BROKER_ARGUMENT => {
            let rest: Option<Vec<&str>> = args[2..].iter().map(|arg| arg.to_str()).collect();
            broker::main(&rest?).map_err(CommandError::from)
        }
        evaluate::CHILD_ARGUMENT => evaluated(evaluate::child_main()),
        evaluate::PAYLOAD_CHILD_ARGUMENT => evaluated(evaluate::payload_child_main()),
        NOTIFY_ARGUMENT => notify::after_step(args.get(2)?.to_str()?, args.get(3)?.to_str()?),
        spans::OTEL_ARGUMENT => {
            otel::after_step(args.get(2)?.to_str()?, args.get(3)?.to_str()?, args.get(4)?.to_str()?)
        }
        _ => return None,
    };
    Some(match done {
        Ok(()) => 0,
        Err(error) => CommandPrinter::plain().failure(&error),
    })
}

/// Writes the answer of an evaluation for the parent process, which may have stopped waiting.
fn evaluated(answer: uwf_engine::error::Result<Vec<u8>>) -> Result<(), CommandError> {
    let _ = std::io::Write::write_all(&mut std::io::stdout(), &answer?);
    Ok(())
}

/// Prints help and version to stdout with exit code 0, and wrong use with 64 instead of clap's 2.
fn parse_failure(error: clap::Error, args: &[OsString], asked: Option<ReportFormat>) -> ExitCode {
    if !error.use_stderr() {
        // Laid out only here, so that no other command waits for it.
        let laid_out = || help_text::laid_out(command(), help_text::width()).try_get_matches_from(args);
        let error = if error.kind() == ErrorKind::DisplayHelp { laid_out().err().unwrap_or(error) } else { error };
        return ExitCode::from(CommandPrinter::plain().written(error.print(), 0));
    }
    let printer = CommandPrinter::new(asked, StdoutContent::Report).unwrap_or_else(|_| CommandPrinter::plain());
    let failure = usage::failure(&error, &mut command());
    if usage::lacks_command(&error) && printer.prints_text() {
        let mut root = help_text::laid_out(command(), help_text::width());
        let help = usage::group(&mut root, args).render_help();
        printer.talk(help.to_string().trim_end());
        return ExitCode::from(failure.kind.exit_code());
    }
    ExitCode::from(printer.failure(&failure))
}
