//! OpenHands: trajectories of actions and observations (V0), the events of its SDK (V1), and evaluation outputs.
//!
//! | form | read by |
//! |---|---|
//! | `{source, action or observation, …}` each, in an array or a line each | `actions` |
//! | `{kind: "…Event", source, …}` each | `sdk` |
//! | `{instance_id or issue, history: […], git_patch}` a line each: a task each | `tasks`, its items as the above |
//!
//! Of V1 each event is a file of its own in the folder of a conversation; how those become lines is for `weave`.
//!
//! Formats: notes on formats, 10.3. V0 and outputs are seen in public files; of V1 the program's 1.16 with its SDK's 1.21,
//! the SDK's 1.58 and its server.

mod actions;
mod answers;
mod asks;
mod ends;
mod failures;
mod helpers;
mod sdk;
mod session;
mod tasks;
mod tools;
mod weave;

use serde_json::Value;

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::value::{str_of, text_of};
use answers::Answers;
use helpers::Helpers;
use session::Session;
pub use weave::{OpenHandsState, OpenHandsWeave, event_number};

pub(crate) static PROFILE: Profile = Profile {
    word: "openhands",
    name: "OpenHands",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of,
    make: |_| Box::new(OpenHands::new()),
};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Action,
    Sdk,
    Task,
}

fn shape_of(value: &Value) -> Option<Shape> {
    let has = |key: &str| text_of(value, key).is_some();
    if value.get("history").is_some_and(Value::is_array) {
        let names_task = has("instance_id") || value.get("issue").is_some_and(Value::is_object);
        return names_task.then_some(Shape::Task);
    }
    if !has("source") || !has("timestamp") {
        return None;
    }
    if has("action") || has("observation") {
        return Some(Shape::Action);
    }
    let kind = text_of(value, "kind")?;
    let is_sdk = kind.ends_with("Event")
        || matches!(
            kind,
            "Condensation" | "CondensationRequest" | "UserRejectObservation"
        );
    is_sdk.then_some(Shape::Sdk)
}

/// Whether a value is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    shape_of(value).map(|_| true)
}

/// The session a value names: an output's task, or the state of a conversation, whose folder is called so without dashes.
fn session_of(value: &Value) -> Option<String> {
    if str_of(value, "kind") == Some("ConversationStateUpdateEvent") {
        let id = value.get("value").and_then(|state| text_of(state, "id"));
        return id.map(|id| id.replace('-', ""));
    }
    let is_task = shape_of(value) == Some(Shape::Task);
    text_of(value, "instance_id")
        .filter(|_| is_task)
        .map(str::to_owned)
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct OpenHands {
    session: Session,
    helpers: Helpers,
    answers: Answers,
}

impl OpenHands {
    pub(crate) fn new() -> Self {
        OpenHands {
            session: Session::new(),
            helpers: Helpers::default(),
            answers: Answers::default(),
        }
    }
}

impl Normalizer for OpenHands {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        let shape = shape_of(value);
        if shape == Some(Shape::Sdk) {
            return self.sdk_event(emitter, value);
        }
        let session = &mut self.session;
        session.begin(emitter, value);
        match shape {
            Some(Shape::Action) => actions::event(session, emitter, value),
            Some(Shape::Sdk) => {}
            Some(Shape::Task) => tasks::task(session, emitter, value),
            None => {
                let kind = str_of(value, "kind").unwrap_or("no event");
                session.raw(emitter, kind, value);
            }
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.session.rest(emitter);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.session.at(emitter, None);
        self.helpers.end_all(emitter);
        self.session.close(emitter);
    }
}

impl OpenHands {
    fn sdk_event(&mut self, emitter: &mut Emitter, event: &Value) {
        self.helpers.end_with(emitter, event);
        let value = event.get("value");
        if let Some(stats) = value.and_then(|value| value.get("stats")) {
            self.session.begin(emitter, event);
            self.answers.used(emitter, stats);
        }
        let session = match self.helpers.of(&self.session, event) {
            Some(helper) => helper,
            None => &mut self.session,
        };
        session.begin(emitter, event);
        sdk::event(session, emitter, event);
        if let Some(id) = text_of(event, "llm_response_id") {
            self.answers.came(emitter, id, session.track.place());
        }
    }
}
