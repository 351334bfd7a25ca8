//! Texts and thoughts, which grow by pieces or come whole.

use super::ClineStream;
use crate::emit::Emitter;
use crate::speech::{Kind, Part};

impl ClineStream {
    pub(super) fn grow(&mut self, emitter: &mut Emitter, kind: Kind, piece: Option<&str>) {
        let piece = piece.unwrap_or("");
        if self.part.as_ref().is_some_and(|part| part.kind != kind) {
            self.end_part(emitter);
        }
        if piece.is_empty() {
            return;
        }
        if self.helpers.are_many() {
            return emitter.pass_over("a piece of one of several");
        }
        if self.part.is_none() {
            let response = self.response(emitter);
            let run = &mut self.talk.run;
            let number = run.next_part(&response, kind);
            let place = run.track.place().in_response(&response);
            self.part = Some(Part::new(place, kind, number));
        }
        if let Some(part) = &mut self.part {
            part.add(emitter, piece);
        }
    }

    pub(super) fn whole(&mut self, emitter: &mut Emitter, kind: Kind, text: Option<&str>) {
        let text = text.unwrap_or("");
        match self.part.take_if(|part| part.kind == kind) {
            Some(part) => {
                let text = if text.is_empty() { part.text() } else { text }.to_owned();
                if kind == Kind::Text {
                    self.last_text.clone_from(&text);
                }
                part.end_as(emitter, text);
            }
            None if kind == Kind::Thinking && text == self.last_thought => {
                emitter.pass_over("the end of a thought that is told");
            }
            None => {
                self.end_part(emitter);
                let response = self.response(emitter);
                let run = &mut self.talk.run;
                if kind == Kind::Text {
                    text.clone_into(&mut self.last_text);
                    run.text(emitter, &response, text);
                } else {
                    run.thought(emitter, &response, text, false);
                }
            }
        }
    }

    pub(super) fn end_part(&mut self, emitter: &mut Emitter) {
        if let Some(part) = self.part.take() {
            let last = match part.kind {
                Kind::Text => &mut self.last_text,
                Kind::Thinking => &mut self.last_thought,
            };
            part.text().clone_into(last);
            part.end(emitter);
        }
    }
}
