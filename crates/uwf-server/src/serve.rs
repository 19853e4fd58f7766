//! Listens on the address, routes requests, and lets open requests finish at the end.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use uwf_engine::root::home::Home;

use crate::app::{AppState, ServerEntrance};
use crate::command_line::CommandLine;
use crate::entry;
use crate::gateway;
use crate::guard::{RequestGuard, token::ServerSecret};
use crate::listener::{RequestReadTimeouts, ServerSocket};
use crate::machines::MachineGateway;
use crate::machines::tokens::MachineTokens;
use crate::tls::{self, CertificateFiles, ServerTlsError};
use crate::{api, assets, forward, headers, hooks, metrics, open_files, pages, refusal, respond};

/// How long open requests may take when the server ends. Streams never end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Threads that read files. Under load, requests wait for a thread instead of using up memory.
const READERS: usize = 16;

/// Settings of the server.
pub struct ServeSettings<'s> {
    /// The storage root.
    pub home: &'s Home,
    /// Directory in which workflow names are looked up and commands are started.
    pub cwd: &'s Path,
    /// The address to listen on; port 0 means any free port.
    pub address: SocketAddr,
    /// Host names of the server besides the loopback names.
    pub hosts: Vec<String>,
    /// The secret that people log in with.
    pub secret: ServerSecret,
    /// Whether all changes are rejected.
    pub read_only: bool,
    /// The commands, for the description of the API.
    pub commands: fn() -> CommandLine,
    /// Whether machines connect to it.
    pub is_gateway: bool,
    /// The TLS certificate.
    pub certificate: Option<CertificateFiles>,
    /// Whether the hooks of the configuration are served.
    pub has_hooks: bool,
}

/// A running server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningServer {
    /// Its address.
    pub address: SocketAddr,
    /// The page to open.
    pub url: String,
    /// Whether the URL includes the secret; not if a person chose it.
    pub logs_in: bool,
}

/// Why a server can't start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anyone on the network could reach the server, so it needs a chosen secret.
    #[error("{0} is not a loopback address, and no secret is set")]
    NeedsSecret(SocketAddr),
    /// The address is in use or not one of this machine.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The certificate can't be used.
    #[error(transparent)]
    Tls(#[from] ServerTlsError),
    /// The runtime failed, or waiting for signals did.
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
}

/// Serves until SIGINT or SIGTERM. Calls `ready` once requests are answered.
///
/// # Errors
/// [`ServeError::NeedsSecret`] unless the address is a loopback one or a secret was chosen; other errors if the server can't listen.
pub fn serve(settings: ServeSettings<'_>, ready: impl FnOnce(&ListeningServer)) -> Result<(), ServeError> {
    if !settings.address.ip().is_loopback() && !settings.secret.is_chosen() {
        return Err(ServeError::NeedsSecret(settings.address));
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(READERS).build()?;
    let served = runtime.block_on(listen(settings, ready));
    // Reading threads may be in the middle of a file; they change nothing, so they can be dropped.
    runtime.shutdown_timeout(GRACE);
    served
}

async fn listen(settings: ServeSettings<'_>, ready: impl FnOnce(&ListeningServer)) -> Result<(), ServeError> {
    let address = settings.address;
    let failed = |source| ServeError::Listen { address, source };
    let tls = settings.certificate.as_ref().map(tls::acceptor).transpose()?;
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let token = settings.secret.link_text();
    let (query, logs_in) = (token.map(|token| format!("?token={token}")).unwrap_or_default(), token.is_some());
    let url = format!("{scheme}://{address}/login{query}");
    let guard = RequestGuard::new(address, settings.hosts, settings.secret, tls.is_some());
    let gateway = settings.is_gateway.then(|| Arc::new(MachineGateway::new(MachineTokens::of_root(settings.home))));
    gateway.iter().for_each(|gateway| drop(tokio::spawn(gateway.clone().watch_tokens())));
    let app = AppState::new(
        settings.home,
        settings.cwd,
        settings.read_only,
        settings.commands,
        ServerEntrance::Guarded(Box::new(guard)),
        gateway,
    );
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    ready(&ListeningServer { address, url, logs_in });
    if settings.has_hooks {
        tokio::spawn(hooks::waiting::watch(app.clone()));
    }
    // Only after `ready`, because a browser started there should get the usual limit.
    open_files::raise();
    tokio::select! {
        () = ServerSocket::new(listener, tls).serve(whole(app, settings.has_hooks), RequestReadTimeouts::USUAL) => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// All routes, at the root and below the server's own path.
fn whole(app: AppState, has_hooks: bool) -> Router {
    // Around the router, because the own path must be removed before routing.
    let inside = router(app.clone(), has_hooks);
    Router::new().fallback_service(inside).layer(middleware::from_fn_with_state(app, entry::own_path::below))
}

/// All routes.
pub(crate) fn router(app: AppState, has_hooks: bool) -> Router {
    let inside = Router::new().merge(pages::routes()).nest("/api", api::routes());
    let inside = inside.merge(gateway::routes()).merge(forward::routes()).merge(metrics::routes());
    let inside = inside.route_layer(middleware::from_fn(api::known_query::check));
    let inside = inside.layer(middleware::from_fn_with_state(app.clone(), entry::admit));
    Router::new()
        .merge(inside)
        .merge(entry::login::routes())
        .merge(hooks::routes(has_hooks))
        .merge(gateway::dialled())
        .merge(assets::routes())
        .merge(metrics::probes())
        .layer(middleware::from_fn(respond::tagged))
        .layer(middleware::from_fn(refusal::reported))
        .layer(middleware::from_fn_with_state(app.clone(), pages::shown_as_page))
        .layer(middleware::from_fn_with_state(app.clone(), entry::expected_host))
        .layer(middleware::map_response(headers::protect))
        .with_state(app)
}
