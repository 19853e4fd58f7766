//! Listening: address, routes, and an end that lets open requests finish.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use uwf_engine::root::home::Home;

use crate::app::{App, Door};
use crate::command_line::CommandLine;
use crate::entry;
use crate::gateway;
use crate::guard::{Guard, token::Secret};
use crate::listener::{Patience, Socket};
use crate::machines::Gateway;
use crate::machines::tokens::MachineTokens;
use crate::tls::{self, Certificate, TlsError};
use crate::{api, assets, forward, headers, open_files, pages, refusal, respond};

/// How long requests that are open may take when the server ends. Streams never end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Threads that read files. A crowd of requests waits for them rather than for memory.
const READERS: usize = 16;

/// How to serve.
pub struct Serve<'s> {
    /// The storage root.
    pub home: &'s Home,
    /// Where names of workflows are looked up, and commands are started.
    pub cwd: &'s Path,
    /// The address to listen at; port 0 takes any that is free.
    pub address: SocketAddr,
    /// Names besides the loopback ones under which the server is reached.
    pub hosts: Vec<String>,
    /// The secret that people log in with.
    pub secret: Secret,
    /// Whether nothing can be changed.
    pub read_only: bool,
    /// The commands, for the description of the API.
    pub commands: fn() -> CommandLine,
    /// Whether machines connect to it.
    pub is_gateway: bool,
    /// The certificate to speak TLS with.
    pub certificate: Option<Certificate>,
}

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Its address.
    pub address: SocketAddr,
    /// The page to open, which holds the secret once.
    pub url: String,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody in the network could reach it.
    #[error("{0} is not a loopback address, and no secret is set")]
    NeedsSecret(SocketAddr),
    /// The address is in use, or not one of this machine.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// There is a certificate, but no TLS can be spoken with it.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The runtime, or waiting for signals.
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
}

/// Serves until SIGINT or SIGTERM. `ready` is called once requests are answered.
///
/// # Errors
/// [`ServeError::NeedsSecret`] unless the address is a loopback one or a secret was chosen; those of the socket.
pub fn serve(settings: Serve<'_>, ready: impl FnOnce(&Served)) -> Result<(), ServeError> {
    if !settings.address.ip().is_loopback() && !settings.secret.is_chosen() {
        return Err(ServeError::NeedsSecret(settings.address));
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(READERS).build()?;
    let served = runtime.block_on(listen(settings, ready));
    // Reading threads may be in the middle of a file; nothing they do must be finished.
    runtime.shutdown_timeout(GRACE);
    served
}

async fn listen(settings: Serve<'_>, ready: impl FnOnce(&Served)) -> Result<(), ServeError> {
    let address = settings.address;
    let failed = |source| ServeError::Listen { address, source };
    let tls = settings.certificate.as_ref().map(tls::acceptor).transpose()?;
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}/login?token={}", settings.secret.link_text());
    let guard = Guard::new(address, settings.hosts, settings.secret, tls.is_some());
    let gateway = settings.is_gateway.then(|| Arc::new(Gateway::new(MachineTokens::of(settings.home))));
    gateway.iter().for_each(|gateway| drop(tokio::spawn(gateway.clone().watch_tokens())));
    let app = App::new(
        settings.home,
        settings.cwd,
        settings.read_only,
        settings.commands,
        Door::Guarded(Box::new(guard)),
        gateway,
    );
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    ready(&Served { address, url });
    // After that: a browser that is opened there gets the usual limit.
    open_files::raise();
    tokio::select! {
        () = Socket::new(listener, tls).serve(whole(app), Patience::USUAL) => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Everything that is answered, at the root and below the server's own path.
fn whole(app: App) -> Router {
    // Around the router, because the path is taken off before a route is looked for.
    let inside = router(app.clone());
    Router::new().fallback_service(inside).layer(middleware::from_fn_with_state(app, entry::own_path::below))
}

/// Everything that is answered.
pub(crate) fn router(app: App) -> Router {
    let inside = Router::new().merge(pages::routes()).nest("/api", api::routes());
    let inside = inside.merge(gateway::routes()).merge(forward::routes());
    let inside = inside.layer(middleware::from_fn_with_state(app.clone(), entry::admit));
    Router::new()
        .merge(inside)
        .merge(entry::login::routes())
        .merge(gateway::dialled())
        .merge(assets::routes())
        .layer(middleware::from_fn(respond::tagged))
        .layer(middleware::from_fn(refusal::reported))
        .layer(middleware::from_fn_with_state(app.clone(), pages::shown_as_page))
        .layer(middleware::from_fn_with_state(app.clone(), entry::expected_host))
        .layer(middleware::map_response(headers::protect))
        .with_state(app)
}
