//! mini-swe-agent: `.traj.json` documents, one run each, `{info, messages, trajectory_format}`.
//!
//! | message | what it gives |
//! |---|---|
//! | the first of the user, and one that adds a task | a turn and what was asked |
//! | of the assistant, in any of three forms (`answers`) | thoughts, a text, calls, what it used |
//! | of a tool, or one with a `returncode` | a call's result |
//! | of the user, with `interrupt_type` | a word to the agent at work; of an answer without a call, that answer and a notice |
//! | of the user, with `actions` | a command of the user's own |
//! | `exit` | how it ended, the patch it handed in as edits |
//!
//! Seen: 2.4.6, and 1.17.5, whose messages have neither actions nor codes of their own: both stand in their texts. A message
//! has no id but its place, for the document is written anew with each step.

mod answers;
mod calls;
mod ends;
mod messages;

use std::collections::VecDeque;

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::track::Track;
use crate::value::{list_of, str_of, text_of, text_of_blocks};

pub(crate) static PROFILE: Profile = Profile {
    word: "mini-swe-agent",
    name: "mini-swe-agent trajectory",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |_| Box::new(MiniSweAgent::new()),
};

const FORMAT: &str = "mini-swe-agent";

/// Whether a value is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let format = str_of(value, "trajectory_format").unwrap_or("");
    let has_version = value
        .get("info")
        .is_some_and(|info| text_of(info, "mini_version").is_some());
    let is_it = has_version || format.starts_with("mini-swe-agent");
    (is_it && value.get("messages").is_some_and(Value::is_array)).then_some(true)
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct MiniSweAgent {
    track: Track,
    /// The calls that wait, the oldest first: results may not name theirs.
    waits: VecDeque<String>,
    /// The call that handed in, which has no result of its own, and whether it was made.
    submits: Option<String>,
    has_submitted: bool,
    /// Answers said what they cost.
    has_costs: bool,
}

impl MiniSweAgent {
    pub(crate) fn new() -> Self {
        MiniSweAgent {
            track: Track::new(),
            waits: VecDeque::new(),
            submits: None,
            has_submitted: false,
            has_costs: false,
        }
    }

    fn facts(&mut self, emitter: &mut Emitter, info: &Value) {
        let config = info.get("config").unwrap_or(&Value::Null);
        let of = |part: &str, name: &str| {
            let text = config.get(part).and_then(|part| text_of(part, name));
            text.map(str::to_owned)
        };
        let mut rest = Map::new();
        if let Some(version) = text_of(info, "mini_version") {
            rest.insert("version".to_owned(), version.into());
        }
        let facts = SessionStart {
            agent: Some("mini-swe-agent".to_owned()),
            provider: Some("mini-swe-agent".to_owned()),
            model: of("model", "model_name"),
            cwd: of("environment", "cwd"),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, rest);
    }

    fn notice(&self, emitter: &mut Emitter, level: &str, text: &str) {
        emitter.notice(level, &self.track.place(), FORMAT, text);
    }
}

impl Normalizer for MiniSweAgent {
    fn line(&mut self, emitter: &mut Emitter, document: &Value) {
        if is_of(document).is_none() {
            let place = self.track.place();
            return emitter.raw(&place, FORMAT, "no trajectory", document);
        }
        let info = document.get("info").unwrap_or(&Value::Null);
        let messages = list_of(document, "messages");
        // What stands before the first time was said right before it.
        if let Some(time_ms) = messages.iter().find_map(answers::time_of) {
            emitter.time_ms = time_ms;
        }
        self.facts(emitter, info);
        let asked = messages
            .iter()
            .position(|it| str_of(it, "role") == Some("user"));
        for (n, message) in messages.iter().enumerate() {
            if let Some(time_ms) = answers::time_of(message) {
                emitter.time_ms = time_ms;
            }
            if Some(n) == asked {
                let content = text_of_blocks(message.get("content"));
                let task = answers::task_in(&content, info).map(str::to_owned);
                self.prompt(emitter, &format!("m{n}"), task.unwrap_or(content));
                continue;
            }
            self.message(emitter, n, message);
        }
        self.end(emitter, info, messages);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.close(emitter, "interrupted");
    }
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inner, _)| inner)
}
