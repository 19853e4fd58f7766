//! `sandbox` of an agent: the files and hosts that its program reaches.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The word for the directory of a thread in `write` and `read`.
pub const WORKSPACE: &str = "workspace";

/// Ports of a host that is listed without one.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The port of a secret's host, unless another is given.
const TLS_PORT: u16 = 443;

/// The sandbox of an agent's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPolicy {
    /// `write`: files and directories that it can change; [`WORKSPACE`] or paths.
    pub write: Vec<String>,
    /// `read`: files and directories that it can read, besides the system's; `None` for everything but secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// `network`: the hosts that it can reach.
    pub network: NetworkPolicy,
    /// `secrets`: variables that uwf replaces in requests to a host, so that the program does not see their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretHost>,
}

/// The hosts that a program can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NetworkPolicy {
    /// All.
    Open,
    /// None.
    None,
    /// These.
    Hosts(Vec<HostPattern>),
}

/// A host with its port, or all hosts below a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    /// The name in lower case, or an address.
    name: String,
    /// Whether it stands for every name below the domain `name`.
    is_wildcard: bool,
    port: Option<u16>,
}

/// The host that gets a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretHost {
    /// Its name in lower case, or its address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether uwf speaks TLS to it. Only an address of this machine can do without.
    pub has_tls: bool,
}

impl HostPattern {
    /// Parses `host`, `host:port` or `*.domain`.
    ///
    /// # Errors
    /// The reason why the text has none of these forms.
    pub fn parse(text: &str) -> Result<HostPattern, String> {
        if text.contains("://") || text.contains('/') {
            return Err(format!("`{text}` is a URL; write only the host, such as `api.example.org`"));
        }
        if text == "*" {
            return Err("`*` would be every host; leave `network` out for that".to_owned());
        }
        let (name, port) = split_port(text)?;
        let (name, is_wildcard) = match name.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (name, false),
        };
        let name = name.to_ascii_lowercase();
        if is_wildcard && !name.contains('.') {
            return Err(format!("`{text}` is too wide: name a domain, such as `*.example.org`"));
        }
        if !(is_name(&name) || !is_wildcard && name.parse::<IpAddr>().is_ok()) {
            return Err(format!("`{text}` is not a host"));
        }
        Ok(HostPattern { name, is_wildcard, port })
    }

    /// Whether it includes a port of a host, which is a name without a final dot, or an address.
    #[must_use]
    pub fn includes(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let is_host = match self.is_wildcard {
            true => host.strip_suffix(&self.name).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            false => host == self.name || same_address(&host, &self.name),
        };
        is_host && self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// Whether it names one host, not a domain.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.is_wildcard
    }
}

impl SecretHost {
    /// Parses `host`, `host:port`, or `http://` with an address of this machine.
    ///
    /// # Errors
    /// The reason why the text has none of these forms.
    pub fn parse(text: &str) -> Result<SecretHost, String> {
        let (rest, has_tls) = match text.split_once("://") {
            Some(("https", rest)) => (rest, true),
            Some(("http", rest)) => (rest, false),
            Some(_) => return Err(format!("`{text}` is not a host")),
            None => (text, true),
        };
        let (name, port) = split_port(rest.trim_end_matches('/'))?;
        let host = name.to_ascii_lowercase();
        let address = host.parse::<IpAddr>().ok();
        if !(is_name(&host) || address.is_some()) {
            return Err(format!("`{text}` is not one host"));
        }
        let is_own = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        if !has_tls && !is_own {
            return Err(format!("`{text}` would send the secret unencrypted; leave `http://` out"));
        }
        Ok(SecretHost { host, port: port.unwrap_or(if has_tls { TLS_PORT } else { USUAL_PORTS[0] }), has_tls })
    }
}

/// A host and its port. An IPv6 address with a port is in brackets.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')),
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port != 0));
    match port {
        Some(None) => Err(format!("`{text}` has no valid port")),
        port => Ok((name, port.flatten())),
    }
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() < 64
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // A name that ends with a number would be read as an address by some programs: `127.1`, `0x7f.1`.
    let ends_with_letter = || {
        let last = name.rsplit('.').next().unwrap_or_default();
        last.starts_with(|first: char| first.is_ascii_alphabetic()) && !last.starts_with("0x")
    };
    name.len() < 254 && name.split('.').all(is_label) && ends_with_letter()
}

fn same_address(one: &str, other: &str) -> bool {
    let address = |text: &str| text.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    address(one).is_some_and(|one| address(other) == Some(one))
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.is_wildcard { "*." } else { "" };
        match self.port {
            Some(port) if self.name.contains(':') => write!(f, "[{}]:{port}", self.name),
            Some(port) => write!(f, "{star}{}:{port}", self.name),
            None => write!(f, "{star}{}", self.name),
        }
    }
}

impl fmt::Display for SecretHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.has_tls { "" } else { "http://" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}{}:{}", self.host, self.port),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<HostPattern, String> {
        HostPattern::parse(&text)
    }
}

impl From<HostPattern> for String {
    fn from(host: HostPattern) -> String {
        host.to_string()
    }
}

impl TryFrom<String> for SecretHost {
    type Error = String;

    fn try_from(text: String) -> Result<SecretHost, String> {
        SecretHost::parse(&text)
    }
}

impl From<SecretHost> for String {
    fn from(host: SecretHost) -> String {
        host.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_includes_only_its_names_and_ports() {
        let includes = |pattern: &str, host: &str, port| HostPattern::parse(pattern).unwrap().includes(host, port);
        assert!(includes("api.example.org", "API.example.org", 443));
        assert!(includes("api.example.org", "api.example.org", 80));
        assert!(!includes("api.example.org", "api.example.org", 22));
        assert!(includes("api.example.org:22", "api.example.org", 22));
        assert!(!includes("api.example.org:22", "api.example.org", 443));
        assert!(!includes("example.org", "api.example.org", 443));
        assert!(includes("*.example.org", "a.b.example.org", 443));
        for host in ["example.org", ".example.org", "evilexample.org", "example.org.evil.net"] {
            assert!(!includes("*.example.org", host, 443), "{host}");
        }
        assert!(includes("127.0.0.1:8080", "127.0.0.1", 8080));
        assert!(includes("::1", "::1", 443));
        assert!(includes("127.0.0.1", "::ffff:127.0.0.1", 443));
    }

    #[test]
    fn malformed_host_is_rejected() {
        for text in ["https://a.org", "a.org/x", "*", "*.org", "a..org", "", "a.org:0", "a.org:99999", "127.1", "a b"] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
        for text in ["a.org", "a.org:8443", "*.a.org", "10.0.0.1:80", "[::1]:8080", "localhost:3000"] {
            assert_eq!(HostPattern::parse(text).map(|host| host.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn secret_leaves_this_machine_only_encrypted() {
        let shown = |text: &str| SecretHost::parse(text).map(|host| host.to_string());
        assert_eq!(shown("api.example.org"), Ok("api.example.org:443".to_owned()));
        assert_eq!(shown("http://127.0.0.1:8080"), Ok("http://127.0.0.1:8080".to_owned()));
        assert!(shown("http://api.example.org").unwrap_err().contains("unencrypted"));
        assert!(shown("*.example.org").is_err());
    }
}
