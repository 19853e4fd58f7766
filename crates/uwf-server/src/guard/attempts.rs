//! Limits attempts to guess the secret, or the secret of a hook.
//!
//! A secret that uwf generated has 160 bits. Guessing it is hopeless at any rate, so it is accepted after any number of wrong attempts, and
//! an attacker can't lock its owner out. A secret that a person chose may be weak, so attempts are limited per address and for all
//! addresses together. Meanwhile browsers that are logged in stay so, and its owner can log in from an address that has used the secret
//! before, unless that address itself has tried too many wrong ones.

use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;

use super::token::{SecretComparison, ServerSecret};
use crate::failure::HttpFailure;

/// Wrong secrets that one address may try within [`WINDOW`].
const MOST: usize = 5;

/// Wrong secrets that all addresses together may try within [`WINDOW`].
const MOST_TOGETHER: usize = 100;

/// How long a wrong attempt counts.
const WINDOW: Duration = Duration::from_mins(1);

/// Addresses remembered because they have used the right secret.
const MOST_KNOWN: usize = 1000;

/// Origin of an attempt: an IPv4 address, or the network of an IPv6 host, which can choose among 2^64 addresses.
type Origin = Option<IpAddr>;

/// Result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginVerdict {
    /// The secret is right.
    Right,
    /// It is wrong.
    Wrong,
    /// There were too many wrong attempts before. If a person chose the secret, this one may still be right.
    TooMany(Duration),
}

/// Wrong attempts of the last minute, and addresses that have used the right secret.
#[derive(Default)]
pub(crate) struct LoginAttempts(Mutex<LoginHistory>);

#[derive(Default)]
struct LoginHistory {
    /// Oldest first; at most [`MOST_TOGETHER`].
    failed: VecDeque<(Origin, Instant)>,
    known: HashSet<Origin>,
}

impl LoginAttempts {
    /// Compares a given secret with the right one, unless there were too many wrong attempts.
    pub(crate) fn judge(&self, secret: &ServerSecret, given: &str, from: Option<IpAddr>) -> LoginVerdict {
        self.judge_comparison(secret.compare(given), from)
    }

    /// Judges a secret, or a signature made with one, that was compared before.
    pub(crate) fn judge_comparison(&self, compared: SecretComparison, from: Option<IpAddr>) -> LoginVerdict {
        let from = from.map(network);
        let mut inner = self.0.lock();
        let wait = inner.wait(from);
        match (compared, wait) {
            (SecretComparison::Strong, _) | (SecretComparison::Chosen, None) => {
                if inner.known.len() < MOST_KNOWN {
                    inner.known.insert(from);
                }
                LoginVerdict::Right
            }
            (SecretComparison::Chosen | SecretComparison::Wrong, Some(wait)) => LoginVerdict::TooMany(wait),
            (SecretComparison::Wrong, None) => {
                inner.failed.push_back((from, Instant::now()));
                LoginVerdict::Wrong
            }
        }
    }
}

impl LoginHistory {
    /// How long an address must wait before its next attempt; `None` if it may try now.
    fn wait(&mut self, from: Origin) -> Option<Duration> {
        while self.failed.front().is_some_and(|(_, at)| at.elapsed() >= WINDOW) {
            self.failed.pop_front();
        }
        let own: Vec<Instant> = self.failed.iter().filter(|(origin, _)| *origin == from).map(|(_, at)| *at).collect();
        let of_address = own.len().checked_sub(MOST).and_then(|index| own.get(index).copied());
        let of_all = self.failed.len().checked_sub(MOST_TOGETHER).and_then(|index| self.failed.get(index));
        let of_all = of_all.map(|(_, at)| *at).filter(|_| !self.known.contains(&from));
        let since = of_address.into_iter().chain(of_all).max()?;
        Some(WINDOW.saturating_sub(since.elapsed()))
    }
}

/// An IPv4 address, or the first half of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_none() && !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
        }
        address => address.to_canonical(),
    }
}

/// The answer to an attempt after too many.
pub(crate) fn too_many(secret: &ServerSecret, wait: Duration) -> Response {
    let hint = (!secret.is_chosen()).then_some("the link that `uwf serve` printed works at once");
    after_too_many("secrets", wait, hint)
}

/// The answer to a delivery after too many with a wrong signature.
pub(crate) fn too_many_signatures(wait: Duration) -> Response {
    after_too_many("signatures", wait, None)
}

fn after_too_many(what: &str, wait: Duration, hint: Option<&str>) -> Response {
    let seconds = wait.as_secs().max(1);
    let message = format!("too many wrong {what}; try again in {seconds} s");
    let failure = HttpFailure::new(StatusCode::TOO_MANY_REQUESTS, message);
    let failure = hint.into_iter().fold(failure, HttpFailure::hint);
    ([(header::RETRY_AFTER, seconds.to_string())], failure).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOSEN: &str = "a-secret-that-a-person-chose";

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    fn waits(verdict: LoginVerdict) -> bool {
        matches!(verdict, LoginVerdict::TooMany(wait) if wait > Duration::from_secs(50))
    }

    #[test]
    fn sixth_guess_delays_only_its_address() {
        let (attempts, secret) = (LoginAttempts::default(), ServerSecret::chosen(CHOSEN).unwrap());
        let [one, other] = [address("192.0.2.1"), address("192.0.2.2")];
        for _ in 0..MOST {
            assert_eq!(attempts.judge(&secret, "wrong", one), LoginVerdict::Wrong);
        }
        assert!(waits(attempts.judge(&secret, "wrong", one)) && waits(attempts.judge(&secret, CHOSEN, one)));
        assert_eq!(attempts.judge(&secret, CHOSEN, other), LoginVerdict::Right);
    }

    #[test]
    fn guesses_from_many_addresses_are_limited_together() {
        let (attempts, secret) = (LoginAttempts::default(), ServerSecret::chosen(CHOSEN).unwrap());
        let known = address("127.0.0.1");
        assert_eq!(attempts.judge(&secret, CHOSEN, known), LoginVerdict::Right);
        let guesses = (0..5000u32).map(|guess| Some(IpAddr::from((0x7f01_0000 + guess).to_be_bytes())));
        let compared = guesses.filter(|from| attempts.judge(&secret, "wrong", *from) == LoginVerdict::Wrong).count();
        assert_eq!(compared, MOST_TOGETHER);
        assert!(waits(attempts.judge(&secret, CHOSEN, address("127.0.0.2"))));
        assert_eq!(attempts.judge(&secret, CHOSEN, known), LoginVerdict::Right);
        assert_eq!(attempts.0.lock().failed.len(), MOST_TOGETHER);
    }

    #[test]
    fn owner_of_generated_secret_is_never_locked_out() {
        let dir = tempfile::tempdir().unwrap();
        let (attempts, secret) = (LoginAttempts::default(), ServerSecret::of_file(&dir.path().join("token")).unwrap());
        let from = address("127.0.0.1");
        let verdicts: Vec<LoginVerdict> = (0..20).map(|_| attempts.judge(&secret, "wrong", from)).collect();
        assert_eq!(verdicts.iter().filter(|verdict| **verdict == LoginVerdict::Wrong).count(), MOST);
        assert_eq!(attempts.judge(&secret, secret.text(), from), LoginVerdict::Right);
    }

    #[test]
    fn an_ipv6_host_has_one_network() {
        assert_eq!(network("2001:db8::1".parse().unwrap()), network("2001:db8::ffff:1".parse().unwrap()));
        assert_ne!(network("2001:db8:0:1::1".parse().unwrap()), network("2001:db8::1".parse().unwrap()));
        assert_eq!(network("::ffff:192.0.2.1".parse().unwrap()), network("192.0.2.1".parse().unwrap()));
        assert_eq!(network("::1".parse().unwrap()), "::1".parse::<IpAddr>().unwrap());
    }
}
