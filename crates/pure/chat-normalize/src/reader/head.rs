//! The head of a source: its lines are held until they say what they are and whose, and then read as that.

use serde_json::Value;

use super::Core;
use super::beside::Beside;
use super::held::{Held, HeldLine};
use super::running::Running;
use crate::detect::{Detector, HEAD_BYTES};
use crate::dialect::{Dialect, Naming, Origin, Sessions};
use crate::emit::{Emitter, hash};
use crate::parse::{event_data, parse_line};
use crate::value::text_of;

/// How many lines are held at most for one that names the session, once the dialect is known.
pub(super) const MAX_HELD_LINES: usize = 64;

impl Core {
    pub(super) fn hold(&mut self, held: Held<'static>) {
        match &held.line {
            HeldLine::Text { text, .. } => {
                self.held_bytes += text.len() + 1;
                // Also where the dialect is given: its document may be printed over several lines.
                let told = self.detector.line(held.line_no, text);
                if self.is_given {
                    self.looks_like = self.looks_like.or(told);
                } else if self.dialect.is_none() {
                    self.dialect = told.or_else(|| self.detector.settled());
                }
                self.look_for_name(event_data(text).unwrap_or(text));
            }
            HeldLine::Zeros => self.detector.other(held.line_no, "nothing but zero bytes"),
            HeldLine::TooLong => self
                .detector
                .other(held.line_no, "a line of more than 16 MiB"),
        }
        self.held.push(held);
        let named = self.named.is_some() || self.context.session_id.is_some();
        let long = self.held.len() > MAX_HELD_LINES || self.held_bytes > HEAD_BYTES;
        let is_printed = self.detector.is_printed();
        match self.dialect {
            Some(_) if is_printed && self.detector.gave_up() => {
                self.failed = Some(self.detector.not_a_session());
            }
            Some(dialect) if (named || long) && !is_printed => self.start(dialect),
            Some(_) => {}
            None if self.detector.gave_up() => self.failed = Some(self.detector.not_a_session()),
            None => {}
        }
    }

    /// Takes note of the session that what stands in a text names, unless one is known.
    fn look_for_name(&mut self, text: &str) {
        if self.named.is_some() {
            return;
        }
        for value in &parse_line(text).values {
            match Dialect::ClaudeStream.naming(value) {
                Naming::Before(id) => self.called = Some(id.to_owned()),
                _ => self.named = self.named.take().or_else(|| native_session_id(value)),
            }
        }
    }

    pub(super) fn start(&mut self, dialect: Dialect) {
        if self.named.is_none() {
            // A value over several lines may name it, too.
            let texts = self.held.iter().filter_map(|held| match &held.line {
                HeldLine::Text { text, .. } => Some(text.as_ref()),
                HeldLine::Zeros | HeldLine::TooLong => None,
            });
            let whole = texts.collect::<Vec<_>>().join("\n");
            self.look_for_name(&whole);
        }
        let native_id = self.named.clone().or_else(|| self.called.clone());
        let wanted = self.context.session_id.as_ref().or(native_id.as_ref());
        let session_id = match wanted {
            Some(id) => chat_event::session_id::from_native(id).into_owned(),
            None if matches!(dialect.profile().sessions, Sessions::NamedLate) => {
                let texts = self.held.iter().filter_map(|held| match &held.line {
                    HeldLine::Text { text, .. } => Some(text.as_ref()),
                    HeldLine::Zeros | HeldLine::TooLong => None,
                });
                let run = self.context.run.as_deref();
                let all: Vec<&str> = run.into_iter().chain(texts).collect();
                format!("s-{:016x}", hash(all.join("\n").as_bytes()))
            }
            None => {
                let first = self.held.iter().find_map(|held| match &held.line {
                    HeldLine::Text { text, .. } => Some(text.as_ref()),
                    HeldLine::Zeros | HeldLine::TooLong => None,
                });
                format!("s-{:016x}", hash(first.unwrap_or("").as_bytes()))
            }
        };
        let mut running = Running {
            emitter: Emitter::new(&session_id),
            normalizer: (dialect.profile().make)(&self.context),
            dialect,
            // Who wants all of it in one session gets that.
            native_id: native_id.filter(|_| self.context.session_id.is_none()),
            ahead: Vec::new(),
            ahead_bytes: 0,
            beside: match self.context.session_id {
                None => dialect
                    .router()
                    .map(|router| Beside::new(router, &session_id)),
                Some(_) => None,
            },
            torn: None,
        };
        if dialect.profile().origin == Origin::Run {
            running.emitter.run = self.context.run_mark();
        }
        running.emitter.untold_edits.is_off = dialect.profile().tells_edits_late;
        for held in std::mem::take(&mut self.held) {
            running.line(&held);
        }
        self.running = Some(running);
        if self.is_given {
            self.looks_like = self.looks_like.or_else(|| self.detector.at_end());
        }
        // What it keeps of a document is of no use any more.
        self.detector = Detector::default();
    }
}

/// The id a source gives its session.
pub(super) fn native_session_id(value: &Value) -> Option<String> {
    let id = text_of(value, "session_id").or_else(|| text_of(value, "sessionId"));
    id.map(str::to_owned)
        .or_else(|| Dialect::all().find_map(|dialect| (dialect.profile().session_of)(value)))
}
