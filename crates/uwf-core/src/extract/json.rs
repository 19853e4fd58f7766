//! The JSON rung: what a command that declares `output: json` prints.

use json_cas::schema::Schema;

use super::clean::clean;
use super::locate::{AnswerPlace, Marks, in_braces};
use super::read::{Reading, Target, parse};
use super::{Extraction, Failure, Found, MAX_ANSWER_BYTES};

/// Reads standard output as JSON: the whole of it first, else the last object (or list, where the schema allows one)
/// in it that is valid. Log lines around it and code fences are tolerated.
pub fn json(raw: &str, schema: &Schema) -> Extraction {
    if raw.len() > MAX_ANSWER_BYTES {
        let error = format!("the output has {} bytes, the limit is {MAX_ANSWER_BYTES}", raw.len());
        return Extraction::Failed(Failure::of(error));
    }
    let text = clean(raw);
    let target = Target::new(schema);
    if text.trim().is_empty() {
        return Extraction::Failed(Failure::of("the output is empty"));
    }
    if let Ok(value) = json_cas::json::parse(text.trim()) {
        if schema.is_valid(&value) {
            let found = Found { value, extras: serde_json::Map::new(), fixes: Vec::new(), body: String::new() };
            return Extraction::Found(found);
        }
        let reading = target.judge(&super::tree::Raw::from_json(&value));
        if reading.errors.is_empty() {
            return Extraction::Found(found(reading, String::new()));
        }
        return Extraction::Failed(Failure { errors: reading.errors, candidates: 1 });
    }
    search(&text, &target)
}

fn search(text: &str, target: &Target<'_>) -> Extraction {
    let mut places = in_braces(text, target.may_be("array"));
    places.extend(Marks::of(text).in_fences(text));
    let mut nearest: Option<Reading> = None;
    let candidates = places.len();
    for place in places {
        let Ok(raw) = parse(&text[place.block.clone()]) else { continue };
        let mut reading = target.judge(&raw);
        if reading.errors.is_empty() {
            reading.fixes.insert(0, "there was text around the JSON".to_owned());
            return Extraction::Found(found(reading, around(text, &place)));
        }
        if nearest.as_ref().is_none_or(|nearest| reading.rank() < nearest.rank()) {
            nearest = Some(reading);
        }
    }
    let errors = match nearest {
        Some(nearest) => nearest.errors,
        None => vec!["the output is not JSON".to_owned()],
    };
    Extraction::Failed(Failure { errors, candidates })
}

fn found(reading: Reading, body: String) -> Found {
    Found { value: reading.value, extras: reading.extras, fixes: reading.fixes, body }
}

/// The text around a place.
fn around(text: &str, place: &AnswerPlace) -> String {
    let parts = [text[..place.whole.start].trim(), text[place.whole.end..].trim()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
