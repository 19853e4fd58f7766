//! Address of a gateway.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use axum::http::Uri;

/// The address of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayUrl {
    is_tls: bool,
    host: String,
    port: Option<u16>,
}

/// Why a text is not a valid gateway address.
#[derive(Debug, thiserror::Error)]
#[error("{url:?} is not the address of a gateway: {why}")]
pub struct NotAUrl {
    url: String,
    why: &'static str,
}

impl GatewayUrl {
    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Whether the connection stays on this machine.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host().parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Host name or IP address.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(if self.is_tls { 443 } else { 80 })
    }

    /// Host and port, as a proxy expects them.
    pub(crate) fn target(&self) -> String {
        format!("{}:{}", self.host, self.port())
    }

    /// The address of a WebSocket on the gateway.
    pub(crate) fn socket(&self, path: &str) -> String {
        let scheme = if self.is_tls { "wss" } else { "ws" };
        format!("{scheme}://{}{path}", self.authority())
    }

    fn authority(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_tls { "https" } else { "http" }, self.authority())
    }
}

impl FromStr for GatewayUrl {
    type Err = NotAUrl;

    fn from_str(text: &str) -> Result<GatewayUrl, NotAUrl> {
        let fail = |why| NotAUrl { url: text.to_owned(), why };
        let uri: Uri = text.trim().parse().map_err(|_| fail("it cannot be read"))?;
        let is_tls = match uri.scheme_str() {
            Some("https" | "wss") => true,
            Some("http" | "ws") => false,
            _ => return Err(fail("it begins with https:// or http://")),
        };
        let Some(authority) = uri.authority().filter(|authority| !authority.host().is_empty()) else {
            return Err(fail("it names no machine"));
        };
        if authority.as_str().contains('@') {
            // Anyone who can list processes would see it.
            return Err(fail("it must not contain the token, which belongs into WORKFLOW_GATEWAY_TOKEN"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(fail("it has no path"));
        }
        Ok(GatewayUrl { is_tls, host: authority.host().to_owned(), port: authority.port_u16() })
    }
}

#[cfg(test)]
mod tests {
    use super::GatewayUrl;

    #[test]
    fn url_has_scheme_host_and_port() {
        let parsed = |text: &str| text.parse::<GatewayUrl>();
        let shown = |text: &str| parsed(text).map(|url| (url.to_string(), url.socket("/x"), url.port())).unwrap();
        let full = |url: &str, socket: &str, port| (url.to_owned(), socket.to_owned(), port);
        assert_eq!(shown("https://g.example"), full("https://g.example", "wss://g.example/x", 443));
        assert_eq!(shown("wss://g.example:8443/"), full("https://g.example:8443", "wss://g.example:8443/x", 8443));
        assert_eq!(shown("http://[::1]:7717"), full("http://[::1]:7717", "ws://[::1]:7717/x", 7717));
        assert_eq!(parsed("http://[::1]:7717").unwrap().host(), "::1");
        assert!(parsed("http://[::1]").unwrap().is_loopback() && parsed("http://localhost").unwrap().is_loopback());
        assert!(!parsed("http://10.0.0.1").unwrap().is_loopback());
        for other in ["g.example", "ftp://g", "https://", "https://u:p@g", "https://g/path", "https://g?x=1", ""] {
            assert!(parsed(other).is_err(), "{other}");
        }
    }
}
