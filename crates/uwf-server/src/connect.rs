//! `uwf connect`: the machine dials a gateway and serves its pages and API through that connection. It reconnects whenever the connection
//! ends.
//!
//! This machine decides what may be done on it: it has its own routes, and allows changes or not. The gateway decides who is let in.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Router, body::Body};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error as SocketError, handshake::client::Request as Handshake};
use uwf_engine::root::home::Home;

use crate::app::{AppState, ServerEntrance};
use crate::command_line::CommandLine;
use crate::gateway::{READ_ONLY_HEADER, VERSION_HEADER};
use crate::machines::name::MachineName;
use crate::place::USER_HEADER;
use crate::tls::{self, ServerTlsError};
use crate::tunnel::{self, NetworkConnection, TunnelEnd, TunnelFarewell};
use crate::{open_files, serve};
use proxy::{ConnectProxy, NoWay};
pub use url::{GatewayUrl, NotAUrl};

mod proxy;
mod url;

/// How long a dial may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause before the first reconnect; it doubles after each further attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A connection that lasted this long resets the pause.
const GOOD: Duration = Duration::from_secs(5);

/// How long running commands and reads may take after a shutdown signal.
const GRACE: Duration = Duration::from_secs(2);

/// Settings of `uwf connect`.
pub struct ConnectSettings<'c> {
    /// The storage root.
    pub home: &'c Home,
    /// Directory in which workflow names are looked up and commands are started.
    pub cwd: &'c Path,
    /// This machine's name on the gateway.
    pub name: MachineName,
    /// Address of the gateway.
    pub gateway: GatewayUrl,
    /// The machine's token.
    pub token: String,
    /// Whether all changes are rejected.
    pub read_only: bool,
    /// Version of this program.
    pub version: &'static str,
    /// The commands, for the description of the API.
    pub commands: fn() -> CommandLine,
}

/// An event to report while a machine connects and serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectEvent {
    /// The gateway accepted the machine.
    Connected,
    /// The connection ended or failed; the machine dials again after the pause.
    Lost {
        /// Why.
        why: String,
        /// Pause before the next attempt.
        pause: Duration,
    },
    /// A client of the gateway requests a change.
    Asked {
        /// The client, as the gateway describes it.
        by: String,
        /// Method and path.
        what: String,
    },
}

/// Why a machine can't connect, when waiting would not help.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The gateway rejects the machine.
    #[error("the gateway refuses {name}: {why}")]
    Refused {
        /// The machine.
        name: MachineName,
        /// The gateway's reason.
        why: String,
    },
    /// Another machine took its place.
    #[error("another `uwf connect` has connected as {0}")]
    Replaced(MachineName),
    /// The proxy rejects the connection.
    #[error("{0}")]
    Proxy(String),
    /// TLS can't be set up.
    #[error(transparent)]
    Tls(#[from] ServerTlsError),
    /// The runtime failed, or waiting for signals did.
    #[error("cannot connect: {0}")]
    Io(#[from] std::io::Error),
}

/// Why a dial failed.
enum DialFailure {
    /// Temporarily.
    Lost(String),
    /// Permanently, because the gateway rejects the machine.
    Refused(String),
    /// Permanently, because a proxy rejects the connection.
    NoWay(String),
}

impl From<NoWay> for DialFailure {
    fn from(no_way: NoWay) -> DialFailure {
        match no_way {
            NoWay::Now(why) => DialFailure::Lost(why),
            NoWay::Refused(why) => DialFailure::NoWay(why),
        }
    }
}

type Teller = Arc<dyn Fn(&ConnectEvent) + Send + Sync>;

/// Connects, and reconnects whenever the connection ends, until SIGINT or SIGTERM.
///
/// # Errors
/// [`ConnectError`] if waiting would not help.
pub fn connect(
    settings: ConnectSettings<'_>,
    tell: impl Fn(&ConnectEvent) + Send + Sync + 'static,
) -> Result<(), ConnectError> {
    open_files::raise();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connected = runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            ended = again_and_again(&settings, Arc::new(tell)) => ended,
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        }
    });
    runtime.shutdown_timeout(GRACE);
    connected
}

async fn again_and_again(settings: &ConnectSettings<'_>, tell: Teller) -> Result<(), ConnectError> {
    let app =
        AppState::new(settings.home, settings.cwd, settings.read_only, settings.commands, ServerEntrance::Inside, None);
    let router = serve::router(app, false).layer(middleware::from_fn_with_state(tell.clone(), tell_changes));
    let tls = settings.gateway.is_tls().then(tls::connector).transpose()?;
    let mut pause = FIRST_PAUSE;
    loop {
        let ended = match dial(settings, tls.as_ref()).await {
            Ok(socket) => {
                tell(&ConnectEvent::Connected);
                let begun = Instant::now();
                let ended = serve_through(socket, router.clone()).await;
                if begun.elapsed() > GOOD {
                    pause = FIRST_PAUSE;
                }
                ended
            }
            Err(DialFailure::Lost(why)) => TunnelEnd::Broken(why),
            Err(DialFailure::Refused(why)) => return Err(ConnectError::Refused { name: settings.name.clone(), why }),
            Err(DialFailure::NoWay(why)) => return Err(ConnectError::Proxy(why)),
        };
        let why = match ended {
            TunnelEnd::Farewell(TunnelFarewell::Replaced) => return Err(ConnectError::Replaced(settings.name.clone())),
            TunnelEnd::Farewell(TunnelFarewell::Revoked) => {
                let why = "its token is no longer valid".to_owned();
                return Err(ConnectError::Refused { name: settings.name.clone(), why });
            }
            TunnelEnd::Closed => "the gateway closed the connection".to_owned(),
            TunnelEnd::Broken(why) => why,
        };
        // Keeps many machines that lose one gateway from reconnecting at the same moment.
        let jittered = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        tell(&ConnectEvent::Lost { why, pause: jittered });
        tokio::time::sleep(jittered).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Serves requests until the connection ends.
async fn serve_through(socket: WebSocketStream<Box<dyn NetworkConnection>>, router: Router) -> TunnelEnd {
    let (stream, carried) = tunnel::open(socket, std::future::pending());
    let service = TowerToHyperService::new(router);
    let served = tunnel::server().serve_connection(TokioIo::new(stream), service);
    let mut carried = std::pin::pin!(carried);
    tokio::select! {
        // Check this first: the gateway's farewell explains why the requests end.
        biased;
        ended = &mut carried => ended,
        served = served => match served {
            Ok(()) => carried.await,
            Err(error) if error.is_timeout() => TunnelEnd::Broken("the gateway does not answer".to_owned()),
            // A farewell may still be on its way.
            Err(error) => match carried.await {
                TunnelEnd::Farewell(farewell) => TunnelEnd::Farewell(farewell),
                TunnelEnd::Closed => TunnelEnd::Closed,
                TunnelEnd::Broken(_) => TunnelEnd::Broken(error.to_string()),
            },
        },
    }
}

async fn dial(
    settings: &ConnectSettings<'_>,
    tls: Option<&tokio_rustls::TlsConnector>,
) -> Result<WebSocketStream<Box<dyn NetworkConnection>>, DialFailure> {
    let dialled = tokio::time::timeout(PATIENCE, async {
        let stream = connection(&settings.gateway, tls).await?;
        let handshake = handshake(settings).map_err(DialFailure::Refused)?;
        let connected = tokio_tungstenite::client_async_with_config(handshake, stream, Some(tunnel::websocket()));
        connected.await.map(|(socket, _)| socket).map_err(refusal)
    });
    dialled.await.unwrap_or_else(|_| Err(DialFailure::Lost(format!("{} does not answer", settings.gateway))))
}

async fn connection(
    gateway: &GatewayUrl,
    tls: Option<&tokio_rustls::TlsConnector>,
) -> Result<Box<dyn NetworkConnection>, DialFailure> {
    let failed = |error: std::io::Error| DialFailure::Lost(format!("cannot reach {gateway}: {error}"));
    let stream: Box<dyn NetworkConnection> = match ConnectProxy::of_environment(gateway) {
        Some(proxy) => Box::new(proxy.connect(gateway).await?),
        None => {
            let stream = TcpStream::connect((gateway.host(), gateway.port())).await.map_err(failed)?;
            // Send small answers at once.
            let _ = stream.set_nodelay(true);
            Box::new(stream)
        }
    };
    let Some(tls) = tls else { return Ok(stream) };
    let name = ServerName::try_from(gateway.host().to_owned())
        .map_err(|_| DialFailure::Refused(format!("a certificate cannot have the name {}", gateway.host())))?;
    Ok(Box::new(tls.connect(name, stream).await.map_err(failed)?))
}

fn handshake(settings: &ConnectSettings<'_>) -> Result<Handshake, String> {
    let path = format!("/api/gateway/connect/{}", settings.name);
    let mut request = settings.gateway.socket(&path).into_client_request().map_err(|error| error.to_string())?;
    let mut add = |name: header::HeaderName, value: &str| {
        let value = HeaderValue::from_str(value)
            .map_err(|_| "the token has symbols that a header cannot contain".to_owned())?;
        request.headers_mut().insert(name, value);
        Ok::<(), String>(())
    };
    add(header::AUTHORIZATION, &format!("Bearer {}", settings.token))?;
    add(header::HeaderName::from_static(VERSION_HEADER), settings.version)?;
    if settings.read_only {
        add(header::HeaderName::from_static(READ_ONLY_HEADER), "1")?;
    }
    Ok(request)
}

/// Interprets the answer of the gateway, or of a proxy before it, that did not open the tunnel. A client error is permanent, because this
/// machine would send the same again; other failures may pass.
fn refusal(error: SocketError) -> DialFailure {
    let SocketError::Http(response) = error else {
        return DialFailure::Lost(format!("the gateway sent an invalid answer: {error}"));
    };
    let status = response.status();
    let body = response.body().as_deref().unwrap_or_default();
    let report: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let said = report["error"]["message"].as_str().map(str::to_owned);
    let why = said.unwrap_or_else(|| format!("it answers with {status}"));
    let may_pass = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    if status.is_client_error() && !may_pass { DialFailure::Refused(why) } else { DialFailure::Lost(why) }
}

/// Reports requested changes, so that the machine's owner sees those that come from elsewhere.
async fn tell_changes(State(tell): State<Teller>, request: Request<Body>, next: Next) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        let by = request.headers().get(USER_HEADER).and_then(|user| user.to_str().ok()).unwrap_or("an unknown client");
        let what = format!("{} {}", request.method(), request.uri().path());
        tell(&ConnectEvent::Asked { by: by.to_owned(), what });
    }
    next.run(request).await
}
