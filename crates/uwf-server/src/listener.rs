//! Connections as they come in, with TLS where the server has a certificate.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::tunnel::Connection;

/// How long a client may take to begin TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Clients that are beginning TLS at once; further ones wait, so that nobody can fill the memory with them.
const MOST_HANDSHAKES: usize = 1000;

/// How long to wait when no connection can be taken, because of too many open files for instance.
const PAUSE: Duration = Duration::from_millis(200);

/// A connection, once it is known to speak TLS if it has to.
type Accepted = (Box<dyn Connection>, SocketAddr);

/// A socket that listens.
pub(crate) struct Socket {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    handshakes: JoinSet<Option<Accepted>>,
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Socket {
    pub(crate) fn new(listener: TcpListener, tls: Option<TlsAcceptor>) -> Socket {
        Socket { listener, tls, handshakes: JoinSet::new() }
    }

    /// Begins TLS beside everything else: who is slow holds up nobody.
    fn begin(&mut self, tls: &TlsAcceptor, stream: TcpStream, from: SocketAddr) {
        let handshake = tls.accept(stream);
        self.handshakes.spawn(async move {
            let stream = tokio::time::timeout(HANDSHAKE, handshake).await.ok()?.ok()?;
            Some((Box::new(stream) as Box<dyn Connection>, from))
        });
    }
}

impl Listener for Socket {
    type Io = Box<dyn Connection>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Accepted {
        loop {
            let accepted = tokio::select! {
                Some(done) = self.handshakes.join_next() => match done {
                    Ok(Some(ready)) => return ready,
                    _ => continue,
                },
                accepted = self.listener.accept(), if self.handshakes.len() < MOST_HANDSHAKES => accepted,
            };
            let Ok((stream, from)) = accepted else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // Events are small and must not wait for more.
            let _ = stream.set_nodelay(true);
            match self.tls.clone() {
                Some(tls) => self.begin(&tls, stream, from),
                None => return (Box::new(stream), from),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Socket>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Socket>) -> Peer {
        Peer(*stream.remote_addr())
    }
}
