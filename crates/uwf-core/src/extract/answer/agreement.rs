//! Compares a value with the text around it, and with its own members.

use std::ops::Range;

use json_cas::schema::CompiledSchema;
use serde_json::Value;

use super::{AnswerCandidate, AnswerSearch, SHOWN};
use crate::extract::blocks::{AnswerBlock, AnswerBlockKind};
use crate::extract::clean::{at_left_edge, clean};
use crate::extract::conditions::is_condition;
use crate::extract::introductions::{blames, imagines, limits, points_back, presents_other};
use crate::extract::read::AnswerTarget;
use crate::extract::thinking::without_thoughts;
use crate::extract::{Extraction, MAX_ANSWER_BYTES, left_out, mentions, verdicts};
use crate::prompt::AnswerForm;
use crate::text::ellipsize;
use crate::workflow::is_text;

/// Why a value contradicts itself; `None` if it doesn't: `approved: true` beside `comment: I do not approve`.
#[must_use]
pub fn self_contradiction_of(value: &Value, schema: &CompiledSchema) -> Option<String> {
    contrary_member(value, &AnswerTarget::new(schema))
}

pub(super) fn contrary_member(value: &Value, target: &AnswerTarget<'_>) -> Option<String> {
    verdicts::contrary_member(value, &target.choices(value)).map(|sentence| {
        format!(
            "the value says `{}`, but its other keys say the opposite: {}",
            ellipsize(&sentence, SHOWN),
            ellipsize(&value.to_string(), SHOWN)
        )
    })
}

/// Why the text of an answer contradicts a value that a model read from it, or the value itself; `None` if nothing does.
#[must_use]
pub fn contradiction_of(raw: &str, value: &Value, schema: &CompiledSchema) -> Option<String> {
    let text = clean(raw);
    let said = at_left_edge(without_thoughts(&text));
    let target = AnswerTarget::new(schema);
    let choices = target.choices(value);
    let mentioned = mentions::contradiction(&said, &choices).map(|it| (it.line, it.words.to_owned()));
    let stated = || verdicts::contradiction(&said, value, &choices).map(|it| (it.line, it.sentence));
    let contrary = mentioned.or_else(stated).map(|(line, words)| {
        format!("line {} of the text says `{}`, but the value is {value}", line + 1, ellipsize(&words, SHOWN))
    });
    contrary.or_else(|| contrary_member(value, &target))
}

/// Why the text beside a value that an agent handed in contradicts it: the text gives another value, or clearly says the opposite.
/// `None` if it doesn't.
#[must_use]
pub fn contradiction_beside(
    raw: &str,
    value: &Value,
    form: AnswerForm,
    schema: &CompiledSchema,
    prompt: &dyn Fn() -> String,
) -> Option<String> {
    if raw.len() > MAX_ANSWER_BYTES || is_text(schema.value()) {
        return None;
    }
    if let Extraction::Found(found) = super::read(raw, form, schema, prompt) {
        let differs = match (&found.value, value) {
            (Value::Object(said), Value::Object(given)) => {
                said.iter().any(|(key, said)| given.get(key).is_some_and(|given| given != said))
            }
            (said, given) => said != given,
        };
        return differs.then(|| {
            let [said, given] = [&found.value, value].map(|value| ellipsize(&value.to_string(), SHOWN).into_owned());
            format!("the text has the value {said}, but {given} was submitted: give one value")
        });
    }
    let text = clean(raw);
    let said = at_left_edge(without_thoughts(&text));
    let choices = AnswerTarget::new(schema).choices(value);
    let contrary = verdicts::clear_contradiction(&said, value, &choices)?;
    Some(format!(
        "line {} of the text says `{}`, but the submitted value is {}",
        contrary.line + 1,
        ellipsize(&contrary.sentence, SHOWN),
        ellipsize(&value.to_string(), SHOWN)
    ))
}

impl AnswerSearch<'_> {
    /// Accepts a candidate unless the text around it says the opposite. `silent` ranges say nothing: text of the prompt, and its form.
    pub(super) fn agreed(&self, candidate: AnswerCandidate, silent: &[Range<usize>]) -> Extraction {
        let own = self.outside(&candidate.block.whole, silent);
        let value = &candidate.reading.value;
        let choices = self.target.choices(value);
        let mentioned = mentions::contradiction(&own, &choices).map(|it| (it.line, it.words.to_owned()));
        let stated = || verdicts::contradiction(&own, value, &choices).map(|it| (it.line, it.sentence));
        match mentioned.or_else(stated) {
            Some((line, words)) => self.contradicted(line, &words, &candidate),
            None => self.answer(candidate),
        }
    }

    /// The line, from 0, of a sentence next to a verdict that does not present it as the answer.
    pub(super) fn unclear_line(&self, candidate: &AnswerCandidate) -> Option<usize> {
        let value = &candidate.reading.value;
        if self.target.choices(value).is_empty() && !is_rating(value) {
            return None;
        }
        let line_at = |at: usize| self.text[..at].matches('\n').count();
        let above = self.text[..candidate.block.whole.start].trim_end();
        let lead_in = above.rsplit('\n').next().unwrap_or_default();
        let is_key = |word: &str| self.target.keys.listed(word).is_some();
        if presents_other(lead_in, &is_key) && (imagines(lead_in) || !verdicts::affirms(lead_in, value)) {
            return Some(line_at(above.len()));
        }
        let (at, first) = self.below(candidate);
        // `This adds a cache` below a block that begins the text is about the work.
        let is_of_work = candidate.block.is_first && first.to_lowercase().starts_with("th");
        let points_elsewhere = || blames(first) || points_back(first) && !is_of_work;
        let is_unclear =
            limits(first) || self.has_condition(candidate) || points_elsewhere() && !verdicts::affirms(first, value);
        is_unclear.then(|| line_at(at))
    }

    /// The first line below a block, and where it begins.
    fn below(&self, candidate: &AnswerCandidate) -> (usize, &str) {
        let below = self.text[candidate.block.whole.end..].trim_start();
        (self.text.len() - below.len(), below.lines().next().unwrap_or_default())
    }

    /// Whether the line below an approval puts it under a condition.
    fn has_condition(&self, candidate: &AnswerCandidate) -> bool {
        verdicts::accepts(&candidate.reading.value) && is_condition(self.below(candidate).1)
    }

    /// Whether a block below a header shows a value. `Verdict: reject` is a sentence, if the key is `verdict`. So is a last line with a key.
    pub(super) fn is_shown(&self, block: &AnswerBlock) -> bool {
        let text = &self.text[block.inside.clone()];
        let is_last = self.text[block.whole.end..].trim().is_empty() && block.doubt.is_none();
        if block.mark == AnswerBlockKind::Keys && is_last {
            return false;
        }
        let begins = |key: &str| text.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        block.mark != AnswerBlockKind::Keys || self.target.keys.names().any(begins)
    }

    /// Accepts a header unless the text below it clearly says the opposite.
    pub(super) fn agreed_below(&self, candidate: AnswerCandidate, silent: &[Range<usize>]) -> Extraction {
        let own = self.outside(&candidate.block.whole, silent);
        let value = &candidate.reading.value;
        let choices = self.target.choices(value);
        let corrected = || mentions::correction(&own, &choices).map(|it| (it.line, it.words.to_owned()));
        let stated = verdicts::clear_contradiction(&own, value, &choices).map(|it| (it.line, it.sentence));
        let conditional = || {
            let (at, first) = self.below(&candidate);
            self.has_condition(&candidate).then(|| (self.text[..at].matches('\n').count(), first.to_owned()))
        };
        match stated.or_else(corrected).or_else(conditional) {
            Some((line, words)) => self.contradicted(line, &words, &candidate),
            None => self.answer(candidate),
        }
    }

    fn contradicted(&self, line: usize, words: &str, candidate: &AnswerCandidate) -> Extraction {
        self.refused_finally(format!(
            "line {} of the text says `{}`, but the value is {}: give a value that agrees with the text",
            line + 1,
            ellipsize(words, SHOWN),
            candidate.shown()
        ))
    }

    /// The text with the same lines, without a block and without the silent ranges.
    fn outside(&self, block: &Range<usize>, silent: &[Range<usize>]) -> String {
        let mut left_out: Vec<&Range<usize>> = silent.iter().chain([block]).collect();
        left_out.sort_by_key(|range| range.start);
        let mut own = String::new();
        let mut at = 0;
        for range in left_out.into_iter().filter(|range| !range.is_empty()) {
            own.push_str(&self.text[at..range.start.max(at)]);
            // Words around the range are not one sentence.
            own.push_str(". ");
            own.extend(self.text[range.start.max(at)..range.end.max(at)].matches('\n'));
            at = at.max(range.end);
        }
        own + &self.text[at..]
    }

    pub(super) fn answer(&self, candidate: AnswerCandidate) -> Extraction {
        let value = &candidate.reading.value;
        let comments = left_out::comments(&candidate.reading.unread);
        if let Some(contrary) = verdicts::clear_contradiction(&comments, value, &self.target.choices(value)) {
            let words = ellipsize(&contrary.sentence, SHOWN);
            let error = format!("a comment in the value says `{words}`, but the value is {}", candidate.shown());
            return self.refused_finally(error);
        }
        match contrary_member(value, &self.target) {
            Some(error) => self.refused_finally(error),
            None => self.taken(candidate),
        }
    }
}

/// Whether a value judges by a number.
fn is_rating(value: &Value) -> bool {
    value.as_object().is_some_and(|value| {
        value.iter().any(|(key, said)| said.is_number() && matches!(key.as_str(), "score" | "rating" | "grade"))
    })
}

/// Drops lines that are written like a heading if their values all occur in a fuller value: `Verdict: approve` above the answer. Lines with
/// the very keys of the schema are another answer.
pub(super) fn drop_summaries(candidates: &mut Vec<AnswerCandidate>) {
    let values: Vec<Value> = candidates.iter().map(|candidate| candidate.reading.value.clone()).collect();
    let is_part = |part: &Value, whole: &Value| match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.len() < whole.len() && part.iter().all(|(key, value)| whole.get(key) == Some(value))
        }
        _ => false,
    };
    candidates.retain(|candidate| {
        candidate.block.mark != AnswerBlockKind::Keys
            || candidate.reading.clean
            || !values.iter().any(|whole| is_part(&candidate.reading.value, whole))
    });
}
