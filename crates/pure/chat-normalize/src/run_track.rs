//! One run of a program that tells whole texts and calls: its turn, the response that is open, the parts that each had.
//!
//! Ids come from the source where it has some; else a turn is called by the time of its first line, which is the same
//! whenever the source is read, and a response by its number in the turn.

use chat_event::payload::{SessionStart, TurnEnd};
use serde_json::{Map, Value};

use crate::emit::Emitter;
use crate::facts::guessed;
use crate::reader::Context;
use crate::recent::{LATE_LARGE, Recent};
use crate::speech::Kind;
use crate::track::{Said, Track, ended};
use crate::value::str_of;

/// What is open in a run.
#[derive(Debug)]
pub(crate) struct RunTrack {
    pub(crate) track: Track,
    /// What the user asked, where the source does not say it.
    prompt: Option<String>,
    /// Where the program runs, where the source does not say it.
    cwd: Option<String>,
    /// The response that has no id of its own and is open, and how many of them the turn had.
    response: Option<String>,
    n_responses: u64,
    /// How many texts and thoughts a response had.
    parts: Recent<[u32; 2], LATE_LARGE>,
    last_ms: Option<i64>,
}

impl RunTrack {
    pub(crate) fn new(context: &Context) -> Self {
        RunTrack {
            track: Track::new(),
            prompt: context.prompt.clone(),
            cwd: context.cwd.clone(),
            response: None,
            n_responses: 0,
            parts: Recent::default(),
            last_ms: None,
        }
    }

    /// What is read now happened then, or where that is not known, when the line before did.
    pub(crate) fn at(&mut self, emitter: &mut Emitter, time_ms: Option<i64>) {
        self.last_ms = time_ms.or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    /// What the session is.
    pub(crate) fn facts(
        &mut self,
        emitter: &mut Emitter,
        mut facts: SessionStart,
        mut rest: Map<String, Value>,
    ) {
        if facts.cwd.is_none() && self.track.facts.cwd().is_none() {
            facts.cwd = self.cwd.take();
            rest.extend(guessed(facts.cwd.as_ref()));
        }
        self.track.facts.say(emitter, facts, rest);
    }

    /// A turn begins; one that is open must have been closed before.
    pub(crate) fn open_turn(&mut self, emitter: &mut Emitter, id: Option<&str>, trigger: &str) {
        let stem = match (id, self.last_ms) {
            (Some(id), _) => id.to_owned(),
            (None, Some(time_ms)) => format!("t{time_ms}"),
            (None, None) => format!("t-{}", emitter.line_id()),
        };
        self.n_responses = 0;
        self.response = None;
        self.track.open_turn(emitter, &stem, trigger);
    }

    /// The user asks.
    pub(crate) fn ask(&mut self, emitter: &mut Emitter, id: Option<&str>, said: Said) {
        self.prompt = None;
        self.open_turn(emitter, id, "user");
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        self.track.user(emitter, &id, said);
    }

    /// Work: it stands in a turn, and in the response of this id, or in the one that is open.
    pub(crate) fn response(&mut self, emitter: &mut Emitter, id: Option<&str>) -> String {
        if self.track.turn_id().is_none() {
            match self.prompt.take() {
                Some(text) => {
                    let said = Said {
                        text,
                        ..Said::default()
                    };
                    self.ask(emitter, None, said);
                }
                None => self.open_turn(emitter, None, "system"),
            }
        }
        if let Some(id) = id {
            return id.to_owned();
        }
        if self.response.is_none() {
            let turn = self.track.turn_id().unwrap_or("");
            self.response = Some(format!("{turn}.r{}", self.n_responses));
            self.n_responses += 1;
        }
        self.response.clone().unwrap_or_default()
    }

    /// The model is asked again: what comes next is another response.
    pub(crate) fn next_response(&mut self) {
        self.response = None;
    }

    /// The number of the part that begins in a response.
    pub(crate) fn next_part(&mut self, response: &str, kind: Kind) -> u32 {
        let n_parts = &mut self.parts.entry(response)[kind as usize];
        let part = *n_parts;
        *n_parts = part.saturating_add(1);
        part
    }

    /// A whole text.
    pub(crate) fn text(&mut self, emitter: &mut Emitter, response: &str, text: &str) {
        if !text.is_empty() {
            let part = self.next_part(response, Kind::Text);
            self.track.text(emitter, response, part, text);
        }
    }

    /// A whole thought; one that was withheld is empty.
    pub(crate) fn thought(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        text: &str,
        redacted: bool,
    ) {
        if !text.is_empty() || redacted {
            let part = self.next_part(response, Kind::Thinking);
            self.track.thought(emitter, response, part, text, redacted);
        }
    }

    /// A block of an assistant's message as the Messages API has them, calls apart: a text, a thought, or what no rule knows.
    /// Whether it is a text.
    pub(crate) fn block(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        format: &str,
        block: &Value,
    ) -> bool {
        if let Some(text) = block.as_str() {
            self.text(emitter, response, text);
            return true;
        }
        let kind = str_of(block, "type");
        match kind {
            Some("text") => self.text(emitter, response, str_of(block, "text").unwrap_or("")),
            Some("thinking") => {
                let text = str_of(block, "thinking").unwrap_or("");
                self.thought(emitter, response, text, false);
            }
            Some("redacted_thinking") => self.thought(emitter, response, "", true),
            _ => {
                let place = self.track.place().in_response(response);
                emitter.raw(&place, format, kind.unwrap_or("block"), block);
            }
        }
        kind == Some("text")
    }

    /// The turn is over.
    pub(crate) fn close(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        self.response = None;
        self.track.close_turn(emitter, end);
    }

    /// The program's output is at its end.
    pub(crate) fn finish(&mut self, emitter: &mut Emitter) {
        self.at(emitter, None);
        let cut_off = self.track.turn_id().is_some();
        self.close(emitter, ended("interrupted"));
        emitter.end_of_stream(cut_off);
    }
}
