//! Sessions that begin: new ones, and old ones that are asked for, which may be gone.
//!
//! | state | what comes | next |
//! |---|---|---|
//! | unknown | `session/new` | begun with the answer, which names it |
//! | unknown | `session/load`, `session/resume`, `session/fork` | wanted: nothing is said of it |
//! | wanted | its answer; anything said or done in it; the source's end | begun |
//! | wanted | an error; the answer that names a fork of it | unknown |
//!
//! So a client that asks for a session that is gone, and then for a new one, shows the new one as its main session.

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::session::Acp;
use super::texts::Next;
use super::updates::{mode, options};
use super::wire::Asked;
use crate::emit::Emitter;
use crate::value::text_of;

/// A session that was asked for and of which nothing was heard.
#[derive(Debug)]
pub(crate) struct Wanted {
    method: String,
    cwd: Option<String>,
}

/// Whether a request names a session that need not be there.
pub(super) fn asks_for_old(method: &str) -> bool {
    matches!(method, "session/load" | "session/resume" | "session/fork")
}

impl Acp {
    /// `session/new` and those like it.
    pub(super) fn open_session(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        method: &str,
        params: &Value,
    ) {
        let wanted = Wanted {
            method: method.to_owned(),
            cwd: text_of(params, "cwd").map(str::to_owned),
        };
        if asks_for_old(method) && !native.is_empty() && !self.knows(native) {
            self.wanted.insert(native.to_owned(), wanted);
        } else {
            self.begin_session(emitter, native, wanted);
        }
    }

    /// The session of a message becomes known.
    pub(super) fn meet(&mut self, emitter: &mut Emitter, native: &str) {
        if native.is_empty() {
            return;
        }
        self.session(native);
        if self.is_main(native) {
            let facts = SessionStart {
                native_id: Some(native.to_owned()),
                ..SessionStart::default()
            };
            self.say(emitter, facts, Map::new());
        }
        self.begin_wanted(emitter, native);
    }

    /// The session that was asked for is there.
    fn begin_wanted(&mut self, emitter: &mut Emitter, native: &str) {
        if let Some(wanted) = self.wanted.remove(native) {
            self.begin_session(emitter, native, wanted);
        }
    }

    fn begin_session(&mut self, emitter: &mut Emitter, native: &str, wanted: Wanted) {
        let facts = SessionStart {
            cwd: wanted.cwd.clone(),
            ..SessionStart::default()
        };
        self.say_of(emitter, native, facts, Map::new());
        let session = self.session(native);
        if wanted.method == "session/load" {
            session.settle(emitter, Next::Nothing);
            session.n_loads += 1;
            session.loading = true;
            session.skipping = false;
        }
        if wanted.cwd.is_some() && wanted.method != "session/new" {
            session.cwd = wanted.cwd;
        }
    }

    /// The answer to `session/new` and those like it.
    pub(super) fn begun_session(&mut self, emitter: &mut Emitter, asked: &Asked, result: &Value) {
        let native = text_of(result, "sessionId")
            .unwrap_or(&asked.session)
            .to_owned();
        if native == asked.session {
            self.begin_wanted(emitter, &native);
        } else {
            self.wanted.remove(&asked.session);
        }
        let session = self.session(&native);
        if asked.method == "session/load" {
            session.settle(emitter, Next::Nothing);
            session.end_replayed(emitter);
            session.loading = false;
        }
        if !asked.about.is_empty() {
            session.cwd = Some(asked.about.clone());
        }
        let mut facts = SessionStart {
            native_id: Some(native.clone()).filter(|id| !id.is_empty()),
            cwd: Some(asked.about.clone()).filter(|cwd| !cwd.is_empty()),
            model: result
                .get("models")
                .and_then(|models| text_of(models, "currentModelId"))
                .map(str::to_owned),
            ..SessionStart::default()
        };
        let modes = result.get("modes").unwrap_or(&Value::Null);
        let mut rest = mode(text_of(modes, "currentModeId"));
        options(result, &mut facts, &mut rest);
        self.say_of(emitter, &native, facts, rest);
    }

    /// The source ended: what was asked for is told, though nothing came of it.
    pub(super) fn meet_wanted(&mut self, emitter: &mut Emitter) {
        while let Some(native) = self.wanted.keys().next().cloned() {
            self.meet(emitter, &native);
        }
    }
}
