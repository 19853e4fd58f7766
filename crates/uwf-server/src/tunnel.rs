//! The tunnel between a gateway and a machine: HTTP/2 in the binary frames of one WebSocket. The machine dials and is the HTTP/2 server;
//! the gateway is the client. HTTP/2 provides streams, back-pressure, cancellation and pings.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, WebSocketConfig};

/// Bytes buffered between the WebSocket and HTTP/2 in one direction, and the largest frame sent.
const CHUNK: usize = 64 << 10;

/// Largest frame accepted from the other side.
const MAX_FRAME: usize = 1 << 20;

/// Silence before a ping is sent, and how long to wait for its reply: a frozen machine is noticed within 10 s.
const PING: Duration = Duration::from_secs(5);

/// Concurrent requests in one tunnel. Each open page holds one for its events.
const MAX_STREAMS: u32 = 10_000;

/// Unread bytes of one request or answer.
const STREAM_WINDOW: u32 = 256 << 10;

/// Unread bytes of all requests together. Slow readers use up part of it, and must not hold up the others.
const TUNNEL_WINDOW: u32 = 64 << 20;

/// Cancelled requests that the other side has not noticed yet, such as all pages of a browser that was closed.
const MAX_GIVEN_UP: usize = MAX_STREAMS as usize;

/// Bytes of a request's headers: as many as a browser may send, plus the gateway's own.
const MAX_HEADERS: u32 = 64 << 10;

/// How long sending a farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection, with or without TLS.
pub(crate) trait NetworkConnection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> NetworkConnection for T {}

/// Why a gateway ends the tunnel of a machine that must not reconnect by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TunnelFarewell {
    /// Another machine connected with the same name and token.
    Replaced,
    /// The token was revoked or replaced.
    Revoked,
}

impl TunnelFarewell {
    const ALL: [TunnelFarewell; 2] = [TunnelFarewell::Replaced, TunnelFarewell::Revoked];

    /// The close code on the wire; 4000 to 4999 are for private use (RFC 6455, 7.4.2).
    fn code(self) -> u16 {
        match self {
            TunnelFarewell::Replaced => 4001,
            TunnelFarewell::Revoked => 4002,
        }
    }
}

/// How a tunnel ended.
#[derive(Debug)]
pub(crate) enum TunnelEnd {
    /// This side was done, or the other side closed it and may be dialled again.
    Closed,
    /// The other side said not to dial again.
    Farewell(TunnelFarewell),
    /// The connection broke.
    Broken(String),
}

/// Limits of the WebSocket.
pub(crate) fn websocket() -> WebSocketConfig {
    WebSocketConfig::default().max_frame_size(Some(MAX_FRAME)).max_message_size(Some(MAX_FRAME))
}

/// A WebSocket as a stream of bytes for HTTP/2, and the future that moves the bytes until the tunnel ends. `farewell` ends it with a
/// reason.
pub(crate) fn open<S: NetworkConnection>(
    socket: WebSocketStream<S>,
    farewell: impl Future<Output = TunnelFarewell>,
) -> (DuplexStream, impl Future<Output = TunnelEnd>) {
    let (outside, inside) = tokio::io::duplex(CHUNK);
    (outside, carry(socket, inside, farewell))
}

async fn carry<S: NetworkConnection>(
    socket: WebSocketStream<S>,
    inside: DuplexStream,
    farewell: impl Future<Output = TunnelFarewell>,
) -> TunnelEnd {
    let (mut sink, mut frames) = socket.split();
    let (mut bytes, mut into) = tokio::io::split(inside);
    let receive = async {
        while let Some(message) = frames.next().await {
            match message {
                Ok(Message::Binary(chunk)) => {
                    if into.write_all(&chunk).await.is_err() {
                        return TunnelEnd::Closed;
                    }
                }
                Ok(Message::Close(frame)) => return closed(frame.as_ref()),
                Ok(Message::Text(_)) => {
                    return TunnelEnd::Broken("the other side does not speak this protocol".to_owned());
                }
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Err(error) => return TunnelEnd::Broken(error.to_string()),
            }
        }
        TunnelEnd::Closed
    };
    let send = async {
        let mut chunk = vec![0; CHUNK];
        loop {
            match bytes.read(&mut chunk).await {
                Ok(0) | Err(_) => return TunnelEnd::Closed,
                Ok(length) => {
                    if let Err(error) = sink.send(Message::binary(chunk[..length].to_vec())).await {
                        return TunnelEnd::Broken(error.to_string());
                    }
                }
            }
        }
    };
    let farewell = tokio::select! {
        // Check the farewell first, because it ends the other two as well.
        biased;
        told = farewell => told,
        ended = receive => return ended,
        ended = send => return ended,
    };
    let frame = CloseFrame { code: CloseCode::from(farewell.code()), reason: "".into() };
    // A client that does not read it in time just finds the connection closed.
    let _ = tokio::time::timeout(FAREWELL, sink.send(Message::Close(Some(frame)))).await;
    TunnelEnd::Farewell(farewell)
}

fn closed(frame: Option<&CloseFrame>) -> TunnelEnd {
    let code = frame.map(|frame| u16::from(frame.code));
    let farewell = TunnelFarewell::ALL.into_iter().find(|farewell| Some(farewell.code()) == code);
    farewell.map_or(TunnelEnd::Closed, TunnelEnd::Farewell)
}

/// HTTP/2 for the gateway's side.
pub(crate) fn client() -> hyper::client::conn::http2::Builder<TokioExecutor> {
    let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    client.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING).keep_alive_while_idle(true);
    client.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(TUNNEL_WINDOW);
    client.max_concurrent_reset_streams(MAX_GIVEN_UP);
    client
}

/// HTTP/2 for the machine's side.
pub(crate) fn server() -> hyper::server::conn::http2::Builder<TokioExecutor> {
    let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    server.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
    server.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(TUNNEL_WINDOW);
    server.max_header_list_size(MAX_HEADERS);
    server.max_concurrent_streams(MAX_STREAMS).max_pending_accept_reset_streams(MAX_GIVEN_UP);
    server
}
