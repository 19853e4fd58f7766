//! Decides whether a clause accepts or rejects the work.

use super::prose::{ProseClause, ProseSentence};
use super::verdict_words::{
    ABSENCES, COMMANDS, CONDITIONS, DENIALS, EARLIER, LABELLED, LABELS, MODALS, OBJECTS, OWN, PARTS, PAST, REFUSALS,
    REQUESTS, RESOLVED, STILL, UNSPACED_ACCEPTS, UNSPACED_DENIALS, UNSPACED_MODALS, VerdictTopic, WITHOUT, WORK,
};

/// What a clause says about the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkVerdict {
    pub(super) accepts: bool,
    /// It can't be about anything else: the first person speaks, or the work is the subject.
    pub(super) is_firm: bool,
}

impl WorkVerdict {
    fn firm(accepts: bool) -> WorkVerdict {
        WorkVerdict { accepts, is_firm: true }
    }

    fn weak(accepts: bool) -> WorkVerdict {
        WorkVerdict { accepts, is_firm: false }
    }
}

/// Returns what a sentence says about the work, clause by clause.
pub(super) fn statements(sentence: &ProseSentence, topic: &VerdictTopic) -> Vec<WorkVerdict> {
    let is_still = sentence.has(STILL);
    let is_earlier = sentence.has(EARLIER) && !is_still;
    let is_conditional = sentence.has(CONDITIONS);
    // `approve, reject or needs-work` lists the values.
    let is_list = sentence.has(&["or"]);
    let begins_with_condition = sentence.words().next().is_some_and(|word| CONDITIONS.contains(&word));
    // `Fix both points, and I'll approve` is also a condition.
    let is_demand = sentence.words().next().is_some_and(|word| is_one(word, COMMANDS));
    let mut label: Option<&ProseClause> = None;
    let mut found = Vec::new();
    for (number, clause) in sentence.clauses.iter().enumerate() {
        let stated = whole(clause, label, topic).filter(|_| !is_list).or_else(|| {
            let statement = ClauseWords::of_clause(clause, topic).statement()?;
            let has = |words: &[&str]| clause.words.iter().any(|word| is_one(word, words));
            let is_promise = number > 0 && is_demand || has(&["i'll"]) && sentence.has(&["after"]);
            if statement.accepts && (is_conditional || is_promise) {
                return Some(WorkVerdict::weak(false)).filter(|_| has(OWN));
            }
            let is_past = is_earlier || !is_still && has(PAST);
            if is_past && !statement.accepts {
                return None;
            }
            let is_firm = statement.is_firm && !begins_with_condition;
            Some(WorkVerdict { is_firm, ..statement })
        });
        found.extend(stated);
        label = Some(clause).filter(|clause| clause.is_label);
    }
    found
}

/// Reads a clause that is only a verdict: `Rejected`, `Verdict: no`, `my answer is no`.
fn whole(clause: &ProseClause, label: Option<&ProseClause>, topic: &VerdictTopic) -> Option<WorkVerdict> {
    let words: Vec<&str> = clause.words.iter().map(String::as_str).collect();
    let is_label = |words: &[String]| words.len() <= 4 && words.last().is_some_and(|word| is_one(word, LABELS));
    let introduced = match words[..] {
        ["my", name, "is" | "remains", ..] if is_one(name, LABELS) => Some(&words[3..]),
        _ => label.filter(|label| is_label(&label.words)).map(|_| &words[..]),
    };
    let said = introduced.map(|words| words.join(" "));
    let labelled = said.and_then(|said| LABELLED.iter().find(|(words, _)| *words == said));
    let length = words.iter().position(|word| matches!(*word, "from" | "by" | "as")).filter(|at| *at > 0);
    let from_me = length.is_none_or(|at| matches!(words[at..], ["from", "me" | "my", ..] | ["by", "me"] | ["as", ..]));
    let said = words[..length.unwrap_or(words.len())].join(" ");
    let alone = topic.clauses.iter().find(|(words, _)| *words == said && from_me);
    // `approved: true` is a key and its value.
    let alone = alone.filter(|_| !clause.is_label || words.len() > 1);
    labelled.or(alone).map(|(_, accepts)| WorkVerdict::firm(*accepts))
}

/// The words of a clause up to a condition.
struct ClauseWords<'w> {
    words: Vec<&'w str>,
    topic: &'w VerdictTopic,
}

impl<'w> ClauseWords<'w> {
    fn of_clause(clause: &'w ProseClause, topic: &'w VerdictTopic) -> ClauseWords<'w> {
        let is_condition = |word: &&str| is_one(word, CONDITIONS) || *word == "after";
        let words: Vec<&str> = clause.words.iter().map(String::as_str).collect();
        let begin = usize::from(words.first().is_some_and(is_condition));
        let end = words.iter().skip(begin).position(is_condition).map_or(words.len(), |at| at + begin);
        ClauseWords { words: words[..end].to_vec(), topic }
    }

    fn statement(&self) -> Option<WorkVerdict> {
        let is_foreign = self.words.iter().any(|word| !word.is_ascii());
        if is_foreign && self.topic.takes_objects && refuses(&self.words.join(" ")) {
            return Some(WorkVerdict::weak(false));
        }
        self.rejection().or_else(|| (0..self.words.len()).find_map(|at| self.verdict_at(at)))
    }

    /// A group of words that rejects.
    fn rejection(&self) -> Option<WorkVerdict> {
        let at = self.topic.rejecting.iter().find_map(|group| self.index_of(group))?;
        let is_resolved = !self.is_demand(self.words.len()) && self.words.iter().any(|word| is_one(word, RESOLVED));
        Some(WorkVerdict::weak(self.is_denied(at) || is_resolved))
    }

    /// A verdict whose word is at an index.
    fn verdict_at(&self, at: usize) -> Option<WorkVerdict> {
        let word = self.words[at];
        // `I found no reason to reject it` gives no verdict.
        if self.words[..at]
            .windows(2)
            .any(|pair| is_one(pair[0], &["reason", "reasons"]) && is_one(pair[1], &["not", "to"]))
        {
            return None;
        }
        let begins = |stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
        let group = |groups: &[&'static str]| groups.iter().find(|group| self.is_at(at, group)).copied();
        let is_noun = matches!(word, "approval" | "merge" | "freigabe");
        let is_denied_behind = is_noun && self.words[at..].iter().any(|word| is_denial(word));
        let is_hindered =
            self.words[..at].iter().any(|word| self.topic.rejects.iter().any(|stem| word.starts_with(stem)));
        let is_denied = self.is_denied(at) ^ is_denied_behind ^ is_hindered;
        let is_firm = self.is_own(at) || self.is_about_work(at);
        if begins(self.topic.rejects) && self.is_verdict(at, word) {
            return match is_denied {
                true => Some(WorkVerdict::weak(true)),
                false => Some(WorkVerdict::firm(false)).filter(|_| is_firm || at == 0),
            };
        }
        let accepting = group(self.topic.accepting);
        let quality = group(self.topic.qualities);
        if is_denied {
            let needs_object = word.starts_with("recommend") || word.starts_with("accept");
            let is_verb = begins(self.topic.accepts) && (!needs_object || is_firm && self.has_object(at));
            let is_refusal = is_verb || accepting.is_some() || quality.is_some();
            return (is_refusal && !self.is_of_others(at)).then_some(WorkVerdict { accepts: false, is_firm });
        }
        if accepting.is_some() {
            return Some(WorkVerdict { accepts: true, is_firm: true });
        }
        let is_part = self.words.iter().any(|word| is_one(word, PARTS));
        let is_whole = quality.is_some_and(|group| self.ends(at + group.split(' ').count()));
        let is_verb = begins(self.topic.accepts) && self.is_verdict(at, word);
        ((is_whole || is_verb) && is_firm && (!is_part || self.is_own(at))).then_some(WorkVerdict::firm(true))
    }

    /// Whether a verb without a denial gives a verdict: `I approve`, `I'm rejecting this`, `this is approved`.
    fn is_verdict(&self, at: usize, word: &str) -> bool {
        let before = self.words[..at].last().copied().unwrap_or_default();
        let is_perfect = is_one(before, &["i've", "we've", "have"]) || !self.topic.takes_objects && self.is_own(at);
        let is_past = word.ends_with("ed") && !is_perfect;
        let has_form = |word: &str| is_one(word, &["be", "is", "am", "i'm", "we're", "are", "been", "it's", "that's"]);
        let is_passive = is_past && self.words[..at].iter().rev().take(2).any(|word| has_form(word));
        match is_past {
            true => {
                is_passive && (self.ends(at + 1) || self.is_hindered(at)) && (self.is_about_work(at) || self.is_own(at))
            }
            false if self.is_own(at) || at == 0 || before == "please" => self.has_object(at) || self.is_hindered(at),
            false => false,
        }
    }

    /// Whether the agent names an obstacle.
    fn is_hindered(&self, at: usize) -> bool {
        !self.topic.takes_objects && self.words.get(at + 1).is_some_and(|word| is_one(word, &["by", "on"]))
    }

    /// Whether the object of the verb at an index may be the work.
    fn has_object(&self, at: usize) -> bool {
        self.ends(at + 1) || self.words.get(at + 1).is_some_and(|word| is_one(word, OBJECTS) || is_one(word, WORK))
    }

    /// Whether the clause ends at an index, except for words such as `now`.
    fn ends(&self, at: usize) -> bool {
        let rest = self.words.get(at..).unwrap_or_default();
        matches!(rest, [] | ["now" | "yet" | "as" | "from" | "here" | "either" | "today" | "successfully", ..])
    }

    fn is_own(&self, at: usize) -> bool {
        self.words[..at].iter().any(|word| is_one(word, OWN))
            || self.words.get(at + 1).is_some_and(|word| *word == "from")
    }

    /// Whether the work is the subject, or the clause is a request.
    fn is_about_work(&self, at: usize) -> bool {
        let before = &self.words[..at];
        before.first().is_some_and(|word| is_one(word, REQUESTS))
            || before.iter().take_while(|word| !is_denial(word)).any(|word| is_one(word, WORK))
    }

    /// Whether the subject is a plural other than the changes: `Requests can't be approved`.
    fn is_of_others(&self, at: usize) -> bool {
        let is_verb = |word: &str| is_denial(word) || is_one(word, ABSENCES) || is_one(word, MODALS);
        let subject = self.words[..at].iter().take_while(|word| !is_verb(word)).last();
        let is_plural = |word: &str| word.len() > 4 && word.ends_with('s') && !word.ends_with("ss");
        !self.is_own(at) && subject.is_some_and(|word| is_plural(word) && !is_one(word, WORK) && !is_one(word, LABELS))
    }

    /// Whether the word at an index is denied. A denied verb decides; without one, `no` and `nothing` do.
    fn is_denied(&self, at: usize) -> bool {
        let before = &self.words[..at];
        let verbs = before.iter().filter(|word| is_denial(word)).count();
        let absences = before.iter().filter(|word| is_one(word, ABSENCES)).count();
        let near = &before[at.saturating_sub(2)..];
        let without = near.iter().any(|word| is_one(word, WITHOUT));
        let is_waiting = before.windows(2).any(|pair| pair[0] == "before" && is_one(pair[1], &["i", "we"]));
        let before_it = before.contains(&"before") && self.is_demand(at) || is_waiting;
        let behind = self.words.get(at + 1).is_some_and(|word| is_one(word, &["nicht", "denied", "withheld"]));
        let count = if verbs > 0 { verbs } else { absences }
            + [without || before_it, behind].into_iter().filter(|is| *is).count();
        count % 2 == 1
    }

    /// Whether something must happen first.
    fn is_demand(&self, at: usize) -> bool {
        self.words[..at]
            .iter()
            .any(|word| is_one(word, &["must", "needs", "need", "has", "have", "should", "required"]))
    }

    /// The index of a group of words.
    fn index_of(&self, group: &str) -> Option<usize> {
        (0..self.words.len()).find(|at| self.is_at(*at, group))
    }

    fn is_at(&self, at: usize, group: &str) -> bool {
        let mut words = self.words[at..].iter();
        group.split(' ').all(|word| words.next() == Some(&word))
    }
}

/// Whether a text in a language without spaces between words refuses.
fn refuses(text: &str) -> bool {
    let is_denied = |at: usize| {
        let before = text[..at].trim_end_matches(UNSPACED_MODALS);
        UNSPACED_DENIALS.iter().any(|denial| before.ends_with(denial))
    };
    REFUSALS.iter().any(|refusal| text.contains(refusal))
        || UNSPACED_ACCEPTS.iter().any(|word| text.match_indices(word).any(|(at, _)| is_denied(at)))
}

pub(super) fn is_denial(word: &str) -> bool {
    word.ends_with("n't") || is_one(word, DENIALS)
}

fn is_one(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}
