//! The words by which an answer accepts or rejects.

/// A topic of verdicts, with its words.
pub(super) struct VerdictTopic {
    /// Beginnings of words that accept.
    pub(super) accepts: &'static [&'static str],
    /// Groups of words that accept. A denied one rejects.
    pub(super) accepting: &'static [&'static str],
    /// Groups of words that accept only if they are denied or about the work: `This is ready`.
    pub(super) qualities: &'static [&'static str],
    /// Beginnings of words that reject in the first person, or about the work.
    pub(super) rejects: &'static [&'static str],
    /// Groups of words that reject wherever they are.
    pub(super) rejecting: &'static [&'static str],
    /// Whole clauses, and whether they accept.
    pub(super) clauses: &'static [(&'static str, bool)],
    /// Whether the first object of a verb must be the work: `I do not recommend more tests`.
    pub(super) takes_objects: bool,
}

/// Reviews: whether work is approved.
pub(super) const REVIEW: VerdictTopic = VerdictTopic {
    accepts: &[
        "approv",
        "схвал",
        "accept",
        "endors",
        "merg",
        "recommend",
        "ship",
        "freigeb",
        "freigegeb",
        "genehmig",
        "zustimm",
        "gemergt",
        "approuv",
        "valider",
        "fusion",
        "aprob",
        "acept",
        "aprueb",
        "aprov",
        "одобр",
        "goedkeur",
        "zatwierdz",
        "onayl",
        "godkän",
    ],
    accepting: &[
        "ship it",
        "sign off",
        "signing off",
        "good to go",
        "good to merge",
        "ready to merge",
        "ready to be merged",
        "ready to ship",
        "ready for merge",
        "ready for merging",
        "right call",
        "lgtm",
        "looks good to me",
        "happy to approve",
        "glad to approve",
        "fine with merging",
    ],
    qualities: &[
        "ready",
        "acceptable",
        "good enough",
        "meet the",
        "meets the",
        "take this",
        "go in",
        "land",
        "go out",
        "be in favor",
        "in favour",
        "agree with this change",
        "reviewed",
        "fit for",
        "ok",
        "okay",
        "freigegeben",
    ],
    rejects: &["reject", "declin", "veto", "disapprov", "oppos", "object", "nack", "block", "turning this down"],
    rejecting: &[
        "say no",
        "saying no",
        "i'm against",
        "i am against",
        "we're against",
        "requires changes",
        "require changes",
        "keep this out",
        "keep it out",
        "significant problems",
        "serious problems",
        "changes are required",
        "changes are needed",
        "changes are necessary",
        "work is needed",
        "work is required",
        "a rewrite",
        "a redesign",
        "a rework",
        "a revision",
        "concerns",
        "prevents",
        "prevent",
        "fails review",
        "vote no",
        "a no",
        "hard no",
        "hard pass",
        "drawing board",
        "stay open",
        "remain open",
        "kept open",
        "unmet",
        "insufficient",
        "unconvinced",
        "not convinced",
        "another round",
        "another pass",
        "another iteration",
        "more work",
        "needs changes",
        "needs rework",
        "needs work",
        "need work",
        "needs revision",
        "be reworked",
        "be rewritten",
        "be fixed before",
        "be addressed before",
        "be resolved before",
        "is blocking",
        "still blocking",
        "be blocking",
        "blocker",
        "blockers",
        "showstopper",
        "showstoppers",
        "deal-breaker",
        "dealbreaker",
        "no-go",
        "no go",
        "unacceptable",
        "a mistake",
        "back to the author",
        "sending this back",
        "send this back",
        "send it back",
        "objection",
        "nack",
        "changes requested",
        "changes required",
        "requesting changes",
        "request changes",
        "premature",
        "below the bar",
        "thumbs down",
        "👎",
        "not yet",
        "fails the review",
        "abgelehnt",
        "lehne",
        "rejeté",
        "rejetée",
        "refusé",
        "rechazado",
        "rechazada",
        "rechazo",
        "respinto",
        "respinta",
        "rifiuto",
        "rejeitado",
        "rejeitada",
        "отклонено",
        "отклоняю",
        "afgewezen",
        "odrzucam",
        "odrzucone",
        "reddedildi",
        "avvisas",
        "avslås",
    ],
    clauses: &[
        ("approved", true),
        ("approve", true),
        ("approving", true),
        ("approving now", true),
        ("accepted", true),
        ("lgtm", true),
        ("ship it", true),
        ("ready to merge", true),
        ("+1", true),
        ("👍", true),
        ("approval denied", false),
        ("approval withheld", false),
        ("rejected", false),
        ("reject", false),
        ("request changes", false),
        ("request_changes", false),
        ("blocked", false),
        ("declined", false),
        ("denied", false),
        ("-1", false),
    ],
    takes_objects: true,
};

/// Tasks: whether the work is done.
pub(super) const TASK: VerdictTopic = VerdictTopic {
    accepts: &["complet", "finish", "succe", "solv", "fix", "implement"],
    accepting: &["all done", "completed successfully", "successfully completed", "everything is done"],
    qualities: &["done", "through"],
    rejects: &["block", "stuck"],
    rejecting: &[
        "ran out of",
        "half of",
        "still missing",
        "gave up",
        "giving up",
        "give up",
        "incomplete",
        "unfinished",
        "attempt failed",
        "attempts failed",
        "task failed",
        "remains to be done",
        "half done",
        "half-done",
        "only partly",
        "only partially",
    ],
    clauses: &[
        ("done", true),
        ("all done", true),
        ("completed", true),
        ("finished", true),
        ("success", true),
        ("failed", false),
        ("failure", false),
        ("blocked", false),
        ("stuck", false),
    ],
    takes_objects: false,
};

/// Clauses in which a label or `my answer is` introduces the verdict.
pub(super) const LABELLED: &[(&str, bool)] = &[
    ("yes", true),
    ("pass", true),
    ("passed", true),
    ("success", true),
    ("approve", true),
    ("approved", true),
    ("merge", true),
    ("no", false),
    ("no-go", false),
    ("against", false),
    ("fail", false),
    ("failed", false),
    ("failing", false),
    ("block", false),
    ("blocked", false),
    ("reject", false),
    ("rejected", false),
    ("negative", false),
];

/// Replies at the start of a text.
pub(super) const REPLIES: &[(&str, bool)] =
    &[("no", false), ("nope", false), ("not yet", false), ("no way", false), ("yes", true), ("yes please", true)];

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
    "assessment",
];

/// Words that deny the verb after them.
pub(super) const DENIALS: &[&str] = &[
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
pub(super) const WITHOUT: &[&str] = &["without", "against", "from", "zero", "instead"];

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
pub(super) const CONDITIONS: &[&str] = &["if", "once", "when", "unless", "until", "assuming", "provided", "would've"];

/// Words of a sentence about a verdict that was given, or only thought of, earlier.
pub(super) const EARLIER: &[&str] = &[
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
    "moot",
];

/// Words of a part: `Most of the work is done`.
pub(super) const PARTS: &[&str] =
    &["most", "mostly", "almost", "nearly", "partly", "partially", "half", "some", "part", "largely", "only"];

/// Verbs before another verb.
pub(super) const MODALS: &[&str] =
    &["can", "could", "may", "will", "need", "has", "have", "is", "are", "do", "does", "must", "should"];

/// Refusals in languages whose verbs are denied by their endings.
pub(super) const REFUSALS: &[&str] = &[
    "拒绝",
    "驳回",
    "却下",
    "承認できません",
    "承認できない",
    "承認しません",
    "マージすべきではありません",
    "マージできません",
    "승인할 수 없",
    "승인하지 않",
    "반려",
    "거부",
    "onaylamıyor",
    "onaylayam",
];

/// Words that accept in a language without spaces, where a denial precedes them.
pub(super) const UNSPACED_ACCEPTS: &[&str] = &["批准", "合并", "通过", "同意", "接受"];

/// Their denials.
pub(super) const UNSPACED_DENIALS: &[&str] = &["不", "未", "勿", "无法", "没有", "暂缓"];

/// Symbols between such a denial and the word.
pub(super) const UNSPACED_MODALS: &[char] = &['能', '应', '予', '该', '可', '建', '议', '得', '宜', '会', '想', '被'];
