//! Reads what the agent would or would not do with the work: `I can't put my name to this`.
//!
//! The ways to refuse are endless, so their verbs are not listed. A denied verb of the first person whose object is the work refuses it, except for
//! verbs of examination (`I can't test it`) and of objection (`I wouldn't change this`).

use super::verdict_words::{ABSENCES, WORK, is_denial};
use super::work_verdict::WorkVerdict;

/// Subjects in the first person.
const SUBJECTS: [&str; 10] = ["i", "i'm", "i'd", "i'll", "i've", "we", "we're", "we'd", "we'll", "myself"];

/// Words between a denial and its verb.
const BETWEEN: [&str; 27] = [
    "really",
    "simply",
    "just",
    "still",
    "currently",
    "honestly",
    "possibly",
    "quite",
    "entirely",
    "fully",
    "yet",
    "to",
    "be",
    "able",
    "going",
    "willing",
    "prepared",
    "ready",
    "particularly",
    "very",
    "so",
    "even",
    "at",
    "all",
    "in",
    "good",
    "conscience",
];

/// Verbs of examination and of speech. Their denial says nothing about the work.
const EXAMINES: [&str; 64] = [
    "find",
    "see",
    "test",
    "run",
    "check",
    "reproduce",
    "verify",
    "spot",
    "tell",
    "know",
    "think",
    "look",
    "read",
    "open",
    "access",
    "install",
    "build",
    "compile",
    "measure",
    "compare",
    "trigger",
    "provoke",
    "exercise",
    "observe",
    "debug",
    "trace",
    "follow",
    "judge",
    "assess",
    "evaluate",
    "say",
    "understand",
    "remember",
    "recall",
    "believe",
    "explain",
    "imagine",
    "guess",
    "confirm",
    "beat",
    "make",
    "like",
    "love",
    "need",
    "want",
    "have",
    "do",
    "use",
    "call",
    "try",
    "get",
    "go",
    "consider",
    "rate",
    "comment",
    "notice",
    "review",
    "expect",
    "care",
    "rule",
    "figure",
    "examine",
    "inspect",
    "fetch",
];

/// Verbs of objection. Their denial accepts the work.
const OBJECTS_TO: [&str; 29] = [
    "wait",
    "change",
    "alter",
    "block",
    "reject",
    "oppose",
    "object",
    "fault",
    "complain",
    "improve",
    "mind",
    "hesitate",
    "worry",
    "criticize",
    "criticise",
    "veto",
    "break",
    "crash",
    "touch",
    "hold",
    "opposed",
    "against",
    "worried",
    "concerned",
    "bothered",
    "fail",
    "delay",
    "dispute",
    "decline",
];

/// Adjectives of a person who agrees.
const CONTENT: [&str; 18] = [
    "convinced",
    "comfortable",
    "board",
    "happy",
    "satisfied",
    "sold",
    "ok",
    "okay",
    "fine",
    "confident",
    "persuaded",
    "keen",
    "favour",
    "favor",
    "fan",
    "behind",
    "supportive",
    "content",
];

/// Words by which nothing better is possible: `I couldn't be happier`.
const BEST: [&str; 7] = ["happier", "better", "cleaner", "simpler", "clearer", "more", "prouder"];

/// Words for what an examination looks for.
const FAULTS: [&str; 12] = [
    "fault",
    "flaw",
    "flaws",
    "anything",
    "problem",
    "problems",
    "issue",
    "issues",
    "objection",
    "objections",
    "reason",
    "wrong",
];

/// Words behind a pronoun. Behind any other word, it belongs to a noun.
const BEHIND_PRONOUNS: [&str; 30] = [
    "in", "as", "for", "at", "with", "to", "on", "now", "yet", "here", "without", "until", "unless", "through", "up",
    "by", "like", "into", "from", "under", "either", "any", "today", "go", "ship", "land", "happen", "stand", "back",
    "one",
];

/// Denials in reports.
const PAST_DENIALS: [&str; 6] = ["didn't", "haven't", "wasn't", "hadn't", "weren't", "never"];

/// Pronouns and prepositions by which a clause refers to the work.
const REFERENCES: [&str; 4] = ["these", "them", "one", "way"];

/// Returns the attitude of the first person in the words of a clause. `is_conceded` if the sentence continues with a contrast.
pub(super) fn attitude(words: &[&str], is_conceded: bool) -> Option<WorkVerdict> {
    let (subject, denial) = denied(words)?;
    if PAST_DENIALS.contains(&words[denial]) {
        return None;
    }
    // `We don't check this` is about the code, `we can't take this` is not.
    let is_plural = subject.is_some_and(|at| words[at].starts_with("we"));
    let is_modal = matches!(words[denial], "can't" | "cannot" | "won't" | "shouldn't" | "mustn't")
        || matches!(words[denial - 1.min(denial)], "will" | "should" | "must" | "can" | "would");
    let rest = &words[denial + 1..];
    let rest = &rest[rest.iter().take_while(|word| BETWEEN.contains(word)).count()..];
    let verb = *rest.first()?;
    if rest.iter().take(4).any(|word| BEST.contains(word)) {
        return Some(WorkVerdict { accepts: true, is_firm: false });
    }
    if CONTENT.contains(&verb) || matches!(verb, "a" | "on") && rest.iter().take(3).any(|word| CONTENT.contains(word)) {
        // `I'm not a fan of the name, but it's fine`.
        if is_conceded && !is_of_work(&rest[1..]) {
            return None;
        }
        let is_firm = !is_conceded && is_of_work(&rest[1..]);
        return Some(WorkVerdict { accepts: false, is_firm }).filter(|_| subject.is_some());
    }
    let is_objection = OBJECTS_TO.contains(&verb)
        || matches!(rest[..], ["stand", "in", ..])
        || matches!(verb, "find" | "see" | "spot" | "think" | "have") && rest.iter().any(|word| FAULTS.contains(word));
    if is_objection {
        return Some(WorkVerdict { accepts: true, is_firm: false });
    }
    let is_get_behind = verb == "get" && matches!(rest.get(1), Some(&("behind" | "on" | "over" | "past")));
    let is_examination = EXAMINES.contains(&verb) && !is_get_behind;
    let is_voice = subject.is_some() && (is_modal || !is_plural);
    let is_refusal = is_voice && !is_examination && !verb.ends_with("ed") && is_of_work(&rest[1..]);
    is_refusal.then_some(WorkVerdict { accepts: false, is_firm: !is_conceded })
}

/// The subject in the first person, if it is written, and its denial.
fn denied(words: &[&str]) -> Option<(Option<usize>, usize)> {
    let subject = words.iter().position(|word| SUBJECTS.contains(word));
    let begin = subject.map_or(0, |at| at + 1);
    let near = words.iter().enumerate().skip(begin).take(if subject.is_some() { 4 } else { 1 });
    // `I see no reason not to approve`.
    let near = near.take_while(|(_, word)| !ABSENCES.contains(word));
    let denial = near.into_iter().find(|(_, word)| is_denial(word) || **word == "won't").map(|(at, _)| at)?;
    Some((subject, denial))
}

/// Whether the words refer to the work. `That view` is not the work, `that` is.
fn is_of_work(words: &[&str]) -> bool {
    let is_reference = |at: usize| {
        let next = words.get(at + 1).copied();
        let is_pronoun = matches!(words[at], "this" | "that" | "these" | "it");
        let is_alone = next.is_none_or(|next| BEHIND_PRONOUNS.contains(&next) || WORK.contains(&next));
        (WORK.contains(&words[at]) || REFERENCES.contains(&words[at])) && (!is_pronoun || is_alone)
    };
    words.is_empty() || (0..words.len()).any(is_reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(bool, bool)> {
        let words: Vec<&str> = text.split(' ').collect();
        attitude(&words, false).map(|read| (read.accepts, read.is_firm))
    }

    #[test]
    fn denied_verbs_with_the_work_refuse_it() {
        for text in ["i can't put my name to this", "we won't stand for this change", "i can't get behind it"] {
            assert_eq!(read(text), Some((false, true)), "{text}");
        }
        assert_eq!(read("i'm not convinced by the naming"), Some((false, false)));
    }

    #[test]
    fn denied_examinations_and_objections_refuse_nothing() {
        for text in ["i can't test it", "i couldn't reproduce this", "i did not read all of it", "you can't do this"] {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["i wouldn't change a thing", "i can't find fault with this", "couldn't be happier with it"] {
            assert_eq!(read(text), Some((true, false)), "{text}");
        }
    }
}
