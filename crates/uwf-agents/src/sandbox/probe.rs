//! Finds out which sandbox works on this machine.

use std::path::Path;

use uwf_core::config::{NetworkPolicy, SandboxPolicy, UwfConfig, WORKSPACE};
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::verbs::doctor::DoctorFinding;

use super::view::ViewRequest;
use super::{ProgramSandbox, SandboxMechanism};

/// The check of the machine.
const CHECK: &str = "sandbox";

/// A finding about the machine, and one for each agent with a sandbox: `sandbox:ALIAS`. Agents would work in the directory `dir`.
pub fn findings(root: &Path, config: &UwfConfig, dir: &Path) -> Vec<DoctorFinding> {
    let with_sandbox = config.agents.iter().filter_map(|(alias, agent)| Some((alias, agent, agent.sandbox.as_ref()?)));
    let agents: Vec<DoctorFinding> = with_sandbox
        .map(|(alias, agent, policy)| {
            let check = format!("{CHECK}:{alias}");
            let spec = AgentSpec::new(alias, agent);
            if let Err(error) = spec.check_sandbox() {
                return DoctorFinding::of_error(&check, &error);
            }
            let request = ViewRequest { policy, workspace: dir, root, program: &agent.command, further: &[] };
            match ProgramSandbox::open(&request) {
                Ok((_, mechanism, None)) => DoctorFinding::ok(check, format!("kept by {}", mechanism.as_str())),
                Ok((_, mechanism, Some(why))) => {
                    DoctorFinding::ok(check, format!("kept by {} ({why})", mechanism.as_str()))
                }
                Err(why) => {
                    let message = format!("cannot be kept in {}: {why}", dir.display());
                    DoctorFinding::fail(check, message).hint(super::way_to_keep(alias, &why).join("; or "))
                }
            }
        })
        .collect();
    [vec![machine(root)], agents].concat()
}

/// Which sandbox works for an agent that writes only in its workspace.
fn machine(root: &Path) -> DoctorFinding {
    let Ok(workspace) = tempfile::tempdir() else {
        return DoctorFinding::warn(CHECK, "not tried: no temporary directory can be created");
    };
    let network = NetworkPolicy::Open;
    let policy = SandboxPolicy {
        write: vec![WORKSPACE.to_owned()],
        read: None,
        network,
        secrets: std::collections::BTreeMap::new(),
    };
    let program = "true";
    let request = ViewRequest { policy: &policy, workspace: workspace.path(), root, program, further: &[] };
    match ProgramSandbox::open(&request) {
        Ok((_, mechanism, None)) => DoctorFinding::ok(CHECK, format!("{} works", mechanism.as_str())),
        Ok((_, SandboxMechanism::Landlock, Some(why))) => {
            let limits = "but a git repository needs `--worktree`, and `network` cannot list hosts";
            DoctorFinding::ok(CHECK, format!("Landlock works, {limits}; {why}"))
        }
        Ok((_, mechanism, Some(why))) => DoctorFinding::ok(CHECK, format!("{} works; {why}", mechanism.as_str())),
        Err(why) => {
            DoctorFinding::warn(CHECK, format!("none works here, so agents with `sandbox` are not started: {why}"))
        }
    }
}
