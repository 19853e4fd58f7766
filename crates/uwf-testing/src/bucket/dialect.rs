//! Differences between providers of buckets.
//!
//! Google as documented: <https://cloud.google.com/storage/docs/xml-api/reference-headers>,
//! <https://cloud.google.com/storage/docs/request-preconditions>.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::http::{BucketServerRequest, BucketServerResponse};

/// A token that Google's server accepts, in addition to tokens signed by a service account.
pub(super) const TOKEN: &str = "emulator";

/// The token that a Google machine gets.
const MACHINE_TOKEN: &str = "of-this-machine";

/// Generations are numbers of microseconds.
const FIRST_GENERATION: u64 = 1_700_000_000_000_000;

/// The API of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BucketDialect {
    S3,
    Google,
}

/// Condition of a write.
pub(super) enum BucketWriteCondition<'r> {
    Always,
    Absent,
    SameTag(&'r str),
    SameGeneration(u64),
}

impl BucketDialect {
    pub(super) fn scheme(self) -> &'static str {
        match self {
            BucketDialect::S3 => "s3://",
            BucketDialect::Google => "gs://",
        }
    }

    /// Environment variables of a process that can use the server.
    pub(super) fn variables(self, endpoint: &str) -> Vec<(&'static str, &str)> {
        match self {
            BucketDialect::S3 => vec![
                ("AWS_ENDPOINT_URL", endpoint),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", "AKIATEST"),
                ("AWS_SECRET_ACCESS_KEY", "hush-this-is-secret"),
            ],
            BucketDialect::Google => vec![("STORAGE_EMULATOR_HOST", endpoint)],
        }
    }

    pub(super) fn condition(self, request: &BucketServerRequest) -> BucketWriteCondition<'_> {
        match self {
            BucketDialect::S3 => match (request.header("if-none-match"), request.header("if-match")) {
                (_, Some(tag)) => BucketWriteCondition::SameTag(tag),
                (Some("*"), None) => BucketWriteCondition::Absent,
                (_, None) => BucketWriteCondition::Always,
            },
            BucketDialect::Google => match request.header("x-goog-if-generation-match") {
                None => BucketWriteCondition::Always,
                Some("0") => BucketWriteCondition::Absent,
                // A generation that is not a number matches no object.
                Some(number) => BucketWriteCondition::SameGeneration(number.parse().unwrap_or_default()),
            },
        }
    }

    /// Generation and tag of the write with this number. Google's tag depends on the contents: it recurs with them, and the generation does
    /// not.
    pub(super) fn version(self, number: u64, bytes: &[u8]) -> (u64, String) {
        match self {
            BucketDialect::S3 => (number, format!("\"{number:032x}\"")),
            BucketDialect::Google => {
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                (FIRST_GENERATION + number, format!("\"{:032x}\"", hasher.finish()))
            }
        }
    }

    /// The answer to an unauthorised client, or to a request for a token.
    pub(super) fn lets_nobody_in(self, request: &BucketServerRequest) -> Option<BucketServerResponse> {
        if self == BucketDialect::S3 {
            return None;
        }
        if request.path == "/computeMetadata/v1/instance/service-accounts/default/token" {
            return Some(match request.header("metadata-flavor") {
                Some("Google") => BucketServerResponse {
                    body: format!(r#"{{"access_token":"{MACHINE_TOKEN}","expires_in":3600,"token_type":"Bearer"}}"#)
                        .into(),
                    ..BucketServerResponse::empty("200 OK")
                },
                _ => BucketServerResponse::empty("403 Forbidden"),
            });
        }
        let token = request.header("authorization").and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default();
        // Signatures are not checked.
        let is_signed = token.split('.').count() == 3;
        let is_known = [TOKEN, MACHINE_TOKEN].contains(&token) || is_signed;
        (!is_known).then(|| BucketServerResponse::error("401 Unauthorized", "AuthenticationRequired"))
    }
}
