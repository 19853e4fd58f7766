//! Lookups of the extracting model: store nodes that a text mentions by hash.

use json_cas::{NodeHash, Store};
use uwf_llm::{ChatTool, ChatToolCall, LookupTools};

use crate::cas_get;
use crate::progress;

/// Rounds of lookups. The value is in the text or one or two references away.
const MAX_ROUNDS: u32 = 5;

/// Nodes read in total, however many calls a reply has.
const MAX_NODES: usize = 10;

/// Bytes of each node: some 4,000 tokens, beginning and end.
const MAX_NODE: usize = 16_000;

/// Nodes shown with the text if the model cannot call tools.
const MAX_NAMED: usize = 3;

/// Bytes of each of those.
const MAX_NAMED_NODE: usize = 8_000;

/// Characters of a hash.
const HASH_LENGTH: usize = 13;

const DESCRIPTION: &str = "Reads a node of the store by its hash of 13 symbols. Use it if the text refers to a node \
                           for a value you need.";

/// The nodes of a store, for one text.
pub(super) struct NodeLookupTools<'a> {
    store: &'a Store,
    text: &'a str,
    /// Nodes read so far.
    read: usize,
}

impl<'a> NodeLookupTools<'a> {
    pub(super) fn new(store: &'a Store, text: &'a str) -> NodeLookupTools<'a> {
        NodeLookupTools { store, text, read: 0 }
    }

    fn get(&mut self, call: &ChatToolCall) -> Result<String, String> {
        let arguments = call.parsed()?;
        if self.read == MAX_NODES {
            return Err(format!("not read: {MAX_NODES} nodes were shown, which is the limit"));
        }
        let text = cas_get::call(self.store, &arguments, MAX_NODE)?;
        self.read += 1;
        Ok(text)
    }

    /// Nodes whose hashes are in the text, the last one first: an answer names its result at the end.
    fn named(&self) -> Vec<(NodeHash, String)> {
        let mut found: Vec<(NodeHash, String)> = Vec::new();
        let words = self.text.rsplit(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == HASH_LENGTH);
        for hash in words.filter_map(|word| word.parse::<NodeHash>().ok()) {
            if found.len() == MAX_NAMED {
                break;
            }
            if found.iter().any(|(known, _)| *known == hash) {
                continue;
            }
            if let Ok(node) = cas_get::node_text(self.store, hash, MAX_NAMED_NODE) {
                found.push((hash, node));
            }
        }
        found
    }
}

impl LookupTools for NodeLookupTools<'_> {
    fn tools(&self) -> Vec<ChatTool> {
        let (name, description) = (cas_get::NAME.to_owned(), DESCRIPTION.to_owned());
        vec![ChatTool { name, description, parameters: cas_get::parameters() }]
    }

    fn look_up(&mut self, call: &ChatToolCall) -> Result<String, String> {
        let result = self.get(call);
        let (Ok(text) | Err(text)) = &result;
        progress::line(&format!("\n[{} {}]", call.name, progress::excerpt(&call.arguments)));
        progress::line(&format!("[{}]", progress::excerpt(text)));
        result
    }

    fn instead(&self) -> Option<String> {
        let nodes: Vec<String> = self
            .named()
            .into_iter()
            .map(|(hash, node)| format!("The text names {hash}, which is:\n\n{node}"))
            .collect();
        (!nodes.is_empty()).then(|| nodes.join("\n\n"))
    }

    fn max_rounds(&self) -> u32 {
        MAX_ROUNDS
    }
}
