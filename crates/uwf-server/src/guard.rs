//! Authentication: host names of the server, its secret, and how often a client may try it.

pub(crate) mod attempts;
pub(crate) mod token;

use std::net::{IpAddr, SocketAddr};

use axum::http::{Extensions, HeaderMap, header};

use self::attempts::LoginAttempts;
use self::token::ServerSecret;
use crate::listener::ClientAddress;

/// Decides which requests are let in.
pub(crate) struct RequestGuard {
    address: SocketAddr,
    hosts: Vec<String>,
    pub(crate) secret: ServerSecret,
    pub(crate) attempts: LoginAttempts,
    /// Wrong signatures of hooks. They don't count for the secret, so that a sender with an old key locks nobody out.
    pub(crate) signatures: LoginAttempts,
    /// Whether this server itself uses TLS.
    pub(crate) has_tls: bool,
}

impl RequestGuard {
    pub(crate) fn new(address: SocketAddr, hosts: Vec<String>, secret: ServerSecret, has_tls: bool) -> RequestGuard {
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        RequestGuard {
            address,
            hosts,
            secret,
            attempts: LoginAttempts::default(),
            signatures: LoginAttempts::default(),
            has_tls,
        }
    }

    /// Name of the cookie. Browsers send the cookies of a host to all its ports, so each port has its own name.
    pub(crate) fn cookie(&self) -> String {
        format!("uwf-{}", self.address.port())
    }

    /// Whether a `Host` header names this server. Without this check, any page on the web could reach a server on loopback under a name
    /// that resolves there (DNS rebinding), and a browser would send it this server's cookie.
    pub(crate) fn is_own_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_address = name.parse::<IpAddr>().is_ok_and(|ip| ip == self.address.ip() || ip.is_loopback());
        is_address || name == "localhost" || self.hosts.contains(&name)
    }
}

/// The secret in `Authorization: Bearer SECRET`, the scheme in any case and before any blanks; `None` without such a header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, given) = value.trim().split_once([' ', '\t'])?;
    scheme.eq_ignore_ascii_case("bearer").then_some(given.trim())
}

/// Address of the client; attempts are counted by it.
pub(crate) fn peer(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ClientAddress>().map(|ClientAddress(address)| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str, hosts: &[&str]) -> RequestGuard {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        RequestGuard::new(address.parse().unwrap(), hosts, ServerSecret::chosen("x".repeat(20)).unwrap(), false)
    }

    #[test]
    fn only_names_of_this_server_are_its_hosts() {
        let guard = guard("127.0.0.1:7717", &["Box.example"]);
        for host in ["127.0.0.1:7717", "127.0.0.1", "localhost:7717", "LOCALHOST", "[::1]:7717", "box.example:443"] {
            assert!(guard.is_own_host(host), "{host}");
        }
        for host in ["evil.example", "evil.example:7717", "localhost.evil.example", "10.0.0.1", "", "127.0.0.1.evil"] {
            assert!(!guard.is_own_host(host), "{host}");
        }
    }
}
