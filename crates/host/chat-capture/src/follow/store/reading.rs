//! One session that is read on, whatever its rows are, and when it rests and ends.

use std::collections::BTreeMap;
use std::time::Instant;

use chat_event::ChatEvent;
use chat_event::payload::Notice;
use chat_normalize::{AT_REST, Context, Dialect, SessionReader};

use super::told::{News, Told};
use crate::follow::open_calls::OpenCalls;
use crate::follow::session::is_missing_result;
use crate::pipe::now_ms;

/// One session that is read on.
#[derive(Debug)]
pub(in crate::follow) struct Reading {
    pub(in crate::follow) reader: SessionReader,
    /// How far it was told; what is fed again up to there is only for the reader.
    pub(in crate::follow) told: Told,
    open: OpenCalls,
    newest_ms: i64,
    used: Instant,
    /// Its rows do not say when it is idle: a rest is taken for that.
    pub(in crate::follow) is_said_idle: bool,
    /// Who ran it is gone, where that is known of the session itself.
    pub(in crate::follow) is_left: bool,
    /// Some of what was read waits to be told, for a moment: until then it does not rest, and is not put away.
    pub(in crate::follow) holds_back: bool,
}

/// After which rest a session ends: where a call waits in it, where none does, and where nobody has the database.
#[derive(Clone, Copy, Debug)]
pub(in crate::follow) struct RestsMs {
    pub(in crate::follow) long: i64,
    pub(in crate::follow) rest: i64,
    pub(in crate::follow) quiet: i64,
    /// Nobody has it: nothing more comes.
    pub(in crate::follow) are_left: bool,
}

impl Reading {
    pub(in crate::follow) fn new(context: Context, dialect: Dialect, told: Told) -> Reading {
        Reading {
            reader: SessionReader::with_dialect(context, dialect),
            told,
            open: OpenCalls::default(),
            newest_ms: 0,
            used: Instant::now(),
            is_said_idle: false,
            is_left: false,
            holds_back: false,
        }
    }

    /// Gives lines to the reader: what they say.
    pub(in crate::follow) fn push(&mut self, lines: &str) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        // It is known whose lines they are.
        let _ = self.reader.push(lines.as_bytes(), AT_REST, &mut events);
        for event in &events {
            let at_ms = event.timestamp;
            self.newest_ms = at_ms.map_or(self.newest_ms, |at| self.newest_ms.max(at));
            self.open.note(event);
        }
        self.used = Instant::now();
        events
    }

    /// What is said of a row that cannot be read.
    pub(in crate::follow) fn unread(
        &self,
        session: &str,
        rowid: i64,
        what: &str,
        why: &str,
    ) -> ChatEvent {
        let session = self.reader.session_id().unwrap_or(session);
        let session = chat_event::session_id::from_native(session).into_owned();
        let notice = Notice {
            level: "warning".to_owned(),
            text: format!("{what} could not be read: {why}"),
            source: Some("reader".to_owned()),
            ..Notice::default()
        };
        let id = format!("row{rowid}-unread");
        let mut event = ChatEvent::new(id, self.newest_ms, session, notice);
        event.timestamp = (self.newest_ms > 0).then_some(self.newest_ms);
        event
    }

    /// What was told of a rest and an end behind its last row, for who tells it anew.
    pub(in crate::follow) fn rest_anew(mut self, told: &Told, out: &mut Vec<ChatEvent>) {
        if told.quiet {
            self.reader.quiet(AT_REST, out);
        }
        if told.ended {
            let _ = self.reader.finish(AT_REST, out);
        }
    }

    /// What is to be told where nothing came for a while.
    fn quiet(&mut self) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        if self.is_said_idle && !self.told.quiet && !self.told.ended {
            self.told.quiet = true;
            self.reader.quiet(AT_REST, &mut events);
        }
        events
    }

    /// What is to be told of its end.
    fn end(&mut self) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let _ = self.reader.finish(AT_REST, &mut events);
        events.retain(|event| !is_missing_result(event));
        self.told.ended = true;
        events
    }
}

/// [`super::Store::settle`] for sessions that are held.
pub(in crate::follow) fn settle<T: AsMut<Reading>>(
    loaded: &mut BTreeMap<String, T>,
    rests: RestsMs,
    most_loaded: usize,
) -> (Vec<News>, Vec<String>) {
    let at_ms = now_ms();
    let mut news = Vec::new();
    let mut away = Vec::new();
    for (session, held) in loaded.iter_mut() {
        let reading = held.as_mut();
        if reading.holds_back {
            continue;
        }
        let rests_ms = at_ms.saturating_sub(reading.newest_ms);
        let waits = !reading.open.is_empty();
        let goes_on = rests_ms < rests.rest || (rests_ms < rests.long && waits);
        let is_left = rests.are_left || reading.is_left;
        if goes_on && (!is_left || rests_ms < rests.quiet) {
            let events = match rests_ms < rests.quiet {
                true => Vec::new(),
                false => reading.quiet(),
            };
            if !events.is_empty() {
                news.push(News {
                    session: session.clone(),
                    events,
                    is_end: false,
                    told: reading.told.clone(),
                });
            }
            continue;
        }
        away.push(session.clone());
        if !reading.told.ended {
            news.push(News {
                session: session.clone(),
                events: reading.end(),
                is_end: true,
                told: reading.told.clone(),
            });
        }
    }
    for session in &away {
        loaded.remove(session);
    }
    while loaded.len() > most_loaded {
        let held = loaded.iter_mut();
        let held = held.map(|(session, it)| (it.as_mut(), session));
        let held = held.filter(|(reading, _)| !reading.holds_back);
        let held = held.map(|(reading, session)| (reading.used, session));
        let Some(session) = held.min().map(|(_, session)| session.clone()) else {
            break;
        };
        loaded.remove(&session);
        away.push(session);
    }
    (news, away)
}
