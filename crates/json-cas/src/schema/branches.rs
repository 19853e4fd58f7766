//! Determines which alternative was meant if none fits, and why that one does not.

use serde_json::Value;

use super::describe::{describe, found, listed};
use super::document::{SchemaDocument, ScopedSubschema};
use super::violation::{FindingKind, Findings, SchemaFinding, SchemaViolation};
use crate::text::ellipsize;

/// Most alternatives described.
const MAX_BRANCHES: usize = 6;

/// Most reasons per alternative.
const MAX_REASONS: usize = 3;

/// Longest description of an alternative, and of its reasons, in characters. The reasons contain the reasons of nested alternatives:
/// without a limit, the text grows exponentially with the depth of the value.
const MAX_FORM: usize = 400;

/// The findings to report if no alternative fits. If one alternative was meant, its own findings help most: `anyOf: [T, null]` is reported
/// as T.
pub(super) fn none_fits<'s>(
    document: &SchemaDocument<'s>,
    keyword: &str,
    branches: &[ScopedSubschema<'s>],
    findings: &[Findings],
    value: &Value,
    path: &str,
) -> Vec<SchemaFinding> {
    let kinds = |index: usize| -> Vec<&FindingKind> {
        let at_root = findings[index].iter().filter(|f| f.violation.path == path);
        at_root.map(|finding| &finding.kind).collect()
    };
    let is_null = |index: usize| kinds(index) == [&FindingKind::Null];
    let nullable = (0..findings.len()).any(is_null);
    let mut meant: Vec<usize> = (0..findings.len()).filter(|index| !is_null(*index)).collect();
    if let Some(finding) = of_types(&meant, nullable, findings, keyword, value, path) {
        return vec![finding];
    }
    narrow(&mut meant, |index| {
        let other_kind =
            |kind: &&FindingKind| matches!(kind, FindingKind::Type(_) | FindingKind::Value | FindingKind::Null);
        !kinds(index).iter().any(other_kind)
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
    vec![SchemaFinding::new(path, keyword, message, FindingKind::Other)]
}

/// A single finding with a list of types, if each alternative expects another type.
fn of_types(
    meant: &[usize],
    nullable: bool,
    findings: &[Findings],
    keyword: &str,
    value: &Value,
    path: &str,
) -> Option<SchemaFinding> {
    let mut types: Vec<String> = Vec::new();
    for index in meant {
        let wanted = findings[*index].iter().find_map(|finding| match &finding.kind {
            FindingKind::Type(wanted) if finding.violation.path == path => Some(wanted),
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
    Some(SchemaFinding::new(path, keyword, message, FindingKind::Type(types)))
}

/// Whether an alternative fails because a key directly below has another fixed value. Such keys usually distinguish alternatives.
fn fails_a_tag(findings: &Findings, path: &str) -> bool {
    findings.iter().any(|finding| {
        let below = finding.violation.path.strip_prefix(path);
        finding.kind == FindingKind::Value && below.is_some_and(|below| below.matches('/').count() == 1)
    })
}

/// Keeps the indexes that pass, if any do.
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
            let SchemaViolation { path: at, message, .. } = &finding.violation;
            match at.strip_prefix(path) {
                Some("") | None => message.clone(),
                Some(below) => format!("{below}: {message}"),
            }
        })
        .collect();
    reasons.join(", ")
}
