//! The floor everything is measured against: what any program must do that runs an agent and keeps six small results
//! safe from a power cut. `floor DIR PROGRAM [ARGS…]` runs the program, then writes six files of 1 KB into the
//! directory, each synced, and syncs the directory.

use std::fs::File;
use std::io::{Error, Result, Write};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

const FILES: usize = 6;
const FILE_BYTES: usize = 1024;

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(dir), Some(program)) = (args.next(), args.next()) else {
        return Err(Error::other("usage: floor DIR PROGRAM [ARGS…]"));
    };
    let output = Command::new(program).args(args).output()?;
    if !output.status.success() {
        return Err(Error::other("the agent failed"));
    }
    let dir = Path::new(&dir);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    for index in 0..FILES {
        let mut file = File::create_new(dir.join(format!("{now}-{index}")))?;
        file.write_all(&[b'x'; FILE_BYTES])?;
        file.sync_all()?;
    }
    File::open(dir)?.sync_all()
}
