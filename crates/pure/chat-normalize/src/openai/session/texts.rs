//! The texts of an answer: their pieces, and each whole once.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::{AssistantChunk, AssistantDone, ThinkingChunk, ThinkingDone};
use chat_event::{Extra, Json};

use super::Session;
use crate::emit::{Emitter, Place, hash};

/// Which text of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::openai) struct Key {
    pub(in crate::openai) thinking: bool,
    /// As the source tells its texts apart.
    pub(in crate::openai) name: String,
}

impl Key {
    pub(in crate::openai) fn text(name: impl Into<String>) -> Self {
        Key {
            thinking: false,
            name: name.into(),
        }
    }

    pub(in crate::openai) fn thinking(name: impl Into<String>) -> Self {
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

/// The texts of one answer.
#[derive(Debug, Default)]
pub(super) struct Texts {
    parts: BTreeMap<Key, Part>,
    /// Those that are not whole: thinking first, each in its order.
    open: BTreeSet<(bool, u32, Key)>,
    n_texts: u32,
    n_thoughts: u32,
}

impl Texts {
    fn part(&mut self, key: Key) -> &mut Part {
        let number = if key.thinking {
            &mut self.n_thoughts
        } else {
            &mut self.n_texts
        };
        let open = &mut self.open;
        self.parts.entry(key).or_insert_with_key(|key| {
            open.insert((!key.thinking, *number, key.clone()));
            *number += 1;
            Part {
                number: *number - 1,
                ..Part::default()
            }
        })
    }
}

impl Session {
    /// A piece of a text.
    pub(in crate::openai) fn chunk(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        key: Key,
        text: &str,
    ) {
        if text.is_empty() {
            return;
        }
        let answer = self.answer(emitter, native_id);
        let place = answer.place.clone();
        let thinking = key.thinking;
        let part = answer.texts.part(key);
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
    pub(in crate::openai) fn done(
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
        let part = answer.texts.part(key.clone());
        let news = hash(text.as_bytes());
        if part.whole == Some(news) {
            return;
        }
        part.whole = Some(news);
        part.text = String::new();
        let number = part.number;
        answer.texts.open.remove(&(!thinking, number, key));
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
    pub(in crate::openai) fn close_texts(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        only_thinking: bool,
    ) {
        let Some(answer) = self.answers.get(native_id) else {
            return;
        };
        let open = answer.texts.open.iter().map(|(_, _, key)| key);
        let open: Vec<Key> = open
            .filter(|key| key.thinking || !only_thinking)
            .cloned()
            .collect();
        for key in open {
            let text = self.built(native_id, &key).to_owned();
            self.done(emitter, native_id, key, &text, &[]);
        }
    }

    /// The key of the thought `name` that is written now: thinking that goes on behind a text is another one.
    pub(in crate::openai) fn thought_key(&self, native_id: &str, name: &str) -> Key {
        let texts = self.answers.get(native_id).map(|answer| &answer.texts);
        let (n, whole) = texts.map_or((0, true), |texts| {
            let open = texts.open.first().is_some_and(|(_, _, key)| key.thinking);
            (texts.n_thoughts, !open)
        });
        match n + u32::from(whole) {
            1 => Key::thinking(name),
            n => Key::thinking(format!("{name} {n}")),
        }
    }

    /// What the chunks of an open text built.
    pub(in crate::openai) fn built(&self, native_id: &str, key: &Key) -> &str {
        let part = self
            .answers
            .get(native_id)
            .and_then(|answer| answer.texts.parts.get(key));
        part.map_or("", |part| part.text.as_str())
    }
}

fn part_id(place: &Place, thinking: bool, number: u32) -> String {
    let response_id = place.response_id.as_deref().unwrap_or("answer");
    let kind = if thinking { "thinking" } else { "text" };
    format!("{response_id}:{kind}{number}")
}
