//! Kinds of text in `config.yaml`: the schema of each, for editors, and its rule, which explains errors.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::is_date;
use super::notify::NtfyConfig;
use super::otel::{OtelConfig, is_header_name};
use super::sandbox::{HostPattern, SecretHost};
use super::secret::is_variable;
use super::store::{LONGEST_LEASE, SHORTEST_LEASE, StoreUrl};
use super::worktree::GitRemote;
use crate::document::by_schema::TextFault;
use crate::document::{DurationText, parse_duration};
use crate::label::{DELIVERY_LABEL, HOOK_LABEL, LabelFilter};
use crate::moderator::PayloadExpression;

/// Most characters of a hook's name.
const LONGEST_HOOK_NAME: usize = 64;

/// Types without values: each stands for a kind of text in the schema of a field.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident $schema:tt)*) => {
        $(
            $(#[$about])*
            pub(super) enum $kind {}

            impl JsonSchema for $kind {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($kind).into()
                }

                fn inline_schema() -> bool {
                    true
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($schema)
                }
            }
        )*
    };
}

kinds! {
    /// A text that is not just white space.
    NotBlank { "type": "string", "format": "not-blank", "pattern": r"\S" }
    /// An argument of a program: a number or a boolean needs no quotes.
    Argument { "type": ["string", "number", "boolean", "null"], "title": "a text", "format": "as-written" }
    /// The value of a variable.
    VariableValue { "type": ["string", "number", "boolean"], "title": "a text", "format": "variable-value" }
    /// A topic of ntfy.
    Topic { "type": "string", "format": "ntfy-topic", "pattern": "^[A-Za-z0-9_-]{1,64}$" }
    /// The name of an environment variable, and not the key of a provider.
    Variable {
        "type": "string",
        "format": "variable",
        "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
        "not": { "allOf": [{ "minLength": 20 }, { "pattern": "[a-z]" }, { "pattern": "[0-9]" }] }
    }
    /// The URL of a shared store.
    StoreUrlText {
        "type": "string",
        "format": "store-url",
        "pattern": "^(s3|gs|gcs|az|azure|abfss?|postgres|postgresql)://\\S+$"
    }
    /// A JSONata expression over the payload of a delivery.
    Expression { "type": "string", "format": "payload-expression", "pattern": r"\S" }
    /// A remote of git.
    RemoteText { "type": "string", "format": "git-remote", "pattern": "^[^-\\s]\\S*$" }
    /// The address of a collector.
    Address { "type": "string", "format": "address", "pattern": "^https?://\\S+$" }
    /// A host of a sandbox.
    HostText { "type": "string", "format": "host", "pattern": "^[^/\\s]+$" }
    /// The host that gets a secret.
    SecretHostText { "type": "string", "format": "secret-host", "pattern": "^\\S+$" }
    /// The value of a header.
    HeaderValue { "type": "string", "format": "header-value", "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$" }
    /// A day.
    Day {
        "type": "string",
        "format": "day",
        "pattern": "^([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
    }
    /// A currency.
    Currency { "type": "string", "format": "currency", "pattern": "^[A-Z]{3}$" }
}

/// How long a lease is.
pub(super) enum LeaseText {}

impl JsonSchema for LeaseText {
    fn schema_name() -> Cow<'static, str> {
        "LeaseText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        DurationText::schema("lease")
    }
}

/// The schema of names of variables.
pub(super) fn variable_names() -> Schema {
    Variable::json_schema(&mut SchemaGenerator::default())
}

/// The schema of names of headers.
pub(super) fn header_names() -> Schema {
    json_schema!({ "format": "header-name", "pattern": "^[A-Za-z0-9_.-]+$" })
}

/// The schema of names of hooks.
pub(super) fn hook_names() -> Schema {
    json_schema!({ "format": "hook-name", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$" })
}

/// The schema of keys of labels that a hook sets.
pub(super) fn label_keys() -> Schema {
    json_schema!({ "format": "label-key", "pattern": "^[^\\s=]{1,64}$", "not": { "enum": [HOOK_LABEL, DELIVERY_LABEL] } })
}

/// The schema of exit statuses as keys.
pub(super) fn exit_statuses() -> Schema {
    json_schema!({ "format": "exit-status", "pattern": "^[+]?0*(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[0-9]{1,2})$" })
}

/// The error in the text at `key`, by its format.
pub(super) fn fault(format: &str, key: &str, text: &str) -> Option<TextFault> {
    let bad_value = |message: String, hint: Option<&str>| {
        Some(TextFault { code: "bad-value", message, hint: hint.map(str::to_owned) })
    };
    match format {
        "variable" if !is_variable(text) => Some(TextFault {
            code: "not-a-variable",
            // It is probably the secret itself, so don't repeat it in the message.
            message: format!("`{key}` holds something that is not the name of an environment variable"),
            hint: Some("put the secret itself into `.env`, and the variable's name here".to_owned()),
        }),
        "lease" => DurationText::fault("duration", key, text)
            .or_else(|| lease_fault(parse_duration(text)?).and_then(|why| bad_value(why, None))),
        "ntfy-topic" if !NtfyConfig::is_topic(text) => bad_value(
            format!("`{key}` is `{text}`, which is not a topic of ntfy"),
            Some("a topic has up to 64 letters, digits, `-` and `_`"),
        ),
        "store-url" => StoreUrl::parse(text).err().and_then(|why| bad_value(why, None)),
        "payload-expression" => expression_fault(key, text),
        "hook-name" if !is_hook_name(text) => bad_value(
            format!("`{text}` can't be the name of a hook"),
            Some(&format!("it is part of a path: letters, digits, `-`, `_` and `.`, at most {LONGEST_HOOK_NAME}")),
        ),
        "label-key" if [HOOK_LABEL, DELIVERY_LABEL].contains(&text) => {
            bad_value(format!("each thread of a hook has a label `{text}` anyway"), Some("choose another key"))
        }
        "label-key" => label_key_fault(text).and_then(|why| bad_value(why, None)),
        "host" => HostPattern::parse(text).err().and_then(|why| bad_value(why, None)),
        "secret-host" => SecretHost::parse(text).err().and_then(|why| bad_value(why, None)),
        "git-remote" => GitRemote::parse(text).err().and_then(|why| bad_value(why, None)),
        "address" if !OtelConfig::is_address(text) => bad_value(
            format!("`{key}` is `{text}`, which is not an address"),
            Some("write it as http://localhost:4318; `/v1/traces` is added"),
        ),
        "header-name" if !is_header_name(text) => bad_value(
            format!("`{text}` is not the name of a header"),
            Some("a name has letters, digits, `-`, `_` and `.`"),
        ),
        "header-value" if text.chars().any(char::is_control) => {
            bad_value(format!("the value of `{key}` has more than one line"), Some("a header has one"))
        }
        "exit-status" if exit_status(text).is_none() => {
            bad_value(format!("`{text}` is not an exit status; it can be 0 to 255"), None)
        }
        "day" if !is_date(text) => {
            bad_value(format!("`{key}` is `{text}`, which is not a day"), Some("write it as 2026-11-01"))
        }
        "currency" if !(text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())) => {
            bad_value(format!("`{key}` is `{text}`; it can be three capital letters, such as USD or EUR"), None)
        }
        _ => DurationText::fault(format, key, text),
    }
}

fn expression_fault(key: &str, text: &str) -> Option<TextFault> {
    let error = PayloadExpression::compile(text).err()?;
    let message = format!("`{key}`: {}{}", error.message, error.code_and_place());
    Some(TextFault { code: "bad-expression", message, hint: error.hint })
}

/// Whether a text can be the name of a hook, which is a part of a path.
fn is_hook_name(text: &str) -> bool {
    let is_plain = text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_.".contains(symbol));
    is_plain && (1..=LONGEST_HOOK_NAME).contains(&text.len()) && !text.starts_with('.')
}

/// Why a text can't be the key of a label.
fn label_key_fault(text: &str) -> Option<String> {
    if text.contains('=') {
        return Some(format!("the key of the label `{text}` contains `=`"));
    }
    text.parse::<LabelFilter>().err().map(|why| format!("label `{text}`: {why}"))
}

fn lease_fault(lease: Duration) -> Option<String> {
    if lease < SHORTEST_LEASE {
        let shortest = SHORTEST_LEASE.as_secs();
        return Some(format!(
            "a lease is at least {shortest}s: a machine that cannot renew it must end its agent in time"
        ));
    }
    (lease > LONGEST_LEASE)
        .then(|| "a lease is at most 1h, because other machines wait that long for a machine that is gone".to_owned())
}

/// Parses an exit status.
pub(super) fn exit_status(text: &str) -> Option<i32> {
    text.parse().ok().filter(|code| (0..=255).contains(code))
}
