//! Questions that an agent asks a person during a step, and the replies.

use super::fence::head;
use super::{AgentPrompt, PartKind, PromptPart};
use crate::thread::QuestionReply;

/// Bytes of its question that an agent gets back.
const QUESTION_SHOWN: usize = 8 << 10;

/// All questions and replies, at the end of a prompt for a new session; `None` if there are none.
pub(super) fn part(replies: &[QuestionReply]) -> Option<PromptPart> {
    if replies.is_empty() {
        return None;
    }
    let mut text = String::new();
    for QuestionReply { question, reply, .. } in replies {
        let (question, left_out) = head(question.trim(), QUESTION_SHOWN);
        let more = if left_out > 0 { format!("\n[… {left_out} bytes left out]") } else { String::new() };
        text.push_str(&format!(
            "\n# Your question to a person\n\n{question}{more}\n\n# The person's reply\n\n{}\n",
            reply.trim()
        ));
    }
    text.push_str("\nContinue with this reply.\n");
    Some(PromptPart { kind: PartKind::Replies, text })
}

/// The prompt of an agent that continues the session in which it asked.
pub fn reply(reply: &str) -> AgentPrompt {
    let text = format!(
        "# The person's reply\n\n{}\n\nContinue with this reply, and answer in the form you were given.\n",
        reply.trim()
    );
    AgentPrompt { parts: vec![PromptPart { kind: PartKind::Replies, text }] }
}
