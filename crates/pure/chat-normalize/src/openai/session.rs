//! What both dialects keep while they are read: the turn, the answers that are being written, and when that was.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | any | a user's message | the open turn ends, a new one begins |
//! | no turn | an answer begins | turn open, its prompt guessed |
//! | turn open | an answer with calls for the client ends | turn open: results and the next answer belong to it |
//! | turn open | an answer without such calls ends | turn over; it ends at once, or when the tokens it waits for came |
//! | turn over | an answer begins | the next turn begins |
//! | any | the source ended | an open turn ends as interrupted |
//!
//! Of an answer only what is not whole is kept.

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::{
    AssistantChunk, AssistantDone, ErrorEvent, SessionStart, ThinkingChunk, ThinkingDone, TurnEnd,
    TurnStart, Usage, UserMessage,
};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::calls::Calls;
use crate::emit::{Emitter, Place, hash};
use crate::facts::Facts;
use crate::history::History;

/// Times of a source are seconds; what is larger than this is taken for milliseconds.
const MAX_SECONDS: i64 = 100_000_000_000;

/// A turn that is open.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) id: String,
    /// An answer without calls for the client ended; the turn ends with what comes next, so.
    pub(super) over: Option<&'static str>,
}

/// Which text of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) thinking: bool,
    /// As the source tells its texts apart.
    pub(super) name: String,
}

impl Key {
    pub(super) fn text(name: impl Into<String>) -> Self {
        Key {
            thinking: false,
            name: name.into(),
        }
    }

    pub(super) fn thinking(name: impl Into<String>) -> Self {
        Key {
            thinking: true,
            name: name.into(),
        }
    }
}

/// A text of an answer.
#[derive(Debug, Default)]
struct Part {
    number: u32,
    n_chunks: u64,
    /// What the chunks built; empty once the part is whole.
    text: String,
    /// The whole text's hash, once it was written.
    whole: Option<u64>,
}

/// The calls of an answer, in the order they began.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) ids: Vec<String>,
    /// By the source's number of the call.
    by_index: BTreeMap<u64, usize>,
    /// The number of a call.
    indexes: BTreeMap<String, u64>,
}

impl Asked {
    /// The call with this number.
    pub(super) fn at(&self, index: u64) -> Option<&String> {
        self.ids.get(*self.by_index.get(&index)?)
    }

    /// The number of a call.
    pub(super) fn index_of(&self, id: &str) -> Option<u64> {
        self.indexes.get(id).copied()
    }

    /// The highest number.
    pub(super) fn last(&self) -> Option<u64> {
        self.by_index.keys().next_back().copied()
    }

    /// The number that the next call has, if nothing says it.
    pub(super) fn next(&self) -> u64 {
        self.last().map_or(0, |last| last.saturating_add(1))
    }

    /// From now on the call `id` has this number.
    pub(super) fn put(&mut self, index: u64, id: &str) {
        if self.at(index).is_some_and(|known| known == id) {
            return;
        }
        if !self.indexes.contains_key(id) {
            self.ids.push(id.to_owned());
            self.by_index.insert(index, self.ids.len() - 1);
        }
        self.indexes.insert(id.to_owned(), index);
    }
}

/// An answer that is being written.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) place: Place,
    pub(super) calls: Asked,
    /// It asks the client for something.
    pub(super) asks: bool,
    parts: BTreeMap<Key, Part>,
    n_texts: u32,
    n_thoughts: u32,
    order: u64,
}

/// The state of one session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) format: &'static str,
    pub(super) history: History,
    pub(super) calls: Calls,
    pub(super) turn: Option<Turn>,
    pub(super) answers: BTreeMap<String, Answer>,
    /// The answer that ended last, with its place: what comes of it afterwards belongs there.
    pub(super) ended: Option<(String, Place)>,
    prompt: Option<String>,
    facts: Facts,
    uses: HashMap<u64, u32>,
    n_answers: u64,
    /// Seconds the source said last, and when that arrived: pieces bear no times of their own.
    clock: Option<(i64, i64)>,
    failed: bool,
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
            });
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

    /// Whether an answer with this id began before.
    pub(super) fn knows_answer(&self, native_id: &str) -> bool {
        self.uses
            .contains_key(&hash(format!("answer {native_id}").as_bytes()))
    }

    /// The place of what happens now outside any answer.
    pub(super) fn place(&self) -> Place {
        Place {
            turn_id: self.turn.as_ref().map(|turn| turn.id.clone()),
            ..Place::default()
        }
    }

    /// A user's message opens a turn.
    pub(super) fn user_said(
        &mut self,
        emitter: &mut Emitter,
        stem: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
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
        self.failed = false;
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
        let outcome = if self.failed { "failed" } else { outcome };
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        emitter.add_as(&format!("{}:end", turn.id), &place, end);
    }

    /// An answer, which begins where it did not yet; `None` where it ended before.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, native_id: &str) -> &mut Answer {
        if !self.answers.contains_key(native_id) {
            self.need_turn(emitter, native_id);
            let response_id = self.fresh("answer", native_id);
            self.n_answers += 1;
            let answer = Answer {
                place: self.place().in_response(&response_id),
                order: self.n_answers,
                ..Answer::default()
            };
            self.answers.insert(native_id.to_owned(), answer);
        }
        self.answers.entry(native_id.to_owned()).or_default()
    }

    /// A piece of a text.
    pub(super) fn chunk(&mut self, emitter: &mut Emitter, native_id: &str, key: Key, text: &str) {
        if text.is_empty() {
            return;
        }
        let answer = self.answer(emitter, native_id);
        let place = answer.place.clone();
        let thinking = key.thinking;
        let part = answer.part(key);
        if part.whole.is_some() {
            return emitter.pass_over("a piece of a text that is whole");
        }
        part.text.push_str(text);
        part.n_chunks += 1;
        let id = format!(
            "{}.{}",
            part_id(&place, thinking, part.number),
            part.n_chunks
        );
        let (text, part) = (text.to_owned(), Some(part.number));
        if thinking {
            let chunk = ThinkingChunk {
                text,
                part,
                ..ThinkingChunk::default()
            };
            emitter.add_as(&id, &place, chunk);
        } else {
            let chunk = AssistantChunk {
                text,
                part,
                ..AssistantChunk::default()
            };
            emitter.add_as(&id, &place, chunk);
        }
    }

    /// The whole of a text; `about` says more of it. The same again is not written again.
    pub(super) fn done(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        key: Key,
        text: &str,
        about: &[(&str, Json)],
    ) {
        let thinking = key.thinking;
        let answer = self.answer(emitter, native_id);
        let place = answer.place.clone();
        let part = answer.part(key);
        let news = hash(text.as_bytes());
        if part.whole == Some(news) {
            return;
        }
        part.whole = Some(news);
        part.text = String::new();
        let number = part.number;
        let mut extra = Extra::default();
        for (name, value) in about {
            extra.insert(name, value.clone());
        }
        let id = part_id(&place, thinking, number);
        if thinking {
            let done = ThinkingDone {
                text: text.to_owned(),
                part: Some(number),
                redacted: text.is_empty().then_some(true),
                extra,
                ..ThinkingDone::default()
            };
            emitter.add_as(&id, &place, done);
        } else {
            let done = AssistantDone {
                text: text.to_owned(),
                part: Some(number),
                extra,
                ..AssistantDone::default()
            };
            emitter.add_as(&id, &place, done);
        }
    }

    /// Closes the texts of an answer that began and are not whole, in their order; only its thinking where `thinking`.
    pub(super) fn close_texts(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        only_thinking: bool,
    ) {
        let Some(answer) = self.answers.get(native_id) else {
            return;
        };
        let open = answer
            .parts
            .iter()
            .filter(|(key, part)| part.whole.is_none() && (key.thinking || !only_thinking));
        let mut open: Vec<(bool, u32, Key, String)> = open
            .map(|(key, part)| (!key.thinking, part.number, key.clone(), part.text.clone()))
            .collect();
        open.sort();
        for (_, _, key, text) in open {
            self.done(emitter, native_id, key, &text, &[]);
        }
    }

    /// What the chunks of an open text built.
    pub(super) fn built(&self, native_id: &str, key: &Key) -> &str {
        let part = self
            .answers
            .get(native_id)
            .and_then(|answer| answer.parts.get(key));
        part.map_or("", |part| part.text.as_str())
    }

    /// An answer is whole: nothing of it is open any more. Says whether it leaves work for the client.
    pub(super) fn end_answer(&mut self, emitter: &mut Emitter, native_id: &str) -> bool {
        self.close_texts(emitter, native_id, false);
        let Some(answer) = self.answers.remove(native_id) else {
            return false;
        };
        for call in &answer.calls.ids {
            self.calls.announce(emitter, call, None);
        }
        self.ended = Some((native_id.to_owned(), answer.place));
        answer.asks
    }

    /// The turn is over, as `outcome` says; it ends now or, where it `waits` for the tokens, with them.
    pub(super) fn turn_over(&mut self, emitter: &mut Emitter, outcome: &'static str, waits: bool) {
        if let Some(turn) = &mut self.turn {
            turn.over = Some(outcome);
        }
        if !waits {
            self.end_turn(emitter, outcome);
        }
    }

    /// Ends all answers that are open, oldest first.
    pub(super) fn close_answers(&mut self, emitter: &mut Emitter) {
        let mut open: Vec<(u64, String)> = self
            .answers
            .iter()
            .map(|(native_id, answer)| (answer.order, native_id.clone()))
            .collect();
        open.sort();
        for (_, native_id) in open {
            self.end_answer(emitter, &native_id);
        }
    }

    /// What an answer used.
    pub(super) fn usage(&mut self, emitter: &mut Emitter, native_id: &str, usage: Usage) {
        let place = match (self.answers.get(native_id), &self.ended) {
            (Some(answer), _) => answer.place.clone(),
            (None, Some((ended, place))) if ended == native_id => place.clone(),
            (None, _) => self.place(),
        };
        let id = place
            .response_id
            .clone()
            .unwrap_or_else(|| native_id.to_owned());
        emitter.add_as(&format!("{id}:usage"), &place, usage);
    }

    /// Something failed; the turn ends as failed.
    pub(super) fn error(&mut self, emitter: &mut Emitter, code: &str, message: &str) {
        let stem = emitter.line_id().to_owned();
        self.need_turn(emitter, &stem);
        self.close_answers(emitter);
        let error = ErrorEvent {
            code: code.to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &self.place(), error);
        self.failed = true;
        self.end_turn(emitter, "failed");
    }

    /// Notes what should be known of an answer that was cut.
    pub(super) fn cut_short(&mut self, emitter: &mut Emitter, native_id: &str, why: &str) {
        let place = self
            .answers
            .get(native_id)
            .map(|answer| answer.place.clone());
        let place = place.unwrap_or_else(|| self.place());
        emitter.notice(
            "warning",
            &place,
            self.format,
            format!("the answer was cut short: {why}"),
        );
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

impl Answer {
    fn part(&mut self, key: Key) -> &mut Part {
        let number = if key.thinking {
            &mut self.n_thoughts
        } else {
            &mut self.n_texts
        };
        self.parts.entry(key).or_insert_with(|| {
            *number += 1;
            Part {
                number: *number - 1,
                ..Part::default()
            }
        })
    }
}

fn part_id(place: &Place, thinking: bool, number: u32) -> String {
    let response_id = place.response_id.as_deref().unwrap_or("answer");
    let kind = if thinking { "thinking" } else { "text" };
    format!("{response_id}:{kind}{number}")
}
