//! The pure core of uwf: what a workflow is, which role comes next, what an agent is asked, what its answer means.
//!
//! A separate crate, so that purity can be enforced: nothing here does I/O or reads a clock or the environment (checked by this crate's
//! `clippy.toml`). Functions take values and return values. Work that needs the outside world is returned as an effect, which `uwf-engine`
//! carries out.
//!
//! The moderator chooses the next role from the transitions of the last role and from the history:
//!
//! ```
//! use serde_json::json;
//! use uwf_core::moderator::{CompiledCondition, CompiledTransition, EndReason, ThreadHistory, Moderator, NextAction, DecisionState};
//! use uwf_core::thread::Step;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rejected = CompiledCondition::compile("steps[-1].output.approved = false")?;
//! let after_the_reviewer = Moderator::new(vec![
//!     CompiledTransition { role: "writer".into(), condition: Some(("rejected".into(), rejected)), outcome: None },
//!     CompiledTransition { role: "$END".into(), condition: None, outcome: None },
//! ]);
//! let review = Step::new(1, "reviewer", json!({ "approved": true }));
//! let history = ThreadHistory { total: 1, steps: vec![review], ..ThreadHistory::default() };
//! let DecisionState::Decided(decision) = after_the_reviewer.decide(&history)? else {
//!     unreachable!("a plain condition is evaluated on the spot");
//! };
//! assert_eq!(decision.next, NextAction::End(EndReason::Graph));
//! assert_eq!(decision.outcome(), Some("succeeded"));
//! assert!(!decision.trace[0].matched, "`rejected` was looked at first");
//! # Ok(())
//! # }
//! ```
//!
//! The extractor reads an agent's answer as a value that fits the role's schema:
//!
//! ```
//! use json_cas::schema::CompiledSchema;
//! use serde_json::json;
//! use uwf_core::extract::{self, Extraction};
//! use uwf_core::prompt::AnswerForm;
//!
//! let schema = json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] });
//! let schema = CompiledSchema::compile(&schema).unwrap();
//! let text = "Here it is:\n\n---\ntitle: Fix #42\n---\nIt works.";
//! let Extraction::Found(found) = extract::read(text, AnswerForm::Frontmatter, &schema, &String::new) else {
//!     panic!("there is a header");
//! };
//! assert_eq!(found.value, json!({ "title": "Fix #42" }));
//! ```

pub mod activity;
pub mod agent_name;
pub mod config;
pub mod document;
pub mod escapes;
pub mod event;
pub mod extract;
pub mod failure_class;
pub mod failure_words;
pub mod file_schema;
pub mod foreign;
pub mod input;
pub mod label;
pub mod limit_end;
pub mod model_option;
pub mod moderator;
pub mod money;
pub mod node;
pub mod number;
pub mod outcome;
mod placeholder;
pub mod prompt;
mod schema_shape;
pub mod secret_search;
pub mod spending;
pub mod text;
pub mod thread;
pub mod usage;
pub mod view;
pub mod workflow;
mod workspace;
