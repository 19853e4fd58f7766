//! One figure: what was measured, what came out, what it should be.

use crate::measure::RoundTimes;

/// A group of figures under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureGroup {
    /// Heading.
    pub title: String,
    /// Figures.
    pub rows: Vec<FigureRow>,
}

/// A number, or why it could not be taken.
pub type Figure = Result<f64, String>;

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    /// Times as long as the floor in the same round.
    Floor,
    /// Times as long as another case in the same round.
    Times,
    /// Milliseconds.
    Millis,
    /// Bytes.
    Bytes,
    /// Millions of bytes.
    Megabytes,
    /// System calls.
    Calls,
    /// Steps per second.
    PerSecond,
}

impl FigureUnit {
    /// How it is written behind a number.
    pub fn text(self) -> &'static str {
        match self {
            FigureUnit::Floor => "× floor",
            FigureUnit::Times => "×",
            FigureUnit::Millis => "ms",
            FigureUnit::Bytes => "B",
            FigureUnit::Megabytes => "MB",
            FigureUnit::Calls => "calls",
            FigureUnit::PerSecond => "steps/s",
        }
    }

    /// Digits behind the point that mean something.
    pub fn digits(self) -> usize {
        match self {
            FigureUnit::Floor | FigureUnit::Times | FigureUnit::Millis => 2,
            FigureUnit::Megabytes | FigureUnit::PerSecond => 1,
            FigureUnit::Bytes | FigureUnit::Calls => 0,
        }
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureRow {
    /// What was measured.
    pub what: String,
    /// The figure, or why there is none.
    pub value: Figure,
    /// What it counts.
    pub unit: FigureUnit,
    /// It should be at most this; `None` when it is only reported.
    pub target: Option<f64>,
    /// Half of the rounds lie between these two.
    pub quartiles: Option<(f64, f64)>,
    /// Medians behind it, milliseconds by name.
    pub medians_ms: Vec<(&'static str, f64)>,
    /// A remark for the reader.
    pub note: String,
}

impl FigureRow {
    /// A figure that was taken.
    pub fn new(what: impl Into<String>, unit: FigureUnit, value: f64) -> FigureRow {
        FigureRow::maybe(what, unit, Ok(value))
    }

    /// A figure that may not have been taken.
    pub fn maybe(what: impl Into<String>, unit: FigureUnit, value: Figure) -> FigureRow {
        FigureRow {
            what: what.into(),
            value,
            unit,
            target: None,
            quartiles: None,
            medians_ms: Vec::new(),
            note: String::new(),
        }
    }

    /// How many times as long a case took as another of the same rounds.
    pub fn ratio(
        what: impl Into<String>,
        unit: FigureUnit,
        (name, times): (&'static str, &RoundTimes),
        (base_name, base): (&'static str, &RoundTimes),
    ) -> FigureRow {
        let ratios = times.over(base);
        let row = FigureRow::new(what, unit, ratios.median());
        FigureRow {
            quartiles: Some(ratios.quartiles()),
            medians_ms: vec![(name, times.median()), (base_name, base.median())],
            ..row
        }
    }

    /// How long a case took.
    pub fn millis(what: impl Into<String>, times: &RoundTimes) -> FigureRow {
        FigureRow { quartiles: Some(times.quartiles()), ..FigureRow::new(what, FigureUnit::Millis, times.median()) }
    }

    /// With the most it should be.
    #[must_use]
    pub fn at_most(self, target: f64) -> FigureRow {
        FigureRow { target: Some(target), ..self }
    }

    /// With a note.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> FigureRow {
        FigureRow { note: note.into(), ..self }
    }

    /// Whether the target is met; `None` without a target or a figure.
    pub fn met(&self) -> Option<bool> {
        Some(*self.value.as_ref().ok()? <= self.target?)
    }
}
