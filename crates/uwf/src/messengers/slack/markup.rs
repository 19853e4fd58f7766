//! Slack's markup of texts.

/// A text as Slack shows it literally: without mentions and links.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An escaped text of at most `most` bytes.
pub(super) fn escaped_within(text: &str, most: usize) -> String {
    let mut cap = most;
    loop {
        let cut = uwf_core::text::without_end(text, cap);
        let escaped = escaped(&cut);
        if escaped.len() <= most || cap == 0 {
            return escaped;
        }
        cap /= 2;
    }
}

/// A text as a person typed it: Slack escapes three symbols, and marks links and mentions.
pub(super) fn typed(text: &str) -> String {
    let mut typed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { break };
        typed.push_str(&rest[..start]);
        typed.push_str(&marked(&rest[start + 1..start + length]));
        rest = &rest[start + length + 1..];
    }
    typed.push_str(rest);
    // The ampersand last: `&amp;lt;` stands for `&lt;`.
    typed.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The text that a person typed for the content of `<…>`.
fn marked(content: &str) -> String {
    let (target, label) = content.split_once('|').map_or((content, None), |(target, label)| (target, Some(label)));
    match (target.chars().next(), label) {
        (Some('@' | '#'), Some(label)) => format!("{}{}", &target[..1], label.trim_start_matches(['@', '#'])),
        (Some('@' | '#'), None) => target.to_owned(),
        (Some('!'), label) => label.map_or_else(|| format!("@{}", &target[1..]), str::to_owned),
        // Slack makes a link of a typed address, with what was typed as its label.
        (_, Some(label)) if target.ends_with(label) => label.to_owned(),
        (_, Some(label)) => format!("{label} ({target})"),
        (_, None) => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_restored() {
        for (sent, expected) in [
            ("a &lt;b&gt; &amp; c", "a <b> & c"),
            ("&amp;lt;", "&lt;"),
            ("see <http://x.example|x.example> now", "see x.example now"),
            ("<mailto:a@b.example|a@b.example>", "a@b.example"),
            ("<https://x.example>", "https://x.example"),
            ("<https://x.example|the page>", "the page (https://x.example)"),
            ("ask <@U1> in <#C1|general>, <!here>", "ask @U1 in #general, @here"),
            ("a < b", "a < b"),
            ("<", "<"),
            ("<>", ""),
            ("<@é>", "@é"),
        ] {
            assert_eq!(typed(sent), expected, "{sent}");
        }
    }

    #[test]
    fn escaped_text_mentions_nobody() {
        let hostile = "<!channel> <@U1> &lt; <http://evil.example|bank>";
        assert!(!escaped(hostile).contains(['<', '>']));
        assert_eq!(typed(&escaped(hostile)), hostile);
        assert!(escaped_within(&"&".repeat(5000), 3000).len() <= 3000);
        assert!(escaped_within(&"é".repeat(5000), 3000).len() <= 3000);
    }
}
