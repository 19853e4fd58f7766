//! Puts the program of an agent into its sandbox.
//!
//! `view.rs` decides which files the program sees, and `repository.rs` what it may change of a git repository. Each mechanism turns that view
//! into its own rules: `bubblewrap.rs`, `landlock_rules.rs` and `seatbelt.rs`. `inside.rs` is the last process before the program: it gives
//! up the rights that only a process itself can give up. `proxy.rs` passes on requests to the hosts that are allowed.
//!
//! A mechanism is used only if it works here with these very rules: uwf tries it before the program starts. Otherwise the program does not
//! start.

mod bubblewrap;
pub mod inside;
mod inside_request;
#[cfg(target_os = "linux")]
mod landlock_rules;
pub mod probe;
mod proxy;
pub(crate) mod reporting;
mod repository;
mod seatbelt;
#[cfg(target_os = "linux")]
mod system_calls;
mod temporary;
mod view;
mod way_out;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use agent_kit::answer::{AgentAnswer, AgentToolCall};
use agent_kit::{Error, Result};
use tempfile::TempDir;
use uwf_core::activity;
use uwf_core::config::{NetworkPolicy, SandboxPolicy};
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::error::AtPath;
use uwf_engine::root::home;

use crate::progress;
use inside_request::InsideRequest;
use proxy::{ProxyRules, ProxySecret, RefusedHosts};
use view::{SandboxView, ViewRequest};

/// Variables with sockets of other programs of the user.
const SOCKET_VARIABLES: [&str; 5] =
    ["SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "GPG_AGENT_INFO", "XDG_RUNTIME_DIR"];

/// Name of the directory for temporary files, in the directory of a sandbox.
const TEMPORARY: &str = "tmp";

/// The name of a refused connection among tool calls.
const NETWORK_CALL: &str = "Network";

/// Name of the proxy's socket there.
const SOCKET: &str = "proxy.sock";

/// How a sandbox is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxMechanism {
    /// Namespaces of Linux, by the program `bwrap`.
    Bubblewrap,
    /// Linux's own rules for files, with a filter of system calls.
    Landlock,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

impl SandboxMechanism {
    /// Its name for people.
    fn as_str(self) -> &'static str {
        match self {
            SandboxMechanism::Bubblewrap => "bubblewrap",
            SandboxMechanism::Landlock => "Landlock",
            SandboxMechanism::Seatbelt => "Seatbelt",
        }
    }

    /// The mechanisms of this system, best first.
    fn all() -> &'static [SandboxMechanism] {
        if cfg!(target_os = "macos") {
            &[SandboxMechanism::Seatbelt]
        } else {
            &[SandboxMechanism::Bubblewrap, SandboxMechanism::Landlock]
        }
    }
}

/// The access of a program to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathAccess {
    /// Nothing.
    Hidden,
    /// Read it.
    Read,
    /// Read it, and not write it if the mechanism can except a path from a directory that the program may write.
    PreferablyRead,
    /// Read and write it.
    Write,
}

/// The rules that a mechanism must keep.
#[derive(Debug)]
struct SandboxRules<'r> {
    view: &'r SandboxView,
    /// Directory for temporary files.
    temporary: &'r Path,
    network: &'r NetworkPolicy,
    /// Socket of the proxy, if the network is limited to hosts.
    proxy: Option<&'r Path>,
    /// This program, which runs inside.
    uwf: &'r Path,
}

/// The sandbox of a program that is about to start. Its temporary files are removed when this is dropped.
pub(crate) struct ProgramSandbox {
    /// The words before the program.
    words: Vec<String>,
    temporary: PathBuf,
    /// Variables with texts in the place of secrets.
    placeholders: Vec<(String, String)>,
    /// Directory of its temporary files.
    dir: TempDir,
}

impl ProgramSandbox {
    /// The sandbox for the program of an attempt; `None` if its agent has none.
    ///
    /// # Errors
    /// `Config` if the sandbox cannot be kept here, `Io`.
    pub(crate) fn of_attempt(opened: &AttemptOpening, program: &str) -> Result<Option<ProgramSandbox>> {
        let Some(policy) = &opened.agent.sandbox else { return Ok(None) };
        let root = home::root_from_environment()?;
        // Too long prompts are in a file beside the attempt's others.
        let prompt = root.join(format!("threads/{}/attempts/{}.prompt.md", opened.thread, opened.attempt));
        let request = ViewRequest { policy, workspace: &opened.workspace, root: &root, program, further: &[prompt] };
        let refused = |why: String| refusal(&opened.agent.name, &why);
        let (mut sandbox, mechanism, failed) = ProgramSandbox::open(&request).map_err(refused)?;
        sandbox.serve(opened, policy).map_err(refused)?;
        if let Some(failed) = failed {
            progress::line(&format!("{}: its sandbox is kept by {}: {failed}", opened.agent.name, mechanism.as_str()));
        }
        Ok(Some(sandbox))
    }

    /// The sandbox with the first mechanism that works, and why better ones don't.
    fn open(
        request: &ViewRequest<'_>,
    ) -> std::result::Result<(ProgramSandbox, SandboxMechanism, Option<String>), String> {
        let text = |error: Error| error.to_string();
        let dir = temporary::create()
            .map_err(|error| format!("cannot create a directory for its temporary files: {error}"))?;
        let base = dir.path().canonicalize().path_context("find", dir.path()).map_err(text)?;
        let temporary = base.join(TEMPORARY);
        std::fs::create_dir(&temporary).path_context("create", &temporary).map_err(text)?;
        let uwf = std::env::current_exe().map_err(|error| format!("cannot find uwf's own program: {error}"))?;
        let view = SandboxView::new(request, &uwf)?;
        let socket = base.join(SOCKET);
        let network = &request.policy.network;
        let proxy = matches!(network, NetworkPolicy::Hosts(_)).then_some(socket.as_path());
        if proxy.is_some() {
            // A mechanism is tried with a file in the place of the socket.
            std::fs::write(&socket, "").path_context("create", &socket).map_err(text)?;
        }
        let rules = SandboxRules { view: &view, temporary: &temporary, network, proxy, uwf: &uwf };
        let mut failed: Vec<String> = Vec::new();
        for mechanism in SandboxMechanism::all() {
            match words(*mechanism, &rules).and_then(|words| attempted(&words, request.workspace).map(|()| words)) {
                Ok(words) => {
                    let temporary = match mechanism {
                        SandboxMechanism::Bubblewrap => PathBuf::from("/tmp"),
                        SandboxMechanism::Landlock | SandboxMechanism::Seatbelt => temporary,
                    };
                    let failed = (!failed.is_empty()).then(|| failed.join("; "));
                    let sandbox = ProgramSandbox { words, temporary, placeholders: Vec::new(), dir };
                    return Ok((sandbox, *mechanism, failed));
                }
                Err(why) => failed.push(format!("{}: {why}", mechanism.as_str())),
            }
        }
        Err(failed.join("; "))
    }

    /// Starts the proxy, if the network is limited to hosts.
    fn serve(&mut self, opened: &AttemptOpening, policy: &SandboxPolicy) -> std::result::Result<(), String> {
        let NetworkPolicy::Hosts(hosts) = &policy.network else { return Ok(()) };
        let mut secrets = Vec::new();
        for (name, host) in &policy.secrets {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| format!("secret `{name}` has no value: put it into .env"))?;
            if value.chars().any(char::is_control) {
                return Err(format!("the value of secret `{name}` has more than one line, so no header can hold it"));
            }
            let placeholder = format!("uwf-placeholder-{name}-{}", opened.attempt);
            self.placeholders.push((name.clone(), placeholder.clone()));
            secrets.push(ProxySecret { placeholder, value, host: host.clone() });
        }
        let socket = self.dir.path().join(SOCKET);
        let rules = ProxyRules { agent: opened.agent.name.clone(), hosts: hosts.clone(), secrets };
        let served = std::fs::remove_file(&socket).and_then(|()| proxy::serve(&socket, rules, refused_hosts()));
        served.map_err(|error| format!("the proxy for its hosts does not start: {}: {error}", socket.display()))
    }

    /// The words of a command line that starts this program in the sandbox; its arguments follow.
    pub(crate) fn words(&self, program: &str) -> Vec<String> {
        self.words.iter().map(String::as_str).chain([program]).map(str::to_owned).collect()
    }

    /// Sets the variables of the program.
    pub(crate) fn set_variables(&self, command: &mut Command) {
        for name in SOCKET_VARIABLES {
            command.env_remove(name);
        }
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, &self.temporary);
        }
        command.envs(self.placeholders.iter().map(|(name, placeholder)| (name, placeholder)));
    }
}

/// A command that starts a program, in a sandbox if it has one.
pub(crate) fn command(sandbox: Option<&ProgramSandbox>, program: &str) -> Command {
    let Some(sandbox) = sandbox else { return Command::new(program) };
    let words = sandbox.words(program);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// The command line up to the program.
fn words(mechanism: SandboxMechanism, rules: &SandboxRules<'_>) -> std::result::Result<Vec<String>, String> {
    match mechanism {
        SandboxMechanism::Bubblewrap => bubblewrap::words(rules),
        #[cfg(target_os = "linux")]
        SandboxMechanism::Landlock => {
            let request = landlock_rules::request(rules)?;
            inside_words(rules.uwf, &request)
        }
        #[cfg(not(target_os = "linux"))]
        SandboxMechanism::Landlock => Err("it needs Linux".to_owned()),
        SandboxMechanism::Seatbelt => seatbelt::words(rules),
    }
}

/// The words with which uwf starts the program as the last process before it.
fn inside_words(uwf: &Path, request: &InsideRequest) -> std::result::Result<Vec<String>, String> {
    let json = serde_json::to_string(request).map_err(|error| error.to_string())?;
    let uwf = uwf.to_str().ok_or("the path of uwf is not UTF-8")?;
    Ok(vec![uwf.to_owned(), inside::INSIDE_ARGUMENT.to_owned(), json])
}

/// Tries a sandbox without a program.
fn attempted(words: &[String], dir: &Path) -> std::result::Result<(), String> {
    let (program, args) = words.split_first().ok_or("it has no command")?;
    let tried = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    let said = String::from_utf8_lossy(&tried.stderr);
    match (tried.status.success(), said.trim().lines().last()) {
        (true, _) => Ok(()),
        (false, Some(line)) => Err(line.to_owned()),
        (false, None) => Err(format!("{program} failed without a word")),
    }
}

/// Rejects the tool `submit` for an agent with a sandbox: its server needs the storage root, which is hidden there.
///
/// # Errors
/// `Config`.
pub(crate) fn refuse_tool(spec: &AgentSpec, is_given: bool) -> Result<()> {
    if spec.sandbox.is_none() || !is_given {
        return Ok(());
    }
    let message = format!("agent `{}` has a sandbox, where the tool `submit` does not work", spec.name);
    Err(Error::config(message).hint("remove `mcp` from its `config`: it answers in its text instead"))
}

/// A hint about a path of `write` or `read`; `None` if the reason is another one. No other sandbox would help.
fn listed_path_hint(agent: &str, why: &str) -> Option<String> {
    let key = ["write", "read"].into_iter().find(|key| why.starts_with(&format!("`{key}`: ")))?;
    Some(format!("create the path, or remove it from `sandbox.{key}` of agent `{agent}` in config.yaml"))
}

/// Hints about a sandbox that cannot be kept: a path of its rules, or what a mechanism lacks.
fn way_to_keep(agent: &str, why: &str) -> Vec<String> {
    if let Some(hint) = listed_path_hint(agent, why) {
        return vec![hint];
    }
    // The checkout of a thread's worktree has no `.git` directory to protect.
    let of_repository = why.contains("/.git read-only").then(|| {
        format!(
            "start the thread with `--worktree`; or add `.git` to `sandbox.write` of agent `{agent}`, which may then change \
             hooks"
        )
    });
    of_repository.into_iter().chain(["install bubblewrap (`apt-get install bubblewrap`)".to_owned()]).collect()
}

/// The error for a sandbox that cannot be kept.
fn refusal(agent: &str, why: &str) -> Error {
    Error::config(format!("agent `{agent}` is not started, because its sandbox cannot be kept: {why}"))
        .hints(way_to_keep(agent, why))
        .hint("`uwf doctor` shows which sandbox works here")
        .hint(format!("to run the agent without it, remove `sandbox` from agent `{agent}` in config.yaml"))
}

/// The hosts that the sandboxes of this process refused. A process runs one agent.
fn refused_hosts() -> RefusedHosts {
    static REFUSED: OnceLock<RefusedHosts> = OnceLock::new();
    REFUSED.get_or_init(RefusedHosts::default).clone()
}

/// Adds the hosts that were refused since the last answer to the tool calls of an answer, as denied ones.
fn with_refused_hosts(mut answer: AgentAnswer) -> AgentAnswer {
    let calls = refused_hosts().take().into_iter().map(|host| AgentToolCall {
        name: NETWORK_CALL.to_owned(),
        arguments: serde_json::json!({ "host": host }).to_string(),
        result: activity::denied_result("the sandbox of the agent does not allow this host"),
        duration_ms: 0,
    });
    if let Some(last) = answer.turns.last_mut() {
        last.tool_calls.extend(calls);
    }
    answer
}
