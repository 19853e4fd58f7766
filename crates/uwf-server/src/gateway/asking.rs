//! Requests of a gateway to a machine.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::machines::MachineGateway;
use crate::machines::name::MachineName;

/// Largest answer.
const MAX_SUMMARY: usize = 4 << 20;

/// The answer of a machine to a GET of this content type; `None` if it is not connected or refuses.
pub(super) async fn answered(gateway: &MachineGateway, name: &MachineName, path: &str, kind: &str) -> Option<Body> {
    let mut requests = gateway.requests(name)?;
    let request = Request::get(format!("http://{name}{path}")).header(header::ACCEPT, kind);
    let request = request.body(Body::empty()).ok()?;
    requests.ready().await.ok()?;
    let response = requests.send_request(request).await.ok()?;
    (response.status() == StatusCode::OK).then(|| Body::new(response.into_body()))
}

/// The answer of a machine as data; `None` if it is not connected, refuses, or sends something else.
pub(super) async fn data<T: DeserializeOwned>(gateway: &MachineGateway, name: &MachineName, path: &str) -> Option<T> {
    let answer = answered(gateway, name, path, "application/json").await?;
    serde_json::from_slice(&to_bytes(answer, MAX_SUMMARY).await.ok()?).ok()
}
