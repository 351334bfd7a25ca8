//! What is written beside agents' files, or in their first line: the call that started the agent, and whether it has a name.

use std::collections::VecDeque;

use serde_json::Value;

use super::Want;
use crate::folder::{AgentPart, Caller};
use crate::value::text_of;

/// The longest file that is written beside an agent's.
const MAX_META_BYTES: usize = 64 * 1024;

/// The files that are still to be read, the first of them perhaps in part.
#[derive(Debug)]
pub(super) struct Metas {
    /// With the agent.
    files: VecDeque<(String, String)>,
    bytes: Vec<u8>,
    offset: u64,
}

/// What such a file says.
pub(super) struct Meta {
    pub(super) agent_id: String,
    /// The call that started the agent.
    pub(super) call: Option<String>,
    /// The agent writes a compaction's summary.
    pub(super) unnamed: bool,
}

impl Metas {
    pub(super) fn of(agents: &[AgentPart]) -> Self {
        let files = agents.iter().filter_map(|agent| {
            let meta = agent.meta.clone()?;
            Some((meta, agent.agent_id.clone()))
        });
        Metas {
            files: files.collect(),
            bytes: Vec::new(),
            offset: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn wants(&self) -> Option<Want<'_>> {
        self.files.front().map(|(path, _)| Want {
            path,
            offset: self.offset,
        })
    }

    /// Takes the next bytes of the first file, none where it is at its end; gives what it says once it is read.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<Meta> {
        self.offset += bytes.len() as u64;
        let room = MAX_META_BYTES.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        if !bytes.is_empty() && room > 0 {
            return None;
        }
        let first = self.bytes.split(|byte| *byte == b'\n').next();
        let first = || serde_json::from_slice(first.unwrap_or_default());
        let meta: Value = serde_json::from_slice(&self.bytes)
            .or_else(|_| first())
            .unwrap_or_default();
        let called = || Caller::of(&meta).map(|caller| caller.tool_call_id);
        self.bytes.clear();
        self.offset = 0;
        let (_, agent_id) = self.files.pop_front()?;
        Some(Meta {
            agent_id,
            call: text_of(&meta, "toolUseId")
                .map(str::to_owned)
                .or_else(called),
            unnamed: meta.get("agentType").and_then(Value::as_str) == Some(""),
        })
    }

    /// Passes over the first file, which cannot be read.
    pub(super) fn skip(&mut self) -> Option<Meta> {
        self.bytes.clear();
        self.push(&[])
    }
}
