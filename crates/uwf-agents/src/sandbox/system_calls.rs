//! A filter of system calls. It keeps a program from sockets and from the limits of other processes, which neither namespaces nor Landlock
//! cover.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::inside_request::SocketRule;

/// Added to the number of a call by programs with the ABI x32, which some kernels support.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Forbids the calls of this process, and of all that it starts.
///
/// # Errors
/// The reason why the filter does not work here.
pub(super) fn forbid(sockets: SocketRule, is_alone: bool) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| format!("the filter of system calls: {error}");
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut add = |call: i64, conditions: Vec<Vec<SeccompCondition>>| -> Result<(), String> {
        let made = conditions.into_iter().map(SeccompRule::new).collect::<Result<Vec<_>, _>>();
        let made = made.map_err(|error| text(&error))?;
        #[cfg(target_arch = "x86_64")]
        rules.insert(call | X32, made.clone());
        rules.insert(call, made);
        Ok(())
    };
    match sockets {
        SocketRule::None => add(libc::SYS_socket, Vec::new())?,
        SocketRule::NoLocal => {
            add(libc::SYS_socket, vec![vec![condition(SeccompCmpOp::Eq, libc::AF_UNIX)?], other_families(false)?])?;
        }
        SocketRule::OwnNetwork | SocketRule::OpenNetwork => add(libc::SYS_socket, vec![other_families(true)?])?,
    }
    // It opens sockets without the call above.
    add(libc::SYS_io_uring_setup, Vec::new())?;
    if !is_alone {
        // Limits of other processes of the same user; 0 is the process itself.
        add(libc::SYS_prlimit64, vec![vec![condition(SeccompCmpOp::Ne, 0)?]])?;
    }
    let arch = std::env::consts::ARCH.try_into().map_err(|error| text(&error))?;
    let refused = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).map_err(|error| text(&error))?;
    let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| text(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| text(&error))
}

/// All families of sockets but those of the internet, of this machine and of its network settings. A virtual machine's host is reached by
/// one of them, whatever the network is.
fn other_families(has_local: bool) -> Result<Vec<SeccompCondition>, String> {
    let local = has_local.then_some(libc::AF_UNIX);
    let usual = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].into_iter().chain(local);
    usual.map(|family| condition(SeccompCmpOp::Ne, family)).collect()
}

/// A condition on the first argument of a call.
fn condition(operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition, String> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, u64::from(value.unsigned_abs()))
        .map_err(|error| error.to_string())
}
