//! Servers that give out keys. They are reached through the same transport as the store, but they are not the store: their requests are
//! not counted, and no clock is read from their answers.

use serde_json::Value;
use ureq::http::{Response, Uri};

use crate::failure::{BucketFailure, MAX_TOLD};

/// The servers that a provider may ask for keys, each as `host` or `host:port`.
#[derive(Debug)]
pub(crate) struct KeyServers {
    /// Servers that only cloud machines can reach; on other machines nothing answers.
    pub(crate) machines: Vec<String>,
    /// Login servers.
    pub(crate) logins: Vec<String>,
    /// The message if there are no keys anywhere, not even on the machine's server.
    pub(crate) none: &'static str,
}

/// The recipient of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    Store,
    Machine,
    Login,
}

impl KeyServers {
    pub(crate) fn asked(&self, uri: &Uri) -> RequestTarget {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let has = |servers: &[String]| servers.iter().any(|server| server == authority);
        if has(&self.machines) {
            RequestTarget::Machine
        } else if has(&self.logins) {
            RequestTarget::Login
        } else {
            RequestTarget::Store
        }
    }

    /// The failure on a machine that has no keys.
    pub(crate) fn no_keys(&self) -> BucketFailure {
        BucketFailure::NoKeys { reason: self.none.to_owned() }
    }

    /// The failure on a machine whose server gives no keys, either at all or at this moment.
    pub(crate) fn refused(&self, host: &str, answer: &Response<Vec<u8>>) -> BucketFailure {
        match answer.status().as_u16() {
            status if may_pass(status) => {
                BucketFailure::Silent { reason: format!("{host} gives no keys: it answered {status}") }
            }
            _ => self.no_keys(),
        }
    }
}

/// The `host` or `host:port` of a URL. A text without a scheme already is one.
pub(crate) fn authority(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// The failure of a login that the server rejects with an OAuth error.
pub(crate) fn no_login(host: &str, answer: &Response<Vec<u8>>) -> BucketFailure {
    let said: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let words = ["error", "error_description"].into_iter().filter_map(|key| said[key].as_str()?.lines().next());
    let words: String = words.collect::<Vec<_>>().join(": ").chars().take(MAX_TOLD).collect();
    let status = answer.status().as_u16();
    let reason = format!("{host} gives no token: it answered {status} {words}").trim_end().to_owned();
    if may_pass(status) { BucketFailure::Silent { reason } } else { BucketFailure::NoKeys { reason } }
}

/// Whether the same request may succeed a moment later.
fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_fails_says_why() {
        let answer =
            |status: u16, body: &str| Response::builder().status(status).body(body.as_bytes().to_vec()).unwrap();
        let refused =
            answer(401, r#"{"error":"invalid_client","error_description":"AADSTS7000215: wrong\r\nTrace ID: 1"}"#);
        let reason = "login.example gives no token: it answered 401 invalid_client: AADSTS7000215: wrong".to_owned();
        assert_eq!(no_login("login.example", &refused), BucketFailure::NoKeys { reason });
        let reason = "login.example gives no token: it answered 503".to_owned();
        assert_eq!(no_login("login.example", &answer(503, "<html>")), BucketFailure::Silent { reason });
    }

    #[test]
    fn servers_differ_by_host_and_port() {
        let servers = KeyServers { machines: vec!["a".into()], logins: vec![authority("http://b:1/x")], none: "" };
        let asked = |url: &str| servers.asked(&url.parse().unwrap());
        assert_eq!(asked("http://a/token"), RequestTarget::Machine);
        assert_eq!(asked("http://b:1/token"), RequestTarget::Login);
        assert_eq!((asked("http://a:2/"), asked("http://b/")), (RequestTarget::Store, RequestTarget::Store));
    }
}
