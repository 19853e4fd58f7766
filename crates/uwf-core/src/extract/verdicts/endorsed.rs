//! Finds a sentence that agrees with a quotation: what is quoted is then said by the agent.

use super::super::lead_in::OTHERS;
use super::super::prose::ProseSentence;
use super::verdict_words::is_denial;

/// Words of agreement at the start of a sentence.
const AGREE: [&str; 9] = ["agreed", "agree", "agreeing", "seconded", "second", "concur", "exactly", "share", "same"];

/// Words by which a sentence refers to someone else's words.
const REFERENCES: [&str; 18] = [
    "above",
    "quoted",
    "quote",
    "that",
    "this",
    "him",
    "her",
    "them",
    "his",
    "view",
    "opinion",
    "colleague's",
    "reviewer's",
    "reviewers",
    "verdict",
    "comment",
    "objection",
    "here",
];

/// Words before which an agreement is looked for.
const BEGIN: usize = 4;

/// Returns the first sentence that agrees with others.
pub(super) fn agreement(sentences: &[ProseSentence]) -> Option<&ProseSentence> {
    let is_agreement = |sentence: &&ProseSentence| {
        sentence.clauses.iter().any(|clause| {
            let words: Vec<&str> = clause.words.iter().map(String::as_str).collect();
            let begin = &words[..words.len().min(BEGIN)];
            let refers =
                words.iter().any(|word| REFERENCES.contains(word) || OTHERS.contains(word)) || words.len() == 1;
            begin.iter().any(|word| AGREE.contains(word)) && !begin.iter().any(|word| is_denial(word)) && refers
        })
    };
    sentences.iter().filter(|sentence| !sentence.is_question).find(is_agreement)
}

/// The quoted lines and the text between quotation marks, as sentences.
pub(super) fn quotations(text: &str) -> String {
    let mut quoted = String::new();
    for line in text.lines() {
        if let Some(quote) = line.trim_start().strip_prefix('>') {
            quoted.push_str(quote);
            quoted.push('\n');
            continue;
        }
        let parts = line.split(['"', '“', '”']).skip(1).step_by(2);
        for part in parts {
            quoted.push_str(part);
            quoted.push_str(".\n");
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn agreement_with_others_is_found() {
        for text in ["Agreed with the colleague above.", "I agree with her.", "Agreed."] {
            assert!(agreement(&sentences(text)).is_some(), "{text}");
        }
        for text in ["I don't agree with her.", "We agreed on a name.", "Same here?"] {
            assert!(agreement(&sentences(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn quotations_are_collected() {
        assert_eq!(quotations("> a\nb \"c\" d\n"), " a\nc.\n");
    }
}
