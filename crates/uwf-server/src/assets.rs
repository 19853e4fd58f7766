//! The style sheet and the scripts: files of this program, served under names that change with their content.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use uwf_core::workflow::GRAPH_CSS;

use crate::app::App;
use crate::failure::Failure;

/// A file.
struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

impl Asset {
    /// The content as it is sent: without what only its readers here need, indentation and lines that are a comment.
    fn sent(&self) -> String {
        let is_comment = |line: &str| line.starts_with("//") || line.starts_with("/*") && line.ends_with("*/");
        let lines = self.content.lines().map(str::trim_start).filter(|line| !line.is_empty() && !is_comment(line));
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[Asset] = &[
    Asset { name: "graph.css", kind: CSS, content: GRAPH_CSS },
    Asset { name: "style.css", kind: CSS, content: include_str!("../assets/style.css") },
    Asset { name: "steps.css", kind: CSS, content: include_str!("../assets/steps.css") },
    Asset { name: "workflows.css", kind: CSS, content: include_str!("../assets/workflows.css") },
    Asset { name: "app.js", kind: JAVASCRIPT, content: include_str!("../assets/app.js") },
    Asset { name: "keys.js", kind: JAVASCRIPT, content: include_str!("../assets/keys.js") },
    Asset { name: "live.js", kind: JAVASCRIPT, content: include_str!("../assets/live.js") },
    Asset { name: "patch.js", kind: JAVASCRIPT, content: include_str!("../assets/patch.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", content: include_str!("../assets/icon.svg") },
];

/// Sum of all files: scripts import each other by name, so they change their names together.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|asset| asset.content).collect();
    format!("{:013x}", json_cas::xxh64(all.as_bytes()).as_u64())
});

/// Its routes, which everybody may use: there is nothing of anybody in them.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/assets/{version}/{name}", get(asset))
        .route("/m/{machine}/assets/{version}/{name}", get(of_machine))
        .route("/favicon.ico", get(icon))
}

/// Where a page finds a file.
pub(crate) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

async fn asset(Path((version, name)): Path<(String, String)>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Failure::not_found(format!("there is no file {name}")).into_response();
    };
    // Another version of the server may ask for its own; what it gets then must not be kept under that name.
    let kept = if version == *VERSION { "public, max-age=31536000, immutable" } else { "no-store" };
    ([(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, kept)], asset.sent()).into_response()
}

/// What pages of a machine ask for. It is the gateway's own: a script of a machine would run with the login of whoever looks, and
/// reach every other machine.
async fn of_machine(Path((_, version, name)): Path<(String, String, String)>) -> Response {
    asset(Path((version, name))).await
}

async fn icon() -> Response {
    asset(Path((VERSION.clone(), "icon.svg".to_owned()))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of all scripts together.
    const MAX_SCRIPTS: usize = 10 << 10;

    #[test]
    fn scripts_stay_small() {
        let scripts = ASSETS.iter().filter(|asset| asset.kind == JAVASCRIPT);
        let bytes: usize = scripts.map(|asset| asset.sent().len()).sum();
        assert!(bytes <= MAX_SCRIPTS, "{bytes} bytes");
    }

    #[test]
    fn what_only_readers_of_the_source_need_is_not_sent() {
        let content = "// Says why.\nlet a = 1; // one\n\n  /** @type {number} */\n  let b = 2;\n";
        let asset = Asset { name: "a.js", kind: JAVASCRIPT, content };
        assert_eq!(asset.sent(), "let a = 1; // one\nlet b = 2;\n");
    }
}
