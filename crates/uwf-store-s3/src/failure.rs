//! Failed requests, and what they say about the store.

use std::error::Error as StdError;
use std::fmt;

use json_cas::RemoteFault;
use ureq::http::Response;

/// Longest server message that is repeated.
pub(crate) const MAX_TOLD: usize = 200;

/// Why a request had no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BucketFailure {
    /// The answer was missing or incomplete.
    Silent {
        /// The cause.
        reason: String,
    },
    /// No keys were found anywhere.
    NoKeys {
        /// The places that were searched.
        reason: String,
    },
    /// The server reported a failure.
    Refused {
        /// HTTP status.
        status: u16,
        /// The provider's error code, for example `AccessDenied`; empty if the answer had none.
        code: String,
        /// The message of the server.
        message: String,
    },
}

/// The text of an XML element in an answer.
fn element(answer: &Response<Vec<u8>>, name: &str) -> Option<String> {
    let body = String::from_utf8_lossy(answer.body());
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text.trim().to_owned())
}

fn header<'a>(answer: &'a Response<Vec<u8>>, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// The error code of an answer. Azure also sends it in a header, because an answer to HEAD has no body.
pub(crate) fn code(answer: &Response<Vec<u8>>) -> String {
    let named = header(answer, "x-ms-error-code").map(str::to_owned);
    named.or_else(|| element(answer, "Code")).unwrap_or_default()
}

/// Whether the code says that the bucket, not an object in it, is missing.
pub(crate) fn is_of_missing_bucket(code: &str) -> bool {
    matches!(code, "NoSuchBucket" | "ContainerNotFound")
}

impl BucketFailure {
    /// The failure in an answer with an error status.
    pub(crate) fn refused(answer: &Response<Vec<u8>>) -> BucketFailure {
        let status = answer.status().as_u16();
        let message = match header(answer, "x-amz-bucket-region").filter(|_| matches!(status, 301 | 307 | 400)) {
            Some(region) => format!("the bucket is in the region {region}: set AWS_REGION"),
            // The other lines of Azure's message only repeat the request id and the time.
            None => element(answer, "Message").unwrap_or_default().lines().next().unwrap_or_default().to_owned(),
        };
        let told = message.chars().filter(|symbol| !symbol.is_control()).take(MAX_TOLD).collect();
        BucketFailure::Refused { status, code: code(answer), message: told }
    }

    /// Whether the same request may succeed a moment later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            BucketFailure::Silent { .. } => true,
            BucketFailure::NoKeys { .. } => false,
            // 409: another process is writing the same object at this moment, and the server doesn't say which write wins.
            BucketFailure::Refused { status, code, .. } => {
                matches!(status, 408 | 409 | 429 | 500..) || matches!(&**code, "RequestTimeout" | "SlowDown")
            }
        }
    }

    /// The problem of the store that the failure indicates.
    pub(crate) fn fault(&self) -> RemoteFault {
        match self {
            BucketFailure::Silent { .. } => RemoteFault::Unreachable,
            BucketFailure::NoKeys { .. } => RemoteFault::Denied,
            BucketFailure::Refused { code, .. } if is_of_missing_bucket(code) => RemoteFault::Missing,
            BucketFailure::Refused { status: 401 | 403, .. } => RemoteFault::Denied,
            BucketFailure::Refused { code, .. } if matches!(&**code, "ExpiredToken" | "InvalidToken") => {
                RemoteFault::Denied
            }
            BucketFailure::Refused { .. } => RemoteFault::Failed,
        }
    }
}

impl fmt::Display for BucketFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BucketFailure::Silent { reason } | BucketFailure::NoKeys { reason } => f.write_str(reason),
            BucketFailure::Refused { status, code, message: told } => {
                write!(f, "the server answered {status}")?;
                if !code.is_empty() {
                    write!(f, " {code}")?;
                }
                if !told.is_empty() {
                    write!(f, ": {}", told.trim_end_matches('.'))?;
                }
                Ok(())
            }
        }
    }
}

impl StdError for BucketFailure {}

/// The failure inside an error of the client library.
pub(crate) fn inside(error: &object_store::Error) -> BucketFailure {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    let mut last = error.to_string();
    while let Some(error) = cause {
        if let Some(failure) = error.downcast_ref::<BucketFailure>() {
            return failure.clone();
        }
        last = error.to_string();
        cause = error.source();
    }
    // The library could not read an answer. The innermost reason is about the answer's contents and contains no URL and no key.
    BucketFailure::Refused { status: 200, code: String::new(), message: last.chars().take(MAX_TOLD).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &[u8], header: Option<(&str, &str)>) -> BucketFailure {
        let answer = Response::builder().status(status);
        let answer = header.into_iter().fold(answer, |answer, (name, value)| answer.header(name, value));
        BucketFailure::refused(&answer.body(body.to_vec()).unwrap())
    }

    #[test]
    fn an_answer_says_what_is_wrong() {
        let body = b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message>\
            <AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        let denied = refused(403, body, None);
        assert_eq!(denied.to_string(), "the server answered 403 AccessDenied: Access Denied");
        assert_eq!((denied.fault(), denied.may_pass()), (RemoteFault::Denied, false));

        let slow = refused(503, b"<Error><Code>SlowDown</Code></Error>", None);
        assert_eq!(slow.to_string(), "the server answered 503 SlowDown");
        assert_eq!((slow.fault(), slow.may_pass()), (RemoteFault::Failed, true));

        let missing = refused(404, b"<Error><Code>NoSuchBucket</Code></Error>", None);
        assert_eq!((missing.fault(), missing.may_pass()), (RemoteFault::Missing, false));

        let elsewhere = refused(301, b"", Some(("x-amz-bucket-region", "eu-west-1")));
        assert!(elsewhere.to_string().ends_with("the bucket is in the region eu-west-1: set AWS_REGION"));
    }

    #[test]
    fn azure_errors_use_code_header_and_one_line() {
        let missing = refused(404, b"", Some(("x-ms-error-code", "ContainerNotFound")));
        assert_eq!((missing.fault(), missing.may_pass()), (RemoteFault::Missing, false));

        let body = b"<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate.\nRequestId:1\n\
            Time:2</Message><AuthenticationErrorDetail>The MAC signature is hush</AuthenticationErrorDetail></Error>";
        let denied = refused(403, body, None);
        assert_eq!(denied.to_string(), "the server answered 403 AuthenticationFailed: Server failed to authenticate");
        assert_eq!(denied.fault(), RemoteFault::Denied);
    }
}
