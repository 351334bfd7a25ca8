//! The answers of a session: each begins, is written and ends; of one that ended its place is known.

use chat_event::payload::Usage;

use super::Session;
use super::asked::Asked;
use super::texts::Texts;
use crate::emit::{Emitter, Place, hash};

/// An answer that is being written.
#[derive(Debug, Default)]
pub(in crate::openai) struct Answer {
    pub(in crate::openai) place: Place,
    pub(in crate::openai) calls: Asked,
    /// It asks the client for something.
    pub(in crate::openai) asks: bool,
    pub(super) texts: Texts,
    order: u64,
}

impl Session {
    /// Whether an answer with this id began before.
    pub(in crate::openai) fn knows_answer(&self, native_id: &str) -> bool {
        self.uses
            .contains_key(&hash(format!("answer {native_id}").as_bytes()))
    }

    /// An answer, which begins where it did not yet; `None` where it ended before.
    pub(in crate::openai) fn answer(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
    ) -> &mut Answer {
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

    /// An answer is whole: nothing of it is open any more. Says whether it leaves work for the client.
    pub(in crate::openai) fn end_answer(&mut self, emitter: &mut Emitter, native_id: &str) -> bool {
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

    /// Ends all answers that are open, oldest first.
    pub(in crate::openai) fn close_answers(&mut self, emitter: &mut Emitter) {
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
    pub(in crate::openai) fn usage(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        usage: Usage,
    ) {
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

    /// Notes what should be known of an answer that was cut.
    pub(in crate::openai) fn cut_short(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        why: &str,
    ) {
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
}
