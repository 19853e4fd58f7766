//! The figures, a module per group.

mod bytes;
mod calls;
mod cpu;
mod footprint;
mod groups;
mod index;
mod packed;
mod pages;
mod parallel;
mod reading;
mod running;
mod starts;
mod step;

use std::path::Path;

use crate::error::Result;
use crate::long::LongStore;
use crate::place::BenchRoot;
use crate::programs::ProgramPaths;
use crate::row::FigureGroup;
use crate::sizes::BenchSizes;

/// What every group of figures works with.
pub struct BenchSetup<'b> {
    /// Programs that are measured.
    pub programs: &'b ProgramPaths,
    /// How large everything is.
    pub sizes: &'b BenchSizes,
    /// Where new stores go.
    pub dir: &'b Path,
}

impl BenchSetup<'_> {
    /// A new, empty storage root.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn place(&self, name: &str) -> Result<BenchRoot> {
        BenchRoot::new(&self.dir.join(name), self.programs)
    }
}

/// Takes every figure. `tell` is told what is being done.
///
/// # Errors
/// When a measured command fails or a store cannot be prepared.
pub fn all(
    programs: &ProgramPaths,
    sizes: &BenchSizes,
    dir: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<FigureGroup>> {
    let bench = BenchSetup { programs, sizes, dir };
    tell("building a store with the long thread");
    let place = bench.place("long")?;
    let long = LongStore::build(&place, sizes)?;
    let mut groups = Vec::new();
    tell("steps and history");
    groups.extend(step::measure(&bench, &place, &long)?);
    tell("starts of processes");
    groups.push(starts::measure(&bench)?);
    tell("system calls");
    groups.push(calls::measure(&bench, &place, &long)?);
    tell("size of the index");
    groups.push(index::measure(&bench)?);
    tell("steppers at once");
    groups.push(parallel::measure(&bench)?);
    tell("groups");
    groups.push(self::groups::measure(&bench)?);
    tell("show and fork");
    groups.push(reading::measure(&bench, &place, &long)?);
    tell("pages");
    groups.push(pages::measure(&bench, &place, &long)?);
    tell("agents at work");
    groups.push(running::measure(&bench)?);
    tell("packs");
    groups.push(packed::measure(&bench)?);
    tell("bytes");
    groups.push(bytes::measure(&bench, &place, &long)?);
    tell("processor time");
    groups.push(cpu::measure(&bench, &place, &long)?);
    tell("program and memory");
    groups.push(footprint::measure(&bench, &place, &long)?);
    Ok(groups)
}
