//! The event bus: `GET /event`, `GET /global/event`, and the streams and arrays that were made of them.
//!
//! | events | what becomes of them |
//! |---|---|
//! | `session.*`, `message.*`, `permission.*`, `question.*`, `todo.updated` of the session or one that works for it | events |
//! | the same of other sessions | events of theirs, by `bus_sessions`; where all is to be in one session they are passed over and counted, with a `notice` for the first of them and how many there were |
//! | `server.*` (connected, heartbeat), `plugin.*`, `catalog.*` … | passed over: they are about the server |
//! | `file.edited`, `file.watcher.updated`, `session.diff` | passed over: the tools say it with a diff |
//! | `session.next.*` | in the words of the older events, by `next` |
//! | `sync` in `/global/event` | passed over: the twin of an event beside it |
//! | an event whose id came before | passed over, counted as repeated |
//! | all others | `raw` |

use std::collections::HashSet;

use serde_json::Value;

use super::next::{self, Next};
use super::session::Session;
use super::shapes::{is_of_server, native_session, properties_of, unwrapped};
use super::times;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place, hash};
use crate::reader::Context;
use crate::recent::{LATE_SMALL, Recent};
use crate::value::{count_of, list_of, str_of, text_of};

/// Reads the bus.
#[derive(Debug)]
pub(crate) struct OpenCodeEvents {
    session: Session,
    seen: Recent<(), LATE_SMALL>,
    next: Next,
    /// Whether the newer family of events began, or the older one: the other says the same work once more.
    is_next: Option<bool>,
    /// Other sessions on the bus that are not read.
    others: HashSet<u64>,
    /// The last time that the source told.
    last_ms: Option<i64>,
    line_no: u64,
    n_of_line: u32,
}

impl OpenCodeEvents {
    pub(crate) fn new(context: &Context) -> Self {
        let mut session = Session::new("opencode-events", true, context);
        // Who reads the program's database says which program it is: what is asked has no events of its own there.
        session.has_requests = context.agent.is_none();
        OpenCodeEvents {
            session,
            seen: Recent::default(),
            next: Next::default(),
            is_next: None,
            others: HashSet::new(),
            last_ms: None,
            line_no: 0,
            n_of_line: 0,
        }
    }

    /// The id and the time of what comes of an event.
    fn begin(&mut self, emitter: &mut Emitter, event: &Value, properties: &Value) {
        if self.line_no == emitter.line_no {
            self.n_of_line += 1;
        } else {
            self.line_no = emitter.line_no;
            self.n_of_line = 0;
        }
        let id = text_of(event, "id");
        match id {
            Some(id) => emitter.begin_line(Some(id)),
            // An array of events is one line.
            None if self.n_of_line > 0 => {
                let id = format!("l{}.{}", self.line_no, self.n_of_line);
                emitter.begin_line(Some(&id));
            }
            None => emitter.begin_line(None),
        }
        let said = times::of_member(properties, "time").or_else(|| next::time_of(properties));
        let near = said.or(self.last_ms).or_else(|| {
            let time = properties.get("info")?.get("time")?;
            times::of_member(time, "updated").or_else(|| times::of_member(time, "created"))
        });
        let of_id = id.zip(near).and_then(|(id, near)| times::of_id(id, near));
        self.last_ms = said.or(of_id).or(near);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    /// A prompt is whole once an event is about anything else.
    fn flush(&mut self, emitter: &mut Emitter, properties: &Value) {
        let Some(prompt) = &self.session.prompt else {
            return;
        };
        let of_info = properties.get("info").and_then(|info| text_of(info, "id"));
        let of_part = properties
            .get("part")
            .and_then(|part| text_of(part, "messageID"));
        if of_info.or(of_part) != Some(prompt.message_id.as_str()) {
            self.session.flush_prompt(emitter);
        }
    }

    fn of_session(
        &mut self,
        emitter: &mut Emitter,
        kind: &str,
        native_id: &str,
        properties: &Value,
        event: &Value,
    ) {
        let session = &mut self.session;
        let root = session.is_root(native_id);
        let info = properties.get("info");
        if root {
            let about = info.filter(|_| kind == "session.created" || kind == "session.updated");
            session.about(emitter, native_id, about);
        }
        let ids = || {
            Some((
                text_of(properties, "messageID")?,
                text_of(properties, "partID"),
            ))
        };
        match kind {
            "session.created" | "session.updated" | "session.deleted" | "session.diff"
            | "command.executed" => emitter.pass_over(kind),
            // Kilo Code's own words for what `session.status` says.
            "session.turn.open" | "session.turn.close" | "session.drain.interrupted" => {
                emitter.pass_over(kind);
            }
            "session.status" => self.status(emitter, native_id, properties, event),
            "session.idle" if root => session.rests(emitter, true),
            "session.idle" => emitter.pass_over("session.idle of a sub-agent"),
            "session.error" => {
                let place = session.place_of_error(native_id);
                let error = properties.get("error").unwrap_or(&Value::Null);
                session.failed(emitter, native_id, &place, error);
            }
            "session.compacted" => session.shortened(emitter, native_id),
            "message.updated" => {
                session.message(emitter, native_id, info.unwrap_or(&Value::Null));
            }
            "message.part.updated" => {
                let part = properties.get("part").unwrap_or(&Value::Null);
                session.part(emitter, native_id, part, false);
            }
            "message.part.delta" => match (ids(), str_of(properties, "delta")) {
                (Some((message_id, Some(part_id))), Some(delta))
                    if str_of(properties, "field").unwrap_or("text") == "text" =>
                {
                    session.delta(emitter, native_id, message_id, part_id, delta);
                }
                _ => {
                    let place = session.place(native_id);
                    emitter.raw(&place, session.format, kind, event);
                }
            },
            "message.removed" | "message.part.removed" => match ids() {
                Some((message_id, part_id)) => {
                    session.removed(emitter, native_id, message_id, part_id);
                }
                None => emitter.raw(&Place::default(), session.format, kind, event),
            },
            "permission.asked" | "permission.updated" => {
                session.permission_asked(emitter, native_id, properties);
            }
            "permission.replied" => session.permission_replied(emitter, native_id, properties),
            "question.asked" => session.question_asked(emitter, native_id, properties),
            "question.replied" => {
                session.question_resolved(emitter, native_id, properties, "answered");
            }
            "question.rejected" => {
                session.question_resolved(emitter, native_id, properties, "rejected");
            }
            "todo.updated" => {
                let place = session.place(native_id);
                session.plan(emitter, &place, list_of(properties, "todos"));
            }
            _ => {
                let place = session.place(native_id);
                emitter.raw(&place, session.format, kind, event);
            }
        }
    }

    /// An event of the newer family.
    fn of_next(
        &mut self,
        emitter: &mut Emitter,
        kind: &str,
        native_id: &str,
        properties: &Value,
        event: &Value,
    ) {
        let event_id = text_of(event, "id").unwrap_or(emitter.line_id());
        let told = self.next.told(kind, native_id, event_id, properties);
        let Some(told) = told else {
            let place = self.session.place(native_id);
            return emitter.raw(&place, self.session.format, kind, event);
        };
        // What tells nothing of the work says nothing of who tells it: it may stand beside the older family alone.
        if told.is_empty() {
            return emitter.pass_over(kind);
        }
        if !*self.is_next.get_or_insert(true) {
            return emitter.pass_over("event told by the older family");
        }
        for (kind, properties) in told {
            self.flush(emitter, &properties);
            self.of_session(emitter, kind, native_id, &properties, event);
        }
    }

    fn status(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        properties: &Value,
        event: &Value,
    ) {
        let session = &mut self.session;
        let status = properties.get("status").unwrap_or(&Value::Null);
        let root = session.is_root(native_id);
        match str_of(status, "type") {
            Some("busy") if root => session.works(emitter),
            Some("idle") if root => session.rests(emitter, false),
            Some("busy" | "idle") => emitter.pass_over("session.status of a sub-agent"),
            Some("retry") => {
                let attempt = count_of(status, "attempt").unwrap_or(1);
                let why = text_of(status, "message").unwrap_or("the provider failed");
                let text = format!("attempt {attempt} failed: {why}");
                if root {
                    session.retries(emitter, Some(text));
                } else {
                    let place = session.place(native_id);
                    emitter.notice("warning", &place, "opencode", text);
                }
            }
            Some(_) | None => {
                let place = session.place(native_id);
                emitter.raw(&place, session.format, "session.status", event);
            }
        }
    }
}

impl Normalizer for OpenCodeEvents {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let event = unwrapped(line);
        let kind = str_of(event, "type").unwrap_or("");
        let properties = properties_of(event);
        self.begin(emitter, event, properties);
        if kind == "sync" {
            return emitter.pass_over("sync");
        }
        if let Some(id) = text_of(event, "id")
            && !self.seen.insert(id, ())
        {
            emitter.report.repeated += 1;
            return;
        }
        if is_of_server(kind) {
            return emitter.pass_over(kind);
        }
        let Some(native_id) = native_session(kind, properties) else {
            if kind == "session.error"
                && let Some(root) = self.session.root.clone()
            {
                return self.of_session(emitter, kind, &root, properties, event);
            }
            return emitter.raw(&Place::default(), self.session.format, kind, event);
        };
        let native_id = native_id.to_owned();
        let info = properties.get("info").unwrap_or(&Value::Null);
        if let Some(parent) = text_of(info, "parentID")
            && kind.starts_with("session.")
            && native_id != parent
        {
            self.session.root.get_or_insert_with(|| parent.to_owned());
            if self.session.knows(parent) && !self.session.is_root(&native_id) {
                self.session.adopt(&native_id, parent);
            }
        }
        self.session.root.get_or_insert_with(|| native_id.clone());
        if !self.session.knows(&native_id) {
            let new = self.others.insert(hash(native_id.as_bytes()));
            if new && self.others.len() == 1 {
                let text =
                    format!("the bus tells of another session, too: {native_id} is not read");
                emitter.notice("info", &Place::default(), "opencode", text);
            }
            return emitter.pass_over("event of another session");
        }
        if kind.starts_with(next::FAMILY) {
            return self.of_next(emitter, kind, &native_id, properties, event);
        }
        if kind.starts_with("message.") && *self.is_next.get_or_insert(false) {
            return emitter.pass_over("event told by the newer family");
        }
        self.flush(emitter, properties);
        self.of_session(emitter, kind, &native_id, properties, event);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        self.session.close_all(emitter, false);
        if self.others.len() > 1 {
            let text = format!(
                "{} other sessions of the bus were not read",
                self.others.len()
            );
            emitter.notice("info", &Place::default(), "opencode", text);
        }
    }
}
