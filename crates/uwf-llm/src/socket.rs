//! A WebSocket of texts, blocking.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tungstenite::handshake::HandshakeError;
use tungstenite::http::Uri;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use crate::http::CERTIFICATES_VARIABLE;

/// Longest message.
const MAX_MESSAGE: usize = 1 << 20;

/// A connection with or without TLS.
trait SocketStream: Read + Write + Send {}

impl<T: Read + Write + Send> SocketStream for T {}

/// An open WebSocket.
pub struct TextSocket(WebSocket<Box<dyn SocketStream>>);

impl TextSocket {
    /// Connects to a `wss://` URL, or to a `ws://` URL of this machine. The connection counts as broken after `idle` without a frame.
    ///
    /// # Errors
    /// Why it can't be opened. The text does not contain the URL, which may hold a secret.
    pub fn connect(url: &str, connect: Duration, idle: Duration) -> Result<TextSocket, String> {
        let uri: Uri = url.parse().map_err(|_| "the address of the WebSocket is not a URL".to_owned())?;
        let host = uri.host().ok_or("the address of the WebSocket has no host")?.to_owned();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_tls = uri.scheme_str() == Some("wss");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let stream = tcp(bare, port, connect).map_err(|error| format!("cannot reach {host}: {error}"))?;
        let is_here = stream.peer_addr().is_ok_and(|address| address.ip().is_loopback());
        let is_private = is_tls || (uri.scheme_str() == Some("ws") && is_here);
        if !is_private {
            return Err(format!("the WebSocket of {host} is not encrypted"));
        }
        let limits =
            |limit| stream.set_read_timeout(Some(limit)).and_then(|()| stream.set_write_timeout(Some(connect)));
        limits(connect).map_err(|error| error.to_string())?;
        let own = stream.try_clone().map_err(|error| error.to_string())?;
        let stream: Box<dyn SocketStream> = if is_tls { Box::new(encrypted(bare, stream)?) } else { Box::new(stream) };
        let config = WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
        let opened = tungstenite::client::client_with_config(url, stream, Some(config));
        let (socket, _) = opened.map_err(|error| match error {
            HandshakeError::Failure(error) => format!("{host} did not open a WebSocket: {error}"),
            HandshakeError::Interrupted(_) => format!("{host} does not answer"),
        })?;
        own.set_read_timeout(Some(idle)).map_err(|error| error.to_string())?;
        Ok(TextSocket(socket))
    }

    /// The next text; `None` if the server has closed the connection. Pings are answered.
    ///
    /// # Errors
    /// Why the connection broke.
    pub fn receive(&mut self) -> Result<Option<String>, String> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Ok(Some(text.as_str().to_owned())),
                Ok(Message::Close(_))
                | Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => {
                    return Ok(None);
                }
                // A binary message has no meaning here; pings are answered by the library.
                Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {
                    self.0.flush().map_err(|error| error.to_string())?;
                }
                Err(tungstenite::Error::Io(error)) if is_timeout(&error) => {
                    return Err("it was silent for too long".to_owned());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Sends a text.
    ///
    /// # Errors
    /// Why the connection broke.
    pub fn send(&mut self, text: String) -> Result<(), String> {
        self.0.send(Message::text(text)).map_err(|error| error.to_string())
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn tcp(host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn encrypted(host: &str, stream: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let mut roots = RootCertStore::empty();
    match std::env::var_os(CERTIFICATES_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => {
            let fail = |reason: String| {
                format!(
                    "cannot read the certificates in {} ({CERTIFICATES_VARIABLE}): {reason}",
                    Path::new(&path).display()
                )
            };
            for root in CertificateDer::pem_file_iter(&path).map_err(|error| fail(error.to_string()))? {
                roots.add(root.map_err(|error| fail(error.to_string()))?).map_err(|error| fail(error.to_string()))?;
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| format!("a certificate cannot have the name {host}"))?;
    let session = ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    Ok(StreamOwned::new(session, stream))
}
