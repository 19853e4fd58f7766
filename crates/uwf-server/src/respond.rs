//! Decides between page and JSON, and avoids sending an answer again that the client already has.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::failure::HttpFailure;

/// Answers up to this size get an `ETag`: pages and reports, not streams.
const MAX_TAGGED: u64 = 8 << 20;

/// Answers from this size on are compressed: a shorter one fits into one packet anyway.
const LEAST_COMPRESSED: usize = 1400;

/// Level of zstd: pages are compressed for each request.
const LEVEL: i32 = 1;

/// Whether a client wants JSON rather than a page. A browser also accepts `text/html`.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = |kind| {
        headers
            .get_all(header::ACCEPT)
            .iter()
            .any(|value| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains(kind)))
    };
    accepted("application/json") && !accepted("text/html")
}

/// The value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether a browser accepts zstd. A weight of 0 rejects it.
pub(crate) fn accepts_zstd(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut encodings = values.flat_map(|value| value.split(',')).map(|one| one.split(';').map(str::trim));
    encodings.any(|mut parts| {
        let is_zstd = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("zstd"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map(str::parse::<f32>);
        is_zstd && !matches!(weight, Some(Ok(0.0)))
    })
}

/// Tags answers to GET by their content, and sends 304 to a client that already has that content. So a page that is requested after every
/// change is sent only if it looks different.
pub(crate) async fn tagged(request: Request, next: Next) -> Response {
    let is_get = request.method() == Method::GET;
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let accepts_compressed = accepts_zstd(request.headers());
    let response = next.run(request).await;
    if !is_get || response.status() != StatusCode::OK || response.headers().contains_key(header::ETAG) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let size = axum::body::HttpBody::size_hint(&body).exact();
    if size.is_none_or(|size| size > MAX_TAGGED) {
        return Response::from_parts(parts, body);
    }
    let bytes = match to_bytes(body, usize::MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return HttpFailure::internal(error).into_response(),
    };
    let is_compressible = is_compressible(&parts.headers, &bytes);
    let is_compressed = is_compressible && accepts_compressed;
    let form = if is_compressed { "-zstd" } else { "" };
    let tag = format!("\"{:016x}{form}\"", json_cas::xxh64(&bytes).as_u64());
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    if is_compressible {
        parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    parts.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    if is_compressed && let Ok(compressed) = zstd::bulk::compress(&bytes, LEVEL) {
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("zstd"));
        return Response::from_parts(parts, Body::from(compressed));
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// Whether an answer is sent compressed to clients that accept it. Only pages of this server can make a browser send its login, so no
/// other site can learn a secret from the length of the answer to a guess.
fn is_compressible(headers: &HeaderMap, bytes: &[u8]) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = ["text/html", "application/json"].iter().any(|known| kind.starts_with(known));
    is_text && bytes.len() >= LEAST_COMPRESSED && !headers.contains_key(header::CONTENT_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_reads_zstd_gets_it() {
        let accepts = |value: &'static str| {
            accepts_zstd(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(accepts("gzip, deflate, br, zstd") && accepts("ZSTD;q=0.5") && accepts("zstd"));
        assert!(!accepts("gzip, br") && !accepts("zstd;q=0") && !accepts("zstd; q=0.0, gzip") && !accepts("x-zstd"));
        assert!(!accepts_zstd(&HeaderMap::new()));
    }
}
