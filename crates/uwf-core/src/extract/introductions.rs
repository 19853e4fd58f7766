//! Decides whether the sentences next to a block present it as the answer.
//!
//! A block that gives a verdict counts below words that present an answer: `My verdict:`, `Here is the result:`. Below any other words that
//! end with a colon, as `Bob's verdict:` or `Tool result:`, it may be anything, so the agent is asked again. The same holds above a sentence
//! that points back to the block: `That was for the previous change.`

use super::lead_in::{is_finding, is_gerund, is_proposal, words};
use super::lines::names_answer;
use super::verdicts::names_verdict;

/// Words beside the name of an answer that say nothing of whose it is.
const NEUTRAL: &[&str] = &[
    "a",
    "all",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "below",
    "block",
    "brief",
    "change",
    "changes",
    "code",
    "complete",
    "considered",
    "diff",
    "everything",
    "field",
    "fields",
    "final",
    "following",
    "follows",
    "for",
    "format",
    "formatted",
    "full",
    "given",
    "exact",
    "again",
    "once",
    "more",
    "in",
    "is",
    "it",
    "machine",
    "metadata",
    "my",
    "now",
    "object",
    "of",
    "on",
    "our",
    "overall",
    "patch",
    "pr",
    "pull",
    "readable",
    "request",
    "requested",
    "required",
    "short",
    "so",
    "structured",
    "task",
    "that",
    "the",
    "then",
    "therefore",
    "this",
    "thus",
    "to",
    "value",
    "values",
    "with",
    "work",
    "your",
];

/// More names of an answer.
const NAMES: &[&str] = &[
    "classification",
    "triage",
    "answers",
    "evaluation",
    "finding",
    "findings",
    "judgement",
    "judgment",
    "outcome",
    "rating",
    "report",
    "results",
    "score",
    "scores",
    "status",
    "feedback",
    "tl;dr",
    "here",
    "mine",
    "format",
];

/// Names of an answer in other languages. The words beside them are not read.
const FOREIGN_NAMES: &[&str] = &[
    "antwort",
    "avis",
    "beoordeling",
    "beslut",
    "besluit",
    "bewertung",
    "conclusión",
    "conclusione",
    "conclusão",
    "decisión",
    "decisione",
    "decisão",
    "décision",
    "entscheidung",
    "ergebnis",
    "fazit",
    "karar",
    "oordeel",
    "parecer",
    "resposta",
    "respuesta",
    "resultado",
    "resultaat",
    "resultat",
    "risposta",
    "risultato",
    "réponse",
    "résultat",
    "sonuç",
    "urteil",
    "utlåtande",
    "veredicto",
    "verdetto",
    "veredito",
    "werdykt",
    "wynik",
    "вердикт",
    "вывод",
    "итог",
    "ответ",
    "результат",
    "решение",
    "висновок",
    "рішення",
    "判定",
    "判断",
    "答案",
    "结果",
    "结论",
    "結果",
    "結論",
    "裁决",
    "回答",
    "意见",
    "결과",
    "결론",
    "판정",
    "답변",
    "حكم",
    "النتيجة",
    "القرار",
    "निर्णय",
    "समीक्षा",
    "परिणाम",
];

/// Verbs with which an agent gives an answer.
const GIVES: &[&str] = &[
    "answer",
    "approve",
    "choose",
    "conclude",
    "decide",
    "give",
    "pick",
    "propose",
    "provide",
    "recommend",
    "reject",
    "reply",
    "report",
    "respond",
    "return",
    "say",
    "select",
    "submit",
    "suggest",
    "vote",
];

/// Words by which an answer is an earlier one, or someone else's.
const FORMER: &[&str] = &[
    "yesterday",
    "earlier",
    "previous",
    "previously",
    "last",
    "before",
    "wrote",
    "was",
    "were",
    "had",
    "said",
    "used",
    "thought",
    "hypothetically",
    "first",
    "initial",
    "initially",
    "old",
    "former",
];

/// Whether the text above a block ends with a colon and presents something other than the answer of the agent, as far as its words are known.
/// `is_key` recognizes the keys of the answer.
pub(super) fn presents_other(above: &str, is_key: &dyn Fn(&str) -> bool) -> bool {
    let above = above.trim_end_matches(['*', '_', '`', ' ']);
    let Some(above) = above.strip_suffix([':', '：']) else { return false };
    let sentence = above.rsplit(". ").next().unwrap_or_default();
    let sentence = sentence.rsplit(['!', '?', ';', '。']).next().unwrap_or_default();
    let words: Vec<String> = words(sentence).filter(|word| !word.is_empty()).collect();
    !presents_answer(&sentence.to_lowercase(), &words, is_key)
}

fn presents_answer(sentence: &str, words: &[String], is_key: &dyn Fn(&str) -> bool) -> bool {
    if FOREIGN_NAMES.iter().any(|name| sentence.contains(name)) {
        return true;
    }
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_name = |word: &str| names_answer(word) || names_verdict(word) || NAMES.contains(&word) || is_key(word);
    let is_former = has(FORMER);
    let is_neutral = |word: &String| word.split(['-', '.']).all(|part| is_name(part) || NEUTRAL.contains(&part));
    let has_name = words.iter().any(|word| word.split('.').any(is_name));
    let is_label = has_name && words.iter().all(is_neutral);
    let is_own = has(&["i", "i'd", "i'll", "my", "we", "our"])
        && words.iter().any(|word| is_name(word) || GIVES.contains(&word.as_str()));
    let begins = |begin: &str| sentence.contains(begin);
    let is_here = [
        "here is",
        "here's",
        "here are",
        "below is",
        "below are",
        "find below",
        "as follows",
        "the following",
        "once more",
    ]
    .into_iter()
    .any(begins);
    let is_so = words.last().is_some_and(|word| matches!(word.as_str(), "so" | "thus" | "therefore" | "hence" | "but"));
    !is_former && (is_label || is_own || is_here || is_so)
        || is_proposal(words)
        || is_gerund(words)
        || is_finding(words)
}

/// Whether the text above a block says how an answer might look: `A passing review would look like this:`.
pub(super) fn imagines(above: &str) -> bool {
    let above = above.to_lowercase();
    [" look like", " looks like"].iter().any(|like| above.contains(like))
}

/// Words that point back to a block if they begin the sentence below.
const POINTING: &[&str] = &["that", "this", "these", "those", "above", "but", "only"];

/// Words that limit what stands above them, whatever follows.
const LIMITING: &[&str] = &["provided", "unless", "except", "pending", "until", "once", "assuming"];

/// Words behind a pointing word that say nothing against the block.
const HARMLESS: &[&str] = &[
    "said",
    "way",
    "means",
    "is because",
    "because",
    "was all",
    "was it",
    "is all",
    "is it",
    "is my",
    "is the",
    "concludes",
    "completes",
    "follows",
    "matches",
    "reflects",
    "summarizes",
    "should be all",
    "covers",
    "includes",
    "confirms",
    "is based",
    "applies",
];

/// Whether a sentence right below a block points back to it.
pub(super) fn points_back(below: &str) -> bool {
    let sentence = below.split_inclusive(['.', '!', '?', ';', '\n']).next().unwrap_or_default();
    let words: Vec<String> = words(sentence).filter(|word| !word.is_empty()).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let rest = rest.join(" ");
    let is_behind =
        |harmless: &str| rest.strip_prefix(harmless).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let is_of_work = rest.split(' ').next().is_some_and(names_work);
    POINTING.contains(&first.as_str()) && !HARMLESS.iter().any(|harmless| is_behind(harmless)) && !is_of_work
}

/// Names of a block that is no answer.
const OTHER_BLOCKS: &[&str] =
    &["template", "example", "sample", "fixture", "payload", "previous", "placeholder", "draft"];

/// Whether a sentence below a block denies that the block is the answer: `That was for the previous change`.
pub(super) fn blames(below: &str) -> bool {
    let sentence = below.split_inclusive(['.', '!', '?', ';', '\n']).next().unwrap_or_default();
    let words: Vec<String> = words(sentence).filter(|word| !word.is_empty()).collect();
    let names_other = || words.iter().skip(1).any(|word| OTHER_BLOCKS.contains(&word.as_str()));
    match words.first().map(String::as_str) {
        Some("that" | "those") => {
            let is_past = words.get(1).is_some_and(|verb| matches!(verb.as_str(), "was" | "were"));
            is_past && points_back(below) || names_other()
        }
        Some("this" | "these") => {
            names_other() && words.get(1).is_some_and(|verb| matches!(verb.as_str(), "is" | "are" | "was" | "were"))
        }
        _ => false,
    }
}

/// Whether a sentence right below a block puts it under a condition.
pub(super) fn limits(below: &str) -> bool {
    let mut words = words(below).filter(|word| !word.is_empty());
    let is_limit = words.next().is_some_and(|word| LIMITING.contains(&word.as_str()));
    is_limit && !words.next().is_some_and(|word| matches!(word.as_str(), "more" | "again"))
}

fn names_work(word: &str) -> bool {
    matches!(
        word,
        "change"
            | "changes"
            | "pr"
            | "patch"
            | "diff"
            | "fix"
            | "code"
            | "function"
            | "commit"
            | "branch"
            | "test"
            | "tests"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_others_are_presented_in_other_words() {
        for (above, is_other) in [
            ("Bob's verdict:", true),
            ("GPT's answer:", true),
            ("Tool result:", true),
            ("**Previous review:**", true),
            ("Round 1:", true),
            ("Yesterday I wrote:", true),
            ("Hypothetically:", true),
            ("After the fix:", true),
            ("Copied from the ticket:", true),
            ("Change the file to:", true),
            ("Patch for the parser:", true),
            ("The stored value is:", true),
            ("My verdict:", false),
            ("## Final answer:", false),
            ("Verdict on this PR:", false),
            ("The code is fine. Here is the structured output:", false),
            ("I therefore recommend:", false),
            ("Mein Urteil:", false),
            ("结论：", false),
            ("The answer is as follows:", false),
            ("I looked at it twice.", false),
        ] {
            assert_eq!(presents_other(above, &|_| false), is_other, "{above}");
        }
        assert!(!presents_other("Plan:", &|word| word == "plan"));
        assert!(imagines("A passing review would look like this:") && !imagines("My review:"));
    }

    #[test]
    fn sentences_that_point_back_are_found() {
        for (below, is) in [
            ("That was the wrong file, sorry.", true),
            ("That was for the previous PR.", true),
            ("(This is only a sample.)", true),
            ("But first fix the lock.", true),
            ("That is all.", false),
            ("This is my final verdict.", false),
            ("This change is small.", false),
            ("That said, well done.", false),
            ("Let me know if you have questions.", false),
        ] {
            assert_eq!(points_back(below), is, "{below}");
        }
        assert!(limits("Provided that the lock is fixed.") && !limits("Once more:"));
    }
}
