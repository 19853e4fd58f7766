//! One step of a thread, as a section of a page.

use json_cas::Hash;
use serde_json::Value;

use super::embed::embed;
use super::inline::{code, inline, sentence};
use super::output::output;
use super::time::time;
use crate::prompt::fence::fenced;

/// Characters a section takes at least: with fewer left, a page ends rather than tell a step in a stub.
pub const MIN_SECTION: usize = 400;

/// A step as a page tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Its position in the thread, from 1.
    pub index: usize,
    /// The `StepNode`.
    pub hash: Hash,
    /// Role that was played.
    pub role: String,
    /// Command of the agent, as configured.
    pub agent: String,
    /// What the configuration calls the agent, when the detail says so.
    pub alias: Option<String>,
    /// Unix milliseconds the step was first put at.
    pub timestamp_ms: u64,
    /// Its structured output, or why that is not readable.
    pub output: Result<Value, String>,
    /// Where its text comes from.
    pub source: Source,
}

/// What is known of how a step came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The agent's answer.
    Answer {
        /// What it wrote beside the structured output, when it did.
        text: Option<String>,
        /// How the output was obtained, when that is not the usual way.
        extracted_by: Option<String>,
        /// Failed tries before it.
        failed: usize,
    },
    /// A thread of its own; its last step.
    ChildThread(Hash),
    /// The detail is not readable, and why.
    Unreadable(String),
}

/// A section of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Markdown.
    pub text: String,
    /// Characters of the step that are left out; 0 when it is whole.
    pub left_out: usize,
}

impl Section {
    /// Length in characters, which is what quotas count.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

/// A step in about `quota` characters, at least [`MIN_SECTION`]. What does not fit is left out at the end of its
/// text, and said with the command that shows it.
pub fn section(step: &Told, quota: usize) -> Section {
    let mut text = heading(step);
    let mut left = quota.max(MIN_SECTION).saturating_sub(text.chars().count());
    let spoken = match &step.source {
        Source::Answer { text, .. } => text.as_deref().map(str::trim).filter(|text| !text.is_empty()),
        Source::ChildThread(_) | Source::Unreadable(_) => None,
    };
    let (out, cut_of_output) = structured(&step.output, if spoken.is_some() { left / 2 } else { left });
    left = left.saturating_sub(out.chars().count());
    let mut left_out = cut_of_output;
    if let Some(spoken) = spoken {
        let (start, cut) = start_of(spoken, left);
        text.push('\n');
        text.push_str(&embed(start, 3));
        text.push_str(&remark(cut, step.hash));
        text.push_str("\n**Output**\n");
        left_out += cut;
    }
    text.push('\n');
    text.push_str(&out);
    text.push_str(&remark(cut_of_output, step.hash));
    Section { text, left_out }
}

fn heading(step: &Told) -> String {
    let mut about = vec![
        format!("by {}", inline(&agent_name(&step.agent, step.alias.as_deref()))),
        format!("{} UTC", time(step.timestamp_ms)),
        format!("step {}", code(&step.hash.to_string())),
    ];
    match &step.source {
        Source::Answer { extracted_by, failed, .. } => {
            about.extend(extracted_by.as_ref().map(|by| format!("output obtained by {}", inline(by))));
            match failed {
                0 => {}
                1 => about.push("after a failed attempt".to_owned()),
                several => about.push(format!("after {several} failed attempts")),
            }
        }
        Source::ChildThread(head) => {
            about.push(format!("done by a child thread, its last step {}", code(&head.to_string())));
        }
        Source::Unreadable(why) => about.push(format!("its detail is not readable: {}", sentence(why))),
    }
    format!("## {}. {}\n\n{}\n", step.index, inline(&step.role), about.join(" · "))
}

/// An agent as people are shown it: what the configuration calls it, and its command where that says more.
pub fn agent_name(command: &str, alias: Option<&str>) -> String {
    match alias {
        Some(alias) if alias.starts_with(command) => alias.to_owned(),
        Some(alias) => format!("{alias} ({command})"),
        None => command.to_owned(),
    }
}

/// The output within a number of characters, and how many are left out.
fn structured(value: &Result<Value, String>, quota: usize) -> (String, usize) {
    let value = match value {
        Ok(value) => value,
        Err(why) => return (format!("(not readable: {})\n", sentence(why)), 0),
    };
    let text = output(value);
    if text.chars().count() <= quota {
        return (text, 0);
    }
    let json = format!("{value:#}");
    let (start, cut) = start_of(&json, quota);
    (fenced("json", start), cut)
}

/// The start of a text within a number of characters, cut at a line when one ends in its second half; and how many
/// characters are left out.
pub(super) fn start_of(text: &str, chars: usize) -> (&str, usize) {
    let Some((end, _)) = text.char_indices().nth(chars) else { return (text, 0) };
    let end = text[..end].rfind('\n').filter(|line| *line >= end / 2).map_or(end, |line| line + 1);
    (&text[..end], text[end..].chars().count())
}

fn remark(cut: usize, step: Hash) -> String {
    if cut == 0 {
        return String::new();
    }
    format!("\n[… {cut} characters left out: {}]\n", code(&format!("uwf thread step-details {step}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(text: Option<&str>, output: Value) -> Told {
        Told {
            index: 3,
            hash: Hash::literal("0123456789ABC"),
            role: "coder".to_owned(),
            agent: "claude".to_owned(),
            alias: None,
            timestamp_ms: 1_795_298_731_000,
            output: Ok(output),
            source: Source::Answer { text: text.map(str::to_owned), extracted_by: None, failed: 0 },
        }
    }

    #[test]
    fn a_step_is_told_whole_when_it_fits() {
        let section = section(&told(Some("# Done\n\nIt works.\n"), json!({"status": "done"})), 1000);
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
        let section = section(&told(None, json!({"status": "done"})), 1000);
        insta::assert_snapshot!(section.text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        - **status**: done
        ");
    }

    #[test]
    fn a_step_that_is_too_long_is_shortened_and_says_so() {
        let step = told(Some(&"A line of text.\n".repeat(100)), json!({"status": "done"}));
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
        let step = told(None, json!({"list": vec!["a long enough entry, so that it takes a line"; 100]}));
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
    fn how_it_came_to_be_is_told() {
        let unusual = Source::Answer { text: None, extracted_by: Some("llm".to_owned()), failed: 2 };
        let child = Source::ChildThread(Hash::literal("0000000000001"));
        let broken = Source::Unreadable("node 0000000000001 is corrupt".to_owned());
        let told: Vec<String> = [unusual, child, broken]
            .into_iter()
            .map(|source| heading(&Told { source, role: "co*der".to_owned(), ..told(None, json!({})) }))
            .collect();
        insta::assert_snapshot!(told.concat(), @r"
        ## 3. `co*der`

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC` · output obtained by llm · after 2 failed attempts
        ## 3. `co*der`

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC` · done by a child thread, its last step `0000000000001`
        ## 3. `co*der`

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC` · its detail is not readable: node 0000000000001 is corrupt
        ");
    }

    #[test]
    fn an_unreadable_output_is_said() {
        let step = Told { output: Err("node 1 is corrupt".to_owned()), ..told(None, json!({})) };
        insta::assert_snapshot!(section(&step, 1000).text, @r"
        ## 3. coder

        by claude · 2026-11-21 22:05:31 UTC · step `0123456789ABC`

        (not readable: node 1 is corrupt)
        ");
    }

    #[test]
    fn texts_are_cut_at_lines_and_counted_in_characters() {
        assert_eq!(start_of("short", 5), ("short", 0));
        assert_eq!(start_of("one\ntwo\nthree", 9), ("one\ntwo\n", 5));
        assert_eq!(start_of("äöü", 2), ("äö", 1));
    }
}
