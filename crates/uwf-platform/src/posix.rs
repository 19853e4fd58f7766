//! A system with only the services of POSIX.

use crate::HostSystem;

/// The defaults of [`HostSystem`].
pub(crate) struct PosixHost;

impl HostSystem for PosixHost {
    fn name(&self) -> &'static str {
        "POSIX"
    }

    fn weaknesses(&self) -> &'static [&'static str] {
        &[
            "agents: uwf ends the process group of an agent, but no process that left the group",
            "crashes: if a process outlives its keeper and can't be ended, the thread is busy until you end the process",
            "crashes: a program that ended well while all processes of uwf were killed runs again",
            "keys: a process of uwf can't close its memory to other processes of the same user",
            "files: network file systems are not recognized, and output over `outputCap` keeps its space on the disk",
        ]
    }
}
