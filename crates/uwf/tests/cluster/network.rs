//! Machines that are network namespaces, joined by a bridge.

use std::ffi::OsStr;
use std::process::Command;

/// Where servers listen for the machines.
pub(crate) const HUB: &str = "10.99.0.1";

/// The machines' cables.
pub(crate) struct Network;

impl Network {
    /// The bridge, and a namespace for each machine. They vanish with the box.
    pub(crate) fn new(machines: &[&str]) -> Network {
        ip(&["link", "add", "br0", "type", "bridge"]);
        ip(&["addr", "add", &format!("{HUB}/24"), "dev", "br0"]);
        ip(&["link", "set", "br0", "up"]);
        for (machine, number) in machines.iter().zip(11..) {
            ip(&["netns", "add", machine]);
            ip(&["link", "add", machine, "type", "veth", "peer", "name", "eth0", "netns", machine]);
            ip(&["-n", machine, "addr", "add", &format!("10.99.0.{number}/24"), "dev", "eth0"]);
            for device in ["lo", "eth0"] {
                ip(&["-n", machine, "link", "set", device, "up"]);
            }
            ip(&["link", "set", machine, "master", "br0", "up"]);
        }
        Network
    }

    /// Pulls the cable of a machine: nobody hears that it was pulled.
    pub(crate) fn cut(&self, machine: &str) {
        ip(&["link", "set", machine, "nomaster"]);
    }

    /// Plugs it in again.
    pub(crate) fn heal(&self, machine: &str) {
        ip(&["link", "set", machine, "master", "br0"]);
    }
}

/// A program that runs on a machine, not started yet.
pub(crate) fn command_on(machine: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", machine]).arg(program);
    command
}

/// The processes that live on a machine.
pub(crate) fn processes_on(machine: &str) -> Vec<u32> {
    let found = Command::new("ip").args(["netns", "pids", machine]).output().unwrap();
    assert!(found.status.success(), "the processes of {machine} cannot be listed");
    String::from_utf8(found.stdout).unwrap().lines().map(|pid| pid.trim().parse().unwrap()).collect()
}

fn ip(args: &[&str]) {
    let done = Command::new("ip").args(args).output().unwrap();
    assert!(done.status.success(), "ip {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr));
}
