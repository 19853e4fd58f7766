//! One step of a thread, as a section of a page.

use json_cas::NodeHash;
use serde_json::Value;

use super::embed::embed;
use super::inline::{code, inline, sentence};
use super::output::output;
use super::time::time;
use crate::prompt::fence::fenced;
use crate::thread::{QuestionReply, Step};

/// Minimum size of a section in characters. With less space left, a page ends rather than show a fragment of a step.
pub const MIN_SECTION: usize = 400;

/// A section of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownSection {
    /// Markdown.
    pub text: String,
    /// Omitted characters of the step; 0 if it is complete.
    pub left_out: usize,
}

impl MarkdownSection {
    /// Length in characters, the unit of quotas.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

/// A step in about `quota` characters, at least [`MIN_SECTION`]. The ends of its message and of its output are left out if they don't fit,
/// with the command that shows them.
pub fn section(step: &Step, quota: usize) -> MarkdownSection {
    let mut text = heading(step);
    let mut left = quota.max(MIN_SECTION).saturating_sub(text.chars().count());
    let message = step.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let (out, cut_of_output) = structured(step, if message.is_some() { left / 2 } else { left });
    left = left.saturating_sub(out.chars().count());
    let mut left_out = cut_of_output;
    for exchange in &step.exchanges {
        let (asked, cut) = exchange_text(exchange, left / 2);
        left = left.saturating_sub(asked.chars().count());
        text.push_str(&asked);
        text.push_str(&remark(cut, step.hash));
        left_out += cut;
    }
    let header = match step.header.is_empty() {
        true => String::new(),
        false => format!("\n**Header**\n\n{}", output(&Value::Object(step.header.clone()))),
    };
    left = left.saturating_sub(header.chars().count());
    if let Some(message) = message {
        let (start, cut) = start_of(message, left);
        text.push('\n');
        text.push_str(&embed(start, 3));
        text.push_str(&remark(cut, step.hash));
        left_out += cut;
    }
    text.push_str(&header);
    if message.is_some() || !header.is_empty() {
        text.push_str("\n**Output**\n");
    }
    text.push('\n');
    text.push_str(&out);
    text.push_str(&remark(cut_of_output, step.hash));
    MarkdownSection { text, left_out }
}

/// A question and the reply in about `quota` characters, and the number of omitted characters.
fn exchange_text(exchange: &QuestionReply, quota: usize) -> (String, usize) {
    let QuestionReply { question, reply, by } = exchange;
    let (question, cut_of_question) = start_of(question.trim(), quota / 2);
    let (reply, cut_of_reply) = start_of(reply.trim(), quota / 2);
    let by = by.as_ref().map(|by| format!(" by {}", inline(by))).unwrap_or_default();
    let text = format!("\n**Asked**\n\n{}\n**Reply{by}**\n\n{}", embed(question, 3), embed(reply, 3));
    (text, cut_of_question + cut_of_reply)
}

fn heading(step: &Step) -> String {
    let mut about = vec![
        format!("by {}", inline(&agent_name(&step.agent, step.alias.as_deref()))),
        format!("{} UTC", time(step.timestamp)),
        format!("step {}", code(&step.hash.to_string())),
    ];
    about.extend(step.answered_by.as_ref().map(|by| format!("answered by {}", inline(by))));
    if step.is_child_thread {
        about.push(format!("done by a child thread, its last step {}", code(&step.detail.to_string())));
    }
    match step.extracted_by.as_deref() {
        Some("feedback") => about.push("output obtained by asking again".to_owned()),
        Some("llm") => about.push("output obtained by a model that read the text".to_owned()),
        _ => {}
    }
    match step.failed_attempts {
        0 => {}
        1 => about.push("after a failed attempt".to_owned()),
        several => about.push(format!("after {several} failed attempts")),
    }
    if !step.denied.is_empty() {
        about.push(format!("denied: {}", inline(&step.denied.join(", "))));
    }
    about.extend(step.unreadable.detail.as_ref().map(|why| format!("its detail is not readable: {}", sentence(why))));
    format!("## {}. {}\n\n{}\n", step.index, inline(&step.role), about.join(" · "))
}

/// The displayed name of an agent: its name in the configuration, and its command unless the name begins with it.
pub fn agent_name(command: &str, alias: Option<&str>) -> String {
    match alias {
        Some(alias) if alias.starts_with(command) => alias.to_owned(),
        Some(alias) => format!("{alias} ({command})"),
        None => command.to_owned(),
    }
}

/// The output within a number of characters, and the number of omitted characters.
fn structured(step: &Step, quota: usize) -> (String, usize) {
    if let Some(why) = &step.unreadable.output {
        return (format!("(not readable: {})\n", sentence(why)), 0);
    }
    let text = output(&step.output);
    if text.chars().count() <= quota {
        return (text, 0);
    }
    let json = format!("{:#}", step.output);
    let (start, cut) = start_of(&json, quota);
    (fenced("json", start), cut)
}

/// The start of a text within a number of characters, and the number of omitted characters. It is cut after a line that ends in its second
/// half, if there is one.
pub(super) fn start_of(text: &str, chars: usize) -> (&str, usize) {
    let Some((end, _)) = text.char_indices().nth(chars) else { return (text, 0) };
    let end = text[..end].rfind('\n').filter(|line| *line >= end / 2).map_or(end, |line| line + 1);
    (&text[..end], text[end..].chars().count())
}

fn remark(cut: usize, step: NodeHash) -> String {
    if cut == 0 {
        return String::new();
    }
    format!("\n[… {cut} characters left out: {}]\n", code(&format!("uwf thread step-details {step}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::thread::StepDamage;

    use super::*;

    fn step(message: Option<&str>, output: Value) -> Step {
        Step {
            hash: NodeHash::literal("0123456789ABC"),
            message: message.map(str::to_owned),
            agent: "claude".to_owned(),
            timestamp: 1_795_298_731_000,
            ..Step::new(3, "coder", output)
        }
    }

    #[test]
    fn keys_beside_the_output_are_shown() {
        let header = json!({"status": "needs-work", "confidence": 0.2}).as_object().cloned().unwrap();
        let section = section(&Step { header, ..step(Some("All fine."), json!({"approved": true})) }, 1000);
        assert_eq!(section.left_out, 0);
        insta::assert_snapshot!(section.text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        All fine.

        **Header**

        - **status**: needs-work
        - **confidence**: 0.2

        **Output**

        - **approved**: true
        ");
    }

    #[test]
    fn a_step_is_shown_whole_when_it_fits() {
        let section = section(&step(Some("# Done\n\nIt works.\n"), json!({"status": "done"})), 1000);
        assert_eq!(section.left_out, 0);
        insta::assert_snapshot!(section.text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        ### Done

        It works.

        **Output**

        - **status**: done
        ");
    }

    #[test]
    fn a_step_without_text_is_its_output() {
        let section = section(&step(None, json!({"status": "done"})), 1000);
        insta::assert_snapshot!(section.text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        - **status**: done
        ");
    }

    #[test]
    fn overlong_step_is_shortened_with_notice() {
        let step = step(Some(&"A line of text.\n".repeat(100)), json!({"status": "done"}));
        let section = section(&step, 0);
        insta::assert_snapshot!(section.text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.
        A line of text.

        [… 1295 characters left out: `uwf thread step-details 0123456789ABC`]

        **Output**

        - **status**: done
        ");
        assert!(section.chars() < MIN_SECTION + 120, "{}", section.chars());
    }

    #[test]
    fn a_long_output_is_shortened_as_json() {
        let step = step(None, json!({"list": vec!["a long enough entry, so that it takes a line"; 100]}));
        let section = section(&step, 0);
        insta::assert_snapshot!(section.text, @r#"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        ```json
        {
          "list": [
            "a long enough entry, so that it takes a line",
            "a long enough entry, so that it takes a line",
            "a long enough entry, so that it takes a line",
            "a long enough entry, so that it takes a line",
            "a long enough entry, so that it takes a line",
            "a long enough entry, so that it takes a line",
        ```

        [… 4892 characters left out: `uwf thread step-details 0123456789ABC`]
        "#);
    }

    #[test]
    fn how_it_came_to_be_is_said() {
        let plain = step(None, json!({}));
        let unusual = Step { extracted_by: Some("llm".to_owned()), failed_attempts: 2, ..plain.clone() };
        let child = Step { is_child_thread: true, detail: NodeHash::literal("0000000000001"), ..plain.clone() };
        let detail = Some("node 0000000000001 is corrupt".to_owned());
        let broken = Step { unreadable: StepDamage { detail, output: None }, role: "co*der".to_owned(), ..plain };
        let headings: String = [unusual, child, broken].iter().map(heading).collect();
        insta::assert_snapshot!(headings, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC` · output obtained by a model that read the text · after 2 failed attempts
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC` · done by a child thread, its last step `0000000000001`
        ## 3. `co*der`

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC` · its detail is not readable: node 0000000000001 is corrupt
        ");
    }

    #[test]
    fn an_unreadable_output_is_said() {
        let output = Some("node 1 is corrupt".to_owned());
        let step = Step { unreadable: StepDamage { output, detail: None }, ..step(None, Value::Null) };
        insta::assert_snapshot!(section(&step, 1000).text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        (not readable: node 1 is corrupt)
        ");
    }

    #[test]
    fn cuts_fall_on_lines_and_count_characters() {
        assert_eq!(start_of("short", 5), ("short", 0));
        assert_eq!(start_of("one\ntwo\nthree", 9), ("one\ntwo\n", 5));
        assert_eq!(start_of("äöü", 2), ("äö", 1));
    }
}
