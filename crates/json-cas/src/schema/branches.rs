//! None of several alternatives fits: which one was meant, and why does it not fit?

use serde_json::Value;

use super::document::{Document, Place};
use super::violation::{Finding, Findings, Mark, Violation};
use super::words::{describe, found, listed};
use crate::text::ellipsize;

/// Most alternatives spelled out.
const MAX_BRANCHES: usize = 6;

/// Most reasons given for one alternative.
const MAX_REASONS: usize = 3;

/// Longest description of an alternative, and of why it does not fit, in characters. The reasons of alternatives hold
/// those of the alternatives below: without a limit the text grows exponentially with the depth of the value.
const MAX_FORM: usize = 400;

/// What to report. When one alternative is meant, its own findings are what helps; `anyOf: [T, null]`
/// is reported as T, for example.
pub(super) fn none_fits<'s>(
    document: &Document<'s>,
    keyword: &str,
    branches: &[Place<'s>],
    findings: &[Findings],
    value: &Value,
    path: &str,
) -> Vec<Finding> {
    let marks = |index: usize| -> Vec<&Mark> {
        let at_root = findings[index].iter().filter(|f| f.violation.path == path);
        at_root.map(|finding| &finding.mark).collect()
    };
    let is_null = |index: usize| marks(index) == [&Mark::Null];
    let nullable = (0..findings.len()).any(is_null);
    let mut meant: Vec<usize> = (0..findings.len()).filter(|index| !is_null(*index)).collect();
    if let Some(finding) = of_types(&meant, nullable, findings, keyword, value, path) {
        return vec![finding];
    }
    narrow(&mut meant, |index| {
        let other_kind = |mark: &&Mark| matches!(mark, Mark::Type(_) | Mark::Value | Mark::Null);
        !marks(index).iter().any(other_kind)
    });
    narrow(&mut meant, |index| !fails_a_tag(&findings[index], path));
    if let [index] = meant[..] {
        return findings[index].to_vec();
    }
    let reasons: Vec<String> = meant
        .iter()
        .take(MAX_BRANCHES)
        .map(|index| {
            let form = describe(document, branches[*index]);
            let form = ellipsize(&form, MAX_FORM);
            let reasons = reasons(&findings[*index], path);
            let reasons = ellipsize(&reasons, MAX_FORM);
            format!("form {} [{form}]: {reasons}", index + 1)
        })
        .collect();
    let message = format!("fits none of the {} allowed forms; {}", findings.len(), reasons.join("; "));
    vec![finding(path, keyword, message, Mark::Other)]
}

/// All alternatives want another type: they are reported as one list of types.
fn of_types(
    meant: &[usize],
    nullable: bool,
    findings: &[Findings],
    keyword: &str,
    value: &Value,
    path: &str,
) -> Option<Finding> {
    let mut types: Vec<String> = Vec::new();
    for index in meant {
        let wanted = findings[*index].iter().find_map(|finding| match &finding.mark {
            Mark::Type(wanted) if finding.violation.path == path => Some(wanted),
            _ => None,
        })?;
        for name in wanted {
            if !types.contains(name) {
                types.push(name.clone());
            }
        }
    }
    types.retain(|name| name != "null" || !nullable);
    if nullable {
        types.push("null".to_owned());
    }
    let message = format!("expected {}, found {}", listed(&types, "or"), found(value));
    Some(finding(path, keyword, message, Mark::Type(types)))
}

/// Whether an alternative fails because a key right below has another fixed value, which is how
/// alternatives are distinguished.
fn fails_a_tag(findings: &Findings, path: &str) -> bool {
    findings.iter().any(|finding| {
        let below = finding.violation.path.strip_prefix(path);
        finding.mark == Mark::Value && below.is_some_and(|below| below.matches('/').count() == 1)
    })
}

/// Keeps those that pass, if any does.
fn narrow(indexes: &mut Vec<usize>, pass: impl Fn(usize) -> bool) {
    if indexes.iter().any(|index| pass(*index)) {
        indexes.retain(|index| pass(*index));
    }
}

fn reasons(findings: &Findings, path: &str) -> String {
    let reasons: Vec<String> = findings
        .iter()
        .take(MAX_REASONS)
        .map(|finding| {
            let Violation { path: at, message, .. } = &finding.violation;
            match at.strip_prefix(path) {
                Some("") | None => message.clone(),
                Some(below) => format!("{below}: {message}"),
            }
        })
        .collect();
    reasons.join(", ")
}

fn finding(path: &str, keyword: &str, message: String, mark: Mark) -> Finding {
    Finding { violation: Violation { path: path.to_owned(), keyword: keyword.to_owned(), message }, mark }
}
