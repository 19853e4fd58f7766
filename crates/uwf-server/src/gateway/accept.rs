//! `GET /api/gateway/connect/NAME`: machines connect here.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::lists;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::guard::bearer;
use crate::machines::name::MachineName;
use crate::machines::{MachineGateway, MachineProfile, tokens};
use crate::tunnel;

/// The header with the machine's version.
pub(crate) const VERSION_HEADER: &str = "x-uwf-version";

/// The header of a machine that allows no changes.
pub(crate) const READ_ONLY_HEADER: &str = "x-uwf-read-only";

/// Longest version that is shown.
const LONGEST_VERSION: usize = 40;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/gateway/connect/{name}", get(accept))
}

async fn accept(
    State(app): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    mut request: Request,
) -> Result<Response, HttpFailure> {
    let Some(gateway) = app.gateway() else {
        return Err(HttpFailure::not_found("this server is not a gateway").hint("start it with --gateway"));
    };
    // Without a token, the answer reveals neither names nor the format of a name.
    let name: Option<MachineName> = name.parse().ok();
    let given = bearer(&headers).map(tokens::hash);
    let valid = gateway.read_tokens().await?;
    let (Some(name), Some(token)) = (name, given) else { return Ok(unauthorized()) };
    if valid.get(&name) != Some(&token) {
        return Ok(unauthorized());
    }
    let key = key(&headers).ok_or_else(|| {
        HttpFailure::new(StatusCode::UPGRADE_REQUIRED, "machines connect by a WebSocket")
            .hint("`uwf connect` does; a proxy in between must let WebSockets through")
    })?;
    let about = MachineProfile {
        version: text(&headers, VERSION_HEADER).chars().take(LONGEST_VERSION).collect(),
        read_only: headers.contains_key(READ_ONLY_HEADER),
    };
    let (gateway, upgrade) = (gateway.clone(), hyper::upgrade::on(&mut request));
    tokio::spawn(async move {
        if let Ok(connection) = upgrade.await {
            serve(&gateway, &name, about, token, connection).await;
        }
    });
    let accepted = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).map_err(HttpFailure::internal)?;
    let headers = [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static("websocket")),
        (header::SEC_WEBSOCKET_ACCEPT, accepted),
    ];
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers).into_response())
}

/// The key of a WebSocket handshake (RFC 6455, 4.2.1); `None` if it is invalid.
fn key(headers: &HeaderMap) -> Option<&str> {
    let has = |name, word: &str| text(headers, name).split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
    let is_handshake = has(header::CONNECTION, "upgrade")
        && has(header::UPGRADE, "websocket")
        && text(headers, header::SEC_WEBSOCKET_VERSION) == "13";
    is_handshake.then(|| text(headers, header::SEC_WEBSOCKET_KEY)).filter(|key| !key.is_empty())
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn unauthorized() -> Response {
    let failure = HttpFailure::new(StatusCode::UNAUTHORIZED, "this is not the token of this machine")
        .hint("`uwf gateway token NAME` on the gateway's machine creates one");
    ([(header::WWW_AUTHENTICATE, "Bearer")], failure).into_response()
}

/// Keeps the connection of a machine until it ends.
async fn serve(
    gateway: &Arc<MachineGateway>,
    name: &MachineName,
    about: MachineProfile,
    token: String,
    connection: Upgraded,
) {
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, Some(tunnel::websocket())).await;
    let (farewell, farewell_given) = oneshot::channel();
    let (stream, carried) = tunnel::open(socket, async {
        match farewell_given.await {
            Ok(farewell) => farewell,
            // No farewell will come; the connection ends by itself.
            Err(_) => std::future::pending().await,
        }
    });
    let Ok((requests, answers)) = tunnel::client().handshake(TokioIo::new(stream)).await else { return };
    let dial = gateway.connected(name, about, token, requests, farewell);
    tokio::spawn(lists::refreshed(gateway.clone(), name.clone()));
    let mut carried = std::pin::pin!(carried);
    let answers_ended = tokio::select! {
        _ = answers => true,
        _ = &mut carried => false,
    };
    gateway.gone(name, dial);
    if answers_ended {
        // The connection ends now; a farewell may still be on its way.
        carried.await;
    }
}
