//! A long thread that has ended, its nodes in files and in a pack: the room it takes, and how long it takes to read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use uwf_core::thread::ThreadId;

use super::Bench;
use crate::error::{Error, Result};
use crate::measure::{Case, Times, interleave, run};
use crate::place::{Place, Player};
use crate::row::{Group, Row, Unit};
use crate::seed::{PAYLOAD, Seed};

/// Room a step should take on the disk besides 1.3 times what its agent said, bytes.
const BESIDE: f64 = 400.0;

/// Bytes of a block as `stat` counts them.
const DISK_BLOCK: u64 = 512;

/// A store with a thread that was ended.
struct Ended {
    place: Place,
    thread: ThreadId,
    /// Its last step.
    head: String,
}

impl Ended {
    fn build(bench: &Bench<'_>, name: &str) -> Result<Ended> {
        let place = bench.place(name)?;
        let mut seed = Seed::new(&place.home)?;
        let line = seed.line(bench.sizes.long())?;
        let end = line.steps[bench.sizes.long() - 1];
        let thread = seed.thread(end, &place.workspace, Player::Step)?;
        seed.warm(&thread)?;
        seed.finish()?;
        run(&mut place.uwf(&["thread", "kill", thread.as_str()]))?;
        Ok(Ended { place, thread, head: end.to_string() })
    }

    /// Room its nodes take on the disk, for each step.
    fn room(&self, bench: &Bench<'_>) -> Result<f64> {
        Ok(room_of(&self.place.home.objects_dir())? as f64 / bench.sizes.long() as f64)
    }

    fn uwf(&self, before: &[&str], after: &[&str]) -> Command {
        self.place.uwf(&[before, &[self.thread.as_str()], after].concat())
    }

    /// A step of a fork of the thread.
    fn forked(&self) -> Result<Command> {
        let output = self.uwf(&["thread", "fork"], &["--format", "json"]).output();
        let output = output.map_err(Error::at("run", self.place.home.bin()))?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let thread = report["thread"].as_str().and_then(|thread| thread.parse().ok());
        let thread =
            thread.ok_or_else(|| Error::Seed(format!("no fork: {}", String::from_utf8_lossy(&output.stderr))))?;
        Ok(self.place.step(&thread))
    }
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Group> {
    let (loose, packed) = (Ended::build(bench, "in-files")?, Ended::build(bench, "in-a-pack")?);
    let in_files = loose.room(bench)?;
    run(&mut packed.place.uwf(&["pack"]))?;
    let in_a_pack = packed.room(bench)?;
    let times = interleave(
        bench.sizes.runs,
        vec![
            Case::always(|| loose.place.uwf(&["cas", "verify", &loose.head])),
            Case::always(|| packed.place.uwf(&["cas", "verify", &packed.head])),
            Case::always(|| loose.uwf(&["thread", "read", "--start", "--quota", "1000000000"], &[])),
            Case::always(|| packed.uwf(&["thread", "read", "--start", "--quota", "1000000000"], &[])),
            Case::always(|| loose.uwf(&["thread", "show"], &[])),
            Case::always(|| packed.uwf(&["thread", "show"], &[])),
            Case::new(|_| loose.forked()),
            Case::new(|_| packed.forked()),
            Case::always(|| packed.place.uwf(&["pack"])),
        ],
    )?;
    let length = bench.sizes.long();
    let room = 1.3 * PAYLOAD as f64 + BESIDE;
    let rows = vec![
        Row::new("nodes of a step on the disk, in files", Unit::Bytes, in_files)
            .note(format!("its agent said {PAYLOAD} B")),
        Row::new("nodes of a step on the disk, in a pack", Unit::Bytes, in_a_pack).at_most(room.round()),
        ratio(format!("cas verify of all nodes of {length} steps"), &times[0], &times[1]).at_most(1.0),
        ratio(format!("thread read, all of {length} steps"), &times[2], &times[3]).at_most(1.0),
        ratio(format!("thread show, {length} steps"), &times[4], &times[5]),
        ratio(format!("thread step of a fork, {length} steps"), &times[6], &times[7]),
        Row::millis("pack, nothing new", &times[8]),
    ];
    Ok(Group { title: "A thread that has ended, in a pack over in files".to_owned(), rows })
}

fn ratio(what: String, loose: &Times, packed: &Times) -> Row {
    Row::ratio(what, Unit::Times, ("in a pack", packed), ("in files", loose))
}

/// Room that everything below a directory takes on the disk.
fn room_of(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(Error::at("list", dir))? {
        let path = entry.map_err(Error::at("list", dir))?.path();
        let meta = fs::symlink_metadata(&path).map_err(Error::at("look at", &path))?;
        bytes += if meta.is_dir() { room_of(&path)? } else { meta.blocks() * DISK_BLOCK };
    }
    Ok(bytes)
}
