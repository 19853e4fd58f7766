//! Compares a value with what the text around it says about the work.
//!
//! If `I can't sign off on this` appears beside `approved: true`, either the value is only mentioned or the agent made a mistake. In both
//! cases the agent must look again.

mod attitude;
mod checks;
mod chosen;
mod disowned;
mod endorsed;
mod key_numbers;
mod key_words;
mod label_words;
mod languages;
mod own_voice;
mod statements;
mod subject;
mod tenor;
mod verdict_topics;
mod verdict_words;
mod work_verdict;

use std::ops::RangeInclusive;

use serde_json::Value;

use self::chosen::other_choice;
use self::disowned::disowning;
use self::statements::statements;
use self::verdict_topics::{REPLIES, REVIEW, TASK, VerdictTopic};
use self::verdict_words::PROBLEMS;
use self::work_verdict::WorkVerdict;
use super::conditions::is_condition;
use super::mentions::KeyChoices;
use super::prose::{ProseSentence, sentences};

/// Beginnings of keys and values that accept a review.
const ACCEPTS: [&str; 13] = [
    "approv",
    "accept",
    "endors",
    "merg",
    "recommend",
    "ship",
    "lgtm",
    "ok",
    "pass",
    "proceed",
    "release",
    "ready",
    "allow",
];

/// Beginnings of keys and values that reject in a review.
const REJECTS: [&str; 12] = [
    "reject",
    "declin",
    "refus",
    "veto",
    "disapprov",
    "needswork",
    "needschang",
    "request",
    "revis",
    "rework",
    "deny",
    "denied",
];

/// Beginnings of keys and values of a task that is done.
const DONE: [&str; 6] = ["done", "complet", "finish", "succe", "solved", "implemented"];

/// Beginnings of keys and values of a task that is not done.
const NOT_DONE: [&str; 7] = ["fail", "block", "incomplet", "stuck", "abort", "unfinished", "partial"];

/// Beginnings of keys for the result of checks.
const CHECKS: [&str; 9] =
    ["pass", "ok", "success", "green", "allpass", "testspass", "tests_pass", "checkspass", "buildpass"];

/// Words of a member in which weak statements count. A shorter one may be a note, a longer one may be about anything.
const REMARK: RangeInclusive<usize> = 3..=8;

/// Most words of a member that reports how a task went.
const MAX_REPORT: usize = 24;

/// Most words of a report of checks that contradicts an approval. A longer one may say why the failure doesn't matter.
const MAX_CHECK: usize = 6;

/// Words by which a text beside a value that rejects says why.
const DOUBTS: [&str; 14] = [
    "not", "no", "cannot", "but", "however", "although", "unable", "missing", "fails", "failed", "fail", "error",
    "blocked", "except",
];

/// A sentence that contradicts a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContraryLine {
    /// Line number, from 0.
    pub(super) line: usize,
    pub(super) sentence: String,
}

/// Returns the sentence of the text that contradicts the value; `None` if no sentence does. Quotations, questions and code don't count,
/// unless the agent agrees with a quotation.
pub(super) fn contradiction(text: &str, value: &Value, choices: &KeyChoices<'_>) -> Option<ContraryLine> {
    let sentences = sentences(text);
    let stance = stance(value);
    let of_topic = || stance.and_then(|(topic, is_accepted)| contrary(&sentences, topic, is_accepted));
    let of_checks = || is_of_checks(value).and_then(|is_passed| checks::contrary(&sentences, is_passed));
    let endorsed = || stance.and_then(|(topic, is_accepted)| endorsed_contrary(text, &sentences, topic, is_accepted));
    disowning(&sentences)
        .or_else(|| other_choice(&sentences, choices))
        .or_else(of_topic)
        .or_else(of_checks)
        .or_else(|| key_words::contrary(&sentences, value, choices))
        .or_else(|| key_numbers::contrary(&sentences, value))
        .or_else(endorsed)
        .map(ContraryLine::of_sentence)
        .or_else(|| contrary_log(text, value))
}

/// Returns the sentence below a header, or in a member of the value, that contradicts the value. Only clear verdicts count, because such
/// a text may be about anything.
pub(super) fn clear_contradiction(text: &str, value: &Value, choices: &KeyChoices<'_>) -> Option<ContraryLine> {
    let sentences = sentences(text);
    let of_topic = || stance(value).and_then(|(topic, is_accepted)| clear_contrary(&sentences, topic, is_accepted));
    let of_checks = || is_of_checks(value).and_then(|is_passed| checks::contrary(&sentences, is_passed));
    let found = disowning(&sentences).or_else(|| other_choice(&sentences, choices)).or_else(of_topic);
    let of_keys = || key_words::contrary(&sentences, value, choices);
    found.or_else(of_checks).or_else(of_keys).map(ContraryLine::of_sentence).or_else(|| contrary_log(text, value))
}

/// Returns the line of a log that contradicts a value about checks.
fn contrary_log(text: &str, value: &Value) -> Option<ContraryLine> {
    let (line, log) = checks::contrary_log(text, is_of_checks(value)?)?;
    Some(ContraryLine { line, sentence: log.trim().to_owned() })
}

/// Whether a text says the same as the value, or praises what the value accepts.
pub(super) fn affirms(text: &str, value: &Value) -> bool {
    let sentences = sentences(text);
    stance(value).is_some_and(|(topic, is_accepted)| {
        stated(&sentences, topic).any(|(_, statement)| statement.accepts == is_accepted)
            || is_accepted && sentences.iter().any(tenor::praises)
    })
}

/// Whether a value accepts the work under review.
pub(super) fn accepts(value: &Value) -> bool {
    stance(value).is_some_and(|(topic, is_accepted)| topic.takes_objects && is_accepted)
}

/// Whether a word names a verdict: `decision`, `conclusion`.
pub(super) fn names_verdict(word: &str) -> bool {
    verdict_words::LABELS.contains(&word)
}

/// Returns the text of a value that contradicts its other members: `approved: true` beside `comment: I do not approve`.
pub(super) fn contrary_member(value: &Value, choices: &KeyChoices<'_>) -> Option<String> {
    if let Some(text) = contrary_verdict(value) {
        return Some(text);
    }
    let members = value.as_object()?.iter().filter_map(|(key, text)| Some((key, text.as_str()?)));
    let of_keys = |(_, text): (&String, &str)| {
        key_words::contrary(&sentences(text), value, choices).map(|sentence| sentence.text.clone())
    };
    if let Some(text) = members.clone().filter(|(_, text)| text.contains(' ')).find_map(of_keys) {
        return Some(text);
    }
    let (topic, is_accepted) = stance(value)?;
    // `comment: rejected` gives a verdict, `title: rejected` and `previous: rejected` don't.
    let word = |(key, text): &(&String, &str)| {
        let verdict = of_word(text.trim_matches(['.', '!', ' ']));
        let is_contrary = verdict.is_some_and(|(of, accepts)| std::ptr::eq(of, topic) && accepts != is_accepted);
        let sentences = sentences(text);
        let states = || {
            sentences.iter().all(|sentence| reply(sentence).is_none())
                && contrary_statement(&sentences, topic, is_accepted).is_some()
        };
        is_remark_key(key) && !text.contains(' ') && (is_contrary || states())
    };
    if let Some((_, text)) = members.clone().find(word) {
        return Some(text.to_owned());
    }
    let is_conditional = |(key, text): &(&String, &str)| is_remark_key(key) && is_condition(text);
    if let Some((_, text)) = members.clone().find(is_conditional).filter(|_| accepts(value)) {
        return Some(text.to_owned());
    }
    let members = members.map(|(_, text)| text).filter(|text| text.contains(' '));
    let contrary = |text: &str| {
        let sentences = sentences(text);
        // `comment: no` gives no comment.
        if matches!(&sentences[..], [only] if reply(only).is_some() && only.words().count() <= 2) {
            return None;
        }
        let length: usize = sentences.iter().map(|sentence| sentence.words().count()).sum();
        // A report of a task is about the task.
        let is_remark = REMARK.contains(&length) || !topic.takes_objects && length <= MAX_REPORT;
        let of_topic = || match is_remark {
            true => contrary_statement(&sentences, topic, is_accepted),
            false => clear_contrary(&sentences, topic, is_accepted),
        };
        let of_checks = || is_of_checks(value).and_then(|is_passed| checks::contrary(&sentences, is_passed));
        let other = other_choice(&sentences, choices).or_else(of_topic).or_else(of_checks);
        other.map(|sentence| sentence.text.clone())
    };
    members.into_iter().find_map(contrary)
}

/// Returns the member that gives another verdict than the ones before it: `approved: true` beside `verdict: reject`. Only words that nothing
/// but an approval or a rejection has count: tests may pass in work that is rejected.
fn contrary_verdict(value: &Value) -> Option<String> {
    let accepts = |word: &str| {
        let word = word.to_lowercase().replace(['_', '-', ' '], "");
        let begins =
            |stems: &[&str]| stems.iter().any(|stem| word.strip_prefix("is").unwrap_or(&word).starts_with(stem));
        match (
            begins(&["approve", "accepted", "lgtm"]),
            begins(&["reject", "declined", "veto", "requestchanges", "changesrequested"]),
        ) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    };
    let names_verdict = |key: &str| {
        let names = ["verdict", "decision", "status", "state", "outcome", "result", "conclusion", "recommendation"];
        names.contains(&key.to_lowercase().as_str())
    };
    let mut first = None;
    for (key, member) in value.as_object()? {
        let verdict = match member {
            Value::Bool(yes) => accepts(key).map(|accepts| accepts == *yes),
            Value::String(word) if names_verdict(key) => accepts(word),
            _ => None,
        };
        let Some(verdict) = verdict else { continue };
        if *first.get_or_insert(verdict) != verdict {
            return Some(format!("{key}: {}", member.as_str().map_or_else(|| member.to_string(), str::to_owned)));
        }
    }
    None
}

/// Whether a member of a value is a remark of the agent.
fn is_remark_key(key: &str) -> bool {
    let stems = ["comment", "note", "remark", "reason", "feedback", "summary", "message", "explanation"];
    stems.iter().any(|stem| key.to_lowercase().starts_with(stem))
}

/// Returns the sentence that accepts if the value rejects, or rejects if the value accepts. A weak statement counts only if no other
/// sentence agrees with the value.
fn contrary<'s>(sentences: &'s [ProseSentence], topic: &VerdictTopic, is_accepted: bool) -> Option<&'s ProseSentence> {
    let agrees = || stated(sentences, topic).any(|(_, statement)| statement.accepts == is_accepted);
    let tenor = || tenor::opposite(sentences, is_accepted).filter(|_| topic.takes_objects && !agrees());
    let is_report =
        |sentence: &&ProseSentence| sentence.words().count() <= MAX_CHECK && !sentence.words().any(|word| word == "to");
    let failing = || checks::contrary(sentences, true).filter(is_report);
    let failing = || failing().filter(|_| topic.takes_objects && is_accepted && !agrees());
    contrary_statement(sentences, topic, is_accepted).or_else(tenor).or_else(failing)
}

/// Returns the sentence with a contrary statement.
fn contrary_statement<'s>(
    sentences: &'s [ProseSentence],
    topic: &VerdictTopic,
    is_accepted: bool,
) -> Option<&'s ProseSentence> {
    let mut contrary = None;
    let mut agrees = false;
    for (sentence, statement) in stated(sentences, topic) {
        if statement.accepts == is_accepted {
            agrees = true;
        } else if statement.is_firm && is_sure(statement, topic, sentences) {
            return Some(sentence);
        } else {
            contrary.get_or_insert(sentence);
        }
    }
    let doubts = !is_accepted && has_doubts(sentences);
    contrary.filter(|_| !agrees && !doubts)
}

/// Returns the sentence with a firm contrary statement.
fn clear_contrary<'s>(
    sentences: &'s [ProseSentence],
    topic: &VerdictTopic,
    is_accepted: bool,
) -> Option<&'s ProseSentence> {
    let is_contrary = |statement: WorkVerdict| {
        statement.accepts != is_accepted && statement.is_firm && is_sure(statement, topic, sentences)
    };
    stated(sentences, topic).find(|(_, statement)| is_contrary(*statement)).map(|(sentence, _)| sentence)
}

/// Returns the sentence that agrees with a quotation that contradicts the value.
fn endorsed_contrary<'s>(
    text: &str,
    sentences: &'s [ProseSentence],
    topic: &VerdictTopic,
    is_accepted: bool,
) -> Option<&'s ProseSentence> {
    let agreement = endorsed::agreement(sentences)?;
    let quoted = super::prose::sentences(&endorsed::quotations(text));
    contrary(&quoted, topic, is_accepted).map(|_| agreement)
}

/// The statements of all sentences.
fn stated<'s>(
    sentences: &'s [ProseSentence],
    topic: &VerdictTopic,
) -> impl Iterator<Item = (&'s ProseSentence, WorkVerdict)> {
    let declarative = sentences.iter().enumerate().filter(|(_, sentence)| !sentence.is_question);
    declarative.flat_map(move |(number, sentence)| {
        let before = number.checked_sub(1).map(|before| &sentences[before]);
        let heading = before.filter(|before| before.is_label() && sentence.line <= before.line + HEADING_LINES);
        let mut statements = statements(sentence, heading, topic);
        // `I'd be happy to see it land. But it leaks.`
        let is_conceded = sentences.get(number + 1).is_some_and(ProseSentence::begins_with_contrast);
        for statement in statements.iter_mut().filter(|statement| statement.accepts && is_conceded) {
            statement.is_firm = false;
        }
        let is_asked = before.is_some_and(|before| before.is_question && asks_for_verdict(before));
        statements.extend(reply(sentence).filter(|_| number == 0 || is_asked));
        let goes_ahead =
            topic.takes_objects && GO_AHEAD.contains(&sentence.words().collect::<Vec<_>>().join(" ").as_str());
        statements.extend(goes_ahead.then_some(WorkVerdict::firm(true)));
        statements.into_iter().map(move |statement| (sentence, statement))
    })
}

/// Sentences that ask the author to merge, without the words between clauses.
const GO_AHEAD: [&str; 7] =
    ["merge it", "merge this", "please merge", "go ahead", "go ahead merge", "go ahead merge it", "ship this"];

/// Whether a question asks for the verdict: `Should this be merged?`
fn asks_for_verdict(question: &ProseSentence) -> bool {
    let is_modal = question.words().next().is_some_and(|word| matches!(word, "should" | "can" | "shall" | "may"));
    // `Approve? No.`
    let is_short = question.words().count() <= 3;
    (is_modal || is_short) && question.words().any(|word| REVIEW.accepts.iter().any(|stem| word.starts_with(stem)))
}

/// Most lines from a heading to the verdict below it.
const HEADING_LINES: usize = 2;

impl ContraryLine {
    fn of_sentence(sentence: &ProseSentence) -> ContraryLine {
        ContraryLine { line: sentence.line, sentence: sentence.text.clone() }
    }
}

/// Whether a firm statement contradicts alone. A task may be done in part.
fn is_sure(statement: WorkVerdict, topic: &VerdictTopic, sentences: &[ProseSentence]) -> bool {
    topic.takes_objects || !statement.accepts || !has_doubts(sentences)
}

fn has_doubts(sentences: &[ProseSentence]) -> bool {
    let is_doubt = |word: &str| word.ends_with("n't") || DOUBTS.contains(&word);
    // `There were no warnings` is none.
    let is_fault = |word: &str| word.starts_with("warning") || PROBLEMS.iter().any(|problem| word.starts_with(problem));
    sentences.iter().any(|sentence| {
        let words: Vec<&str> = sentence.words().collect();
        (0..words.len()).any(|at| {
            let is_none = words[at] == "no" && words.get(at + 1).is_some_and(|next| is_fault(next));
            let is_named = at > 0 && words[at - 1] == "no" && is_fault(words[at]);
            is_doubt(words[at]) && !is_none && !is_named
        })
    })
}

/// Returns the reply that begins a text: `No, it leaks.`
fn reply(sentence: &ProseSentence) -> Option<WorkVerdict> {
    // `Sorry, but no` has one more clause.
    let is_labelled = sentence.clauses.first().is_some_and(|clause| clause.is_label);
    let mut clauses =
        sentence.clauses.iter().take(if is_labelled { 1 } else { 2 }).filter(|clause| clause.words.len() <= 2);
    let (_, accepts) = clauses.find_map(|clause| REPLIES.iter().find(|(reply, _)| *reply == clause.words.join(" ")))?;
    Some(WorkVerdict { accepts: *accepts, is_firm: true })
}

/// Returns the topic of a value, and whether the value accepts; `None` if it does neither, or both.
fn stance(value: &Value) -> Option<(&'static VerdictTopic, bool)> {
    let of_entry = |(key, value): (&String, &Value)| match value {
        _ if is_remark_key(key) => None,
        Value::Bool(yes) => of_word(key).map(|(topic, accepts)| (topic, accepts == *yes)),
        Value::String(word) if !word.contains(char::is_whitespace) => of_word(word),
        _ => None,
    };
    let mut found = value.as_object()?.iter().filter_map(of_entry);
    let (topic, accepts) = found.next()?;
    found.all(|(_, other)| other == accepts).then_some((topic, accepts))
}

/// Whether a value says that checks passed; `None` if it says nothing about them.
fn is_of_checks(value: &Value) -> Option<bool> {
    value.as_object()?.iter().find_map(|(key, value)| value.as_bool().filter(|_| is_check(key)))
}

fn is_check(key: &str) -> bool {
    CHECKS.iter().any(|stem| key.to_lowercase().starts_with(stem))
}

/// Returns the topic of a word, and whether it accepts.
fn of_word(word: &str) -> Option<(&'static VerdictTopic, bool)> {
    let word = word.to_lowercase();
    match word.as_str() {
        "go" | "yes" => return Some((&REVIEW, true)),
        "no" | "nogo" | "no-go" | "no_go" | "hold" => return Some((&REVIEW, false)),
        _ => {}
    }
    // `not-approved` says the opposite; leave it open.
    if ["not", "un", "no-", "no_"].iter().any(|no| word.starts_with(no)) && !word.starts_with("unfinished") {
        return None;
    }
    let joined: String = word.chars().filter(|symbol| symbol.is_alphanumeric()).collect();
    let last = word.rsplit(['_', '-', '.']).next().unwrap_or(&word);
    let last = last.strip_prefix("is").unwrap_or(last);
    let begins = |stems: &[&str]| stems.iter().any(|stem| last.starts_with(stem) || joined.starts_with(stem));
    let topics: [(&[&str], &[&str], &'static VerdictTopic); 2] =
        [(&ACCEPTS, &REJECTS, &REVIEW), (&DONE, &NOT_DONE, &TASK)];
    topics.into_iter().find_map(|(accepts, rejects, topic)| match (begins(accepts), begins(rejects)) {
        (true, false) => Some((topic, true)),
        (false, true) => Some((topic, false)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statements_in_the_first_person_contradict_a_value() {
        for (text, value) in [
            ("I do not approve.", json!({"approved": true})),
            ("Thanks! I can’t approve this change", json!({"is_approved": true})),
            ("It is broken, so I reject it.", json!({"verdict": "approve"})),
            ("I approve this.", json!({"verdict": "rejected"})),
            ("**I reject**", json!({"decision": "accept", "score": 3})),
            ("No.", json!({"approved": true})),
            ("Not yet, the tests fail.", json!({"approved": true})),
            ("I read it. This is not approved.", json!({"approved": true})),
            ("The change is rejected, no tests.", json!({"approved": true})),
            ("No — do not merge.", json!({"verdict": "approve"})),
            ("LGTM", json!({"approved": false})),
            ("## ❌ Rejected", json!({"approved": true})),
            ("Status: BLOCKED", json!({"approved": true})),
            ("## Verdict: Request changes", json!({"approved": true})),
            ("Ship it.", json!({"approved": false})),
            ("My verdict is no; see below.", json!({"approved": true})),
        ] {
            assert!(contradiction(text, &value, &KeyChoices::new()).is_some(), "{text}");
        }
        assert_eq!(
            contradiction("Hm.\n\n> So?\n\nI do not approve.", &json!({"approved": true}), &KeyChoices::new()),
            Some(ContraryLine { line: 4, sentence: "I do not approve.".to_owned() })
        );
    }

    #[test]
    fn members_with_opposite_verdicts_contradict_each_other() {
        for (value, is) in [
            (json!({"approved": true, "verdict": "reject"}), true),
            (json!({"approved": true, "rejected": true}), true),
            (json!({"decision": "request_changes", "approved": true}), true),
            (json!({"approved": false, "status": "accepted"}), true),
            (json!({"approved": true, "rejected": false}), false),
            (json!({"approved": false, "passed": true}), false),
            (json!({"approved": true, "title": "rejected"}), false),
            (json!({"approved": true, "verdict": "approve"}), false),
        ] {
            assert_eq!(contrary_member(&value, &KeyChoices::new()).is_some(), is, "{value}");
        }
    }

    #[test]
    fn other_texts_contradict_nothing() {
        for (text, value) in [
            ("I do not approve.", json!({"approved": false})),
            ("He wrote \"I do not approve\".", json!({"approved": true})),
            ("> I do not approve.", json!({"approved": true})),
            ("I rejected the first idea.", json!({"approved": true})),
            ("It works. I do not recommend more tests.", json!({"approved": true})),
            ("Does it leak? No.", json!({"approved": true})),
            ("No tests are missing.", json!({"approved": true})),
            ("It is approved by two people.", json!({"approved": false})),
            ("approved: true", json!({"approved": false})),
            ("Rejected ideas: none", json!({"approved": true})),
            ("This is refused input.", json!({"approved": true})),
            ("I do not approve.", json!({"done": true})),
            ("I do not approve.", json!({"approved": true, "state": "rejected"})),
            ("I do not approve.", json!("approved")),
        ] {
            assert_eq!(contradiction(text, &value, &KeyChoices::new()), None, "{text}");
        }
    }
}
