//! A long thread that has ended, its nodes in files and in a pack: the room it takes, and how long it takes to read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use uwf_core::thread::ThreadId;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::measure::{BenchCase, RoundTimes, interleave, run};
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{FigureGroup, FigureRow, FigureUnit};
use crate::seed::{PAYLOAD, SeededRoot};

/// Room a step should take on the disk besides 1.3 times what its agent said, bytes.
const BESIDE: f64 = 400.0;

/// Bytes of a block as `stat` counts them.
const DISK_BLOCK: u64 = 512;

/// A store with a thread that was ended.
struct EndedStore {
    place: BenchRoot,
    thread: ThreadId,
    /// Its last step.
    head: String,
}

impl EndedStore {
    fn build(bench: &BenchSetup<'_>, name: &str) -> Result<EndedStore> {
        let place = bench.place(name)?;
        let mut seed = SeededRoot::new(&place.home)?;
        let line = seed.line(bench.sizes.long())?;
        let end = line.steps[bench.sizes.long() - 1];
        let thread = seed.thread(end, &place.workspace, TrivialAgent::Step)?;
        seed.warm(&thread)?;
        seed.finish()?;
        run(&mut place.uwf(&["thread", "kill", thread.as_str()]))?;
        Ok(EndedStore { place, thread, head: end.to_string() })
    }

    /// Room its nodes take on the disk, for each step.
    fn room(&self, bench: &BenchSetup<'_>) -> Result<f64> {
        Ok(room_of(&self.place.home.objects_dir())? as f64 / bench.sizes.long() as f64)
    }

    fn uwf(&self, before: &[&str], after: &[&str]) -> Command {
        self.place.uwf(&[before, &[self.thread.as_str()], after].concat())
    }

    /// A step of a fork of the thread.
    fn forked(&self) -> Result<Command> {
        let output = self.uwf(&["thread", "fork"], &["--format", "json"]).output();
        let output = output.map_err(Error::with_path("run", self.place.home.bin()))?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let thread = report["thread"].as_str().and_then(|thread| thread.parse().ok());
        let thread =
            thread.ok_or_else(|| Error::Seed(format!("no fork: {}", String::from_utf8_lossy(&output.stderr))))?;
        Ok(self.place.step(&thread))
    }
}

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let (loose, packed) = (EndedStore::build(bench, "in-files")?, EndedStore::build(bench, "in-a-pack")?);
    let in_files = loose.room(bench)?;
    run(&mut packed.place.uwf(&["pack"]))?;
    let in_a_pack = packed.room(bench)?;
    let times = interleave(
        bench.sizes.runs,
        vec![
            BenchCase::always(|| loose.place.uwf(&["cas", "verify", &loose.head])),
            BenchCase::always(|| packed.place.uwf(&["cas", "verify", &packed.head])),
            BenchCase::always(|| loose.uwf(&["thread", "read", "--start", "--quota", "1000000000"], &[])),
            BenchCase::always(|| packed.uwf(&["thread", "read", "--start", "--quota", "1000000000"], &[])),
            BenchCase::always(|| loose.uwf(&["thread", "show"], &[])),
            BenchCase::always(|| packed.uwf(&["thread", "show"], &[])),
            BenchCase::new(|_| loose.forked()),
            BenchCase::new(|_| packed.forked()),
            BenchCase::always(|| packed.place.uwf(&["pack"])),
        ],
    )?;
    let length = bench.sizes.long();
    let room = 1.3 * PAYLOAD as f64 + BESIDE;
    let rows = vec![
        FigureRow::new("nodes of a step on the disk, in files", FigureUnit::Bytes, in_files)
            .note(format!("its agent said {PAYLOAD} B")),
        FigureRow::new("nodes of a step on the disk, in a pack", FigureUnit::Bytes, in_a_pack).at_most(room.round()),
        ratio(format!("cas verify of all nodes of {length} steps"), &times[0], &times[1]).at_most(1.0),
        ratio(format!("thread read, all of {length} steps"), &times[2], &times[3]).at_most(1.0),
        ratio(format!("thread show, {length} steps"), &times[4], &times[5]),
        ratio(format!("thread step of a fork, {length} steps"), &times[6], &times[7]),
        FigureRow::millis("pack, nothing new", &times[8]),
    ];
    Ok(FigureGroup { title: "A thread that has ended, in a pack over in files".to_owned(), rows })
}

fn ratio(what: String, loose: &RoundTimes, packed: &RoundTimes) -> FigureRow {
    FigureRow::ratio(what, FigureUnit::Times, ("in a pack", packed), ("in files", loose))
}

/// Room that everything below a directory takes on the disk.
fn room_of(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(Error::with_path("list", dir))? {
        let path = entry.map_err(Error::with_path("list", dir))?.path();
        let meta = fs::symlink_metadata(&path).map_err(Error::with_path("look at", &path))?;
        bytes += if meta.is_dir() { room_of(&path)? } else { meta.blocks() * DISK_BLOCK };
    }
    Ok(bytes)
}
