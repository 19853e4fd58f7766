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
mod step;

use std::path::Path;

use crate::error::Result;
use crate::long::Long;
use crate::place::Place;
use crate::programs::Programs;
use crate::row::Group;
use crate::sizes::Sizes;

/// What every group of figures works with.
pub struct Bench<'b> {
    /// Programs that are measured.
    pub programs: &'b Programs,
    /// How large everything is.
    pub sizes: &'b Sizes,
    /// Where new stores go.
    pub dir: &'b Path,
}

impl Bench<'_> {
    /// A new, empty storage root.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn place(&self, name: &str) -> Result<Place> {
        Place::new(&self.dir.join(name), self.programs)
    }
}

/// Takes every figure. `tell` is told what is being done.
///
/// # Errors
/// When a measured command fails or a store cannot be prepared.
pub fn all(programs: &Programs, sizes: &Sizes, dir: &Path, tell: &mut dyn FnMut(&str)) -> Result<Vec<Group>> {
    let bench = Bench { programs, sizes, dir };
    tell("building a store with the long thread");
    let place = bench.place("long")?;
    let long = Long::build(&place, sizes)?;
    let mut groups = Vec::new();
    tell("steps and history");
    groups.extend(step::measure(&bench, &place, &long)?);
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
