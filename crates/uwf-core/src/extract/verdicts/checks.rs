//! Compares a value such as `passed: true` with what the text says about tests and builds. The last report in the text counts.

use super::super::prose::{ProseClause, ProseSentence};
use super::verdict_words::{ABSENCES, CONDITIONS, is_denial, is_earlier};

/// Things that pass or fail.
const CHECKS: [&str; 29] = [
    "test",
    "tests",
    "suite",
    "build",
    "builds",
    "ci",
    "run",
    "pipeline",
    "check",
    "checks",
    "lint",
    "lints",
    "linter",
    "job",
    "jobs",
    "compilation",
    "code",
    "clippy",
    "pytest",
    "cases",
    "case",
    "specs",
    "assertions",
    "deploy",
    "deployment",
    "rollout",
    "migration",
    "install",
    "installation",
];

/// Words for a failure.
const FAILED: [&str; 12] = [
    "fehlgeschlagen",
    "échoué",
    "failed",
    "fail",
    "fails",
    "failing",
    "failure",
    "failures",
    "errors",
    "error",
    "red",
    "broken",
];

/// Words for success.
const PASSED: [&str; 10] =
    ["bestanden", "compile", "compiles", "passed", "pass", "passes", "passing", "green", "succeeded", "succeeds"];

/// Words of a report about another time or case.
const ELSEWHERE: [&str; 14] = [
    "expected",
    "should",
    "before",
    "without",
    "previously",
    "used",
    "was",
    "were",
    "old",
    "originally",
    "cover",
    "covers",
    "longer",
    "new",
];

/// Words before a failure that is the subject or the object, and no report.
const ARTICLES: [&str; 9] = ["a", "an", "the", "each", "every", "any", "for", "on", "of"];

/// Returns the sentence that reports the opposite of the value.
pub(super) fn contrary(sentences: &[ProseSentence], is_passed: bool) -> Option<&ProseSentence> {
    let is_now = |sentence: &&ProseSentence| {
        !sentence.is_question && !sentence.has(CONDITIONS) && !is_earlier(sentence) && !sentence.has(&ELSEWHERE)
    };
    let mut reports = sentences.iter().filter(is_now).filter_map(|sentence| Some((sentence, passes(sentence)?)));
    let (sentence, passes) = reports.next_back()?;
    // The rows of a table are one report.
    let is_row = |sentence: &ProseSentence| sentence.text.starts_with('|');
    let rows = reports.rev().take_while(|(row, _)| is_row(sentence) && is_row(row));
    let (sentence, passes) = rows.chain([(sentence, passes)]).min_by_key(|(_, passes)| *passes)?;
    (passes != is_passed).then_some(sentence)
}

/// Whether a sentence reports success; `None` if it reports nothing. One failure outweighs all successes.
fn passes(sentence: &ProseSentence) -> Option<bool> {
    let is_command = sentence.text.trim_start().starts_with('`');
    if let Some(passes) = exit_status(sentence) {
        return Some(passes);
    }
    let words: Vec<&str> = sentence.words().collect();
    match words[..] {
        ["it" | "this" | "that", "doesn't" | "didn't", "work", ..]
        | ["it" | "this" | "that", "does" | "did", "not", "work", ..] => return Some(false),
        ["it" | "everything" | "all", "works"] => return Some(true),
        _ => {}
    }
    if words.windows(4).any(|four| {
        ABSENCES.contains(&four[0]) && matches!(four[1..], ["could" | "can", "be", "tested" | "run" | "executed"])
    }) {
        return Some(false);
    }
    // `12 passed, 0 failed`, `FAILED (failures=1)`, `It doesn't compile`.
    let is_count =
        words.windows(2).any(|pair| pair[0].parse::<u64>().is_ok() && matches!(pair[1], "passed" | "failed"));
    let is_outcome = words.len() <= 3 && words.first().is_some_and(|word| FAILED[..3].contains(word))
        || words.iter().any(|word| word.starts_with("compile"));
    let is_about_checks = sentence.has(&CHECKS)
        || is_command
        || is_count
        || is_outcome
        || sentence.words().next().is_some_and(|word| matches!(word, "result" | "no"));
    let reports = sentence.clauses.iter().flat_map(report);
    let worst = reports.min()?;
    is_about_checks.then_some(worst)
}

/// Whether a command succeeded, by the exit code that a sentence names: `Exit code 1.`
fn exit_status(sentence: &ProseSentence) -> Option<bool> {
    let words: Vec<&str> = sentence.words().collect();
    words.windows(2).enumerate().find_map(|(at, pair)| {
        let is_exit = pair[0].starts_with("exit") && matches!(pair[1], "code" | "status" | "with");
        let code = || words[at + 2..].iter().take(2).find_map(|word| word.parse::<u8>().ok());
        is_exit.then(code)?.map(|code| code == 0)
    })
}

/// The last line in a code block that reports the opposite of the value in capitals, as programs print it: `test result: FAILED`.
pub(super) fn contrary_log(text: &str, is_passed: bool) -> Option<(usize, &str)> {
    let mut is_inside = false;
    let mut last = None;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_inside = !is_inside;
            continue;
        }
        let words = || line.split(|symbol: char| !symbol.is_alphanumeric());
        let is_failure = words().any(|word| matches!(word, "FAILED" | "FAIL"));
        if is_inside && (is_failure || words().any(|word| matches!(word, "PASSED" | "PASS" | "OK"))) {
            last = Some((number, line, !is_failure));
        }
    }
    last.filter(|(_, _, passes)| *passes != is_passed).map(|(number, line, _)| (number, line))
}

/// The reports of a clause.
fn report(clause: &ProseClause) -> Vec<bool> {
    let words = &clause.words;
    let report = |at: usize| {
        let word = words[at].as_str();
        let before = &words[at.saturating_sub(4)..at];
        let number = before.iter().rev().find_map(|word| word.parse::<u64>().ok());
        let is_absent = number == Some(0)
            || before.iter().any(|word| is_denial(word) || ABSENCES.contains(&word.as_str()) || word == "zero");
        let is_named = before.last().is_some_and(|word| ARTICLES.contains(&word.as_str()));
        // `The error path` is a thing.
        let is_countable = number.is_some() || !matches!(word, "error" | "errors" | "failure" | "failures");
        if FAILED.contains(&word) {
            return (is_absent || is_countable && !is_named).then_some(is_absent);
        }
        // `It asks for a green run`.
        let is_wanted = before.iter().any(|word| matches!(word.as_str(), "for" | "wants" | "needs" | "requires"));
        (PASSED.contains(&word) && !is_wanted).then_some(!is_absent)
    };
    (0..words.len()).filter_map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn reports_of_checks_are_read() {
        for (text, is_passed) in [
            ("The test run failed with 3 errors.", Some(false)),
            ("42 tests ran, 3 of them failed.", Some(false)),
            ("The suite is red.", Some(false)),
            ("42 tests passed, 0 failed.", Some(true)),
            ("All tests passed.", Some(true)),
            ("No test failed.", Some(true)),
            ("The tests cover a failed login.", None),
            ("The handler returns an error.", None),
            ("Exit code 1.", Some(false)),
            ("12 passed, 0 failed.", Some(true)),
            ("FAILED (failures=1)", Some(false)),
            ("It doesn't compile.", Some(false)),
            ("It does not work.", Some(false)),
            ("Everything works.", Some(true)),
            ("The deploy failed.", Some(false)),
        ] {
            let read = sentences(text);
            assert_eq!(passes(&read[0]), is_passed, "{text}");
        }
    }

    #[test]
    fn rows_and_logs_are_reports() {
        let table = sentences("| check | result |\n|---|---|\n| clippy | fail |\n| tests | pass |\n");
        assert!(contrary(&table, true).is_some() && contrary(&table, false).is_none());
        let log = "It ran.\n\n```\ntest a ... ok\ntest result: FAILED. 1 passed\n```\n";
        assert_eq!(contrary_log(log, true), Some((4, "test result: FAILED. 1 passed")));
        assert_eq!((contrary_log(log, false), contrary_log("BUILD FAILED", true)), (None, None));
    }

    #[test]
    fn last_report_counts() {
        let text = sentences("The tests failed at first. All tests pass.");
        assert!(contrary(&text, true).is_none());
        assert!(contrary(&text, false).is_some());
    }
}
