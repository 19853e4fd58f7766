//! The question to a person who plays a role, and the form of the answer for people.

use serde_json::Value;

use super::example::{example, to_yaml};
use super::fence::head;
use super::fields::fields;
use crate::workflow::{Role, is_text};

/// Bytes of the task that a question repeats. The thread has the full task.
const TASK_SHOWN: usize = 2 << 10;

/// The input of a question.
#[derive(Debug, Clone, Copy)]
pub struct QuestionInput<'a> {
    /// Name of the workflow.
    pub workflow: &'a str,
    /// Name of the role to be played.
    pub role_name: &'a str,
    /// The role.
    pub role: &'a Role,
    /// JSON Schema of the role's output.
    pub schema: &'a Value,
    /// The task of the thread.
    pub task: &'a str,
}

/// The question as plain text: role, goal, required output, and the schema in words. Ends in a newline.
pub fn question(input: &QuestionInput<'_>) -> String {
    let role = input.role;
    let mut text = format!("You are asked to play role `{}` of workflow `{}`.\n", input.role_name, input.workflow);
    for (title, content) in [("Goal", &role.goal), ("Procedure", &role.procedure), ("Required output", &role.output)] {
        paragraph(&mut text, title, content);
    }
    let (task, left_out) = head(input.task.trim(), TASK_SHOWN);
    let more = if left_out > 0 { format!("\n[… {left_out} bytes left out]") } else { String::new() };
    paragraph(&mut text, "Task", &format!("{task}{more}"));
    match is_text(input.schema) {
        true => text.push_str("\nThe answer is a text.\n"),
        false => paragraph(&mut text, "The answer needs", &answer_in_words(input.schema)),
    }
    text
}

/// The form of an answer in words, one key per line. For a schema without keys, its type.
pub fn answer_in_words(schema: &Value) -> String {
    let described = fields(schema);
    if described.is_empty() { to_yaml(&example(schema)) } else { described }
}

/// The header of an answer with a placeholder in each place, to be filled in by hand: two `---` lines around YAML.
pub fn header_form(schema: &Value) -> String {
    format!("---\n{}---\n", to_yaml(&example(schema)))
}

/// The answer as JSON on one line, a placeholder in each place.
pub fn json_form(schema: &Value) -> String {
    example(schema).to_string()
}

/// Adds a title and an indented text, unless the text is empty.
fn paragraph(text: &mut String, title: &str, content: &str) {
    let content = content.trim();
    if content.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    for line in content.lines() {
        text.push_str(&if line.trim().is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_says_who_is_asked_for_what() {
        let role = Role {
            description: String::new(),
            goal: "Decide whether it goes out.".to_owned(),
            capabilities: Vec::new(),
            procedure: String::new(),
            output: "Say why.\n".to_owned(),
            meta: json_cas::NodeHash::literal("FXEFD3A3K4P94"),
            more: crate::workflow::RoleOptions::default(),
        };
        let schema = json!({
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "why": {"type": "string"}},
            "required": ["approved"],
        });
        let input = QuestionInput { workflow: "w", role_name: "boss", role: &role, schema: &schema, task: "Post it." };
        assert_eq!(
            question(&input),
            "You are asked to play role `boss` of workflow `w`.\n\
             \nGoal:\n  Decide whether it goes out.\n\
             \nRequired output:\n  Say why.\n\
             \nTask:\n  Post it.\n\
             \nThe answer needs:\n  - `approved` (required): `true` or `false`\n  - `why` (optional): text\n"
        );
        assert_eq!(header_form(&schema), "---\napproved: <true or false>\nwhy: <text>\n---\n");
        assert_eq!(answer_in_words(&json!({"type": "string"})), "<text>\n");
    }
}
