//! Removes a model's reasoning from its answer.
//!
//! Models write their reasoning between tags or in a separate channel. Some servers remove the opening tag and keep the closing one. A
//! value inside the reasoning is a draft.

use std::sync::LazyLock;

use super::lines::CodeFence;
use super::loose_json;

/// Tags around reasoning.
const TAGS: [&str; 12] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reason",
    "analysis",
    "reflection",
    "scratchpad",
    "inner_monologue",
    "antThinking",
    "seed:think",
];

/// Tags in other brackets: `[THINK]`, `◁think▷`.
const OTHER_BRACKETS: [(&str, &str); 2] = [("[", "]"), ("◁", "▷")];

/// Pairs of special tokens around reasoning.
const TOKENS: [(&str, &str); 4] = [
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|thinking|>", "<|/thinking|>"),
];

/// All marks that end reasoning.
static CLOSINGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tags = TAGS.into_iter().map(|tag| format!("</{tag}>"));
    let other = OTHER_BRACKETS.into_iter();
    let other = other.flat_map(|(open, close)| ["think", "thinking"].map(|tag| format!("{open}/{tag}{close}")));
    tags.chain(other).chain(TOKENS.into_iter().map(|(_, close)| close.to_owned())).collect()
});

/// Markers of models that answer in several channels: `<|channel|>NAME<|message|>TEXT<|end|>`.
const CHANNEL: &str = "<|channel|>";
const START: &str = "<|start|>";
const ENDS: [&str; 4] = ["<|end|>", "<|return|>", "<|call|>", START];
const MESSAGE: &str = "<|message|>";

/// Returns the text without reasoning. A tag counts only at the start or end of an unindented line, outside code blocks. An opening tag
/// without a closing one starts reasoning that runs to the end. A closing tag without an opening one ends reasoning that started with the
/// text.
pub(super) fn without_thoughts(text: &str) -> String {
    let mut text = final_channel(text);
    loop {
        match spoken(text) {
            Ok(said) => return said,
            Err(begin) => text = &text[begin..],
        }
    }
}

/// As [`without_thoughts`], for one channel.
///
/// # Errors
/// The end of a closing tag in a code block that is never closed. The answer begins there.
fn spoken(text: &str) -> Result<String, usize> {
    let mut said: Vec<&str> = Vec::new();
    let mut thinks: Option<String> = None;
    let mut code: Option<CodeFence<'_>> = None;
    // The end of a closing tag in a code block. It counts if the code block is never closed.
    let mut closed_in_code = None;
    let mut at = 0;
    let mut objects = ObjectRanges { text, end: 0, unread: 8 * text.len() + (1 << 16) };
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        let begin = at;
        at += line.len();
        if thinks.is_none() {
            // A tag inside a string of an object is a part of its value.
            if code.is_none() && objects.contains(begin) {
                said.push(line);
                continue;
            }
            if let Some(open) = code {
                let fence = CodeFence::from_line(line.trim_end());
                if let (Some(begin), true) = (closed_in_code, fence.is_some_and(|fence| fence.opens_beside(&open))) {
                    return Err(begin);
                }
                if fence.is_some_and(|fence| fence.closes(&open)) {
                    (code, closed_in_code) = (None, None);
                } else if let Some(behind) = lone_closing(line) {
                    closed_in_code = Some(at - behind.len());
                }
                said.push(line);
                continue;
            }
            if let Some((closing, behind)) = opening(line) {
                (thinks, rest) = (Some(closing), behind);
            } else if let Some((closing, before)) = opening_at_end(line) {
                said.push(before);
                (thinks, rest) = (Some(closing), "");
            } else if let Some(behind) = lone_closing(line).filter(|_| !is_sentence_below_header(line, text)) {
                said.clear();
                rest = behind;
            } else {
                code = CodeFence::from_line(line.trim_end());
            }
        }
        while let Some(closing) = &thinks {
            let Some(behind) = behind_closing(rest, closing) else { break };
            (thinks, rest) = (None, behind);
            if let Some((closing, behind)) = opening(rest) {
                (thinks, rest) = (Some(closing), behind);
            }
        }
        if thinks.is_none() {
            said.push(rest);
        }
    }
    closed_in_code.map_or_else(|| Ok(said.concat()), Err)
}

/// The objects that begin at the left edge of a text.
struct ObjectRanges<'t> {
    text: &'t str,
    /// The end of the last one.
    end: usize,
    /// Bytes that may still be read of broken objects. The limit keeps the work linear.
    unread: usize,
}

impl ObjectRanges<'_> {
    /// Whether the line at an offset is inside an object. Offsets must increase.
    fn contains(&mut self, at: usize) -> bool {
        if at >= self.end && self.unread > 0 && self.text[at..].starts_with('{') {
            match loose_json::read_at(self.text, at) {
                Ok(object) => self.end = object.end,
                Err(slip) => self.unread = self.unread.saturating_sub(slip.read),
            }
        }
        at < self.end
    }
}

/// Returns the text of the last `final` channel, or the whole text if it has no channels.
fn final_channel(text: &str) -> &str {
    if let Some(answer) = text.trim_start().strip_prefix("analysis").and_then(|rest| rest.rsplit_once("assistantfinal"))
    {
        return answer.1;
    }
    if !text.trim_start().starts_with(CHANNEL) && !text.trim_start().starts_with(START) {
        return text;
    }
    let messages = text.split(CHANNEL).skip(1).filter_map(|channel| channel.split_once(MESSAGE));
    let last = messages.filter(|(name, _)| name.trim().starts_with("final")).last();
    last.map_or("", |(_, message)| {
        ENDS.iter().fold(message, |message, end| message.split(end).next().unwrap_or_default())
    })
}

/// Splits an opening mark from the start of a line. Returns the mark that closes it, and the rest of the line.
fn opening(line: &str) -> Option<(String, &str)> {
    let token = TOKENS.into_iter().find_map(|(open, close)| Some((close.to_owned(), without_prefix(line, open)?)));
    if token.is_some() {
        return token;
    }
    if let Some(inside) = line.strip_prefix('<') {
        let (tag, behind) = inside.split_once('>')?;
        let name = tag.split(' ').next().unwrap_or_default();
        let known = TAGS.into_iter().find(|known| name.eq_ignore_ascii_case(known))?;
        return Some((format!("</{known}>"), behind));
    }
    OTHER_BRACKETS.into_iter().find_map(|(open, close)| {
        let (tag, behind) = line.strip_prefix(open)?.split_once(close)?;
        let known = ["think", "thinking"].into_iter().find(|known| tag.eq_ignore_ascii_case(known))?;
        Some((format!("{open}/{known}{close}"), behind))
    })
}

/// Splits an opening mark from the end of an unindented line. Returns the mark that closes it, and the text before it.
fn opening_at_end(line: &str) -> Option<(String, &str)> {
    let at = line.trim_end().rfind(['<', '[', '◁']).filter(|_| !line.starts_with([' ', '\t']))?;
    let (closing, behind) = opening(line.get(at..)?)?;
    behind.trim().is_empty().then_some((closing, &line[..at]))
}

/// Whether a closing tag ends a sentence below a header. Such a sentence mentions the tag, and the header is the answer.
fn is_sentence_below_header(line: &str, text: &str) -> bool {
    !line.starts_with('<') && text.trim_start().starts_with("---\n")
}

/// Returns the text after a closing mark at the start or end of an unindented line.
fn lone_closing(line: &str) -> Option<&str> {
    let trimmed = line.trim_end();
    if line.starts_with([' ', '\t']) || !trimmed.contains(['/', '|']) {
        return None;
    }
    CLOSINGS.iter().find_map(|closing| {
        without_prefix(line, closing).or_else(|| {
            let at = trimmed.len().checked_sub(closing.len())?;
            trimmed.get(at..)?.eq_ignore_ascii_case(closing).then(|| &line[trimmed.len()..])
        })
    })
}

/// Returns the text after the first closing mark.
fn behind_closing<'t>(text: &'t str, closing: &str) -> Option<&'t str> {
    let first = closing.chars().next()?;
    text.match_indices(first).find_map(|(at, _)| without_prefix(&text[at..], closing))
}

/// Returns the text after a prefix in any case.
fn without_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.get(..prefix.len()).filter(|found| found.eq_ignore_ascii_case(prefix)).map(|_| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::without_thoughts;

    #[test]
    fn text_between_tags_is_thought() {
        for (text, said) in [
            ("<think>a</think>b", "b"),
            ("<scratchpad>\na\n</scratchpad>\nb", "\nb"),
            ("<antthinking>a</antThinking>b", "b"),
            ("<seed:think>a</seed:think>b", "b"),
            ("<think>\na\n</think>\nb", "\nb"),
            ("[THINK]a[/THINK]b", "b"),
            ("◁think▷a\n◁/think▷b", "b"),
            ("<|START_THINKING|>a<|END_THINKING|>\nb", "\nb"),
            ("[thinker]: x", "[thinker]: x"),
            ("<Thinking mode=\"x\">a\nb</thinking> c", " c"),
            ("a\n<reasoning>b\n</reasoning>\nc", "a\n\nc"),
            ("<think>a</think><think>b</think>c", "c"),
            ("<think>a ``` b</think>c", "c"),
            ("a <think> b", "a <think> b"),
            ("a <think>\nb\n</think>\nc", "a \nc"),
            ("code: |\n  <think>\n  x\n  </think>\nd", "code: |\n  <think>\n  x\n  </think>\nd"),
            ("``` x\na\n</think>\nb", "\nb"),
            ("say `<|channel|>` aloud", "say `<|channel|>` aloud"),
            ("no tag", "no tag"),
        ] {
            assert_eq!(without_thoughts(text), said, "{text}");
        }
    }

    #[test]
    fn unpaired_tag_extends_to_end() {
        assert_eq!(without_thoughts("a\n<think>\nb\nc"), "a\n");
        assert_eq!(without_thoughts("a\nb</think>\nc"), "\nc");
        assert_eq!(without_thoughts("a\n</think>c"), "c");
        assert_eq!(without_thoughts("a</think> b\nc"), "a</think> b\nc");
    }

    #[test]
    fn tags_in_code_are_text() {
        let text = "```\n<think>\na\n</think>\n```\nb";
        assert_eq!(without_thoughts(text), text);
    }

    #[test]
    fn of_several_channels_the_last_one_counts() {
        let text = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>";
        assert_eq!(without_thoughts(text), "b");
        assert_eq!(without_thoughts("<|channel|>analysis<|message|>a<|end|>"), "");
        assert_eq!(without_thoughts("analysisWe must.assistantfinal{\"a\": 1}"), "{\"a\": 1}");
    }
}
