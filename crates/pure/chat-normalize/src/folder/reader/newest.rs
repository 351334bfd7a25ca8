//! The file that was opened last, whose bytes are wanted: the session's own, or an agent's within it.

use std::borrow::Cow;

use chat_event::ChatEvent;

use super::{FolderReader, Want};
use crate::detect::NotASession;

impl FolderReader {
    pub(super) fn wants_of_newest(&self) -> Option<Want<'_>> {
        let is_own = self.sources.last().is_some_and(|it| it.agent.is_none());
        if let Some(woven) = self.woven.as_ref().filter(|_| is_own) {
            return woven.wants();
        }
        self.sources.last().map(|source| Want {
            path: &source.path,
            offset: source.offset,
        })
    }

    /// Takes its next bytes, none where it is at its end. What it gives waits there to be handed on.
    pub(super) fn push_to_newest(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), NotASession> {
        let Some(source) = self.sources.last_mut() else {
            return Ok(());
        };
        source.offset += bytes.len() as u64;
        let mut events = Vec::new();
        let (mut lines, mut is_end) = (Cow::Borrowed(bytes), bytes.is_empty());
        if let Some(woven) = self.woven.as_mut().filter(|_| source.agent.is_none()) {
            lines = Cow::Owned(woven.push(bytes).into_bytes());
            is_end = woven.is_done();
        }
        let mut verdict = source.reader.push(&lines, arrival_ms, &mut events);
        if is_end && verdict.is_ok() {
            source.ended = true;
            verdict = source.reader.finish(arrival_ms, &mut events);
        }
        source.events.extend(events);
        if let Err(why) = verdict {
            if source.agent.is_none() {
                self.sources.clear();
                return Err(why);
            }
            let text = format!("{} could not be read: {why}", source.path);
            source.ended = true;
            source.events.clear();
            self.say("warning", text, out);
        }
        Ok(())
    }

    /// What is wanted of it cannot be read.
    pub(super) fn skip_in_newest(&mut self, arrival_ms: i64) {
        let Some(source) = self.sources.last_mut() else {
            return;
        };
        let mut events = Vec::new();
        let mut is_end = true;
        if let Some(woven) = self.woven.as_mut().filter(|_| source.agent.is_none()) {
            let lines = woven.skip();
            let _ = source
                .reader
                .push(lines.as_bytes(), arrival_ms, &mut events);
            is_end = woven.is_done();
        }
        // What was read up to here stands, and what is open in it is closed.
        if is_end {
            let _ = source.reader.finish(arrival_ms, &mut events);
        }
        source.events.extend(events);
        source.ended = is_end;
    }

    /// It is at its end.
    pub(super) fn end_newest(&mut self) {
        let Some(source) = self.sources.pop() else {
            return;
        };
        self.written.add_report(source.reader.report());
        if source.agent.is_none() {
            self.dialect = source.reader.dialect();
        }
        if self.sources.is_empty() {
            self.next_left();
        }
    }
}
