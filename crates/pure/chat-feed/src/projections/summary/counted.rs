//! What is counted once it is finished, because it may be taken back until then: messages, calls, errors, files.

use std::collections::BTreeMap;

use chat_event::Payload;
use chat_event::payload::{FileEdit, ToolResult};

use super::{FileSummary, ToolCallCounts};
use crate::file_place::moved_from;
use crate::panel::FileChange;
use crate::projections::conversation::{Block, Call, CallKey, Entry, EntryBody, EntryKey};
use crate::set_backs::SetBacks;
use crate::tool::ToolStatus;

/// Files are listed up to here, and counted beyond.
const MOST_FILES: usize = 10_000;

/// What is counted once it is finished.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) prompt: Option<String>,
    pub(super) user_messages: u64,
    pub(super) responses: u64,
    pub(super) sub_agent_responses: u64,
    pub(super) tool_calls: ToolCallCounts,
    pub(super) errors: u64,
    pub(super) files: BTreeMap<String, FileSummary>,
    /// Of files beyond those that are listed.
    pub(super) more_files: FileSummary,
    pub(super) n_more_files: u64,
}

impl Counted {
    pub(super) fn add(
        &mut self,
        entries: &BTreeMap<EntryKey, Entry>,
        calls: &BTreeMap<CallKey, Call>,
        set_backs: &SetBacks<u64, u64>,
    ) {
        for entry in entries.values() {
            self.add_entry(entry);
        }
        for call in calls.values() {
            self.add_call(call);
        }
        let stays = |entry: &Entry| {
            let left = set_backs.of(&entry.turn);
            left.is_none_or(|(_, files_restored)| !files_restored)
        };
        // Each finds the files as those before it left them.
        let mut edits: Vec<(EntryKey, &FileEdit)> = Vec::new();
        for (at, entry) in entries {
            if let EntryBody::Event(event) = &entry.body
                && let Payload::FileEdit(edit) = &event.payload
                && stays(entry)
            {
                edits.push((*at, edit));
            }
        }
        let calls = calls.values();
        let calls = calls.filter(|call| entries.get(&call.home).is_none_or(stays));
        let of_calls = calls.flat_map(|call| &call.edits);
        edits.extend(of_calls.filter_map(|edit| Some((edit.at, edit.edit.as_ref()?))));
        edits.sort_by_key(|(at, _)| *at);
        for (_, edit) in edits {
            self.add_edit(edit);
        }
    }

    fn add_entry(&mut self, entry: &Entry) {
        let main = entry.parent.is_none();
        let event = match &entry.body {
            EntryBody::Event(event) => event,
            EntryBody::Response(response) => {
                let says = |block: &Block| match block {
                    Block::Text(text) | Block::Thinking(text) => {
                        text.redacted || !text.text().is_empty()
                    }
                    Block::Call(_) | Block::Message(_) => true,
                    Block::Gone => false,
                };
                if response.blocks.iter().any(says) {
                    let count = match main {
                        true => &mut self.responses,
                        false => &mut self.sub_agent_responses,
                    };
                    *count += 1;
                }
                return;
            }
        };
        match &event.payload {
            Payload::UserMessage(message) if main => {
                self.user_messages += 1;
                self.note_prompt(&message.text.preview());
            }
            Payload::UserAudio(audio) if main => {
                self.user_messages += 1;
                self.note_prompt(&audio.transcription);
            }
            Payload::ErrorEvent(_) => self.errors += 1,
            _ => {}
        }
    }

    fn note_prompt(&mut self, text: &str) {
        if self.prompt.is_none() {
            self.prompt = chat_event::gist::title(text);
        }
    }

    fn add_call(&mut self, call: &Call) {
        // What only stands for a call that is not in the log is counted where it gave something.
        if !call.called && call.result.is_none() {
            return;
        }
        let counts = &mut self.tool_calls;
        counts.total += 1;
        *counts.by_kind.entry(call.kind.as_str()).or_default() += 1;
        // That something began is no result: how it ended is to come, or was never told.
        let goes_on = call.result.as_ref().is_some_and(ToolResult::goes_on);
        match call.status() {
            ToolStatus::Succeeded if goes_on => counts.without_result += 1,
            ToolStatus::Succeeded => {}
            ToolStatus::Failed => counts.failed += 1,
            ToolStatus::Denied => counts.denied += 1,
            _ => counts.without_result += 1,
        }
    }

    fn add_edit(&mut self, edit: &FileEdit) {
        let mut known = self.files.contains_key(&edit.file_path);
        let moved = moved_from(edit).and_then(|old| self.files.remove(old));
        if let Some(moved) = moved {
            match self.files.get_mut(&edit.file_path) {
                // Both are one from here on.
                Some(file) => {
                    file.edits += moved.edits;
                    file.lines_added = file.lines_added.saturating_add(moved.lines_added);
                    file.lines_removed = file.lines_removed.saturating_add(moved.lines_removed);
                }
                None => {
                    self.files.insert(edit.file_path.clone(), moved);
                    known = true;
                }
            }
        }
        let file = if known || self.files.len() < MOST_FILES {
            let file = self.files.entry(edit.file_path.clone()).or_default();
            file.path.clone_from(&edit.file_path);
            file
        } else {
            self.n_more_files += 1;
            &mut self.more_files
        };
        let change = FileChange::of(&edit.change_type);
        let change = if file.edits == 0 {
            file.is_new = change == FileChange::Created;
            change
        } else {
            FileChange::of(&file.change_type).then(change, file.is_new)
        };
        file.change_type = change.as_str().to_owned();
        file.edits += 1;
        file.lines_added = file.lines_added.saturating_add(u64::from(edit.lines_added));
        file.lines_removed = file
            .lines_removed
            .saturating_add(u64::from(edit.lines_removed));
    }
}
