//! Additions to the picture of a graph on a web page.

/// The whole stylesheet of the pictures, for light and dark. A standalone picture contains it; a page serves it with its own styles.
///
/// | class | what it is |
/// |---|---|
/// | `graph` | the picture, an `svg` |
/// | `page` | its background, only in a standalone picture |
/// | `node`, `edge` | a role and an arrow with all their parts, each a link or a group |
/// | `terminal` | beside `node`: `$START` and `$END` |
/// | `taken` | beside `edge`: the thread took this arrow |
/// | `here` | beside `node`: the thread is here; its state is one more class, for example `stuck` |
/// | `idle` | beside `node` and `edge`: the thread was not here |
/// | `branch` | a branch in the box of a group, a link or a group; beside it its state, and `here` while it runs |
/// | `box`, `name`, `small` | in a node: its shape, its name, the text below the name |
/// | `arrow`, `head`, `title`, `small` | in an edge: line, head, conditions, descriptions; `otherwise` beside `title`: no condition |
/// | `hit` | in an edge that is a link: a broad invisible line that is easy to point at |
pub const GRAPH_CSS: &str = "\
.graph text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328 }
.graph .title { font-size: 12px; font-weight: 600 }
.graph .small { font-size: 11px; fill: #59636e }
.graph .otherwise { font-weight: 400; fill: #59636e }
.graph .edge text { paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round }
.graph .page { fill: #fff }
.graph .box { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.25 }
.graph .terminal .box { fill: #eaeef2 }
.graph .arrow { fill: none; stroke: #6e7781; stroke-width: 1.5 }
.graph .head { fill: #6e7781 }
.graph .hit { fill: none; stroke: transparent; stroke-width: 12; pointer-events: stroke }
.graph .idle text { fill: #59636e }
.graph .idle .box { fill: #fff; stroke: #d1d9e0 }
.graph .idle .arrow { stroke: #c0c8d0 }
.graph .idle .head { fill: #c0c8d0 }
.graph .taken .arrow { stroke: #0969da; stroke-width: 2 }
.graph .taken .head, .graph .taken .title { fill: #0969da }
.graph .branch .box { fill: #fff; stroke: #8c959f; stroke-width: 1 }
.graph .completed .box, .graph .picked .box { stroke: #2da44e }
.graph .picked .box { stroke-width: 2.5 }
.graph .here .box { fill: #ddf4ff; stroke: #0969da; stroke-width: 2.5 }
.graph .here .small { fill: #0550ae; font-weight: 600 }
.graph .stuck .box, .graph .corrupt .box { fill: #ffebe9; stroke: #cf222e }
.graph .stuck .small, .graph .corrupt .small { fill: #a40e26 }
.graph .waiting .box, .graph .limited .box { fill: #fff8c5; stroke: #9a6700 }
.graph .waiting .small, .graph .limited .small { fill: #7d4e00 }
.graph a { cursor: pointer; outline: none }
.graph a:hover .arrow, .graph a:focus-visible .arrow { stroke-width: 3 }
.graph a:hover .box { stroke-width: 2.5 }
.graph a:focus-visible .box { stroke: #0969da; stroke-width: 3.5 }
.graph a:hover text, .graph a:focus-visible text { text-decoration: underline }
@media (prefers-color-scheme: dark) {
  .graph text { fill: #e6edf3 }
  .graph .small, .graph .otherwise, .graph .idle text { fill: #9198a1 }
  .graph .edge text { stroke: #0d1117 }
  .graph .page { fill: #0d1117 }
  .graph .box { fill: #161b22; stroke: #6e7681 }
  .graph .terminal .box { fill: #21262d }
  .graph .arrow { stroke: #8b949e }
  .graph .head { fill: #8b949e }
  .graph .idle .box { fill: #0d1117; stroke: #30363d }
  .graph .idle .arrow { stroke: #484f58 }
  .graph .idle .head { fill: #484f58 }
  .graph .taken .arrow { stroke: #4493f8 }
  .graph .taken .head, .graph .taken .title { fill: #4493f8 }
  .graph .branch .box { fill: #0d1117; stroke: #6e7681 }
  .graph .here .box { fill: #121d2f; stroke: #4493f8 }
  .graph .here .small { fill: #79c0ff }
  .graph .stuck .box, .graph .corrupt .box { fill: #25171c; stroke: #f85149 }
  .graph .stuck .small, .graph .corrupt .small { fill: #ff7b72 }
  .graph .waiting .box, .graph .limited .box { fill: #272115; stroke: #d29922 }
  .graph .waiting .small, .graph .limited .small { fill: #e3b341 }
  .graph a:focus-visible .box { stroke: #4493f8 }
}
";

/// Additions of a page to a picture.
pub struct GraphOnPage<'p> {
    /// Prefix of every id in the picture, so that a page can contain several pictures. Roles and arrows have ids if they are links. The ids
    /// don't change unless the workflow changes.
    pub ids: &'p str,
    /// The link of a role, `$START` or `$END`, if it has one.
    pub node_href: &'p dyn Fn(&str) -> Option<String>,
    /// The link of a branch, by its group and its name, if it has one.
    pub branch_href: &'p dyn Fn(&str, &str) -> Option<String>,
    /// The link of an arrow, by the nodes at its ends.
    pub edge_href: &'p dyn Fn(&str, &str) -> Option<String>,
    /// A note about an arrow, by the nodes at its ends. It is added to the tooltip and to the accessible name.
    pub edge_note: &'p dyn Fn(&str, &str) -> Option<String>,
}
