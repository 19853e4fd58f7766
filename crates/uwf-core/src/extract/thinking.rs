//! What a model said, without what it only thought.
//!
//! Models that reason aloud put it between tags, or into a channel of its own; some servers remove the first tag and leave the last.
//! A value in there is a draft.

use super::lines::CodeFence;

/// Tags around thoughts.
const TAGS: [&str; 6] = ["think", "thinking", "thought", "thoughts", "reasoning", "analysis"];

/// What begins a channel of a model that answers in several, and what its name ends with.
const CHANNEL: &str = "<|channel|>";
const START: &str = "<|start|>";
const ENDS: [&str; 4] = ["<|end|>", "<|return|>", "<|call|>", START];
const MESSAGE: &str = "<|message|>";

/// The text without thoughts. A tag counts where it begins or ends a line at the left edge, outside of code. Behind a tag
/// that nothing closes all is thought, and so is all before a closing tag that nothing opened.
pub(super) fn without_thoughts(text: &str) -> String {
    let text = final_channel(text);
    let mut said: Vec<&str> = Vec::new();
    let mut thinks: Option<&str> = None;
    let mut code: Option<CodeFence<'_>> = None;
    // Where a closing tag stands in code that nothing closes.
    let mut closed_in_code = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        at += line.len();
        if thinks.is_none() {
            if let Some(open) = code {
                if CodeFence::of(line.trim_end()).is_some_and(|fence| fence.closes(&open)) {
                    (code, closed_in_code) = (None, None);
                } else if let Some(behind) = lone_closing(line) {
                    closed_in_code = Some(at - behind.len());
                }
                said.push(line);
                continue;
            }
            if let Some((tag, behind)) = opening(line) {
                (thinks, rest) = (Some(tag), behind);
            } else if let Some((tag, before)) = opening_at_end(line) {
                said.push(before);
                (thinks, rest) = (Some(tag), "");
            } else if let Some(behind) = lone_closing(line).filter(|_| !is_sentence_below_header(line, text)) {
                said.clear();
                rest = behind;
            } else {
                code = CodeFence::of(line.trim_end());
            }
        }
        while let Some(tag) = thinks {
            let Some(behind) = behind_closing(rest, tag) else { break };
            (thinks, rest) = (None, behind);
            if let Some((tag, behind)) = opening(rest) {
                (thinks, rest) = (Some(tag), behind);
            }
        }
        if thinks.is_none() {
            said.push(rest);
        }
    }
    match closed_in_code {
        Some(at) => without_thoughts(&text[at..]),
        None => said.concat(),
    }
}

/// What a model that answers in channels says in the last one. Text without channels is as it was.
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

/// The tag that a line begins with, and what is behind it.
fn opening(line: &str) -> Option<(&'static str, &str)> {
    let inside = line.strip_prefix('<')?;
    let (tag, behind) = inside.split_once('>')?;
    let name = tag.split(' ').next().unwrap_or_default();
    Some((TAGS.into_iter().find(|known| name.eq_ignore_ascii_case(known))?, behind))
}

/// The tag that a line ends with, and what is before it.
fn opening_at_end(line: &str) -> Option<(&'static str, &str)> {
    let at = line.trim_end().rfind('<').filter(|_| !line.starts_with([' ', '\t']))?;
    let (tag, behind) = opening(line.get(at..)?)?;
    behind.trim().is_empty().then_some((tag, &line[..at]))
}

/// Whether a line speaks of the tag that it ends with, in the text below a header: that is what was said.
fn is_sentence_below_header(line: &str, text: &str) -> bool {
    !line.starts_with('<') && text.trim_start().starts_with("---\n")
}

/// What is behind the closing tag that a line begins or ends with.
fn lone_closing(line: &str) -> Option<&str> {
    let trimmed = line.trim();
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let is_closing = |tag: &str| {
        tag.strip_prefix("</")
            .and_then(|tag| tag.strip_suffix('>'))
            .is_some_and(|name| TAGS.into_iter().any(|known| name.eq_ignore_ascii_case(known)))
    };
    if let Some(end) = trimmed.find('>')
        && is_closing(&trimmed[..=end])
    {
        let at = line.find('>').map_or(line.len(), |at| at + 1);
        return Some(&line[at..]);
    }
    let last = trimmed.rfind("</").filter(|at| is_closing(&trimmed[*at..]));
    last.map(|_| &line[line.len() - (line.len() - line.trim_end().len())..])
}

/// What is behind the first closing tag of this name.
fn behind_closing<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let start = from + at + 2;
        let end = start + name.len();
        if text.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(name)) && text[end..].starts_with('>') {
            return Some(&text[end + 1..]);
        }
        from = start;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::without_thoughts;

    #[test]
    fn what_is_between_tags_is_thought() {
        for (text, said) in [
            ("<think>a</think>b", "b"),
            ("<think>\na\n</think>\nb", "\nb"),
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
    fn a_tag_without_its_partner_reaches_to_the_end() {
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
