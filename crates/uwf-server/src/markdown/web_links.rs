//! Addresses of pages in texts.

use std::ops::Range;

use linkify::{LinkFinder, LinkKind};
use maud::{Markup, html};

/// The addresses in a text that begin with `http` or `https`, without the symbols around them, in their order.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let found = finder.links(text).filter(|link| is_web(link.as_str()));
    found.map(|link| link.start()..link.end()).collect()
}

/// A text whose addresses are links.
pub(crate) fn linked(text: &str) -> Markup {
    let mut done = 0;
    html! {
        @for link in find(text) {
            @let before = std::mem::replace(&mut done, link.end);
            (text[before..link.start]) a href=(text[link.clone()]) rel="noopener noreferrer" { (text[link]) }
        }
        (text[done..])
    }
}

fn is_web(address: &str) -> bool {
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_end_before_punctuation() {
        for (text, expected) in [
            ("see https://x.example/a_b?c=1.", vec!["https://x.example/a_b?c=1"]),
            ("(https://x.example/a), <http://y.example>", vec!["https://x.example/a", "http://y.example"]),
            ("javascript://x.example/%0aalert(1) file:///etc x.example a@x.example", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(find(text).into_iter().map(|link| &text[link]).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn text_around_address_stays_text() {
        let shown = linked("<b> \"https://x.example/\"><i>").into_string();
        let link = "<a href=\"https://x.example/\" rel=\"noopener noreferrer\">https://x.example/</a>";
        assert_eq!(shown, format!("&lt;b&gt; &quot;{link}&quot;&gt;&lt;i&gt;"));
    }
}
