//! The proxy's connection to a host.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use uwf_core::config::{HostPattern, SecretHost};

/// Time to connect to one address.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// The name of this machine.
const LOCALHOST: &str = "localhost";

/// A connection to a host.
pub(super) enum HostConnection {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Why there is no connection.
pub(super) enum HostConnectionFault {
    /// The name has an address that it must not have.
    Forbidden(IpAddr),
    /// The host cannot be reached.
    Failed(String),
}

impl HostConnection {
    /// Connects to a host that a pattern of the policy includes.
    pub(super) fn connect(target: &SecretHost, listed: &HostPattern) -> Result<HostConnection, HostConnectionFault> {
        let fail = |error: &dyn std::fmt::Display| HostConnectionFault::Failed(error.to_string());
        let stream = connect(target, listed)?;
        if !target.has_tls {
            return Ok(HostConnection::Plain(stream));
        }
        let name = ServerName::try_from(target.host.clone()).map_err(|error| fail(&error))?;
        let config = tls().map_err(HostConnectionFault::Failed)?;
        let connection = ClientConnection::new(Arc::new(config), name).map_err(|error| fail(&error))?;
        Ok(HostConnection::Encrypted(Box::new(StreamOwned::new(connection, stream))))
    }

    /// The connection itself, for a program that encrypts what it sends.
    pub(super) fn into_stream(self) -> io::Result<TcpStream> {
        match self {
            HostConnection::Plain(stream) => Ok(stream),
            HostConnection::Encrypted(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl Read for HostConnection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            HostConnection::Plain(stream) => stream.read(bytes),
            HostConnection::Encrypted(stream) => stream.read(bytes),
        }
    }
}

impl Write for HostConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            HostConnection::Plain(stream) => stream.write(bytes),
            HostConnection::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            HostConnection::Plain(stream) => stream.flush(),
            HostConnection::Encrypted(stream) => stream.flush(),
        }
    }
}

/// A connection to the first address that answers. All addresses must be allowed, so that a name cannot hide one among others.
fn connect(target: &SecretHost, listed: &HostPattern) -> Result<TcpStream, HostConnectionFault> {
    let fail = |error: &dyn std::fmt::Display| HostConnectionFault::Failed(error.to_string());
    let found = (target.host.as_str(), target.port).to_socket_addrs().map_err(|error| fail(&error))?;
    let found: Vec<SocketAddr> = found.collect();
    if let Some(address) = found.iter().map(SocketAddr::ip).find(|address| !allows(listed, &target.host, *address)) {
        return Err(HostConnectionFault::Forbidden(address));
    }
    let mut last = fail(&"the name has no address");
    for address in &found {
        match TcpStream::connect_timeout(address, CONNECT_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = fail(&error),
        }
    }
    Err(last)
}

/// Whether a listed host may have an address. A name must not stand for this machine, its neighbours on the cable, or the service with the
/// keys of a virtual machine. A name below a domain must not stand for a private network either: the owner of the domain could add it.
fn allows(listed: &HostPattern, host: &str, address: IpAddr) -> bool {
    if host.parse::<IpAddr>().is_ok() {
        return true;
    }
    let address = embedded(address.to_canonical());
    if host == LOCALHOST {
        return address.is_loopback();
    }
    let is_local = match address {
        IpAddr::V4(v4) => {
            v4.is_loopback() || v4.is_link_local() || v4.is_broadcast() || v4.is_multicast() || v4.octets()[0] == 0
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local() || v6.is_multicast(),
    };
    !is_local && (listed.is_exact() || !is_private(address))
}

fn is_private(address: IpAddr) -> bool {
    match address {
        // Also the network between a provider and its customers.
        IpAddr::V4(v4) => v4.is_private() || (v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64),
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

/// The address of the old kind in one that a gateway translates (`64:ff9b::/96`).
fn embedded(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        other => other,
    }
}

/// TLS with Mozilla's root certificates, or those in `SSL_CERT_FILE`.
fn tls() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) {
        Some(path) => {
            let fail = |error: &dyn std::fmt::Display| format!("SSL_CERT_FILE: {error}");
            for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| fail(&error))? {
                roots.add(certificate.map_err(|error| fail(&error))?).map_err(|error| fail(&error))?;
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_no_local_address() {
        let allows = |pattern: &str, host: &str, address: &str| {
            allows(&HostPattern::parse(pattern).unwrap(), host, address.parse().unwrap())
        };
        for address in [
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "169.254.169.254",
            "fe80::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "224.0.0.1",
        ] {
            assert!(!allows("a.example.org", "a.example.org", address), "{address}");
        }
        assert!(allows("a.example.org", "a.example.org", "93.184.216.34"));
        assert!(allows("git.example.org", "git.example.org", "10.1.2.3"));
        for address in ["10.1.2.3", "192.168.0.1", "172.16.0.1", "100.64.0.1", "fd00::1"] {
            assert!(!allows("*.example.org", "a.example.org", address), "{address}");
        }
        assert!(allows("127.0.0.1", "127.0.0.1", "127.0.0.1"));
        assert!(allows("localhost", "localhost", "127.0.0.1"));
        assert!(!allows("localhost", "localhost", "10.0.0.1"));
    }
}
