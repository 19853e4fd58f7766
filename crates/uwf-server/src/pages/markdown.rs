//! Agents' texts as HTML. An agent can write anything, so only Markdown produces markup: HTML is shown as text, links go only to the web or
//! to mail, and images become links, because a browser would load them.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// Schemes allowed in links.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// A Markdown text as HTML. Headings move down by `below` levels, to fit into the page.
pub(crate) fn markdown(text: &str, below: usize) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut out = String::new();
    html::push_html(&mut out, Parser::new_ext(text, options).map(|event| harmless(event, below)));
    PreEscaped(out)
}

fn harmless(event: Event<'_>, below: usize) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Event::Start(link(dest_url)),
        Event::End(TagEnd::Link | TagEnd::Image) => Event::End(TagEnd::Link),
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: deeper(level as usize + below),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(deeper(level as usize + below))),
        other => other,
    }
}

/// A link to the web. Any other link loses its target, because it could be a path of this server or a script.
fn link(target: CowStr<'_>) -> Tag<'_> {
    let is_outside = SCHEMES.iter().any(|scheme| target.trim_start().to_ascii_lowercase().starts_with(scheme));
    let dest_url = if is_outside { target } else { CowStr::Borrowed("#") };
    Tag::Link { link_type: LinkType::Inline, dest_url, title: CowStr::Borrowed(""), id: CowStr::Borrowed("") }
}

fn deeper(level: usize) -> pulldown_cmark::HeadingLevel {
    pulldown_cmark::HeadingLevel::try_from(level.clamp(1, 6)).unwrap_or(pulldown_cmark::HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn agent_text_never_becomes_page_markup() {
        let shown = |text: &str| markdown(text, 2).into_string();
        assert_eq!(shown("<script>x</script> b"), "&lt;script&gt;x&lt;/script&gt; b");
        assert_eq!(shown("a <b onclick=x>b</b>"), "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n");
        assert_eq!(shown("[a](javascript:x)"), "<p><a href=\"#\">a</a></p>\n");
        assert_eq!(shown("[a]( JAVASCRIPT:x)"), "<p><a href=\"#\">a</a></p>\n");
        assert_eq!(
            shown("[a](https://x.example/\"onmouseover=1)"),
            "<p><a href=\"https://x.example/%22onmouseover=1\">a</a></p>\n"
        );
        assert_eq!(shown("![a](https://x.example/p.png)"), "<p><a href=\"https://x.example/p.png\">a</a></p>\n");
        assert_eq!(shown("# One"), "<h3>One</h3>\n");
        assert_eq!(shown("# A {#main .x}"), "<h3>A {#main .x}</h3>\n");
    }
}
