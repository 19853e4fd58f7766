//! Shell completion of threads with their tasks, hashes, workflows, roles, agents and configuration keys.
//!
//! A shell asks while a person types. So nothing here fails or prints; unreadable or slow sources give no candidates.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use json_cas::HashPrefix;
use uwf_core::config::edit::{self, KeyPath};
use uwf_core::config::{HookAction, OutputMode};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::Workflow;
use uwf_engine::root::config_text;
use uwf_engine::root::home::Home;
use uwf_engine::root::project_files::{self, ProjectRoot};
use uwf_engine::root::{registry, thread_ids};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::workflows::find_workflow;

use crate::{table, topics};

/// Variable that a shell sets to its name to ask for completions.
pub(crate) const VARIABLE: &str = "COMPLETE";

/// The longest wait after a person pressed Tab.
const PATIENCE: Duration = Duration::from_millis(800);

/// Maximum number of threads, newest first; more do not fit on a screen.
const MOST_THREADS: usize = 50;

/// Characters of the task shown beside a thread.
const TASK: usize = 60;

/// How many symbols of a hash must be typed before hashes are offered.
const SYMBOLS_OF_A_HASH: usize = 2;

/// Candidates, each with its description.
type Offers = Vec<(String, String)>;

/// Answers a shell that asks for completions; `false` if no shell asks.
pub(crate) fn answered(args: &[OsString], command: fn() -> clap::Command) -> bool {
    let Some(shell) = std::env::var_os(VARIABLE) else { return false };
    // Another program may use a variable with the same name.
    let name = Path::new(&shell).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if Shells::builtins().completer(name).is_none() {
        return false;
    }
    let completed = CompleteEnv::with_factory(command).bin("uwf").completer(program());
    // A shell cannot show errors.
    let _ = completed.try_complete(args.iter().cloned(), std::env::current_dir().ok().as_deref());
    true
}

/// How a shell calls this program: by name if that name on PATH is this program, so that the completions survive an upgrade.
pub(crate) fn program() -> String {
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let found = uwf_engine::attempt::program::find("uwf").and_then(|found| std::fs::canonicalize(found).ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => own.display().to_string(),
        _ => "uwf".to_owned(),
    }
}

/// Threads, newest first, with the first words of their tasks. The typed end of an id is completed to the whole id.
pub(crate) fn threads(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| offered_threads(home, &typed))
}

/// Names of workflows, and workflow files.
pub(crate) fn workflows(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut offers = workflow_names(current);
    offers.extend(workflow_files(current));
    offers
}

/// Threads, workflows and workflow files, as `uwf run` accepts them.
pub(crate) fn threads_or_workflows(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut offers = threads(current);
    offers.extend(workflows(current));
    offers
}

/// Names of workflows, and any file.
pub(crate) fn workflows_or_any_file(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut offers = workflow_names(current);
    offers.extend(PathCompleter::any().complete(current));
    offers
}

/// Names of workflows.
pub(crate) fn workflow_names(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| {
        let registered = registry::read(home).unwrap_or_default().into_keys().map(|name| (name, "registry".to_owned()));
        let cwd = std::env::current_dir().unwrap_or_default();
        let files = project_files::all(&cwd).into_iter().map(|(name, file)| (name, file.display().to_string()));
        beginning_with(&typed, registered.chain(files))
    })
}

fn workflow_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let is_workflow = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        path.is_dir() || extension.is_some_and(|extension| matches!(extension, "yaml" | "yml" | "json"))
    };
    PathCompleter::any().filter(is_workflow).complete(current)
}

/// Hashes that begin with the typed text, once that is long enough.
pub(crate) fn hashes(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current).to_ascii_uppercase();
    let Some(prefix) = typed.parse::<HashPrefix>().ok().filter(|_| typed.len() >= SYMBOLS_OF_A_HASH) else {
        return Vec::new();
    };
    soon(move |home| {
        let found = home.store().objects().list(Some(&prefix)).unwrap_or_default();
        beginning_with(&typed, found.into_iter().map(|hash| (hash.to_string(), String::new())))
    })
}

/// Roles of the thread or workflow on the command line.
pub(crate) fn roles(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| beginning_with(&typed, meant_roles(home)))
}

/// Aliases of agents, and built-in agents.
pub(crate) fn agents(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| beginning_with(&typed, offered_agents(home)))
}

/// Hooks of the configuration.
pub(crate) fn hooks(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| {
        let hooks = home.config().map(|config| config.hooks).unwrap_or_default().into_iter();
        let described = hooks.map(|(name, hook)| {
            let what = match hook.action {
                HookAction::Start(start) => format!("starts {}", start.workflow),
                HookAction::Answer(_) => "answers a thread".to_owned(),
            };
            (name, what)
        });
        beginning_with(&typed, described)
    })
}

/// `ROLE=`, then the alias; a bare alias applies to every role.
pub(crate) fn roles_with_agents(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| match typed.split_once('=') {
        Some((role, _)) => {
            let of_role = offered_agents(home).into_iter().map(|(alias, what)| (format!("{role}={alias}"), what));
            beginning_with(&typed, of_role)
        }
        None => {
            let roles = meant_roles(home).into_iter().map(|(role, what)| (format!("{role}="), what));
            beginning_with(&typed, roles.chain(aliases(home)))
        }
    })
}

/// `ROLE=`, then the form of an output; a bare form applies to every role.
pub(crate) fn output_forms(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    let role = typed.split_once('=').map(|(role, _)| format!("{role}=")).unwrap_or_default();
    let forms = OutputMode::ALL.map(|form| (format!("{role}{}", form.as_str()), String::new()));
    candidates(beginning_with(&typed, forms))
}

/// Commands and topics, as `uwf help` accepts them.
pub(crate) fn help(mut root: clap::Command, current: &OsStr) -> Vec<CompletionCandidate> {
    root.build();
    let words: Vec<String> = std::env::args().skip_while(|arg| arg != "--").skip(3).collect();
    let before = words.split_last().map(|(_, before)| before).unwrap_or_default();
    let mut at = &root;
    for word in before {
        let Some(below) = at.find_subcommand(word) else { return Vec::new() };
        at = below;
    }
    let describe =
        |sub: &clap::Command| (sub.get_name().to_owned(), sub.get_about().map(ToString::to_string).unwrap_or_default());
    let commands = at.get_subcommands().filter(|sub| !sub.is_hide_set()).map(describe);
    let topics = topics::ALL.iter().filter(|_| before.is_empty());
    let topics = topics.map(|topic| (topic.name.to_owned(), topic.about.to_owned()));
    candidates(beginning_with(&text(current), commands.chain(topics)))
}

/// Configuration keys: those that are set, and all others that exist.
pub(crate) fn config_keys(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = text(current);
    soon(move |home| {
        let text = config_text::read(&home.config_file()).unwrap_or_default();
        let values = edit::values(&text, "config.yaml").unwrap_or_default();
        let set = edit::paths(&values).into_iter().map(|path| {
            let value = edit::get(&values, &path).map(ToString::to_string).unwrap_or_default();
            (path.to_string(), table::excerpt(&value, TASK))
        });
        let known = uwf_core::config::keys().map(|key| {
            let default = uwf_core::config::default_of(&KeyPath::from_keys(&[key]));
            (key.to_owned(), default.map(|default| format!("default {default}")).unwrap_or_default())
        });
        let mut offers: Offers = set.chain(known).collect();
        offers.sort_by(|a, b| a.0.cmp(&b.0));
        offers.dedup_by(|a, b| a.0 == b.0);
        beginning_with(&typed, offers)
    })
}

fn offered_threads(home: &Home, typed: &str) -> Offers {
    let wanted = typed.to_ascii_uppercase();
    let mut ids = thread_ids::all(home).unwrap_or_default();
    ids.reverse();
    let begins = |id: &String| id.starts_with(&wanted);
    if !ids.iter().any(begins) {
        ids.retain(|id| wanted.len() >= thread_ids::MIN_SYMBOLS && id.ends_with(&wanted));
    }
    let offered = ids.into_iter().filter(|id| begins(id) || id.ends_with(&wanted)).take(MOST_THREADS);
    offered
        .map(|id| {
            let thread = id.parse::<ThreadId>().ok().and_then(|id| Thread::any(home, &id).ok());
            let task = thread.map(|thread| table::excerpt(&thread.start.prompt, TASK)).unwrap_or_default();
            (id, task)
        })
        .collect()
}

/// Roles of the first thread or workflow named on the command line, or else of every named workflow.
fn meant_roles(home: &Home) -> Offers {
    let words: Vec<String> = std::env::args().skip_while(|arg| arg != "--").skip(3).collect();
    let registry = registry::read(home).unwrap_or_default();
    let cwd = std::env::current_dir().unwrap_or_default();
    let named = |word: &String| {
        let of_thread = || {
            let id = thread_ids::resolve(home, ProjectRoot::of_dir(home, &cwd).as_ref(), word).ok()?;
            Thread::any(home, &id).ok()?.workflow().ok()
        };
        find_workflow::peek(home, word, &cwd).or_else(of_thread)
    };
    let workflows: Vec<Workflow> = match words.iter().find_map(named) {
        Some(workflow) => vec![workflow],
        None => registry.values().filter_map(|entry| nodes::workflow(home.store(), entry.hash).ok()).collect(),
    };
    let roles = workflows.iter().flat_map(|workflow| &workflow.roles);
    roles.map(|(name, role)| (name.clone(), table::excerpt(&role.description, TASK))).collect()
}

fn aliases(home: &Home) -> Offers {
    let agents = home.config().map(|config| config.agents).unwrap_or_default();
    agents.into_iter().map(|(alias, agent)| (alias, agent.command)).collect()
}

fn offered_agents(home: &Home) -> Offers {
    let built_in = uwf_agents::NAMES.iter().map(|name| (format!("uwf-{name}"), "built in".to_owned()));
    aliases(home).into_iter().chain(built_in).collect()
}

fn beginning_with(typed: &str, offers: impl IntoIterator<Item = (String, String)>) -> Offers {
    offers.into_iter().filter(|(value, _)| value.starts_with(typed)).collect()
}

fn text(current: &OsStr) -> String {
    current.to_string_lossy().into_owned()
}

/// The candidates found within [`PATIENCE`].
fn soon(find: impl FnOnce(&Home) -> Offers + Send + 'static) -> Vec<CompletionCandidate> {
    let (send, receive) = mpsc::channel();
    // This OS thread ends with the process, which ends once the shell has its answer.
    std::thread::spawn(move || {
        let offers = Home::from_environment().map(|home| find(&home)).unwrap_or_default();
        // The receiver may have stopped waiting.
        let _ = send.send(offers);
    });
    candidates(receive.recv_timeout(PATIENCE).unwrap_or_default())
}

fn candidates(offers: Offers) -> Vec<CompletionCandidate> {
    offers.into_iter().map(|(value, help)| CompletionCandidate::new(value).help(Some(plain(&help).into()))).collect()
}

/// Replaces control characters, because a shell prints the text unchanged.
fn plain(text: &str) -> String {
    text.chars().map(|symbol| if symbol.is_control() { ' ' } else { symbol }).collect()
}
