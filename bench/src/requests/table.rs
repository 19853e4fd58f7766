//! The figures as tables in Markdown, as `docs/scale.md` has them.

use std::fmt::Write as _;

use super::shape::{RequestNumbers, StraightLine};
use super::{CommandRequests, CountedCommand, StoreMeasurement};

/// Numbers of threads that are computed.
const SIZES: [f64; 6] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/// What was counted.
pub fn counted(all: &[StoreMeasurement]) -> String {
    let mut text = "| command | threads | GET + HEAD | PUT | LIST | bytes | USD for 1,000 | here |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for measured in all {
        for CommandRequests { operation, asked, took } in &measured.rows {
            let usd = RequestNumbers::from_traffic(asked).usd() * 1_000.0;
            let (reads, bytes) = (grouped(asked.get + asked.head), grouped(asked.sent + asked.received));
            // Writing to a String never fails.
            let _ = writeln!(
                text,
                "| {} | {} | {reads} | {} | {} | {bytes} | {usd:.3} | {:.1} s |",
                operation.name(),
                grouped(measured.threads as u64),
                grouped(asked.put),
                grouped(asked.list),
                took.as_secs_f64(),
            );
        }
    }
    for measured in all {
        let (threads, nodes) = (grouped(measured.threads as u64), grouped(measured.nodes));
        let _ = writeln!(
            text,
            "\n{threads} threads with {nodes} nodes were made in {:.0} s.",
            measured.made_in.as_secs_f64()
        );
    }
    text
}

/// A linear estimate from the two largest stores in which a command was counted.
pub fn computed(all: &[StoreMeasurement]) -> String {
    let mut text = "| command |".to_owned();
    for size in SIZES {
        let _ = write!(text, " 10^{} |", size.log10().round());
    }
    text.push_str("\n|---|---|---|---|---|---|---|\n");
    let mut operations: Vec<CountedCommand> = Vec::new();
    all.iter().flat_map(|measured| &measured.rows).for_each(|row| {
        if !operations.contains(&row.operation) {
            operations.push(row.operation);
        }
    });
    for operation in operations {
        let Some(line) = line(all, operation) else { continue };
        let _ = write!(text, "| {} |", operation.name());
        for size in SIZES {
            let at = line.value_at(size);
            let _ = write!(text, " {}, {} |", short(at.reads + at.writes + at.lists), usd(at.usd()));
        }
        text.push('\n');
    }
    text
}

fn line(all: &[StoreMeasurement], operation: CountedCommand) -> Option<StraightLine> {
    let points = all.iter().filter_map(|measured| {
        let row = measured.rows.iter().find(|row| row.operation == operation)?;
        Some((f64::from(u32::try_from(measured.threads).ok()?), RequestNumbers::from_traffic(&row.asked)))
    });
    let mut points: Vec<_> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let more = points.pop()?;
    Some(StraightLine::through(points.pop()?, more))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With two digits that count, from 1,000 on.
fn short(number: f64) -> String {
    match number {
        number if number >= 1e9 => format!("{:.1} G", number / 1e9),
        number if number >= 1e6 => format!("{:.1} M", number / 1e6),
        number if number >= 1e3 => format!("{:.1} k", number / 1e3),
        number => format!("{number:.0}"),
    }
}

fn usd(usd: f64) -> String {
    match usd {
        usd if usd >= 1.0 => format!("{usd:.2} USD"),
        usd if usd >= 0.001 => format!("{usd:.4} USD"),
        usd => format!("{usd:.6} USD"),
    }
}
