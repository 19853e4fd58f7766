//! Signatures of deliveries: HMAC-SHA256 with a secret that only sender and server know. All comparisons take the same time for every
//! wrong signature.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};
use uwf_core::config::HookSignature;

use crate::guard::token::SecretComparison;

/// Most seconds between the timestamp of a delivery and now, before or after, as the specification says.
const TOLERANCE: u64 = 5 * 60;

/// Prefix of secrets of the Standard Webhooks specification.
const STANDARD_PREFIX: &str = "whsec_";

/// Headers that may have the id of a delivery which is signed GitHub's way, in this order. The signature does not cover them.
const DELIVERY_HEADERS: [&str; 3] = ["x-github-delivery", "webhook-id", "idempotency-key"];

/// Bytes from which a secret can't be guessed, at any rate: the least that the specification of Standard Webhooks allows.
const UNGUESSABLE: usize = 24;

/// The key that verifies signatures.
pub(super) struct HookKey {
    key: hmac::Key,
    /// Whether its secret may be short enough to guess.
    is_weak: bool,
}

impl HookKey {
    /// The key of a secret; `None` if the secret does not have the form of its kind.
    pub(super) fn of_secret(signature: HookSignature, secret: &str) -> Option<HookKey> {
        let bytes = match signature {
            HookSignature::Github => secret.as_bytes().to_vec(),
            HookSignature::Standard => {
                let text = secret.strip_prefix(STANDARD_PREFIX).unwrap_or(secret).trim_end_matches('=');
                BASE64_NOPAD.decode(text.as_bytes()).ok()?
            }
        };
        let key = || HookKey { key: hmac::Key::new(HMAC_SHA256, &bytes), is_weak: bytes.len() < UNGUESSABLE };
        (!bytes.is_empty()).then(key)
    }
}

impl HookKey {
    /// How far a signature proves that its sender has the secret.
    pub(super) fn comparison(&self, is_verified: bool) -> SecretComparison {
        match (is_verified, self.is_weak) {
            (true, false) => SecretComparison::Strong,
            (true, true) => SecretComparison::Chosen,
            (false, _) => SecretComparison::Wrong,
        }
    }
}

/// Whether a text can be the secret of a hook.
pub fn is_hook_secret(signature: HookSignature, secret: &str) -> bool {
    HookKey::of_secret(signature, secret).is_some()
}

/// The id of a delivery if its signature is right.
pub(super) fn verified(signature: HookSignature, key: &HookKey, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    match signature {
        HookSignature::Github => of_github(key, headers, body),
        HookSignature::Standard => of_standard(key, headers, body, now()),
    }
}

fn of_github(key: &HookKey, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let given = only(headers, "x-hub-signature-256")?.strip_prefix("sha256=")?;
    let given = HEXLOWER_PERMISSIVE.decode(given.as_bytes()).ok()?;
    hmac::verify(&key.key, body, &given).ok()?;
    let named = DELIVERY_HEADERS.iter().find_map(|name| headers.get(*name));
    match named {
        Some(id) => id.to_str().ok().map(str::to_owned),
        None => Some(format!("sha256-{}", HEXLOWER.encode(digest(&SHA256, body).as_ref()))),
    }
}

fn of_standard(key: &HookKey, headers: &HeaderMap, body: &[u8], now: u64) -> Option<String> {
    let (id, at) = (only(headers, "webhook-id")?, only(headers, "webhook-timestamp")?);
    let is_recent = at.parse::<u64>().is_ok_and(|at| now.abs_diff(at) <= TOLERANCE);
    let signed = [id.as_bytes(), b".", at.as_bytes(), b".", body].concat();
    // While a secret is replaced, a sender signs with both.
    let given = only(headers, "webhook-signature")?.split(' ').filter_map(|one| one.strip_prefix("v1,"));
    let is_signed = given
        .filter_map(|one| BASE64.decode(one.as_bytes()).ok())
        .any(|one| hmac::verify(&key.key, &signed, &one).is_ok());
    (is_signed && is_recent).then(|| id.to_owned())
}

/// The value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    /// GitHub's documentation has this secret, body and signature.
    #[test]
    fn example_of_github_is_verified() {
        let key = HookKey::of_secret(HookSignature::Github, "It's a Secret to Everybody").unwrap();
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let id = |signature: &str, body: &[u8]| {
            of_github(&key, &headers(&[("x-hub-signature-256", signature), ("x-github-delivery", "d")]), body)
        };
        assert_eq!(id(right, b"Hello, World!").as_deref(), Some("d"));
        assert_eq!(id(&right.replace("757107EA", "757107ea"), b"Hello, World!").as_deref(), Some("d"));
        for (signature, body) in
            [(right, &b"Hello, World"[..]), (&right[..70], b"Hello, World!"), ("sha256=", b"Hello, World!"), ("", b"")]
        {
            assert_eq!(id(signature, body), None, "{signature}");
        }
        let twice = headers(&[("x-hub-signature-256", right), ("x-hub-signature-256", right)]);
        assert_eq!(of_github(&key, &twice, b"Hello, World!"), None);
        let unnamed = of_github(&key, &headers(&[("x-hub-signature-256", right)]), b"Hello, World!").unwrap();
        assert!(unnamed.starts_with("sha256-dffd6021bb2bd5b0"), "{unnamed}");
    }

    /// The specification has this secret, message and signature.
    #[test]
    fn standard_example_is_verified_within_five_minutes() {
        let key = HookKey::of_secret(HookSignature::Standard, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (id, at) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330);
        let verified = |signature: &str, now: u64| {
            let at = at.to_string();
            let sent = headers(&[("webhook-id", id), ("webhook-timestamp", &at), ("webhook-signature", signature)]);
            of_standard(&key, &sent, br#"{"test": 2432232314}"#, now)
        };
        let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(verified(right, at + 300).as_deref(), Some(id));
        assert_eq!(verified(&format!("v1,AAAA v1a,x {right}"), at - 300).as_deref(), Some(id));
        assert_eq!(verified(right, at + 301), None);
        assert_eq!(verified(right, at - 301), None);
        assert_eq!(verified(&right.replace("v1,g", "v1,h"), at), None);
        assert!(HookKey::of_secret(HookSignature::Standard, "not base64!").is_none());
    }
}
