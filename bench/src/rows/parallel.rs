//! Several steppers at once, each on a thread of its own in one store.

use std::time::Instant;

use uwf_core::thread::ThreadId;

use super::BenchSetup;
use crate::error::Result;
use crate::measure::run;
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{FigureGroup, FigureRow, FigureUnit};
use crate::seed::SeededRoot;

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let steppers = bench.sizes.steppers;
    let mut rows = Vec::new();
    for player in TrivialAgent::ALL {
        let place = bench.place(&format!("parallel-{}", player.output()))?;
        let mut seed = SeededRoot::new(&place.home)?;
        let mut threads = Vec::new();
        for _ in 0..steppers {
            let start = seed.start()?;
            threads.push(seed.thread(start, &place.workspace, player)?);
        }
        seed.finish()?;
        let each = bench.sizes.steps_each;
        let alone = rate(&place, &threads[..1], each)?;
        let together = rate(&place, &threads, each)?;
        let output = player.output();
        rows.push(FigureRow::new(format!("output: {output}, one stepper"), FigureUnit::PerSecond, alone));
        let note = format!("{:.2} × one stepper", together / alone);
        rows.push(
            FigureRow::new(format!("output: {output}, {steppers} steppers"), FigureUnit::PerSecond, together)
                .note(note),
        );
    }
    Ok(FigureGroup { title: "Steppers at once, one store".to_owned(), rows })
}

/// Steps per second of one stepper per thread, each making the same number of steps after one to warm up.
fn rate(place: &BenchRoot, threads: &[ThreadId], each: usize) -> Result<f64> {
    for thread in threads {
        run(&mut place.step(thread))?;
    }
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let steppers: Vec<_> = threads
            .iter()
            .map(|thread| {
                scope.spawn(move || -> Result<()> {
                    for _ in 0..each {
                        run(&mut place.step(thread))?;
                    }
                    Ok(())
                })
            })
            .collect();
        steppers.into_iter().try_for_each(|stepper| stepper.join().expect("a stepper does not panic"))
    })?;
    Ok((threads.len() * each) as f64 / begun.elapsed().as_secs_f64())
}
