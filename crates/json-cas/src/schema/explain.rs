//! One validation error → what to tell.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::ValidationError;
use serde_json::Value;

use super::CAS_REF;
use super::document::{Document, Place};
use super::nearest::nearest;
use super::violations::Violation;
use super::words::{a_type, brief, describe, found, json, listed};

/// Most alternatives spelled out when none of several fits.
const MAX_BRANCHES: usize = 6;

/// Most reasons given for one alternative.
const MAX_REASONS: usize = 3;

/// Collects violations, each told once.
pub(super) struct Explainer<'d, 's> {
    document: &'d Document<'s>,
    pub(super) violations: Vec<Violation>,
}

impl<'d, 's> Explainer<'d, 's> {
    pub(super) fn new(document: &'d Document<'s>) -> Self {
        Explainer {
            document,
            violations: Vec::new(),
        }
    }

    /// Adds what `error` says.
    pub(super) fn add(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => self.no_branch(error, context),
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                self.unknown_keys(error, unexpected);
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let mut names = Explainer::new(self.document);
                names.add(inner);
                for violation in names.violations {
                    let message = format!("bad key {}: {}", json(inner.instance()), violation.message);
                    self.push(error, message);
                }
            }
            _ => self.push(error, self.simple(error)),
        }
    }

    fn push(&mut self, error: &ValidationError<'_>, message: String) {
        let violation = Violation {
            path: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message,
        };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn simple(&self, error: &ValidationError<'_>) -> String {
        let value = error.instance();
        match error.kind() {
            ValidationErrorKind::Required { property } => self.missing_key(error, property),
            ValidationErrorKind::Type { kind } => {
                format!("expected {}, found {}", wanted_types(kind), found(value))
            }
            ValidationErrorKind::Enum { options } => {
                let options: Vec<String> =
                    options.as_array().into_iter().flatten().map(json).collect();
                let hint = nearest(
                    &json(value),
                    options.iter().map(String::as_str),
                )
                .map(|near| format!("; did you mean {near}?"))
                .unwrap_or_default();
                format!("expected {}, found {}{hint}", listed(&options, "or"), json(value))
            }
            ValidationErrorKind::Constant { expected_value } => {
                format!("expected {}, found {}", json(expected_value), json(value))
            }
            ValidationErrorKind::Format { format } if format == CAS_REF => format!(
                "expected the hash of a node (13 symbols, 0-9 and A-Z), found {}",
                json(value)
            ),
            ValidationErrorKind::Format { format } => {
                format!("expected {}, found {}", a_format(format), json(value))
            }
            ValidationErrorKind::Pattern { pattern } => {
                format!("{} does not match the pattern `{}`", json(value), brief(pattern))
            }
            ValidationErrorKind::Contains => match self.schema_of(error) {
                Some(place) => format!("no item is {}", describe(self.document, place)),
                None => "the required item is missing".to_owned(),
            },
            ValidationErrorKind::FalseSchema => "nothing is allowed here".to_owned(),
            ValidationErrorKind::OneOfMultipleValid { context } => {
                let fitting: Vec<String> = context
                    .iter()
                    .enumerate()
                    .filter(|(_, errors)| errors.is_empty())
                    .map(|(index, _)| (index + 1).to_string())
                    .collect();
                format!(
                    "fits more than one of the {} allowed forms ({}) and must fit exactly one",
                    context.len(),
                    listed(&fitting, "and")
                )
            }
            ValidationErrorKind::Not { .. } => {
                let schema = self.schema_of(error).map(|place| describe(self.document, place));
                let forbidden = schema.unwrap_or_else(|| "what is excluded".to_owned());
                format!("must not be {forbidden}, found {}", found(value))
            }
            _ => bounds(error.kind(), value).unwrap_or_else(|| brief_error(error)),
        }
    }

    fn missing_key(&self, error: &ValidationError<'_>, property: &Value) -> String {
        let key = property.as_str().unwrap_or_default();
        let described = self
            .parent_of(error)
            .and_then(|place| {
                let schema = place.keyword("properties")?.get(key)?;
                Some(describe(self.document, place.enter(schema)))
            })
            .map(|words| format!(" ({words})"))
            .unwrap_or_default();
        format!("missing key `{key}`{described}")
    }

    fn unknown_keys(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let known: Vec<String> = self
            .parent_of(error)
            .and_then(|place| place.keyword("properties")?.as_object())
            .map(|map| map.keys().cloned().collect())
            .unwrap_or_default();
        for key in unexpected {
            let hint = match nearest(key, known.iter().map(String::as_str)) {
                Some(near) => format!("; did you mean `{near}`?"),
                None if known.is_empty() => String::new(),
                None => format!("; allowed are {}", listed(&quoted(&known), "and")),
            };
            self.push(error, format!("unknown key `{}`{hint}", brief(key)));
        }
    }

    /// None of several alternatives fits. When one is meant, its own errors are what helps.
    fn no_branch(
        &mut self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
    ) {
        let nullable = context.iter().any(|errors| is_null_branch(error, errors));
        let mut meant: Vec<usize> = (0..context.len())
            .filter(|index| !is_null_branch(error, &context[*index]))
            .collect();
        narrow(&mut meant, |index| !fails_at_root(error, &context[index]));
        narrow(&mut meant, |index| !fails_a_tag(error, &context[index]));
        if let [index] = meant[..] {
            let before = self.violations.len();
            for inner in &context[index] {
                self.add(inner);
            }
            if nullable {
                self.allow_null(before, &error.instance_path().to_string());
            }
            return;
        }
        let message = match self.of_types(error, context) {
            Some(message) => message,
            None => self.all_branches(error, context, &meant),
        };
        self.push(error, message);
    }

    /// `anyOf: [T, null]` is told as T; that null would do too is said where it would.
    fn allow_null(&mut self, from: usize, path: &str) {
        for violation in &mut self.violations[from..] {
            if violation.path == path && violation.message.starts_with("expected ") {
                violation.message = violation.message.replacen(", found ", " or null, found ", 1);
            }
        }
    }

    /// All alternatives want another type: they are told like one list of types.
    fn of_types(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
    ) -> Option<String> {
        let types: Option<Vec<String>> = context
            .iter()
            .map(|errors| match errors[..] {
                [ref only] if only.instance_path() == error.instance_path() => {
                    match only.kind() {
                        ValidationErrorKind::Type { kind } => Some(wanted_types(kind)),
                        _ => None,
                    }
                }
                _ => None,
            })
            .collect();
        let found = found(error.instance());
        types.map(|types| format!("expected {}, found {found}", listed(&types, "or")))
    }

    fn all_branches(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        meant: &[usize],
    ) -> String {
        let root = error.instance_path().to_string();
        let place = self.schema_of(error);
        let told: Vec<String> = meant
            .iter()
            .take(MAX_BRANCHES)
            .map(|index| {
                let mut inner = Explainer::new(self.document);
                for error in &context[*index] {
                    inner.add(error);
                }
                let reasons: Vec<String> = inner
                    .violations
                    .iter()
                    .take(MAX_REASONS)
                    .map(|violation| match violation.path.strip_prefix(&root) {
                        Some("") | None => violation.message.clone(),
                        Some(below) => format!("{below}: {}", violation.message),
                    })
                    .collect();
                let form = place
                    .and_then(|place| Some(place.enter(place.schema.get(*index)?)))
                    .map(|branch| format!(" [{}]", describe(self.document, branch)))
                    .unwrap_or_default();
                format!("form {}{form}: {}", index + 1, reasons.join(", "))
            })
            .collect();
        format!("fits none of the {} allowed forms; {}", context.len(), told.join("; "))
    }

    /// The value of the keyword that failed, in the schema.
    fn schema_of(&self, error: &ValidationError<'_>) -> Option<Place<'s>> {
        let path = error.schema_path().to_string();
        self.document.resolve(self.document.root(), &format!("#{}", escaped(&path)))
    }

    /// The schema that the failed keyword is in.
    fn parent_of(&self, error: &ValidationError<'_>) -> Option<Place<'s>> {
        let path = error.schema_path().to_string();
        let (parent, _) = path.rsplit_once('/')?;
        self.document.resolve(self.document.root(), &format!("#{}", escaped(parent)))
    }
}

/// A pointer for use in a URI fragment, where only the percent sign means something.
fn escaped(pointer: &str) -> String {
    pointer.replace('%', "%25")
}

/// Keeps those that pass, if any does.
fn narrow(indexes: &mut Vec<usize>, pass: impl Fn(usize) -> bool) {
    if indexes.iter().any(|index| pass(*index)) {
        indexes.retain(|index| pass(*index));
    }
}

fn is_null_branch(whole: &ValidationError<'_>, errors: &[ValidationError<'static>]) -> bool {
    let [error] = errors else {
        return false;
    };
    error.instance_path() == whole.instance_path()
        && match error.kind() {
            ValidationErrorKind::Type { kind } => wanted_types(kind) == "null",
            ValidationErrorKind::Constant { expected_value } => expected_value.is_null(),
            _ => false,
        }
}

/// Whether a branch fails because it is about another kind of value.
fn fails_at_root(whole: &ValidationError<'_>, errors: &[ValidationError<'static>]) -> bool {
    errors.iter().any(|error| {
        error.instance_path() == whole.instance_path()
            && matches!(
                error.kind(),
                ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. }
            )
    })
}

/// Whether a branch fails because a key right below has another fixed value, which is how
/// alternatives are told apart.
fn fails_a_tag(whole: &ValidationError<'_>, errors: &[ValidationError<'static>]) -> bool {
    let root = whole.instance_path().to_string();
    errors.iter().any(|error| {
        let path = error.instance_path().to_string();
        let is_key = path
            .strip_prefix(&root)
            .is_some_and(|below| below.matches('/').count() == 1);
        is_key
            && matches!(
                error.kind(),
                ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. }
            )
    })
}

fn wanted_types(kind: &TypeKind) -> String {
    let mut names: Vec<String> = match kind {
        TypeKind::Single(single) => vec![a_type(&single.to_string())],
        TypeKind::Multiple(set) => set.iter().map(|one| a_type(&one.to_string())).collect(),
    };
    // The set has an order of its own, in which null comes first.
    names.sort_by_key(|name| name == "null");
    listed(&names, "or")
}

fn a_format(format: &str) -> String {
    match format {
        "date" => "a date like 2026-01-31".to_owned(),
        "date-time" => "a time like 2026-01-31T12:00:00Z".to_owned(),
        "time" => "a time of day like 12:00:00Z".to_owned(),
        "duration" => "a duration like PT1H30M".to_owned(),
        "email" => "an e-mail address".to_owned(),
        "uri" => "an absolute URI".to_owned(),
        "regex" => "a regular expression".to_owned(),
        _ => format!("a value of format `{format}`"),
    }
}

/// Limits on lengths and sizes.
fn bounds(kind: &ValidationErrorKind, value: &Value) -> Option<String> {
    let characters = || value.as_str().map_or(0, |text| text.chars().count());
    let items = || value.as_array().map_or(0, Vec::len);
    let keys = || value.as_object().map_or(0, serde_json::Map::len);
    let bound = |which: &str, limit: u64, what: &str, has: usize| {
        let plural = if limit == 1 { "" } else { "s" };
        format!("expected at {which} {limit} {what}{plural}, found {has}")
    };
    let at_least = |limit, what, has| bound("least", limit, what, has);
    let at_most = |limit, what, has| bound("most", limit, what, has);
    Some(match kind {
        ValidationErrorKind::MinLength { limit: 1 } => "the text is empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => at_least(*limit, "character", characters()),
        ValidationErrorKind::MaxLength { limit } => at_most(*limit, "character", characters()),
        ValidationErrorKind::MinItems { limit } => at_least(*limit, "item", items()),
        ValidationErrorKind::MaxItems { limit } => at_most(*limit, "item", items()),
        ValidationErrorKind::AdditionalItems { limit } => {
            at_most(*limit as u64, "item", items())
        }
        ValidationErrorKind::MinProperties { limit } => at_least(*limit, "key", keys()),
        ValidationErrorKind::MaxProperties { limit } => at_most(*limit, "key", keys()),
        ValidationErrorKind::Minimum { limit } => {
            format!("expected {limit} or more, found {}", json(value))
        }
        ValidationErrorKind::Maximum { limit } => {
            format!("expected {limit} or less, found {}", json(value))
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("expected more than {limit}, found {}", json(value))
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            format!("expected less than {limit}, found {}", json(value))
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("expected a multiple of {multiple_of}, found {}", json(value))
        }
        ValidationErrorKind::UniqueItems => "the items must all be different".to_owned(),
        _ => return None,
    })
}

/// What the library says, without a whole payload in it.
fn brief_error(error: &ValidationError<'_>) -> String {
    error.masked_with(found(error.instance())).to_string()
}

fn quoted(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("`{text}`")).collect()
}
