//! The last process before the program, already inside the sandbox: it gives up rights, and becomes the program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::inside_request::InsideRequest;
#[cfg(target_os = "linux")]
use super::inside_request::SocketRule;
use super::way_out::WayOut;

/// Hidden argument that makes `uwf` this process; followed by a JSON request and the program.
pub const INSIDE_ARGUMENT: &str = "__sandbox";

/// Exit code for a program that was not found, as of a shell.
const NOT_FOUND: u8 = 127;

/// The same for one that cannot be started.
const NOT_STARTED: u8 = 126;

/// Exit code for a sandbox that does not work.
const NO_SANDBOX: u8 = 125;

/// Becomes the program in the arguments after the request; without a program, only tries.
pub fn main(args: &[OsString]) -> u8 {
    let request: Option<InsideRequest> = args.first().and_then(|json| serde_json::from_str(json.to_str()?).ok());
    let Some(request) = request else { return said("the request is not readable", NO_SANDBOX) };
    // Before the rights are gone: its threads need the socket of the proxy, and the program must not have it.
    let way_out = match request.proxy.as_deref().map(WayOut::open).transpose() {
        Ok(way_out) => way_out,
        Err(error) => return said(&format!("the way to the proxy: {error}"), NO_SANDBOX),
    };
    if let Err(why) = give_up(&request) {
        return said(&why, NO_SANDBOX);
    }
    let Some((program, args)) = args[1..].split_first() else { return 0 };
    let mut command = Command::new(program);
    command.args(args);
    let error = match way_out {
        None => command.exec(),
        Some(way_out) => match way_out.run(&mut command) {
            Ok(code) => return code,
            Err(error) => error,
        },
    };
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED };
    said(&format!("cannot start {} in its sandbox: {error}", program.display()), code)
}

/// Writes to stderr, where the agent's own words go.
fn said(words: &str, code: u8) -> u8 {
    // The exit code still says it.
    let _ = io::Write::write_all(&mut io::stderr(), format!("uwf: {words}\n").as_bytes());
    code
}

#[cfg(target_os = "linux")]
fn give_up(request: &InsideRequest) -> Result<(), String> {
    let is_alone = request.files.is_none();
    let mut sockets = request.sockets;
    if request.files.is_some() || request.scope {
        match (restrict(request), sockets) {
            (Ok(()), _) => {}
            // Without a scope, no socket of this machine is safe.
            (Err(_), SocketRule::OpenNetwork) => sockets = SocketRule::NoLocal,
            (Err(why), _) => return Err(why),
        }
    }
    drop_capabilities().map_err(|error| format!("cannot give up the rights of root: {error}"))?;
    super::system_calls::forbid(sockets, is_alone)
}

/// Gives up the rights that root has over others: with them it reads the variables of processes that it must not see. No program gets them
/// back, because it gets no new privileges.
#[cfg(target_os = "linux")]
fn drop_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets};
    rustix::thread::set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn give_up(_: &InsideRequest) -> Result<(), String> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn restrict(request: &InsideRequest) -> Result<(), String> {
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    };
    // The first version with scopes, in Linux 6.12.
    const VERSION: ABI = ABI::V6;
    let needs = |error: &dyn std::fmt::Display| format!("{error} (it needs Linux 6.12 with Landlock)");
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if request.files.is_some() {
        ruleset = ruleset.handle_access(AccessFs::from_all(VERSION)).map_err(|error| needs(&error))?;
    }
    if request.scope {
        ruleset = ruleset.scope(Scope::from_all(VERSION)).map_err(|error| needs(&error))?;
    }
    let mut created = ruleset.create().map_err(|error| needs(&error))?;
    let write = AccessFs::from_all(VERSION) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    if let Some(files) = &request.files {
        let read = files.read.iter().map(|path| (path.clone(), AccessFs::from_read(VERSION)));
        let written = files.write.iter().map(|path| (path.clone(), write));
        let devices = files.devices.iter().map(|path| (path.clone(), device));
        // The output files, by which a program may open its stdout and stderr again.
        let own = [1, 2].map(|number| std::path::PathBuf::from(format!("/proc/self/fd/{number}")));
        // A pipe has no place in a file system, and needs no rule.
        let own = own.into_iter().filter(|path| path.is_file()).map(|path| (path, device));
        for (path, access) in read.chain(written).chain(devices).chain(own) {
            let Ok(meta) = path.metadata() else { continue };
            let Ok(file) = landlock::PathFd::new(&path) else { continue };
            let access = if meta.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
            let added = created.add_rule(landlock::PathBeneath::new(file, access));
            created = added.map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    let status = created.restrict_self().map_err(|error| needs(&error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err("Landlock is not fully enforced".to_owned())
        }
    }
}
