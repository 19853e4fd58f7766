//! Starts processes of uwf for work after a step, so that this work can neither fail a step nor delay it.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::root::home::{Home, ROOT_VARIABLES};
use crate::root::store_keys::KeyHandover;

/// Starts a hidden command of uwf in a process of its own and does not wait for it.
pub(crate) fn start(home: &Home, args: &[&str]) -> std::io::Result<()> {
    let mut command = Command::new(home.bin());
    command.args(args).env(ROOT_VARIABLES[0], home.root());
    let keys = KeyHandover::prepare(home, &mut command)?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
    keys.send(&mut child).map(drop)
}
