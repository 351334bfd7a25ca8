//! Which call of one source is which of another's, where a source numbers its calls.
//!
//! `codex exec` counts the items of a run, and what it prints has no other ids; the session's file has those of the calls.
//! There a call is another source's by its turn and what it does; of several that do the same, in their order.

use std::collections::HashMap;

use chat_event::payload::ToolCall;
use chat_event::{ChatEvent, Payload};

use super::wording::Wording;
use crate::codex::is_numbered;
use crate::emit::hash;

/// The calls of all sources.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The calls of one turn that do the same, in their order: those that are numbered apart from those with ids of their own.
    by_deed: HashMap<(u64, bool), Vec<Call>>,
    /// Where a call stands among those, by the hash of its id.
    known: HashMap<(u64, u64), usize>,
    /// How many of those a source has, from the first on: for it they are not looked at again.
    n_had: HashMap<(u64, bool, usize), usize>,
    /// Calls that were told under the id of another source.
    told_as: HashMap<String, String>,
}

#[derive(Debug)]
struct Call {
    id: String,
    /// The sources that have it.
    sources: u32,
}

impl Calls {
    /// Gives what is said of a call the id under which the call is told; its turn is the one that all sources share.
    pub(super) fn rename(&mut self, source: usize, event: &mut ChatEvent, wording: Wording) {
        if let Payload::ToolCall(call) = &event.payload {
            self.take(source, event.turn_id.as_deref(), call, wording);
        }
        if self.told_as.is_empty() {
            return;
        }
        let ids = [
            event.parent_tool_call_id.as_mut(),
            event.payload.tool_call_id_mut(),
        ];
        for id in ids.into_iter().flatten() {
            if let Some(told) = self.told_as.get(id) {
                id.clone_from(told);
            }
        }
    }

    fn take(&mut self, source: usize, turn: Option<&str>, call: &ToolCall, wording: Wording) {
        let id = &call.tool_call_id;
        if self.told_as.contains_key(id) {
            return;
        }
        let turn = turn.unwrap_or_default();
        let key = hash(format!("{turn}\0{}", wording.of(deed(call))).as_bytes());
        let (bit, numbered) = (1 << source, is_numbered(id));
        let known = (key, hash(id.as_bytes()));
        if let Some(at) = self.known.get(&known) {
            let same = self.by_deed.get_mut(&(key, numbered));
            if let Some(call) = same.and_then(|same| same.get_mut(*at)) {
                call.sources |= bit;
            }
            return;
        }
        if let Some(others) = self.by_deed.get_mut(&(key, !numbered)) {
            let n_had = self.n_had.entry((key, !numbered, source)).or_default();
            let mut rest = others.iter_mut().skip(*n_had);
            let other = rest.find(|other| {
                *n_had += 1;
                other.sources & bit == 0
            });
            if let Some(other) = other {
                other.sources |= bit;
                self.told_as.insert(id.clone(), other.id.clone());
                return;
            }
        }
        let same = self.by_deed.entry((key, numbered)).or_default();
        self.known.insert(known, same.len());
        same.push(Call {
            id: id.clone(),
            sources: bit,
        });
    }
}

/// What a call does, in the words that all sources of Codex have for it.
pub(super) fn deed(call: &ToolCall) -> String {
    let kind = call.kind.as_deref().unwrap_or_default();
    let title = call.title.as_deref().unwrap_or_default();
    let args = call.args.as_text();
    match (kind, call.tool_name.as_str()) {
        // The lists of files differ in their order, and in whether their paths are whole.
        ("edit", _) => {
            let mut files: Vec<&str> = title
                .split(", ")
                .map(|path| path.rsplit('/').next().unwrap_or(path))
                .collect();
            files.sort_unstable();
            format!("edit\0{}", files.join("\0"))
        }
        (_, "wait" | "wait_agent") => "wait".to_owned(),
        ("execute" | "fetch", _) if !title.is_empty() => format!("{kind}\0{title}"),
        (_, name) => format!("{name}\0{args}"),
    }
}
