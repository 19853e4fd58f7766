//! Processes of uwf that do something once a step is over, so that nothing they do can fail a step or keep it waiting.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::root::home::{Home, ROOT_VARIABLES};
use crate::root::store_keys::Handover;

/// Starts one, by a hidden command of uwf. Nobody waits for it.
pub(crate) fn start(home: &Home, args: &[&str]) -> std::io::Result<()> {
    let mut command = Command::new(home.bin());
    command.args(args).env(ROOT_VARIABLES[0], home.root());
    let keys = Handover::prepare(home, &mut command);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
    keys.send(&mut child).map(drop)
}
