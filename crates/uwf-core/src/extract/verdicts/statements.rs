//! Decides whether a clause accepts or rejects the work.

use super::super::prose::{ProseClause, ProseSentence};
use super::attitude::attitude;
use super::label_words;
use super::languages::refuses;
use super::tenor;
use super::verdict_topics::VerdictTopic;
use super::verdict_words::{
    ABSENCES, COMMANDS, CONDITIONS, LABELS, MODALS, OBJECTS, OBSTACLES, OWN, PARTS, PAST, REQUESTS, RESOLVED, SEVERE,
    STILL, WITHOUT, WORK, is_denial, is_earlier,
};
use super::work_verdict::WorkVerdict;

/// Returns what a sentence says about the work, clause by clause. `heading` is the sentence before it, if that is a label.
pub(super) fn statements(
    sentence: &ProseSentence,
    heading: Option<&ProseSentence>,
    topic: &VerdictTopic,
) -> Vec<WorkVerdict> {
    let is_still = sentence.has(STILL);
    let is_earlier = is_earlier(sentence) && !is_still;
    let has_pair = |one: &str, next: &str| sentence.clauses.iter().any(|clause| clause.has_pair(one, next));
    // `I would have approved the first version`.
    let is_conditional =
        sentence.has(CONDITIONS) || sentence.has(&["except"]) || has_pair("would", "have") || has_pair("i'd", "have");
    // `approve, reject or needs-work` lists the values.
    let is_list = sentence.has(&["or"]) || has_pair("one", "of");
    let begins_with_condition = sentence.words().next().is_some_and(|word| CONDITIONS.contains(&word));
    // `Fix both points, and I'll approve` is also a condition.
    let is_demand = sentence.words().next().is_some_and(|word| is_one(word, COMMANDS));
    let last_contrast = sentence.clauses.iter().rposition(|clause| clause.is_contrast);
    let mut label = heading.and_then(|heading| heading.clauses.last());
    let mut found = Vec::new();
    for (number, clause) in sentence.clauses.iter().enumerate() {
        let is_conceded = last_contrast > Some(number);
        let next = sentence.clauses.get(number + 1);
        let stated = whole(clause, label, next, topic).filter(|_| !is_list).or_else(|| {
            let words = ClauseWords::of_clause(clause, topic);
            let attitude = || attitude(&words.words, is_conceded).filter(|_| topic.takes_objects);
            let statement = words.statement().or_else(attitude)?;
            // `Blockers: none` names no blocker.
            let names_none = |word: &String| matches!(word.as_str(), "none" | "nothing" | "0" | "zero" | "nil");
            let is_empty = clause.is_label && next.is_some_and(|next| next.words.first().is_some_and(names_none));
            if is_empty && !statement.accepts {
                return None;
            }
            let has = |words: &[&str]| clause.words.iter().any(|word| is_one(word, words));
            let is_promise = number > 0 && is_demand || has(&["then"]) || has(&["i'll"]) && sentence.has(&["after"]);
            if statement.accepts && (is_conditional || is_promise) {
                return Some(WorkVerdict::weak(false)).filter(|_| has(OWN));
            }
            // `I'd object if this touched the format`.
            let is_unreal = !statement.accepts && has(&["i'd", "would"]) && sentence.has(&["if"]);
            // `I was not able to complete it` is how a task ended.
            let is_now = has(&["unable"]) || clause.has_pair("had", "to") || !topic.takes_objects;
            if statement.accepts && !topic.takes_objects && has(&["first", "initially"]) {
                return None;
            }
            let is_past = is_earlier || !is_still && has(PAST) && !is_now;
            if (is_past || is_unreal) && !statement.accepts {
                return None;
            }
            let is_firm = statement.is_firm && !begins_with_condition;
            Some(WorkVerdict { is_firm, ..statement })
        });
        found.extend(stated);
        label = Some(clause).filter(|clause| clause.is_label);
    }
    let is_regret = found.is_empty() && topic.takes_objects && (regrets(sentence) || dissuades(sentence));
    found.extend(is_regret.then_some(WorkVerdict::weak(false)));
    found
}

/// Whether the agent says what would be if the work were accepted: `I would sleep badly if we shipped this`.
fn regrets(sentence: &ProseSentence) -> bool {
    let words: Vec<&str> = sentence.words().collect();
    let Some(at) = words.iter().position(|word| *word == "if") else { return false };
    let is_case = matches!(words[at..], ["if", "we" | "you" | "this" | "it" | "i", ..]);
    let verbs = ["ship", "shipped", "merge", "merged", "approved", "accepted", "went", "goes", "landed", "signed"];
    let is_acceptance = words[at..].iter().any(|word| verbs.contains(word));
    let is_own = words[..at].iter().any(|word| matches!(*word, "i'd" | "i" | "we'd" | "we"));
    is_case
        && is_acceptance
        && is_own
        && words.iter().any(|word| *word == "would" || word.ends_with("'d"))
        && !tenor::praises(sentence)
}

/// Whether accepting the work is judged badly: `Shipping this would be irresponsible`.
fn dissuades(sentence: &ProseSentence) -> bool {
    let Some(clause) = sentence.clauses.first() else { return false };
    let has = |list: &[&str]| clause.words.iter().any(|word| is_one(word, list));
    let is_acceptance = clause
        .words
        .first()
        .is_some_and(|word| is_one(word, &["shipping", "merging", "approving", "accepting", "releasing"]));
    let is_bad = has(&["bad", "wrong", "risky", "mistake", "dangerous", "reckless", "unwise"]);
    is_acceptance && (is_bad || has(&["would"]) && !tenor::praises(sentence))
}

/// Reads a clause that is only a verdict: `Rejected`, `Verdict: no`, `my answer remains no`.
fn whole(
    clause: &ProseClause,
    label: Option<&ProseClause>,
    next: Option<&ProseClause>,
    topic: &VerdictTopic,
) -> Option<WorkVerdict> {
    let words: Vec<&str> = clause.words.iter().map(String::as_str).collect();
    let is_labelled = label.is_some_and(|label| label.words.len() <= 4 && label_words::names_verdict(&label.words));
    let is_asked = label.is_some_and(|label| label_words::names_acceptance(&label.words));
    let said = label_words::introduced(&words).or(is_labelled.then_some(&words[..]));
    let labelled = said.and_then(|said| label_words::accepts(said, clause.sign));
    if words.is_empty() && !is_labelled {
        return clause.sign.map(WorkVerdict::weak);
    }
    let length = words.iter().position(|word| matches!(*word, "from" | "by" | "as")).filter(|at| *at > 0);
    let from_me = length.is_none_or(|at| {
        matches!(words[at..], ["from", "me" | "my", ..] | ["by", "me"])
            || matches!(words[at..], ["as", next, ..] if next != "expected")
    });
    let said = words[..length.unwrap_or(words.len())].join(" ");
    let alone = topic.clauses.iter().find(|(words, _)| *words == said && from_me);
    // `approved: true` is a key and its value, `Rejected: the tests fail` is not.
    let is_value = |word: &str| is_one(word, &["true", "false", "yes", "no", "null"]);
    // `Rejected: no tests` gives the reason.
    let is_entry = next.is_none_or(|next| match &next.words[..] {
        [] | [_] => true,
        [first, ..] => first != "no" && is_value(first),
    });
    let is_key = clause.is_label && words.len() == 1 && is_entry;
    let alone = alone.filter(|_| !is_key).map(|(_, accepts)| *accepts);
    // `Blocked until the migration is reversible`.
    let waits = || {
        let end = words.iter().position(|word| matches!(*word, "until" | "pending"))?;
        let said = words[..end].join(" ");
        topic.clauses.iter().any(|(words, accepts)| *words == said && !accepts).then_some(false)
    };
    if let Some(is_done) = run_ended(&words).filter(|_| !topic.takes_objects) {
        return Some(WorkVerdict::weak(is_done));
    }
    let refused = || (is_ruled_out(&words) || withdraws_approval(&words)).then_some(false);
    let replied = || label_words::reply(&words).filter(|_| is_asked);
    labelled.or_else(replied).or(alone).or_else(waits).or_else(refused).map(WorkVerdict::firm)
}

/// How something that a task runs ended: `the deployment failed`.
fn run_ended(words: &[&str]) -> Option<bool> {
    let runs = [
        "deploy",
        "deployment",
        "rollout",
        "migration",
        "build",
        "release",
        "upload",
        "pipeline",
        "job",
        "import",
        "export",
        "install",
        "installation",
    ];
    match words {
        ["the", run, "failed"] | ["the", run, "has", "failed"] if runs.contains(run) => Some(false),
        ["the", run, "succeeded"] | ["the", run, "has", "succeeded"] if runs.contains(run) => Some(true),
        _ => None,
    }
}

/// Whether a clause withdraws an approval: `I withdraw my approval`.
fn withdraws_approval(words: &[&str]) -> bool {
    let verbs = ["withdraw", "withdrawing", "retract", "retracting", "revoke", "revoking", "rescind", "rescinding"];
    let Some(at) = words.iter().position(|word| is_one(word, &verbs)) else { return false };
    let is_denied = words[..at].iter().any(|word| is_denial(word));
    !is_denied && words[at..].iter().take(4).any(|word| is_one(word, &["approval", "lgtm", "ok", "vote"]))
}

/// Whether a clause names the work and a ruling on it: `Request denied`.
fn is_ruled_out(words: &[&str]) -> bool {
    let [subject @ .., ruling] = words else { return false };
    let is_subject = |word: &&str| is_one(word, WORK) || matches!(*word, "pull" | "the" | "approval");
    is_one(ruling, &["denied", "rejected", "declined", "refused", "vetoed", "withheld"])
        && !subject.is_empty()
        && subject.iter().all(is_subject)
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
        if self.topic.takes_objects && refuses(&self.words.join(" ")) {
            return Some(WorkVerdict::weak(false));
        }
        self.rejection().or_else(|| (0..self.words.len()).find_map(|at| self.verdict_at(at)))
    }

    /// A group of words that rejects.
    fn rejection(&self) -> Option<WorkVerdict> {
        let is_first = |at: usize| self.words[..at].iter().any(|word| is_one(word, &["first", "initial"]));
        let group = self.topic.rejecting.iter().find_map(|group| self.index_of(group)).filter(|at| !is_first(*at));
        let group = group.or_else(|| self.part().filter(|_| !self.topic.takes_objects));
        let at = group.or_else(|| self.obstacle().filter(|_| self.topic.takes_objects))?;
        let is_resolved = !self.is_demand(self.words.len()) && self.words.iter().any(|word| is_one(word, RESOLVED));
        // `Must be fixed before this can be merged`.
        let is_first_demand = is_one(self.words[0], &["must", "needs"]) && self.words[at] == "before";
        let is_firm = group.is_some() && (self.is_impersonal(at) || self.is_alone(at) || is_first_demand);
        Some(match self.is_denied(at) || is_resolved {
            true => WorkVerdict::weak(true),
            false => WorkVerdict { accepts: false, is_firm },
        })
    }

    /// The index of a number that is less than the whole: `only step 1 of 3`.
    fn part(&self) -> Option<usize> {
        let is_part = |three: &[&str]| {
            let numbers = three[0].parse::<u32>().ok().zip(three[2].parse::<u32>().ok());
            three[1] == "of" && numbers.is_some_and(|(part, whole)| part < whole)
        };
        self.words.windows(3).position(is_part).filter(|at| self.words[..*at].contains(&"only"))
    }

    /// Whether the clause is nothing but a group of words that rejects: `Changes requested`.
    fn is_alone(&self, at: usize) -> bool {
        let length = self.words.len();
        at == 0
            && length > 1
            && self.topic.rejecting.iter().any(|group| group.split(' ').eq(self.words.iter().copied()))
    }

    /// The index of an obstacle, with the word for its weight: `blocking issues`.
    fn obstacle(&self) -> Option<usize> {
        let is_obstacle = |pair: &[&str]| is_one(pair[0], SEVERE) && is_one(pair[1], OBSTACLES);
        self.words.windows(2).position(is_obstacle)
    }

    /// Whether the words at an index are a verdict about the work: `this is a hard no`, `it's a no`.
    fn is_impersonal(&self, at: usize) -> bool {
        // `Unfortunately I have to turn this down`.
        let is_lead =
            |word: &&str| is_one(word, &["unfortunately", "sadly", "so", "therefore", "hence", "sorry", "overall"]);
        let lead = self.words[..at].iter().take_while(|word| is_lead(word)).count();
        let before = &self.words[lead..at];
        let is_work = before.first().is_some_and(|word| is_one(word, &["this", "it's", "that's", "it"]));
        let is_own = before.first().is_some_and(|word| is_one(word, &["i", "i'm", "i'd", "i'll", "i've"]));
        let begins = at == 0 && matches!(self.words.first(), Some(&("i" | "i'm" | "we" | "we're")));
        let is_ich = before.first() == Some(&"ich");
        is_ich || is_work && before.len() <= 4 || is_own && before.len() <= 3 || begins
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
        // `My objections` is a noun.
        let begins = |stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem)) && !word.starts_with("objection");
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
                // `Blocks the loop no longer` is about the code.
                false => Some(WorkVerdict::firm(false)).filter(|_| is_firm || at == 0 && !word.ends_with('s')),
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
        // `Holding up the release` denies nothing.
        let is_verb = |at: usize| is_denial(before[at]) && self.words.get(at + 1) != Some(&"up");
        let verbs = (0..at).filter(|at| is_verb(*at)).count();
        let absences = before.iter().filter(|word| is_one(word, ABSENCES)).count();
        let near = &before[at.saturating_sub(2)..];
        let without = near.iter().any(|word| is_one(word, WITHOUT));
        let is_waiting =
            before.windows(2).any(|pair| pair[0] == "before" && is_one(pair[1], &["i", "we", "anyone", "anybody"]));
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

fn is_one(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}
