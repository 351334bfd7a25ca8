//! What both dialects keep while they are read: the turn, the answers that are being written, and when that was.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | any | a user's message | the open turn ends, a new one begins |
//! | no turn | an answer begins | turn open, its prompt guessed |
//! | turn open | an answer with calls for the client ends | turn open: results and the next answer belong to it |
//! | turn open | an answer without such calls ends | turn over; it ends at once, or when the tokens it waits for came |
//! | turn over | an answer begins | the next turn begins |
//! | any | an error | turn failed; it ends with what comes next |
//! | turn failed | the same request again | turn open |
//! | turn open, a call runs | a request of another conversation | what is said in that stands in the turn and ends nothing |
//! | any | the source ended | an open turn ends as interrupted |
//!
//! Of an answer only what is not whole is kept.

mod answers;
mod asked;
mod texts;

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{ErrorEvent, SessionStart, TurnEnd, TurnStart, UserMessage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::calls::Calls;
use crate::emit::{Emitter, Place, hash};
use crate::facts::Facts;
use crate::history::History;
use crate::tries::Tries;
use crate::value::is_time;
pub(super) use answers::Answer;
pub(super) use texts::Key;

/// Times of a source are seconds; what is larger than this is taken for milliseconds.
const MAX_SECONDS: i64 = 100_000_000_000;

/// A turn that is open.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) id: String,
    /// An answer without calls for the client ended; the turn ends with what comes next, so.
    pub(super) over: Option<&'static str>,
}

/// The state of one session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) format: &'static str,
    pub(super) history: History,
    pub(super) calls: Calls,
    pub(super) turn: Option<Turn>,
    /// What tells the conversation that the turn is of from others.
    main: u64,
    /// What is said now is of another conversation, while a call of the main one runs.
    aside: bool,
    pub(super) answers: BTreeMap<String, Answer>,
    /// The answer that ended last, with its place: what comes of it afterwards belongs there.
    pub(super) ended: Option<(String, Place)>,
    prompt: Option<String>,
    facts: Facts,
    uses: HashMap<u64, u32>,
    n_answers: u64,
    /// Seconds the source said last, and when that arrived: pieces bear no times of their own.
    clock: Option<(i64, i64)>,
    tries: Tries,
}

impl Session {
    pub(super) fn new(format: &'static str, prompt: Option<String>) -> Self {
        Session {
            format,
            prompt,
            ..Session::default()
        }
    }

    /// Says what is known of the session.
    pub(super) fn about(
        &mut self,
        emitter: &mut Emitter,
        model: Option<&str>,
        rest: Map<String, Value>,
    ) {
        let facts = SessionStart {
            model: model.filter(|model| !model.is_empty()).map(str::to_owned),
            provider: Some(self.format.to_owned()),
            ..SessionStart::default()
        };
        self.facts.say(emitter, facts, rest);
    }

    /// The tools a request offers.
    pub(super) fn tools(&mut self, emitter: &mut Emitter, names: Vec<String>) {
        if !names.is_empty() {
            let facts = SessionStart {
                tools: Some(Json::from(Value::from(names))),
                provider: Some(self.format.to_owned()),
                ..SessionStart::default()
            };
            self.facts.say(emitter, facts, Map::new());
        }
    }

    /// What is read now was made at `made_at`, in seconds; pieces that arrive later are later by as much.
    pub(super) fn tell_time(&mut self, emitter: &mut Emitter, made_at: Option<u64>) {
        let said = made_at
            .and_then(|made_at| i64::try_from(made_at).ok())
            .filter(|made_at| *made_at > 0)
            .map(|made_at| match made_at {
                ..MAX_SECONDS => made_at.saturating_mul(1000),
                _ => made_at,
            })
            .filter(|said| is_time(*said));
        let arrival_ms = emitter.time_ms;
        if let Some(said) = said
            && self.clock.is_none_or(|(before, _)| before != said)
        {
            self.clock = Some((said, arrival_ms));
            if emitter.at_rest {
                emitter.time_ms = said;
            }
        }
        // What lies at rest arrived at no time: it goes on from where it was.
        if emitter.at_rest {
            return;
        }
        if let Some((said, arrived_ms)) = self.clock {
            let later_ms = arrival_ms.saturating_sub(arrived_ms).max(0);
            emitter.time_ms = said.saturating_add(later_ms);
        }
    }

    /// `id`, or where it was used before for the same `kind`, `id` with a number.
    pub(super) fn fresh(&mut self, kind: &str, id: &str) -> String {
        let key = hash(format!("{kind} {id}").as_bytes());
        let n = self.uses.entry(key).or_default();
        *n += 1;
        match *n {
            1 => id.to_owned(),
            n => format!("{id}~{n}"),
        }
    }

    /// The place of what happens now outside any answer.
    pub(super) fn place(&self) -> Place {
        Place {
            turn_id: self.turn.as_ref().map(|turn| turn.id.clone()),
            ..Place::default()
        }
    }

    /// A request begins that says what `n_said` messages of its conversation said; `prompts` where the user says
    /// something in the rest, `prints` what stands behind that which leads it. While a call runs a program may ask for
    /// a title, or let a sub-agent work; who is asked something a second time there is no such aside, and the call will
    /// get no result any more.
    pub(super) fn request(
        &mut self,
        emitter: &mut Emitter,
        n_said: usize,
        prompts: bool,
        prints: &[u64],
    ) {
        let root = self.history.root();
        let is_other = root != self.main;
        let goes_on = n_said > 0 && prompts;
        self.aside = is_other && !goes_on && self.turn.is_some() && !self.calls.is_empty();
        if !self.aside {
            self.main = root;
            let behind = self.whole_conversation();
            self.try_again(emitter, prints, &behind);
        }
    }

    /// Whether a request that says its conversation from the start is the newest one again.
    pub(super) fn is_newest(&self, prints: &[u64]) -> bool {
        self.tries.is_newest(prints, &self.whole_conversation())
    }

    /// What a request that says its conversation from the start goes on behind, for [`Tries`]: what leads it may be another
    /// than the last time, so the conversation itself is named.
    pub(super) fn whole_conversation(&self) -> String {
        format!("conversation {}", self.history.root())
    }

    /// The answer to the newest request broke off: where this request is the same again, that failed.
    pub(super) fn broke_off(&mut self, emitter: &Emitter, prints: &[u64], behind: &str) {
        if self.tries.is_newest(prints, behind) {
            self.tries
                .fail(emitter, "broke_off", "the answer broke off");
        }
    }

    /// A request of the main conversation, as [`Tries::begin`] takes it: whether it is one that failed, sent again.
    pub(super) fn try_again(
        &mut self,
        emitter: &mut Emitter,
        prints: &[u64],
        behind: &str,
    ) -> bool {
        let why = self.tries.begin(prints, behind);
        let again = why.is_some();
        if again {
            if let Some(turn) = &mut self.turn {
                turn.over = None;
            }
            emitter.retrying(&self.place(), why);
        }
        self.end_failed(emitter);
        again
    }

    /// The turn whose request failed ends: what comes is another.
    fn end_failed(&mut self, emitter: &mut Emitter) {
        if self.tries.failed() {
            self.end_turn(emitter, "failed");
        }
    }

    /// Nothing came for a while: what failed may be sent again, and tokens may come yet, but nothing works now.
    pub(super) fn rest(&self, emitter: &mut Emitter) {
        let is_over = self.turn.as_ref().is_some_and(|turn| turn.over.is_some());
        if is_over || self.tries.failed() {
            emitter.quiet();
        }
    }

    /// What comes now is of the main conversation.
    pub(super) fn no_aside(&mut self, emitter: &mut Emitter) {
        self.aside = false;
        self.end_failed(emitter);
    }

    /// The client went on: calls that have no result will not get one any more.
    pub(super) fn close_calls(&mut self, emitter: &mut Emitter) {
        if !self.aside {
            self.calls.close(emitter);
        }
    }

    pub(super) fn is_aside(&self) -> bool {
        self.aside
    }

    /// A user's message opens a turn.
    pub(super) fn user_said(
        &mut self,
        emitter: &mut Emitter,
        stem: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        if self.aside {
            return self.say_user(emitter, text, attachments);
        }
        let outcome = match &self.turn {
            Some(turn) => turn.over.unwrap_or("interrupted"),
            None => "completed",
        };
        self.end_turn(emitter, outcome);
        self.open_turn(emitter, stem);
        self.prompt = None;
        self.say_user(emitter, text, attachments);
    }

    fn say_user(&mut self, emitter: &mut Emitter, text: &str, attachments: Option<Json>) {
        let place = self.place();
        let turn_id = place.turn_id.clone().unwrap_or_default();
        let message = UserMessage {
            text: text.into(),
            attachments,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{turn_id}:user"), &place, message);
    }

    fn open_turn(&mut self, emitter: &mut Emitter, stem: &str) {
        let id = self.fresh("turn", &format!("t-{stem}"));
        self.turn = Some(Turn {
            id: id.clone(),
            over: None,
        });
        let start = TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:turn"), &self.place(), start);
    }

    /// Opens a turn for what nothing was said before of.
    pub(super) fn need_turn(&mut self, emitter: &mut Emitter, stem: &str) {
        if let Some(outcome) = self.turn.as_ref().and_then(|turn| turn.over) {
            self.end_turn(emitter, outcome);
        }
        if self.turn.is_none() {
            self.open_turn(emitter, stem);
            if let Some(prompt) = self.prompt.take() {
                self.say_user(emitter, &prompt, None);
            }
        }
    }

    /// Ends the open turn; what is open in it is closed.
    pub(super) fn end_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.close_answers(emitter);
        self.calls.close(emitter);
        let place = Place {
            turn_id: Some(turn.id.clone()),
            ..Place::default()
        };
        let failed_ms = self.tries.end();
        let outcome = failed_ms.map_or(outcome, |_| "failed");
        let now_ms = emitter.time_ms;
        emitter.time_ms = failed_ms.unwrap_or(now_ms);
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        emitter.add_as(&format!("{}:end", turn.id), &place, end);
        emitter.time_ms = now_ms;
    }

    /// The turn is over, as `outcome` says; it ends now or, where it `waits` for the tokens, with them.
    pub(super) fn turn_over(&mut self, emitter: &mut Emitter, outcome: &'static str, waits: bool) {
        if self.aside {
            return;
        }
        if let Some(turn) = &mut self.turn {
            turn.over = Some(outcome);
        }
        if !waits {
            self.end_turn(emitter, outcome);
        }
    }

    /// Something failed; the turn ends as failed, unless the same is asked again.
    pub(super) fn error(&mut self, emitter: &mut Emitter, code: &str, message: &str) {
        let stem = emitter.line_id().to_owned();
        self.need_turn(emitter, &stem);
        self.close_answers(emitter);
        if self.aside {
            let text = format!("{code}: {message}");
            emitter.notice("warning", &self.place(), self.format, text);
            return;
        }
        let error = ErrorEvent {
            code: code.to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &self.place(), error);
        self.calls.close(emitter);
        self.tries.fail(emitter, code, message);
        self.turn_over(emitter, "failed", true);
    }

    /// The source is at its end.
    pub(super) fn finish(&mut self, emitter: &mut Emitter) {
        self.tell_time(emitter, None);
        let outcome = self.turn.as_ref().and_then(|turn| turn.over);
        self.end_turn(emitter, outcome.unwrap_or("interrupted"));
        self.close_answers(emitter);
        self.calls.close(emitter);
    }
}
