//! Counts requests.

use std::sync::atomic::{AtomicU64, Ordering};

use ureq::http::Method;
use ureq::http::request::Parts;

/// Requests that a store has sent since it was opened, including failed attempts. Providers charge for them by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Objects read.
    pub get: u64,
    /// Objects written.
    pub put: u64,
    /// Pages of listings: up to 1,000 names each, on Azure up to 5,000.
    pub list: u64,
    /// Objects deleted. Most providers don't charge for these.
    pub delete: u64,
    /// Objects looked up without reading their bytes.
    pub head: u64,
}

impl RequestCounts {
    /// Requests of all kinds.
    pub fn total(&self) -> u64 {
        self.get + self.put + self.list + self.delete + self.head
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestCounters {
    get: AtomicU64,
    put: AtomicU64,
    list: AtomicU64,
    delete: AtomicU64,
    head: AtomicU64,
}

impl RequestCounters {
    pub(crate) fn count(&self, request: &Parts) {
        // S3 and Google use the first form, Azure the second.
        let asks_for = |query: &str| query.contains("list-type=") || query.contains("comp=list");
        let is_list = || request.uri.query().is_some_and(asks_for);
        let kind = match request.method {
            Method::GET if is_list() => &self.list,
            Method::GET => &self.get,
            Method::HEAD => &self.head,
            Method::DELETE => &self.delete,
            _ => &self.put,
        };
        kind.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> RequestCounts {
        let of = |kind: &AtomicU64| kind.load(Ordering::Relaxed);
        RequestCounts {
            get: of(&self.get),
            put: of(&self.put),
            list: of(&self.list),
            delete: of(&self.delete),
            head: of(&self.head),
        }
    }
}
