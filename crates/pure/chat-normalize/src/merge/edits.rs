//! Edits of files: what tells less of one gives way to what tells more.

use chat_event::payload::Retract;
use chat_event::{ChatEvent, Extra};

use super::Merge;
use super::facts::Worth;
use crate::emit::hash;

/// What was told of the edits that one call made of one file.
#[derive(Debug)]
pub(super) struct Edited {
    worth: Worth,
    /// Who told it first.
    by: usize,
    /// The events, as long as one may come that is worth more.
    ids: Vec<String>,
}

impl Merge {
    /// A file that was edited; what tells less of it is taken back where one tells more.
    pub(super) fn tell_edit(
        &mut self,
        key: u64,
        worth: Worth,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        // Those that tell as much are counted: others were taken back for them, or are left out.
        let more = self
            .told
            .count(hash(format!("{key} {worth:?}").as_bytes()), source);
        let (less, same) = match self.edits.remove(&key) {
            Some(before) if before.worth < worth => (before.ids, None),
            before => (Vec::new(), before),
        };
        let Some(mut edited) = same else {
            if !less.is_empty() && !self.written.is_log(source) {
                self.take_back(less, &event, source, out);
            }
            let ids = vec![self.write(source, event, out)];
            let by = source;
            self.edits.insert(key, Edited { worth, by, ids });
            return;
        };
        // A call may edit a file more than once. Another source may tell that as one edit, or cut it otherwise, and is left out.
        // What is in a log came from any of them: who goes on with it may be who began, and loses nothing. That there was an edit
        // is told once.
        let by_one = edited.by == source || self.written.is_log(edited.by);
        if more && by_one && worth == edited.worth && worth > Worth::File {
            let id = self.write(source, event, out);
            if worth < Worth::Diff {
                edited.ids.push(id);
            }
        } else {
            self.dropped += 1;
        }
        self.edits.insert(key, edited);
    }

    /// Takes back events for which `event` stands.
    pub(super) fn take_back(
        &mut self,
        event_ids: Vec<String>,
        event: &ChatEvent,
        source: usize,
        out: &mut Vec<ChatEvent>,
    ) {
        let payload = Retract {
            event_ids,
            extra: Extra::default(),
        };
        let id = format!("{}:same", event.id);
        let mut retract = ChatEvent::new(id, 0, event.session_id.clone(), payload);
        retract.timestamp = event.timestamp;
        retract.turn_id.clone_from(&event.turn_id);
        self.write(source, retract, out);
    }
}
