//! The words by which an answer accepts or rejects.

use super::super::prose::{ProseClause, ProseSentence};

/// Last words of a label before a verdict.
pub(super) const LABELS: &[&str] = &[
    "verdict",
    "decision",
    "status",
    "result",
    "recommendation",
    "conclusion",
    "outcome",
    "vote",
    "answer",
    "review",
    "overall",
    "suggestion",
    "line",
    "assessment",
    "judgement",
    "judgment",
    "ruling",
    "opinion",
    "position",
    "stance",
    "call",
    "evaluation",
    "summary",
    "urteil",
    "entscheidung",
    "ergebnis",
    "empfehlung",
    "fazit",
    "votum",
    "verdikt",
    "décision",
    "avis",
    "recommandation",
    "veredicto",
    "decisión",
    "结论",
    "决定",
    "结果",
    "判定",
    "裁决",
    "评审结果",
    "审查结果",
    "结论是",
];

/// Words for the weight of an obstacle.
pub(super) const SEVERE: &[&str] = &[
    "blocking",
    "critical",
    "serious",
    "severe",
    "major",
    "significant",
    "unresolved",
    "outstanding",
    "fundamental",
    "fatal",
    "show-stopping",
    "must-fix",
];

/// Words for an obstacle.
pub(super) const OBSTACLES: &[&str] = &[
    "issue",
    "issues",
    "problem",
    "problems",
    "bug",
    "bugs",
    "defect",
    "defects",
    "flaw",
    "flaws",
    "concern",
    "concerns",
    "error",
    "errors",
    "finding",
    "findings",
    "point",
    "points",
    "comment",
    "comments",
    "item",
    "items",
    "gaps",
    "gap",
    "question",
    "questions",
    "risk",
    "risks",
    "changes",
    "revision",
    "revisions",
    "rework",
    "refactoring",
];

/// Words that deny the verb after them.
const DENIALS: &[&str] = &[
    "not",
    "cannot",
    "never",
    "unable",
    "withholding",
    "withhold",
    "withheld",
    "hold",
    "holding",
    "refuse",
    "refusing",
    "decline",
    "uncomfortable",
    "hesitant",
    "reluctant",
    "nicht",
    "noch nicht",
    "pas",
    "non",
    "não",
    "nao",
    "не",
    "niet",
    "nie",
    "inte",
    "impossible",
    "ohne",
    "nunca",
    "jamais",
];

/// Words that deny what follows, unless a verb is denied.
pub(super) const ABSENCES: &[&str] = &["no", "nothing", "none", "neither", "nobody", "hardly", "kein", "keine", "geen"];

/// Words that deny only the words right after them.
pub(super) const WITHOUT: &[&str] = &["without", "against", "from", "zero", "instead", "than"];

/// Words of the first person.
pub(super) const OWN: &[&str] = &[
    "i", "i'm", "i'd", "i'll", "i've", "we", "we're", "we'd", "we'll", "we've", "my", "me", "our", "let's", "you",
    "you're", "ich", "je",
];

/// Words for the work under review.
pub(super) const WORK: &[&str] = &[
    "this",
    "it",
    "it's",
    "that",
    "that's",
    "change",
    "changes",
    "pr",
    "mr",
    "request",
    "patch",
    "diff",
    "plan",
    "proposal",
    "branch",
    "commit",
    "code",
    "work",
    "version",
    "implementation",
    "task",
    "job",
    "migration",
    "merge",
    "release",
    "feature",
    "approach",
    "everything",
    "solution",
    "design",
];

/// First words of a request: `Do not merge`.
pub(super) const REQUESTS: &[&str] =
    &["do", "don't", "please", "not", "never", "cannot", "can't", "must", "mustn't", "should", "shouldn't"];

/// First words after a verb whose object is the work.
pub(super) const OBJECTS: &[&str] = &[
    "cette", "ce", "das", "dies", "diese", "diesen", "questa", "este", "esta", "это", "it", "this", "these", "the",
    "as", "that", "until", "unless", "without", "if", "before", "because", "for", "at", "yet", "in", "now", "here",
    "any", "code", "on",
];

/// First words of a demand: `Fix both points, and I'll approve`.
pub(super) const COMMANDS: &[&str] = &[
    "use", "make", "add", "fix", "remove", "rename", "replace", "change", "move", "split", "update", "drop", "revert",
    "rebase", "handle", "address", "write", "please",
];

/// Words of a verdict that is given only in a case that has not happened.
pub(super) const CONDITIONS: &[&str] =
    &["soon", "if", "once", "when", "unless", "until", "assuming", "provided", "would've"];

/// Words of a sentence about a verdict that was given, or only thought of, earlier.
const EARLIER: &[&str] = &[
    "said",
    "previously",
    "earlier",
    "originally",
    "initially",
    "considered",
    "wondered",
    "thought",
    "hesitated",
    "tempted",
    "yesterday",
];

/// Whether a sentence is about an earlier time: `Initially`, `at first`, `Before my change`.
pub(super) fn is_earlier(sentence: &ProseSentence) -> bool {
    let is_before = |clause: &ProseClause| clause.has_pair("at", "first") || clause.has_pair("before", "my");
    sentence.has(EARLIER) || sentence.clauses.iter().any(is_before)
}

/// Words of a clause about the past.
pub(super) const PAST: &[&str] = &["was", "were", "had", "used", "asked", "previous", "prior"];

/// Words by which an earlier verdict is still given.
pub(super) const STILL: &[&str] = &["still", "stands", "remains", "remain", "again"];

/// Words by which a doubt is resolved.
pub(super) const RESOLVED: &[&str] = &[
    "fixes",
    "resolves",
    "removes",
    "closes",
    "resolved",
    "addressed",
    "fixed",
    "gone",
    "longer",
    "solved",
    "cleared",
    "withdrawn",
    "withdraw",
    "withdrawing",
    "retract",
    "retracting",
    "moot",
    "addressing",
    "resolving",
    "fixing",
];

/// Words of a part: `Most of the work is done`.
pub(super) const PARTS: &[&str] =
    &["most", "mostly", "almost", "nearly", "partly", "partially", "half", "some", "part", "largely", "only"];

/// Verbs before another verb.
pub(super) const MODALS: &[&str] =
    &["can", "could", "may", "will", "need", "has", "have", "is", "are", "do", "does", "must", "should"];

/// Words for faults, which a review looks for. Their absence is praise.
pub(super) const PROBLEMS: &[&str] = &[
    "problem",
    "issue",
    "bug",
    "concern",
    "objection",
    "error",
    "blocker",
    "regression",
    "problème",
    "problema",
    "fehler",
    "проблем",
    "reason",
    "vulnerabilit",
    "violat",
    "delay",
    "break",
    "broke",
    "affect",
    "leak",
    "block",
    "fail",
    "crash",
    "slow",
    "hurt",
];

/// Whether a word denies the verb after it.
pub(super) fn is_denial(word: &str) -> bool {
    word.ends_with("n't") || DENIALS.contains(&word)
}
