//! Agents' texts as HTML. An agent can write anything, so only Markdown produces markup: HTML is shown as text, links go only to the web or
//! to mail, and images become links, because a browser would load them.

pub(crate) mod web_links;

use std::ops::Range;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream, html};
use uwf_core::text::{beginning, one_line};

/// Most bytes of a text that are read for a title.
const TITLE: usize = 4096;

/// Schemes allowed in links.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// A Markdown text as a title: in one line and without marks, but for backticks around code. Long texts are cut.
pub(crate) fn in_one_line(text: &str) -> String {
    let mut words = String::new();
    for event in Parser::new_ext(beginning(text, TITLE), OPTIONS) {
        match event {
            Event::Text(part) | Event::Html(part) | Event::InlineHtml(part) => words.push_str(&part),
            Event::Code(code) => words.extend(["`", &code, "`"]),
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image) => {}
            _ => words.push(' '),
        }
    }
    let line = one_line(&words);
    if line.is_empty() { one_line(beginning(text, TITLE)) } else { line }
}

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// A Markdown text as HTML. Headings move down by `below` levels, to fit into the page.
pub(crate) fn markdown(text: &str, below: usize) -> Markup {
    let (mut out, mut headings) = (String::new(), HeadingLevels { below, last: below });
    // The parser splits a text at each symbol that could be a mark, also within addresses.
    let events = TextMergeStream::new(Parser::new_ext(text, OPTIONS).map(|event| harmless(event, &mut headings)));
    let mut literal = 0;
    html::push_html(&mut out, events.flat_map(|event| with_links(event, &mut literal)));
    // The policy of the pages allows no styles in the text. A text itself cannot contain a quotation mark in a tag.
    for (style, class) in ALIGNMENTS {
        out = out.replace(style, class);
    }
    PreEscaped(out)
}

/// How the columns of a table are aligned: the writer's attribute, and the one for a page.
const ALIGNMENTS: [(&str, &str); 3] = [
    (" style=\"text-align: right\"", " class=\"number\""),
    (" style=\"text-align: center\"", " class=\"center\""),
    (" style=\"text-align: left\"", ""),
];

/// The headings of a text, which never skip a level.
struct HeadingLevels {
    /// Level of the heading above the text.
    below: usize,
    /// Level of the heading before.
    last: usize,
}

impl HeadingLevels {
    fn next(&mut self, level: usize) -> HeadingLevel {
        self.last = (level + self.below).min(self.last + 1).clamp(1, 6);
        HeadingLevel::try_from(self.last).unwrap_or(HeadingLevel::H6)
    }

    /// The level of the heading that ends.
    fn current(&self) -> HeadingLevel {
        HeadingLevel::try_from(self.last).unwrap_or(HeadingLevel::H6)
    }
}

fn harmless<'t>(event: Event<'t>, headings: &mut HeadingLevels) -> Event<'t> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Event::Start(link(dest_url)),
        Event::End(TagEnd::Link | TagEnd::Image) => Event::End(TagEnd::Link),
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: headings.next(level as usize),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(headings.current())),
        other => other,
    }
}

/// The same event; a text outside of links and code with its addresses as links.
fn with_links<'t>(event: Event<'t>, literal: &mut usize) -> Vec<Event<'t>> {
    match event {
        Event::Start(Tag::Link { .. } | Tag::CodeBlock(_)) => *literal += 1,
        Event::End(TagEnd::Link | TagEnd::CodeBlock) => *literal -= 1,
        _ => {}
    }
    let text = match event {
        Event::Text(text) if *literal == 0 => text,
        other => return vec![other],
    };
    let part = |range: Range<usize>| CowStr::from(text[range].to_owned());
    let (mut events, mut done) = (Vec::new(), 0);
    for found in web_links::find(&text) {
        events.push(Event::Text(part(done..found.start)));
        done = found.end;
        let address = part(found);
        events.extend([Event::Start(link(address.clone())), Event::Text(address), Event::End(TagEnd::Link)]);
    }
    if done == 0 {
        return vec![Event::Text(text)];
    }
    events.push(Event::Text(part(done..text.len())));
    events
}

/// A link to the web. Any other link loses its target, because it could be a path of this server or a script.
fn link(target: CowStr<'_>) -> Tag<'_> {
    let is_outside = SCHEMES.iter().any(|scheme| target.trim_start().to_ascii_lowercase().starts_with(scheme));
    let dest_url = if is_outside { target } else { CowStr::Borrowed("#") };
    Tag::Link { link_type: LinkType::Inline, dest_url, title: CowStr::Borrowed(""), id: CowStr::Borrowed("") }
}

#[cfg(test)]
mod tests {
    use super::{in_one_line, markdown};

    #[test]
    fn titles_have_no_marks() {
        for (text, title) in [
            ("# Fix **the** _cart_\n\n* one\n* [two](https://x.example)", "Fix the cart one two"),
            ("use `a_b` and snake_case", "use `a_b` and snake_case"),
            ("a <b>c</b> & 1 * 2", "a <b>c</b> & 1 * 2"),
            ("---", "---"),
            ("", ""),
        ] {
            assert_eq!(in_one_line(text), title, "{text}");
        }
    }

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
        assert_eq!(shown("### Three\n# One\n### Three"), "<h3>Three</h3>\n<h3>One</h3>\n<h4>Three</h4>\n");
        let table = shown("| a | b | c | d |\n|--:|:-:|:--|---|\n| 1 | 2 | 3 | style=\"text-align: right\" |");
        assert!(table.contains("<td class=\"number\">1</td><td class=\"center\">2</td><td>3</td>"), "{table}");
        assert!(table.contains("style=\u{26}quot;") || table.contains("style=\"text-align: right\"</td>"), "{table}");
        assert_eq!(
            shown("https://x.example/a_b_c?d=1&e=2."),
            "<p><a href=\"https://x.example/a_b_c?d=1&amp;e=2\">https://x.example/a_b_c?d=1&amp;e=2</a>.</p>\n"
        );
        assert_eq!(shown("`https://x.example`"), "<p><code>https://x.example</code></p>\n");
        assert_eq!(
            shown("[https://x.example](https://y.example)"),
            "<p><a href=\"https://y.example\">https://x.example</a></p>\n"
        );
        assert_eq!(shown("# A {#main .x}"), "<h3>A {#main .x}</h3>\n");
    }
}
