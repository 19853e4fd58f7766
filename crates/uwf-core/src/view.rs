//! What a thread looks like to a reader: markdown made to be read, from what is known of a thread.
//!
//! Texts of agents are embedded so that nothing in them is taken for structure of the page: their headings are put
//! below its own, what they leave open is closed, and what could still swallow the rest of the page is fenced.

mod embed;
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
pub use page::{Ending, Failure, LeftOut, Page, page, task};
pub use step::{MIN_SECTION, Section, agent_name, section};
pub use time::{day_start, time};
