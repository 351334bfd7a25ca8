//! `vibe -p … --output streaming`, an entry a line, each once it is whole; with `json`, a list of them at the end.
//!
//! Nothing in it says that a turn is over, nor how: its last words are told last where it went well. Model, folder and tokens
//! are not in it.

use serde_json::Value;

use super::FORMAT;
use super::lines::is_entry;
use super::talk::Talk;
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;

/// Reads it.
#[derive(Debug)]
pub(super) struct VibeStream {
    talk: Talk,
}

impl VibeStream {
    pub(super) fn new(context: &Context) -> Self {
        VibeStream {
            talk: Talk::new(RunTrack::new(context)),
        }
    }
}

impl Normalizer for VibeStream {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        match is_entry(value) {
            true => self.talk.entry(emitter, value),
            false => emitter.raw(&self.talk.run.track.place(), FORMAT, "no entry", value),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if self.talk.has_answered() {
            self.talk.close_as_it_seems(emitter);
        }
        self.talk.finish(emitter);
        self.talk.run.finish(emitter);
    }
}
