//! The figures as a table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::row::{FigureGroup, FigureRow};

/// A table for people. Where a target is missed, by how much.
pub fn table(machine: &Value, groups: &[FigureGroup]) -> String {
    let mut text = String::new();
    // Writing to a String never fails.
    let _ = writeln!(text, "{}", facts(machine));
    let width = groups.iter().flat_map(|group| &group.rows).map(|row| row.what.chars().count()).max().unwrap_or(0);
    for group in groups {
        let _ = writeln!(text, "\n{}", group.title);
        for row in &group.rows {
            let what = format!("{}{}", row.what, " ".repeat(width - row.what.chars().count()));
            let line =
                format!("  {what}  {:>17}  {:<10} {:<14} {}", value(row), target(row), verdict(row), behind(row));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

/// The same for programs.
pub fn json(machine: &Value, groups: &[FigureGroup]) -> String {
    let groups: Vec<Value> =
        groups.iter().map(|group| json!({ "title": group.title, "rows": rows(&group.rows) })).collect();
    let mut text = serde_json::to_string_pretty(&json!({ "machine": machine, "groups": groups }))
        .expect("texts and numbers are JSON");
    text.push('\n');
    text
}

fn rows(rows: &[FigureRow]) -> Vec<Value> {
    rows.iter()
        .map(|row| {
            let medians: serde_json::Map<String, Value> =
                row.medians_ms.iter().map(|(name, median)| ((*name).to_owned(), json!(round(*median, 2)))).collect();
            let digits = row.unit.digits();
            json!({
                "what": row.what,
                "value": row.value.as_ref().ok().map(|value| round(*value, digits)),
                "notMeasured": row.value.as_ref().err(),
                "unit": row.unit.text(),
                "target": row.target,
                "met": row.met(),
                "quartiles": row.quartiles.map(|(low, high)| [round(low, digits), round(high, digits)]),
                "mediansMs": medians,
                "note": row.note,
            })
        })
        .collect()
}

fn facts(machine: &Value) -> String {
    let fact = |name: &str| machine[name].as_str().map_or_else(|| machine[name].to_string(), str::to_owned);
    format!(
        "{}, {}, kernel {}, {}, {} cores, load before {}, {} build, {} runs",
        fact("date"),
        fact("system"),
        fact("kernel"),
        fact("fileSystem"),
        fact("cores"),
        fact("loadBefore"),
        fact("build"),
        fact("runs"),
    )
}

fn value(row: &FigureRow) -> String {
    match &row.value {
        Ok(value) => format!("{value:.*} {:<7}", row.unit.digits(), row.unit.text()),
        Err(_) => "not measured".to_owned(),
    }
}

fn target(row: &FigureRow) -> String {
    row.target.map_or_else(String::new, |target| format!("≤ {target}"))
}

fn verdict(row: &FigureRow) -> String {
    match (row.met(), &row.value, row.target) {
        (Some(true), _, _) => "met".to_owned(),
        (Some(false), Ok(value), Some(target)) if target > 0.0 => {
            format!("missed by {:.0} %", (value / target - 1.0) * 100.0)
        }
        (Some(false), _, _) => "missed".to_owned(),
        (None, _, _) => String::new(),
    }
}

fn behind(row: &FigureRow) -> String {
    let medians: Vec<String> = row.medians_ms.iter().map(|(name, median)| format!("{name} {median:.2} ms")).collect();
    let why = row.value.as_ref().err().cloned().unwrap_or_default();
    [medians.join(", "), row.note.clone(), why]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

fn round(value: f64, digits: usize) -> f64 {
    let scale = 10f64.powi(i32::try_from(digits).unwrap_or(0));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::FigureUnit;

    #[test]
    fn missed_target_shows_excess_and_skipped_figure_reason() {
        let groups = [FigureGroup {
            title: "Group".to_owned(),
            rows: vec![
                FigureRow::new("fine", FigureUnit::Floor, 1.5).at_most(2.0),
                FigureRow::new("too slow", FigureUnit::Millis, 75.0).at_most(50.0),
                FigureRow::maybe("unknown", FigureUnit::Calls, Err("strace is not installed".to_owned())).at_most(10.0),
            ],
        }];
        let machine = json!({ "date": "today", "cores": 2 });
        let table = table(&machine, &groups);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "Group",
                "  fine           1.50 × floor  ≤ 2        met",
                "  too slow      75.00 ms       ≤ 50       missed by 50 %",
                "  unknown        not measured  ≤ 10                      strace is not installed",
            ]
        );
    }
}
