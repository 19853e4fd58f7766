//! Connects to a gateway through a proxy with `CONNECT` (RFC 9110, 9.3.6). Many networks require one. The usual variables select the proxy:
//! `HTTPS_PROXY` or `HTTP_PROXY`, then `ALL_PROXY`; `NO_PROXY` names hosts that need none.

use axum::body::Body;
use axum::http::uri::Scheme;
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use hyper::upgrade::Upgraded;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::url::GatewayUrl;

/// Default port of a proxy.
const PORT: u16 = 80;

/// A proxy.
#[derive(Debug, Clone)]
pub(super) struct ConnectProxy {
    address: Uri,
    /// User name and password, if given. They are never shown.
    authorization: Option<HeaderValue>,
    /// The variable that names it.
    variable: &'static str,
}

/// Why a proxy can't be used.
pub(super) enum NoWay {
    /// Temporarily: the proxy can't be reached, or can't reach the gateway.
    Now(String),
    /// The proxy rejects this machine.
    Refused(String),
}

impl ConnectProxy {
    /// The proxy that the environment names for a gateway; `None` for a gateway on this machine, which no proxy can reach.
    pub(super) fn of_environment(gateway: &GatewayUrl) -> Option<ConnectProxy> {
        let variables = match gateway.is_tls() {
            true => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            false => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
        };
        let variable =
            variables.into_iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))?;
        let target: Uri = gateway.to_string().parse().ok()?;
        let found = Matcher::from_env().intercept(&target).filter(|_| !gateway.is_loopback())?;
        Some(ConnectProxy { address: found.uri().clone(), authorization: found.basic_auth().cloned(), variable })
    }

    /// Connects to the gateway.
    pub(super) async fn connect(&self, gateway: &GatewayUrl) -> Result<TokioIo<Upgraded>, NoWay> {
        if self.address.scheme() != Some(&Scheme::HTTP) {
            return Err(NoWay::Refused(format!("{}: only a proxy at http:// can be used", self.display_name())));
        }
        let lost = |error: &dyn std::fmt::Display| NoWay::Now(format!("cannot reach {}: {error}", self.display_name()));
        let host = self.address.host().unwrap_or_default().trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, self.address.port_u16().unwrap_or(PORT))).await;
        let stream = stream.map_err(|error| lost(&error))?;
        let _ = stream.set_nodelay(true);
        let request = self.request(gateway).map_err(|error| lost(&error))?;
        let (mut requests, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| lost(&error))?;
        tokio::spawn(connection.with_upgrades());
        let answer = requests.send_request(request).await.map_err(|error| lost(&error))?;
        match answer.status() {
            status if status.is_success() => {
                let opened = hyper::upgrade::on(answer).await.map_err(|error| lost(&error))?;
                Ok(TokioIo::new(opened))
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED if self.authorization.is_none() => {
                Err(NoWay::Refused(format!("{} needs a name and a password", self.display_name())))
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Err(NoWay::Refused(format!("{} does not take this name and password", self.display_name())))
            }
            status => {
                let why = format!("{} does not connect to {gateway}: it answers with {status}", self.display_name());
                Err(if status.is_client_error() { NoWay::Refused(why) } else { NoWay::Now(why) })
            }
        }
    }

    fn request(&self, gateway: &GatewayUrl) -> Result<Request<Body>, axum::http::Error> {
        let target = gateway.target();
        let mut request = Request::builder().method(Method::CONNECT).uri(&target).header(header::HOST, &target);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::PROXY_AUTHORIZATION, authorization);
        }
        request.body(Body::empty())
    }

    /// The proxy as messages show it.
    fn display_name(&self) -> String {
        let scheme = self.address.scheme_str().unwrap_or_default();
        let authority = self.address.authority().map_or("", |authority| authority.as_str());
        format!("the proxy {scheme}://{authority} (from {})", self.variable)
    }
}
