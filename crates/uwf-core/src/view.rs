//! Renders a thread for readers as markdown.
//!
//! Texts of agents are embedded so that nothing in them counts as structure of the page: their headings are placed below its own, open
//! blocks are closed, and a text that could still swallow the rest of the page is fenced.

mod embed;
pub mod github;
mod inline;
mod key_order;
mod output;
mod page;
mod step;
mod time;

pub use embed::embed;
pub use inline::{code, inline, sentence};
pub use key_order::in_schema_order;
pub use output::output;
pub use page::{LeftOut, MarkdownPage, PageEnding, PageFailure, input, page, task};
pub use step::{MIN_SECTION, MarkdownSection, agent_name, section};
pub use time::{time, time_of_day};
