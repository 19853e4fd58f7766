//! The objects of a bucket, and the answers to requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Bound;
use std::time::{Duration, SystemTime};

use super::BucketUsage;
use super::dialect::{BucketDialect, BucketWriteCondition};
use super::http::{BucketServerRequest, BucketServerResponse};

/// Most keys on a page of a list.
const PAGE: usize = 1_000;

#[derive(Clone)]
struct ServedObject {
    bytes: Vec<u8>,
    etag: String,
    /// The number of the write that created it.
    generation: u64,
    modified: SystemTime,
}

impl ServedObject {
    /// Headers of an answer that describe the object.
    fn headers(&self, dialect: BucketDialect) -> Vec<(&'static str, String)> {
        let etag = ("etag", self.etag.clone());
        match dialect {
            BucketDialect::S3 => vec![etag],
            BucketDialect::Google => vec![etag, ("x-goog-generation", self.generation.to_string())],
        }
    }
}

/// Objects sorted by key, as lists return them.
#[derive(Default)]
pub(super) struct ServedObjectMap {
    by_key: BTreeMap<String, ServedObject>,
    writes: u64,
    /// How far the server's clock is ahead of the real one.
    ahead: Duration,
}

impl ServedObjectMap {
    pub(super) fn answer(
        &mut self,
        request: &BucketServerRequest,
        bucket: &str,
        dialect: BucketDialect,
    ) -> BucketServerResponse {
        if let Some(answer) = dialect.lets_nobody_in(request) {
            return answer;
        }
        let Some(key) = request.key(bucket) else {
            return BucketServerResponse::error("404 Not Found", "NoSuchBucket");
        };
        match &*request.method {
            "GET" if request.is_list() => self.list(request),
            "GET" | "HEAD" => self.read(&key, dialect),
            "PUT" => self.write(key, request, dialect),
            "DELETE" => match (self.by_key.remove(&key), dialect) {
                (None, BucketDialect::Google) => BucketServerResponse::error("404 Not Found", "NoSuchKey"),
                (Some(_), _) | (None, BucketDialect::S3) => BucketServerResponse::empty("204 No Content"),
            },
            _ => BucketServerResponse::error("405 Method Not Allowed", "MethodNotAllowed"),
        }
    }

    /// Time of the server's clock.
    pub(super) fn now(&self) -> SystemTime {
        SystemTime::now() + self.ahead
    }

    pub(super) fn put_forward(&mut self, by: Duration) {
        self.ahead += by;
    }

    pub(super) fn kept(&self, begin: &str) -> BucketUsage {
        self.with(begin, None).fold(BucketUsage::default(), |kept, (_, object)| BucketUsage {
            objects: kept.objects + 1,
            bytes: kept.bytes + object.bytes.len() as u64,
        })
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.by_key.remove(key);
    }

    pub(super) fn rewrite(&mut self, key: &str, dialect: BucketDialect, change: impl FnOnce(&str) -> String) {
        let mut object = self.by_key.remove(key).expect("there is such an object");
        object.bytes = change(&String::from_utf8_lossy(&object.bytes)).into_bytes();
        self.writes += 1;
        (object.generation, object.etag) = dialect.version(self.writes, &object.bytes);
        self.by_key.insert(key.to_owned(), object);
    }

    pub(super) fn copy(&mut self, key: &str, other: String) {
        let object = self.by_key.get(key).expect("there is such an object").clone();
        self.by_key.insert(other, object);
    }

    pub(super) fn text(&self, begin: &str) -> String {
        self.with(begin, None)
            .map(|(key, object)| format!("{key}: {}\n", String::from_utf8_lossy(&object.bytes)))
            .collect()
    }

    fn with<'o>(&'o self, begin: &'o str, after: Option<&str>) -> impl Iterator<Item = (&'o String, &'o ServedObject)> {
        let from = after.map_or(Bound::Included(begin), Bound::Excluded);
        self.by_key.range::<str, _>((from, Bound::Unbounded)).take_while(move |(key, _)| key.starts_with(begin))
    }

    fn read(&self, key: &str, dialect: BucketDialect) -> BucketServerResponse {
        let Some(object) = self.by_key.get(key) else {
            return BucketServerResponse::error("404 Not Found", "NoSuchKey");
        };
        let mut headers = object.headers(dialect);
        headers.push(("last-modified", httpdate::fmt_http_date(object.modified)));
        BucketServerResponse { status: "200 OK", headers, body: object.bytes.clone() }
    }

    fn write(&mut self, key: String, request: &BucketServerRequest, dialect: BucketDialect) -> BucketServerResponse {
        let holds = match (dialect.condition(request), self.by_key.get(&key)) {
            (BucketWriteCondition::SameTag(_), None) => {
                return BucketServerResponse::error("404 Not Found", "NoSuchKey");
            }
            (BucketWriteCondition::Absent, there) => there.is_none(),
            (BucketWriteCondition::SameTag(tag), Some(object)) => tag == object.etag,
            (BucketWriteCondition::SameGeneration(number), there) => {
                there.is_some_and(|object| object.generation == number)
            }
            (BucketWriteCondition::Always, _) => true,
        };
        if !holds {
            return BucketServerResponse::error("412 Precondition Failed", "PreconditionFailed");
        }
        self.writes += 1;
        let (generation, etag) = dialect.version(self.writes, &request.body);
        let object = ServedObject { bytes: request.body.clone(), etag, generation, modified: self.now() };
        let answer = BucketServerResponse { headers: object.headers(dialect), ..BucketServerResponse::empty("200 OK") };
        self.by_key.insert(key, object);
        answer
    }

    /// A page of keys. The token of the next page is the last key of this one.
    fn list(&self, request: &BucketServerRequest) -> BucketServerResponse {
        let most = request.query("max-keys").and_then(|most| most.parse().ok()).unwrap_or(PAGE).min(PAGE);
        let (begin, after) = (request.query("prefix").unwrap_or_default(), request.query("continuation-token"));
        let mut entries = self.with(&begin, after.as_deref());
        let mut text = "<ListBucketResult>".to_owned();
        let mut last = None;
        for (key, object) in entries.by_ref().take(most) {
            let modified = rfc3339(object.modified);
            let (tag, size) = (object.etag.replace('"', "&quot;"), object.bytes.len());
            // Keys of a store contain no special character of XML; writing to a String never fails.
            let _ = write!(
                text,
                "<Contents><Key>{key}</Key><Generation>{}</Generation><LastModified>{modified}</LastModified><ETag>{tag}</ETag>\
                 <Size>{size}</Size></Contents>",
                object.generation
            );
            last = Some(key);
        }
        if let (Some(last), Some(_)) = (last, entries.next()) {
            let _ = write!(text, "<NextContinuationToken>{last}</NextContinuationToken>");
        }
        text.push_str("</ListBucketResult>");
        BucketServerResponse { body: text.into_bytes(), ..BucketServerResponse::empty("200 OK") }
    }
}

/// `2026-11-22T10:00:00.000Z`, built from the parts of an HTTP date: `Sun, 22 Nov 2026 10:00:00 GMT`.
fn rfc3339(time: SystemTime) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let date = httpdate::fmt_http_date(time);
    let month = MONTHS.iter().position(|month| *month == &date[8..11]).unwrap_or_default() + 1;
    format!("{}-{month:02}-{}T{}.000Z", &date[12..16], &date[5..7], &date[17..25])
}
