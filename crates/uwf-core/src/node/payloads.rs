//! Which type each payload has: the first of its types that has all its keys.

use json_cas::{NodeDraft, NodeHash};
use serde::Serialize;

use super::{
    AGENT, ATTEMPT, ATTEMPT_WITH_CACHE_WRITES, AgentNode, AttemptNode, CONTENT, ContentNode, END_WITH_OUTCOME,
    REACT_SESSION, REACT_TOOL_CALL, REACT_TURN, RESUMED_SESSION, ReactSession, ReactToolCall, ReactTurn,
    ResumedSession, SESSION_WITH_CACHE_WRITES, START_NODE, START_WITH_INPUT, STEP_NODE, StartNode, StepNode,
    THREAD_END, TRACED_ATTEMPT, ThreadEnd, TokenCounts, TracedAttempt, WORKFLOW, WORKFLOW_EXTENDED, WORKFLOW_RESOLVING,
    WORKFLOW_WITH_SETTINGS,
};

/// A payload that mirrors one of [`super::OWN_TYPES`] and so is valid under its schema by construction.
pub trait TypedPayload: Serialize {
    /// The type of its nodes.
    const TYPE: NodeHash;

    /// Later types of its nodes, with more keys. They exist because the schema of the first is pinned.
    const LATER: &'static [NodeHash] = &[];

    /// The node, ready to be stored.
    fn draft(&self) -> NodeDraft {
        draft(Self::TYPE, self)
    }
}

fn draft<P: Serialize + ?Sized>(type_hash: NodeHash, payload: &P) -> NodeDraft {
    let value = serde_json::to_value(payload).expect("payload structs hold only JSON-representable values");
    NodeDraft::new(type_hash, value).expect("payload structs hold only CBOR-representable numbers").trusted()
}
macro_rules! payloads {
    ($($payload:ty = $hash:ident;)*) => {
        $(impl TypedPayload for $payload { const TYPE: NodeHash = $hash; })*
    };
}

/// A workflow has one of four types, because their schemas are pinned: the first that has all its keys. So an older version of uwf steps
/// every workflow that it can read.
impl TypedPayload for crate::workflow::Workflow {
    const TYPE: NodeHash = WORKFLOW;
    const LATER: &'static [NodeHash] = &[WORKFLOW_WITH_SETTINGS, WORKFLOW_EXTENDED, WORKFLOW_RESOLVING];

    fn draft(&self) -> NodeDraft {
        let has_settings = !self.limits.is_empty() || !self.workspace.is_default();
        let type_hash = match (self.is_extended(), has_settings) {
            (true, _) if self.resolves_conflicts() => WORKFLOW_RESOLVING,
            (true, _) => WORKFLOW_EXTENDED,
            (false, true) => WORKFLOW_WITH_SETTINGS,
            (false, false) => Self::TYPE,
        };
        draft(type_hash, self)
    }
}

/// A start with input has a second type beside the first, whose schema is pinned.
impl TypedPayload for StartNode {
    const TYPE: NodeHash = START_NODE;
    const LATER: &'static [NodeHash] = &[START_WITH_INPUT];

    fn draft(&self) -> NodeDraft {
        draft(if self.input.is_none() { Self::TYPE } else { START_WITH_INPUT }, self)
    }
}

/// An end with an outcome has a second type beside the first, whose schema is pinned.
impl TypedPayload for ThreadEnd {
    const TYPE: NodeHash = THREAD_END;
    const LATER: &'static [NodeHash] = &[END_WITH_OUTCOME];

    fn draft(&self) -> NodeDraft {
        draft(if self.meaning.is_none() { Self::TYPE } else { END_WITH_OUTCOME }, self)
    }
}

/// A session that wrote to a cache has a later type, whose tokens say so.
impl TypedPayload for ReactSession {
    const TYPE: NodeHash = REACT_SESSION;
    const LATER: &'static [NodeHash] = &[SESSION_WITH_CACHE_WRITES];

    fn draft(&self) -> NodeDraft {
        match TokenCounts::writes_cache(self.tokens.as_ref()) {
            true => draft(SESSION_WITH_CACHE_WRITES, self),
            false => draft(Self::TYPE, &self.without_cache_writes()),
        }
    }
}

/// The same for a resumed session. Both have one later type.
impl TypedPayload for ResumedSession {
    const TYPE: NodeHash = RESUMED_SESSION;
    const LATER: &'static [NodeHash] = &[SESSION_WITH_CACHE_WRITES];

    fn draft(&self) -> NodeDraft {
        match TokenCounts::writes_cache(self.session.tokens.as_ref()) {
            true => draft(SESSION_WITH_CACHE_WRITES, self),
            false => {
                let session = self.session.without_cache_writes();
                draft(Self::TYPE, &ResumedSession { session, resumed: self.resumed })
            }
        }
    }
}

/// The same for an attempt.
impl TypedPayload for TracedAttempt {
    const TYPE: NodeHash = TRACED_ATTEMPT;
    const LATER: &'static [NodeHash] = &[ATTEMPT_WITH_CACHE_WRITES];

    fn draft(&self) -> NodeDraft {
        match TokenCounts::writes_cache(self.tokens.as_ref()) {
            true => draft(ATTEMPT_WITH_CACHE_WRITES, self),
            false => {
                let tokens = TokenCounts::without_cache_writes(self.tokens.clone());
                draft(Self::TYPE, &TracedAttempt { tokens, ..self.clone() })
            }
        }
    }
}

/// The session counts tokens written to a cache; its turns don't.
impl TypedPayload for ReactTurn {
    const TYPE: NodeHash = REACT_TURN;

    fn draft(&self) -> NodeDraft {
        let tokens = TokenCounts::without_cache_writes(self.tokens.clone());
        draft(Self::TYPE, &ReactTurn { tokens, ..self.clone() })
    }
}

payloads! {
    StepNode = STEP_NODE;
    ContentNode = CONTENT;
    AgentNode = AGENT;
    AttemptNode = ATTEMPT;
    ReactToolCall = REACT_TOOL_CALL;
}
