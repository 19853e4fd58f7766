//! The style sheet and the scripts: files built into this program, served under names that change with their content.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use uwf_core::workflow::GRAPH_CSS;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::respond::accepts_zstd;

/// A file.
struct StaticAsset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

impl StaticAsset {
    /// The content as it is sent: without indentation and comment lines, which only readers of the source need.
    fn sent(&self) -> String {
        let is_comment = |line: &str| line.starts_with("//") || line.starts_with("/*") && line.ends_with("*/");
        let lines = self.content.lines().map(str::trim_start).filter(|line| !line.is_empty() && !is_comment(line));
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// A file as browsers get it.
struct AssetBody {
    plain: String,
    /// The text compressed with zstd; `None` if that failed.
    compressed: Option<Vec<u8>>,
}

impl AssetBody {
    fn from_asset(asset: &StaticAsset) -> AssetBody {
        let plain = asset.sent();
        let compressed = zstd::bulk::compress(plain.as_bytes(), LEVEL).ok();
        AssetBody { plain, compressed }
    }
}

/// Compression level, from 1 to 22. High, because each file is compressed only once.
const LEVEL: i32 = 19;

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[StaticAsset] = &[
    StaticAsset { name: "graph.css", kind: CSS, content: GRAPH_CSS },
    StaticAsset { name: "style.css", kind: CSS, content: include_str!("../assets/style.css") },
    StaticAsset { name: "steps.css", kind: CSS, content: include_str!("../assets/steps.css") },
    StaticAsset { name: "workflows.css", kind: CSS, content: include_str!("../assets/workflows.css") },
    StaticAsset { name: "app.js", kind: JAVASCRIPT, content: include_str!("../assets/app.js") },
    StaticAsset { name: "bulk.js", kind: JAVASCRIPT, content: include_str!("../assets/bulk.js") },
    StaticAsset { name: "editor.js", kind: JAVASCRIPT, content: include_str!("../assets/editor.js") },
    StaticAsset { name: "forms.js", kind: JAVASCRIPT, content: include_str!("../assets/forms.js") },
    StaticAsset { name: "keys.js", kind: JAVASCRIPT, content: include_str!("../assets/keys.js") },
    StaticAsset { name: "live.js", kind: JAVASCRIPT, content: include_str!("../assets/live.js") },
    StaticAsset { name: "notify.js", kind: JAVASCRIPT, content: include_str!("../assets/notify.js") },
    StaticAsset { name: "patch.js", kind: JAVASCRIPT, content: include_str!("../assets/patch.js") },
    StaticAsset { name: "say.js", kind: JAVASCRIPT, content: include_str!("../assets/say.js") },
    StaticAsset { name: "icon.svg", kind: "image/svg+xml", content: include_str!("../assets/icon.svg") },
];

/// The files as they are sent, in the order of [`ASSETS`].
static SENT: LazyLock<Vec<AssetBody>> = LazyLock::new(|| ASSETS.iter().map(AssetBody::from_asset).collect());

/// Checksum of all files. Scripts import each other by name, so all names change together.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|asset| asset.content).collect();
    format!("{:013x}", json_cas::xxh64(all.as_bytes()).as_u64())
});

/// Routes of the files. They need no login, because the files contain no user data.
pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route("/assets/{version}/{name}", get(asset))
        .route("/m/{machine}/assets/{version}/{name}", get(of_machine))
        .route("/favicon.ico", get(icon))
}

/// Path of a file for use in a page.
pub(crate) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

async fn asset(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let Some((asset, sent)) = ASSETS.iter().zip(SENT.iter()).find(|(asset, _)| asset.name == name) else {
        return HttpFailure::not_found(format!("file {name} does not exist")).into_response();
    };
    // A page of another server version may request its own file. The answer must not be cached under that name.
    let kept = if version == *VERSION { "public, max-age=31536000, immutable" } else { "no-store" };
    let described =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, kept), (header::VARY, "accept-encoding")];
    match sent.compressed.as_deref().filter(|_| accepts_zstd(&headers)) {
        Some(bytes) => (described, [(header::CONTENT_ENCODING, "zstd")], bytes).into_response(),
        None => (described, sent.plain.as_str()).into_response(),
    }
}

/// Files for pages of a machine. They are the gateway's own: a machine's script would run with the visitor's login, and could reach every
/// other machine.
async fn of_machine(Path((_, version, name)): Path<(String, String, String)>, headers: HeaderMap) -> Response {
    asset(Path((version, name)), headers).await
}

async fn icon(headers: HeaderMap) -> Response {
    asset(Path((VERSION.clone(), "icon.svg".to_owned())), headers).await
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Bytes of all scripts together.
    const MAX_SCRIPTS: usize = 26_700;

    #[test]
    fn scripts_stay_small() {
        let scripts = ASSETS.iter().filter(|asset| asset.kind == JAVASCRIPT);
        let bytes: usize = scripts.map(|asset| asset.sent().len()).sum();
        assert!(bytes <= MAX_SCRIPTS, "{bytes} bytes");
    }

    /// Bytes of all style sheets together, as sent and before compression.
    const MAX_STYLES: (usize, usize) = (11 << 10, 47 << 10);

    #[test]
    fn styles_stay_small() {
        let styles = ASSETS.iter().filter(|asset| asset.kind == CSS).map(AssetBody::from_asset);
        let sizes = styles.map(|sent| (sent.compressed.expect("it compresses").len(), sent.plain.len()));
        let (compressed, plain) = sizes.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1)).expect("there are some");
        assert!(compressed <= MAX_STYLES.0 && plain <= MAX_STYLES.1, "{compressed} bytes, {plain} before");
    }

    #[test]
    fn compressed_assets_have_the_same_content() {
        for (asset, sent) in ASSETS.iter().zip(SENT.iter()) {
            let compressed = sent.compressed.as_ref().expect("it compresses");
            assert_eq!(zstd::bulk::decompress(compressed, 1 << 20).unwrap(), asset.sent().as_bytes(), "{}", asset.name);
        }
    }

    #[test]
    fn comments_and_indentation_are_not_sent() {
        let content = "// Says why.\nlet a = 1; // one\n\n  /** @type {number} */\n  let b = 2;\n";
        let asset = StaticAsset { name: "a.js", kind: JAVASCRIPT, content };
        assert_eq!(asset.sent(), "let a = 1; // one\nlet b = 2;\n");
    }
}
