//! What is said of the session: where it began, what is learned of it later, and when things happened.

use chat_event::payload::{LogStart, SessionStart, SessionStatus};
use chat_event::{ChatEvent, Payload, Took};

use super::ChatRenderer;
use crate::block::{BlockBody, BlockId};
use crate::patch::FeedPatch;
use crate::retries::{RETRY_NOTICE, Retries, is_retry};

/// What the row of another model begins with.
pub(crate) const MODEL_NOTICE: &str = "Model: ";

impl ChatRenderer {
    #[inline(never)]
    pub(super) fn log_start(&mut self, start: &LogStart) {
        if start.schema > chat_event::SCHEMA {
            self.feed.session.newer_schema = Some(start.schema);
            self.session_changed();
        }
    }

    #[inline(never)]
    pub(super) fn session_start(&mut self, event: &ChatEvent, start: &SessionStart, took: Took) {
        if event.parent_tool_call_id.is_some() {
            // It began within the session, whose facts are others.
            return self.row(event, BlockBody::SessionStart(Box::new(start.clone())));
        }
        let session = &mut self.feed.session;
        let tell = |known: &mut Option<String>, told: &Option<String>| {
            if told.is_some() {
                known.clone_from(told);
            }
        };
        let model_before = session.model.clone();
        tell(&mut session.title, &start.title);
        tell(&mut session.agent, &start.agent);
        if self.standing.tells(event, start) {
            tell(&mut session.model, &start.model);
            tell(&mut session.git_branch, &start.git_branch);
        }
        if start.tells_cwd(session.cwd.as_deref(), &mut self.is_cwd_guessed) {
            session.cwd.clone_from(&start.cwd);
        }
        tell(&mut session.provider, &start.provider);
        session.arrival_times |= start.timestamp_source.as_deref() == Some("arrival");
        let goes_on = took.is_past || !std::mem::take(&mut self.has_ended);
        self.session_changed();
        let begun = self.begun.filter(|&begun| self.feed.contains(begun));
        let Some(begun) = begun.filter(|_| goes_on) else {
            let mut start = Box::new(start.clone());
            let session = &self.feed.session;
            start.agent.clone_from(&session.agent);
            start.model.clone_from(&session.model);
            if start.cwd.is_none() {
                start.cwd.clone_from(&session.cwd);
            }
            start.git_branch.clone_from(&session.git_branch);
            let place = self.place(event);
            self.begun = Some(self.insert(&place, BlockBody::SessionStart(start)));
            return;
        };
        // It began once: what is learned later is told there, and what changes is told where a reader misses it otherwise.
        if let (Some(_), Some(model)) = (&model_before, &self.feed.session.model)
            && model_before.as_ref() != Some(model)
        {
            let body = BlockBody::Notice {
                warning: false,
                text: format!("{MODEL_NOTICE}{model}"),
                line: None,
                source: Some("session_start".to_owned()),
                found: None,
            };
            self.row(event, body);
        }
        let BlockBody::SessionStart(known) = &self.feed.block(begun).body else {
            return;
        };
        let mut more = known.clone();
        let learn = |known: &mut Option<String>, told: &Option<String>| {
            if known.is_none() {
                known.clone_from(told);
            }
        };
        learn(&mut more.agent, &start.agent);
        learn(&mut more.model, &start.model);
        if start.tells_cwd(more.cwd.as_deref(), &mut more.is_cwd_guessed()) {
            more.cwd.clone_from(&start.cwd);
            more.extra.remove(SessionStart::CWD_GUESSED);
            if let Some(mark) = start.extra.get(SessionStart::CWD_GUESSED) {
                more.extra.insert(SessionStart::CWD_GUESSED, mark.clone());
            }
        }
        learn(&mut more.git_branch, &start.git_branch);
        if more != *known {
            self.feed.slot(begun).block.body = BlockBody::SessionStart(more);
            // The event in hand came to another row, or to none.
            self.patches.push(FeedPatch::Update { block: begun });
        }
    }

    #[inline(never)]
    pub(super) fn session_status(&mut self, event: &ChatEvent, status: &SessionStatus) {
        if !is_retry(status) {
            return;
        }
        // Tries in a row are one row.
        let place = self.place(event);
        let known = self.retries.take().filter(|(row, _)| {
            let block = self.feed.block(*row);
            self.feed.contains(*row) && (block.turn, block.parent) == (place.turn, place.parent)
        });
        let (row, mut retries) = match known {
            Some((row, retries)) => (Some(row), retries),
            None => (None, Retries::default()),
        };
        retries.note(status, self.now_ms);
        let body = retried(&retries, self.now_ms);
        let row = match row {
            Some(row) => {
                self.feed.slot(row).block.body = body;
                self.update(row);
                row
            }
            None => self.insert(&place, body),
        };
        self.retries = Some((row, retries));
    }

    /// The provider answered, or is asked no more. Gives where the tries are told, and what they were.
    #[inline(never)]
    pub(super) fn retries_end(&mut self) -> Option<(BlockId, Retries)> {
        let (row, retries) = self.retries.take()?;
        let body = retried(&retries, self.now_ms);
        if self.feed.contains(row) && self.feed.block(row).body != body {
            self.feed.slot(row).block.body = body;
            // The event in hand comes to another row, or to none.
            self.patches.push(FeedPatch::Update { block: row });
        }
        Some((row, retries))
    }

    pub(super) fn note_time(&mut self, event: &ChatEvent) {
        let session = &mut self.feed.session;
        if session.session_id.is_empty() && !event.session_id.is_empty() {
            session.session_id.clone_from(&event.session_id);
            self.patches.push(FeedPatch::Session);
        }
        if event.is_control() {
            return;
        }
        // What is written down late may have happened before.
        let times = [session.first_ms, self.now_ms];
        session.first_ms = times.into_iter().flatten().min();
        session.last_ms = session.last_ms.max(self.now_ms);
    }

    /// When an event was. A session does not end before all of it: who tells that has a clock that is behind, and tells no time.
    pub(super) fn time_of(&self, event: &ChatEvent) -> Option<i64> {
        let is_end = matches!(event.payload, Payload::SessionEnd(_));
        let is_wrong = is_end && event.timestamp < self.feed.session.first_ms;
        event.timestamp.filter(|_| !is_wrong)
    }
}

fn retried(retries: &Retries, to_ms: Option<i64>) -> BlockBody {
    BlockBody::Notice {
        warning: false,
        text: retries.words(to_ms),
        line: None,
        source: Some(RETRY_NOTICE.to_owned()),
        found: None,
    }
}
