//! Finds a sentence that gives a key the opposite value in plain words: `I found no issues` beside `has_issues: true`.
//!
//! The words come from the key, so each schema has its own: a quality (`is_safe`), a thing (`has_issues`, `needs_changes`), or something
//! that the work does (`tests_pass`). Keys of reviews, tasks and checks have word lists of their own.

use serde_json::Value;

use super::super::mentions::KeyChoices;
use super::super::prose::{ProseClause, ProseSentence};
use super::super::scalar::normal;
use super::verdict_words::{ABSENCES, CONDITIONS, MODALS, PARTS, RESOLVED, SEVERE, WORK, is_denial, is_earlier};
use super::{is_check, of_word};

/// Words before the adjective of a key.
const BE: &[&str] = &["is", "are", "was", "were", "should", "can", "will", "be", "all"];

/// Words of a key before a thing.
const HAVE: &[&str] =
    &["has", "have", "had", "contains", "found", "finds", "needs", "need", "requires", "require", "includes", "with"];

/// Words of a key behind a thing.
const EXIST: &[&str] = &["found", "present", "remaining", "detected", "needed", "required", "necessary", "exist"];

/// Words that link a quality to its subject.
const LINKS: &[&str] = &[
    "is", "are", "it's", "that's", "isn't", "aren't", "been", "remains", "remain", "still", "was", "were", "wasn't",
    "weren't",
];

/// Words for a case that is not the present one, before a quality or a verb.
const UNREAL: &[&str] = &["should", "must", "can", "could", "would", "will", "may", "might", "to", "once", "every"];

/// Words between a link and its quality.
const DEGREES: &[&str] = &[
    "a",
    "an",
    "fully",
    "really",
    "currently",
    "now",
    "yet",
    "completely",
    "actually",
    "quite",
    "clearly",
    "very",
    "at",
    "all",
];

/// Things besides the work that `not resolved` may be about.
const SUBJECTS: &[&str] = &[
    "issue",
    "bug",
    "problem",
    "ticket",
    "defect",
    "incident",
    "finding",
    "deploy",
    "deployment",
    "build",
    "report",
    "application",
    "app",
    "service",
    "script",
    "project",
    "system",
    "codebase",
    "software",
    "site",
    "command",
    "crash",
];

/// Words for things that the work replaces.
const REPLACED: &[&str] = &["old", "previous", "former", "original", "earlier", "existing"];

/// Qualities that a part gives to the whole.
const BAD: &[&str] =
    &["vulnerable", "exploitable", "insecure", "broken", "buggy", "flaky", "dangerous", "risky", "affected"];

/// Words for the same quality, or the same thing.
const SAME: &[&[&str]] = &[
    &["resolved", "fixed", "solved"],
    &["reproduced", "reproducible"],
    &["vulnerable", "exploitable"],
    &["issue", "problem", "bug", "defect", "finding"],
];

/// Denials of a quality in other languages.
const FOREIGN: &[(&str, &[&str])] = &[
    (
        "resolved",
        &[
            "nicht behoben",
            "nicht gelöst",
            "pas résolu",
            "pas corrigé",
            "no está resuelto",
            "sigue apareciendo",
            "non risolto",
            "没有解决",
            "未解决",
            "没解决",
            "仍然存在",
            "解決していません",
        ],
    ),
    ("safe", &["nicht sicher", "pas sûr", "no es seguro", "non è sicuro", "不安全", "安全ではありません"]),
    (
        "reproduced",
        &[
            "nicht reproduz",
            "pas pu reproduire",
            "no pude reproducir",
            "no se pudo reproducir",
            "无法复现",
            "无法重现",
            "再現できません",
        ],
    ),
    ("ready", &["nicht bereit", "pas prêt", "no está listo", "尚未就绪", "还没准备好"]),
];

/// Verbs of an opinion about this or it.
const OPINIONS: &[&str] = &["consider", "find", "call", "think", "believe", "deem"];

/// Words behind a quality that do not limit it.
const BEHIND: &[&str] = &["yet", "now", "here", "today", "either", "anymore", "anyway"];

/// Verbs behind `safe to`.
const ACTIONS: &[&str] = &[
    "merge", "ship", "deploy", "release", "land", "proceed", "roll", "go", "publish", "use", "run", "execute",
    "enable", "apply", "install",
];

/// Words behind a thing that do not limit it.
const BEHIND_THINGS: &[&str] = &[
    "found",
    "were",
    "was",
    "is",
    "are",
    "detected",
    "here",
    "remain",
    "remaining",
    "left",
    "needed",
    "required",
    "necessary",
    "at",
];

/// Words by which a sentence excepts something.
const EXCEPTIONS: &[&str] =
    &["except", "other", "besides", "apart", "beyond", "further", "more", "additional", "new", "else", "only", "aside"];

/// Words for a number of things.
const NUMBERS: &[&str] =
    &["a", "an", "one", "two", "three", "four", "five", "several", "multiple", "many", "following", "some"];

/// Words by which things are there.
const THERE: &[&str] =
    &["found", "there", "here", "see", "spotted", "identified", "remain", "needs", "requires", "has", "contains"];

/// Words for things that a review does not count.
const UNCOUNTED: &[&str] =
    &["minor", "cosmetic", "unrelated", "existing", "pre-existing", "known", "old", "previous", "earlier", "first"];

/// Subject of a key.
#[derive(Debug, PartialEq, Eq)]
enum KeyMeaning {
    /// A quality or an action: `safe`, `works`. With the word for the subject, if the key has one: `docs_updated`.
    Quality { subject: Option<String>, word: String },
    /// Something that is there or not, without its plural.
    Thing(String),
}

/// Returns the sentence that gives a key of the value the opposite value.
pub(super) fn contrary<'s>(
    sentences: &'s [ProseSentence],
    value: &Value,
    choices: &KeyChoices<'_>,
) -> Option<&'s ProseSentence> {
    value.as_object()?.iter().find_map(|(key, said)| {
        let (meaning, is_true) = match said {
            Value::Bool(is) if of_word(key).is_none() && !is_check(key) => (KeyMeaning::of_key(key)?, *is),
            // `This is not a bug` beside `kind: bug`.
            Value::String(word) if choices.contains_key(&normal(key)) && of_word(word).is_none() => {
                (KeyMeaning::Quality { subject: None, word: word.to_lowercase() }, true)
            }
            _ => return None,
        };
        let mut stated = sentences.iter().filter_map(|sentence| Some((sentence, meaning.stated(sentence)?)));
        let (contrary, _) = stated.clone().find(|(_, is)| *is != is_true)?;
        let is_solved = || matches!(meaning, KeyMeaning::Thing(_)) && sentences.iter().any(is_solution);
        let is_limited = || sentences.iter().any(ProseSentence::begins_with_contrast);
        let agrees = stated.any(|(_, is)| is == is_true) || !is_true && (is_limited() || is_solved());
        (!agrees).then_some(contrary)
    })
}

impl KeyMeaning {
    fn of_key(key: &str) -> Option<KeyMeaning> {
        let words = words(key);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [have, .., thing] if HAVE.contains(&have) && !thing.ends_with("ed") => Some(KeyMeaning::Thing(one(thing))),
            [.., thing, exist] if EXIST.contains(&exist) => Some(KeyMeaning::Thing(one(thing))),
            _ => {
                let begin = words.iter().take_while(|word| BE.contains(word) || HAVE.contains(word)).count();
                let words = &words[begin..];
                let end = words.iter().position(|word| matches!(*word, "to" | "for" | "with" | "as" | "by"));
                let (word, before) = words[..end.unwrap_or(words.len())].split_last()?;
                let subject = before.last().map(|subject| one(subject));
                Some(KeyMeaning::Quality { subject, word: (*word).to_owned() })
            }
        }
    }

    /// Statement of a sentence about the key; `None` if there is none.
    fn stated(&self, sentence: &ProseSentence) -> Option<bool> {
        // `Versions below 2.0 are vulnerable`.
        let is_of_others = sentence.has(&["or", "versions", "releases"]);
        if is_of_others || sentence.is_question || sentence.has(CONDITIONS) || is_earlier(sentence) {
            return None;
        }
        let mut clauses = sentence.clauses.iter();
        let is_denied_in = |key: &str| {
            let mut denials =
                FOREIGN.iter().filter(|(quality, _)| is_same(quality, key)).flat_map(|(_, denials)| *denials);
            denials.any(|denial| sentence.plain.contains(denial))
        };
        match self {
            KeyMeaning::Quality { word, .. } if is_denied_in(word) => Some(false),
            KeyMeaning::Quality { subject, word } => {
                let stated = clauses.find_map(|clause| {
                    let words: Vec<&str> = clause.words.iter().map(String::as_str).collect();
                    let subject = subject.as_deref();
                    quality(&words, subject, word)
                        .or_else(|| verb(&words, subject, word))
                        .or_else(|| act(&words, word))
                        .or_else(|| persists(&words, word))
                        .or_else(|| warns(&words, word))
                });
                // `The crash is resolved, the leak isn't`.
                stated.filter(|is| !is || !sentence.words().any(is_denial) && !clauses.any(|clause| clause.is_contrast))
            }
            KeyMeaning::Thing(thing) => {
                let is_limited = sentence.has(EXCEPTIONS) || sentence.clauses.iter().any(|clause| clause.is_contrast);
                clauses.find_map(|clause| is_there(clause, thing)).filter(|_| !is_limited && !sentence.has(UNCOUNTED))
            }
        }
    }
}

/// Whether a sentence says that something was solved: `I fixed both`, but not `This has to be fixed`.
fn is_solution(sentence: &ProseSentence) -> bool {
    let words: Vec<&str> = sentence.words().collect();
    (0..words.len()).any(|at| RESOLVED.contains(&words[at]) && (at == 0 || words[at - 1] != "be"))
}

/// Whether a word means the same as the word of a key.
fn is_same(word: &str, key: &str) -> bool {
    word == key || SAME.iter().any(|words| words.contains(&word) && words.contains(&key))
}

/// Whether a clause says that its subject has a quality: `this is not resolved`, `still unresolved`.
fn quality(words: &[&str], subject: Option<&str>, quality: &str) -> Option<bool> {
    let denied = |word: &str| {
        ["un", "in", "non-", "not-", "ir"].iter().any(|no| word.strip_prefix(no).is_some_and(|rest| rest == quality))
    };
    let at = words.iter().position(|word| is_same(word, quality) || denied(word))?;
    let (before, behind) = (&words[..at], &words[at + 1..]);
    let is_link =
        |word: &&str| LINKS.contains(word) || MODALS.contains(word) || is_denial(word) || DEGREES.contains(word);
    // `I don't consider this safe`.
    let is_opinion = matches!(before, [.., verb, "this" | "it" | "that"] if OPINIONS.contains(verb));
    let links = before.iter().rev().take_while(|word| is_link(word)).count();
    let (of, linked) = before.split_at(at - links);
    let is_linked = before.is_empty() || links > 0;
    let denials = linked.iter().chain(of).filter(|word| is_denial(word) || ABSENCES.contains(word)).count();
    let is = (denials + usize::from(denied(words[at]))) % 2 == 0;
    // `This was resolved` may be about another time, and `mostly resolved` is not all.
    let is_sure = !is || !linked.iter().any(|word| matches!(*word, "was" | "were")) && !is_partly(words);
    let is_bad = is == BAD.contains(&quality);
    let is_whole = match behind {
        [] => true,
        // `This is a breaking release`.
        [noun] if matches!(before.last(), Some(&("a" | "an"))) => WORK.contains(noun),
        ["by", ..] => is_bad && BAD.contains(&quality),
        ["to", verb, ..] => BAD.contains(&quality) || ACTIONS.contains(verb),
        [next, ..] => BEHIND.contains(next),
    };
    let is_real = !before.iter().any(|word| UNREAL.contains(word) || REPLACED.contains(word));
    let is_of_work = is_subject(of, subject) || is_bad && subject.is_none() && !of.contains(&"which");
    let is_stated = is_opinion || is_linked && is_of_work;
    (is_stated && is_whole && is_real && is_sure).then_some(is)
}

/// Whether a clause says that its subject does something: `it does not work`.
fn verb(words: &[&str], subject: Option<&str>, verb: &str) -> Option<bool> {
    let stem = verb.strip_suffix('s').filter(|_| !verb.ends_with("ed") && !verb.ends_with("ing"))?;
    let at = words.iter().position(|word| *word == stem || *word == verb)?;
    let before = &words[..at];
    let is_help = |word: &&str| matches!(*word, "do" | "does" | "did" | "still" | "not") || is_denial(word);
    let begin = before.iter().position(is_help).unwrap_or(at);
    let is_denied = before[begin..].iter().any(|word| is_denial(word));
    let is_whole = words.get(at + 1).is_none_or(|next| BEHIND.contains(next));
    let is_real = before[begin..].iter().all(is_help) && !before.iter().any(|word| UNREAL.contains(word));
    let is_sure = is_denied || !is_partly(words) && !before.is_empty();
    (is_whole && is_real && is_sure && is_subject(&before[..begin], subject)).then_some(!is_denied)
}

/// Whether the agent did the act of a key: `I could not reproduce it` beside `reproduced`.
fn act(words: &[&str], participle: &str) -> Option<bool> {
    let stem = participle.strip_suffix("ed")?;
    let own = words.iter().position(|word| matches!(*word, "i" | "we" | "i've" | "we've"));
    if words.len() > 1 && words[0] == participle && own.is_none() {
        return matches!(words[1], "it" | "this" | "on" | "with" | "in" | "the").then_some(true);
    }
    let own = own?;
    let at = words.iter().position(|word| word.strip_prefix(stem).is_some_and(|end| matches!(end, "" | "e" | "ed")))?;
    let between = words.get(own + 1..at)?;
    let is_denied = between.iter().any(|word| is_denial(word) || matches!(*word, "failed" | "couldn't"));
    let is_able = words[at] != participle && between.iter().any(|word| matches!(*word, "can" | "could"));
    let is_help = |word: &&str| {
        *word == "can"
            || is_denial(word)
            || DEGREES.contains(word)
            || matches!(*word, "was" | "could" | "did" | "to" | "failed" | "have")
    };
    let is_object =
        words.get(at + 1).is_none_or(|next| matches!(*next, "it" | "this" | "the" | "that" | "on" | "with" | "in"));
    (between.iter().all(is_help) && is_object && (is_denied || is_able || words[at] == participle))
        .then_some(!is_denied)
}

/// Whether a fault is still there: `the bug still reproduces`.
fn persists(words: &[&str], quality: &str) -> Option<bool> {
    let is_there = |word: &str| {
        matches!(
            word,
            "reproduces" | "occurs" | "happens" | "crashes" | "fails" | "present" | "exists" | "there" | "hangs"
        )
    };
    let is_still = words.windows(2).any(|pair| pair[0] == "still" && is_there(pair[1])) || words.contains(&"persists");
    let is_of_work = words.first().is_some_and(|word| matches!(*word, "it" | "this" | "the"));
    (is_same("resolved", quality) && is_still && is_of_work && !words.iter().any(|word| REPLACED.contains(word)))
        .then_some(false)
}

/// Whether a clause warns of something that should be safe: `do not run this script`.
fn warns(words: &[&str], quality: &str) -> Option<bool> {
    let (["do", "not", rest @ ..] | ["don't" | "never", rest @ ..]) = words else { return None };
    let is_use = matches!(rest, ["run" | "execute" | "apply" | "install" | "deploy", "this" | "it", ..]);
    (quality == "safe" && is_use).then_some(false)
}

fn is_partly(words: &[&str]) -> bool {
    words.iter().any(|word| PARTS.contains(word))
}

/// Whether words name the subject of a key, or the work if the key has none. Left out, it is the work.
fn is_subject(words: &[&str], subject: Option<&str>) -> bool {
    let names_work = |word: &str| WORK.contains(&word) || SUBJECTS.contains(&word);
    match (subject, words) {
        (Some(subject), _) => words.iter().any(|word| one(word) == subject),
        (None, ["the" | "a" | "an", noun]) => names_work(noun),
        (None, _) => words.iter().all(|word| names_work(word) || ABSENCES.contains(word)),
    }
}

/// Whether a clause says that a thing is there: `no issues found`, `there are two issues`.
fn is_there(clause: &ProseClause, thing: &str) -> Option<bool> {
    let words: Vec<&str> = clause.words.iter().map(String::as_str).collect();
    let at = words.iter().position(|word| is_same(&one(word), thing))?;
    let (before, behind) = (&words[..at], &words[at + 1..]);
    let is_whole = match behind {
        [] => true,
        ["in" | "with" | "to", "this" | "the" | "it", rest @ ..] => rest.iter().all(|word| WORK.contains(word)),
        [next, ..] => BEHIND_THINGS.contains(next),
    };
    let next = before.last().copied().unwrap_or_default();
    let is_any = before.is_empty() || matches!(next, "any" | "need" | "require" | "find" | "see" | "have");
    let is_denied = is_any && before.iter().any(|word| is_denial(word));
    if matches!(next, "no" | "zero" | "0") || is_denied {
        return is_whole.then_some(false);
    }
    let next = if next == "real" { before.iter().rev().nth(1).copied().unwrap_or_default() } else { next };
    let is_number =
        next.parse::<u32>().is_ok_and(|number| number > 0) || NUMBERS.contains(&next) || SEVERE.contains(&next);
    let is_solved = words.iter().any(|word| RESOLVED.contains(word) || is_denial(word));
    (is_number && !is_solved && words.iter().any(|word| THERE.contains(word))).then_some(true)
}

/// The words of a key, in lower case: `has_issues`, `hasIssues`.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for symbol in key.chars() {
        if !symbol.is_alphanumeric() || symbol.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = symbol.is_lowercase();
        words
            .last_mut()
            .expect("it is never empty")
            .extend(symbol.to_lowercase().filter(|symbol| symbol.is_alphanumeric()));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A noun without the ending of its plural.
fn one(noun: &str) -> String {
    match noun.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => noun.strip_suffix('s').filter(|stem| !stem.ends_with('s')).unwrap_or(noun).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::prose::sentences;
    use super::*;

    fn is_contrary(text: &str, value: &Value) -> bool {
        contrary(&sentences(text), value, &KeyChoices::new()).is_some()
    }

    #[test]
    fn opposite_sentences_are_found() {
        for (text, value) in [
            ("I found no issues.", json!({"has_issues": true})),
            ("No issues were found in this change.", json!({"issuesFound": true})),
            ("There are two issues.", json!({"has_issues": false})),
            ("No migration is needed.", json!({"needs_migration": true})),
            ("It does not need any tests.", json!({"needs_tests": true})),
            ("This is not resolved.", json!({"resolved": true})),
            ("The bug remains unresolved.", json!({"is_resolved": true})),
            ("It isn't safe to deploy.", json!({"safe_to_deploy": true})),
            ("This is safe.", json!({"safe": false})),
            ("It does not work.", json!({"works": true})),
            ("The docs have not been updated.", json!({"docs_updated": true})),
            ("The endpoint is vulnerable.", json!({"vulnerable": false})),
            ("I don't consider this safe.", json!({"safe": true})),
            ("I was unable to reproduce the crash.", json!({"reproduced": true})),
            ("I reproduced it on the first try.", json!({"reproduced": false})),
            ("The bug still happens.", json!({"resolved": true})),
            ("Reproduced on the first try.", json!({"reproduced": false})),
            ("I can reproduce this.", json!({"reproduced": false})),
            ("Do not run this script.", json!({"safe": true})),
            ("This is a breaking release.", json!({"breaking": false})),
            ("It writes nothing. It is safe to run.", json!({"safe": false})),
            ("The application is not vulnerable to this CVE.", json!({"vulnerable": true})),
            ("There is one real problem here.", json!({"has_issues": false})),
            ("Der Fehler ist nicht behoben.", json!({"resolved": true})),
            ("The crash isn't fixed yet.", json!({"resolved": true})),
        ] {
            assert!(is_contrary(text, &value), "{text}");
        }
    }

    #[test]
    fn sentences_about_other_things_say_nothing() {
        for (text, value) in [
            ("I found no issues in the parser.", json!({"has_issues": true})),
            ("No issues other than the leak.", json!({"has_issues": true})),
            ("No blocking issues.", json!({"has_issues": true})),
            ("I found two issues and fixed them.", json!({"has_issues": false})),
            ("The old lexer is not safe.", json!({"safe": true})),
            ("It must be safe to call twice.", json!({"safe": false})),
            ("If it is not resolved, call me.", json!({"resolved": true})),
            ("This is mostly resolved.", json!({"resolved": false})),
            ("The first part is resolved, the second is not.", json!({"resolved": false})),
            ("The tests are updated.", json!({"docs_updated": false})),
            ("At first I couldn't reproduce this.", json!({"reproduced": true})),
        ] {
            assert!(!is_contrary(text, &value), "{text}");
        }
    }

    #[test]
    fn words_of_a_key_give_its_meaning() {
        let quality = |subject: Option<&str>, word: &str| {
            Some(KeyMeaning::Quality { subject: subject.map(str::to_owned), word: word.to_owned() })
        };
        let thing = |noun: &str| Some(KeyMeaning::Thing(noun.to_owned()));
        for (key, meaning) in [
            ("is_safe", quality(None, "safe")),
            ("safeToMerge", quality(None, "safe")),
            ("docs_updated", quality(Some("doc"), "updated")),
            ("has_passed", quality(None, "passed")),
            ("has_issues", thing("issue")),
            ("regressionsFound", thing("regression")),
            ("needs_changes", thing("change")),
            ("is", None),
        ] {
            assert_eq!(KeyMeaning::of_key(key), meaning, "{key}");
        }
    }
}
