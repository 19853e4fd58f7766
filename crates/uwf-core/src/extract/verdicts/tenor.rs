//! Judges the tenor of prose that gives no verdict in words that are known.
//!
//! `Don't let this through` denies something and praises nothing. Beside `approved: true`, such a text is more likely a refusal than a
//! remark, so the agent is asked again. A text that also praises something is a remark: `I can't test it on Windows. On Linux it works.`

use super::super::lead_in::OTHERS;
use super::super::prose::{ProseClause, ProseSentence};
use super::own_voice::doubting;
use super::subject::{follows_code, is_attribute, is_nit, is_of_code, is_of_part};
use super::verdict_words::{ABSENCES, COMMANDS, CONDITIONS, PROBLEMS, is_denial, is_earlier};

/// Most words of a text that is judged. A longer one has a verdict in words that are known.
const MAX_REVIEW: usize = 120;

/// Most words of a text that contradicts a refusal by its praise.
const MAX_PRAISE: usize = 12;

/// Words that praise.
const PRAISE: &[&str] = &[
    "good",
    "great",
    "fine",
    "clean",
    "correct",
    "correctly",
    "right",
    "works",
    "passes",
    "pass",
    "passed",
    "passing",
    "nice",
    "solid",
    "excellent",
    "safe",
    "sound",
    "verified",
    "covered",
    "thanks",
    "thank",
    "well",
    "simple",
    "fixed",
    "fixes",
    "resolved",
    "addressed",
    "improvement",
    "ok",
    "okay",
    "green",
    "happy",
    "want",
    "reasonable",
    "clear",
    "complete",
    "ready",
    "expected",
    "added",
    "intended",
    "works",
    "clearer",
    "better",
    "same",
    "done",
    "gut",
    "passt",
    "korrekt",
    "richtig",
    "bon",
    "bien",
    "buena",
    "bueno",
    "correcto",
    "bene",
    "bom",
    "certo",
    "хорошо",
    "можно",
    "goed",
    "nichts",
];

/// Praise in languages without spaces between words.
const UNSPACED_PRAISE: &[&str] = &[
    "没有问题",
    "没有发现",
    "没问题",
    "通过",
    "正确",
    "不影响",
    "问题ありません",
    "問題ありません",
    "成功",
    "문제없",
    "影響しません",
    "承認します",
    "좋",
];

/// Words that ask for something else, or miss something.
const DEMANDS: &[&str] = &[
    "bad",
    "risky",
    "wrong",
    "too",
    "must",
    "needs",
    "need",
    "should",
    "revise",
    "resubmit",
    "rework",
    "abandon",
    "missing",
    "far",
    "break",
    "breaks",
    "problem",
    "problems",
    "concern",
    "müssen",
    "muss",
    "faut",
    "debe",
    "deve",
    "avant",
    "нужно",
    "надо",
];

/// Faults that a report names.
const FAULTS: &[&str] = &[
    "bug",
    "bugs",
    "injection",
    "vulnerability",
    "vulnerabilities",
    "leak",
    "regression",
    "regressions",
    "deadlock",
    "race",
    "crash",
    "loss",
    "hole",
    "backdoor",
];

/// Verbs with which a report names a fault of the work.
const REPORTS: &[&str] = &[
    "introduces",
    "introduce",
    "adds",
    "causes",
    "creates",
    "contains",
    "has",
    "found",
    "find",
    "opens",
    "brings",
    "leaves",
    "there's",
];

/// Words that reject by themselves.
const REJECTIONS: &[&str] = &["disagree", "irresponsible", "crashes", "hangs", "corrupts", "unacceptable"];

/// Stems of verbs whose object is a fault that the work does away with: `Prevents crashes on empty input`.
const REMEDIES: &[&str] = &[
    "prevent", "handl", "avoid", "stop", "catch", "caught", "guard", "surviv", "recover", "remov", "reproduc", "cover",
];

/// Words for a failure, by which a short text agrees with a refusal.
const FAILURES: &[&str] = &["fail", "fails", "failed", "failing", "broken", "crashes", "leaks", "wrong", "missing"];

/// Denials and demands in languages without spaces between words.
const UNSPACED_DENIALS: &[&str] =
    &["不", "未", "无法", "必须", "返工", "严重问题", "测试失败", "ません", "ない", "べき", "않", "없", "못"];

/// Words from a denial to a comparative.
const NEAR: usize = 5;

/// Words before the part of a text that counts.
const CONTRASTS: &[&str] =
    &["but", "however", "unfortunately", "though", "except", "aber", "mais", "pero", "però", "mas", "но"];

/// Returns the sentence that gives a text the opposite tenor of the value; `None` if the tenor agrees.
pub(super) fn opposite(sentences: &[ProseSentence], is_accepted: bool) -> Option<&ProseSentence> {
    let length: usize = sentences.iter().map(|sentence| sentence.words().count()).sum();
    let denying = || sentences.iter().find(|sentence| !is_of_code(sentence) && denies(sentence));
    let complains = || sentences.iter().any(denies);
    let objects = || {
        let mut sentences = sentences.iter();
        sentences.any(|sentence| {
            sentence.words().next().is_some_and(|word| COMMANDS.contains(&word)) || sentence.has(FAILURES)
        })
    };
    let praising = || {
        let last = sentences.iter().rposition(|sentence| contrast(&sentence.plain).is_some()).unwrap_or(0);
        sentences[last..].iter().find(|sentence| praises(sentence) && !sentence.has(CONDITIONS))
    };
    match is_accepted {
        true if length <= MAX_REVIEW && praising().is_none() => denying().or_else(|| doubting(sentences)),
        false if length <= MAX_PRAISE && !complains() && !objects() => praising().filter(|praise| !is_of_part(praise)),
        _ => None,
    }
}

/// The offset of the last word of contrast in a text of lower case.
fn contrast(text: &str) -> Option<usize> {
    let is_word = |at: usize, word: &str| !text[at + 1 + word.len()..].starts_with(char::is_alphanumeric);
    let last = |word: &&str| text.rmatch_indices(&format!(" {word}")).map(|(at, _)| at).find(|at| is_word(*at, word));
    CONTRASTS.iter().filter_map(last).max()
}

/// Whether a sentence denies or demands something. Words before a contrast are a concession: `I do not like it, but:`.
fn denies(sentence: &ProseSentence) -> bool {
    let is_of_others = sentence.words().take(3).any(|word| OTHERS.contains(&word));
    if sentence.is_question || is_of_others || is_earlier(sentence) || is_nit(sentence) {
        return false;
    }
    let behind = contrast(&sentence.plain).map(|at| sentence.behind(at));
    let sentence = behind.as_ref().unwrap_or(sentence);
    let denials: usize = sentence.clauses.iter().map(denials).sum();
    let is_over = sentence.has(&["was", "were"])
        && sentence.words().any(|word| PROBLEMS.iter().any(|problem| word.starts_with(problem)));
    let is_case = sentence.has(CONDITIONS) || sentence.words().next() == Some("should");
    let is_demand = sentence.clauses.iter().any(|clause| {
        let at = clause.words.iter().position(|word| DEMANDS.contains(&word.as_str()));
        let at = at.filter(|at| !is_attribute(&clause.words, *at));
        // `This should have been merged` approves.
        let is_late =
            |at: usize| matches!(&clause.words[at..], [should, have, ..] if is_modal(should) && have == "have");
        let at = at.filter(|at| !is_late(*at));
        // `It should` confirms something.
        let ends = |at: usize| at > 0 && at + 1 == clause.words.len() && is_modal(&clause.words[at]);
        let at = at.filter(|at| !follows_code(&clause.words, *at) && !ends(*at));
        at.is_some_and(|at| !clause.words[..at].iter().any(|word| is_denial(word) || ABSENCES.contains(&word.as_str())))
    });
    let is_fault = || {
        sentence.clauses.iter().any(|clause| {
            let words = &clause.words;
            let is_in = |at: usize, list: &[&str]| list.contains(&words[at].as_str());
            let is_denied = |at: usize| {
                words[..at].iter().any(|word| {
                    is_denial(word)
                        || ABSENCES.contains(&word.as_str())
                        || word == "without"
                        || word.starts_with("fail")
                        || REMEDIES.iter().any(|stem| word.starts_with(stem))
                })
            };
            let named = (0..words.len()).find(|at| is_in(*at, FAULTS) && (0..*at).any(|verb| is_in(verb, REPORTS)));
            let rejected = (0..words.len()).find(|at| is_in(*at, REJECTIONS));
            named.or(rejected).is_some_and(|at| !is_denied(at))
        })
    };
    let is_unspaced =
        || !sentence.plain.is_ascii() && UNSPACED_DENIALS.iter().any(|word| sentence.plain.contains(word));
    !is_case && !is_over && (denials % 2 == 1 || is_demand || demands_first(sentence) || is_fault() || is_unspaced())
}

fn is_modal(word: &str) -> bool {
    matches!(word, "should" | "must" | "needs" | "need")
}

/// Whether an order comes before a verdict: `Fix these first, then ask me again`, `Add tests before merging`.
fn demands_first(sentence: &ProseSentence) -> bool {
    let words: Vec<&str> = sentence.words().collect();
    let is_order = words.first().is_some_and(|word| COMMANDS.contains(word));
    let is_first = || words.last() == Some(&"first") || sentence.has(&["first"]) && sentence.has(&["again", "then"]);
    let is_before = || {
        let stems = ["merg", "ship", "land", "releas", "approv"];
        words.windows(2).any(|pair| pair[0] == "before" && stems.iter().any(|stem| pair[1].starts_with(stem)))
    };
    is_order && (is_first() || is_before())
}

/// Words behind a denial that make it harmless.
const UNIMPORTANT: &[&str] = &[
    "important",
    "urgent",
    "necessary",
    "only",
    "required",
    "mandatory",
    "needed",
    "just",
    "need",
    "wait",
    "worry",
    "share",
    "agree",
];

/// Comparatives behind a denial: `I have never seen a cleaner diff`.
const COMPARATIVES: &[&str] = &["better", "cleaner", "simpler", "clearer", "nicer", "tidier", "happier", "neater"];

/// Denials of what was: `I couldn't get around it` reports an attempt.
const PAST_DENIALS: &[&str] = &["couldn't", "didn't", "wasn't", "weren't", "haven't", "hasn't", "hadn't"];

/// The number of denials in a clause. Sentences about `it`, such as `it doesn't`, are remarks.
fn denials(clause: &ProseClause) -> usize {
    let words = &clause.words;
    let is_remark =
        words.first().is_some_and(|word| matches!(word.as_str(), "it" | "that" | "it's" | "that's" | "they"));
    let is_harmless = |at: usize| {
        let next = words.get(at + 1).map_or("", String::as_str);
        let is_best = words[at..].iter().take(NEAR).any(|word| COMPARATIVES.contains(&word.as_str()));
        let is_elliptic = words.len() == at + 1 && words.first().is_some_and(|word| word == "this");
        let is_over = words[at] == "nicht" && next == "mehr";
        let is_delay = words[at].starts_with("hold") && next == "up";
        is_delay
            || is_over
            || UNIMPORTANT.contains(&next)
            || words[at] == "wouldn't" && next == "have"
            || is_best
            || is_elliptic
    };
    let denials = words
        .iter()
        .enumerate()
        .filter(|(at, word)| is_denial(word) && !is_harmless(*at) && !PAST_DENIALS.contains(&word.as_str()));
    // `A workaround, not a fix` contrasts two words.
    // `Refusing bad tokens is the purpose` is about the code.
    let is_subject = words.first().is_some_and(|word| word == "refusing") && words.len() > 2 && words[1] != "to";
    let is_contrast = words.first().is_some_and(|word| word == "not")
        && words.get(1).is_some_and(|word| matches!(word.as_str(), "a" | "an" | "the" | "just"));
    if is_remark || is_contrast || is_subject { 0 } else { denials.count() }
}

/// Whether a sentence praises something behind its last word of contrast.
pub(super) fn praises(sentence: &ProseSentence) -> bool {
    let counted = contrast(&sentence.plain).unwrap_or(0);
    let behind = sentence.plain.get(counted..).unwrap_or_default();
    let words =
        || behind.split(|symbol: char| !symbol.is_alphanumeric() && symbol != '\'').filter(|word| !word.is_empty());
    let is_denied = words().any(|word| is_denial(word) || ABSENCES.contains(&word));
    let finds_nothing = words().any(|word| PROBLEMS.iter().any(|problem| word.starts_with(problem)))
        && words().any(|word| is_denial(word) || ABSENCES.contains(&word));
    let all: Vec<&str> = words().collect();
    // `The leak needs to be fixed` demands what `The leak is fixed` praises.
    let is_demanded = |at: usize| {
        let before = &all[at.saturating_sub(4)..at];
        before.last() == Some(&"be")
            && before.iter().any(|word| DEMANDS.contains(word) || matches!(*word, "to" | "has"))
    };
    let is_praise = !is_denied && (0..all.len()).any(|at| PRAISE.contains(&all[at]) && !is_demanded(at));
    let is_unspaced = !behind.is_ascii() && UNSPACED_PRAISE.iter().any(|word| behind.contains(word));
    is_praise || finds_nothing || is_unspaced
}

#[cfg(test)]
mod tests {
    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn texts_of_the_opposite_tenor_are_found() {
        for (text, is_accepted) in [
            ("Don't let this through.", true),
            ("Nice work, but I cannot support this change.", true),
            ("Please revise and resubmit.", true),
            ("It crashes on empty input.", true),
            ("It hangs forever.", true),
            ("必须先修复后才能合并。", true),
            ("All good.", false),
        ] {
            assert!(opposite(&sentences(text), is_accepted).is_some(), "{text}");
        }
    }

    #[test]
    fn remarks_have_no_opposite_tenor() {
        for (text, is_accepted) in [
            ("I can't test it on Windows. On Linux it works.", true),
            ("I found no reason not to.", true),
            ("Why not? Hm.", true),
            ("It isn't pretty, but it's correct.", true),
            ("Prevents crashes on empty input.", true),
            ("Handles hangs of the server.", true),
            ("I do not like it, but:", true),
            ("It leaks memory.", false),
            ("All good, but it leaks.", false),
        ] {
            assert!(opposite(&sentences(text), is_accepted).is_none(), "{text}");
        }
    }
}
