//! Texts and thoughts of a message, which come again whole each time they grow.
//!
//! | what comes | told |
//! |---|---|
//! | more than before | a piece, called by where it begins |
//! | the same, and it is over | the whole |
//! | more, after it was over | another part with what is new |
//! | something else: the request was sent again | the pieces are taken back, and it begins anew |

use chat_event::payload::{AssistantChunk, AssistantDone, Retract, ThinkingChunk, ThinkingDone};
use chat_event::{Extra, Payload};

use crate::emit::{Emitter, hash};
use crate::run_track::RunTrack;
use crate::speech::Kind;

/// One text or thought, as far as it was told.
#[derive(Debug)]
pub(super) struct Grown {
    kind: Kind,
    /// How many bytes were told of it, and their hash: messages are remembered for long, and texts may be long.
    n_told: usize,
    print: u64,
    /// Where the part begins that is told now, and its number; `None` where none is open.
    open: Option<(usize, u32)>,
    /// The events of that part.
    events: Vec<String>,
}

impl Grown {
    pub(super) fn new(kind: Kind) -> Self {
        Grown {
            kind,
            n_told: 0,
            print: hash(b""),
            open: None,
            events: Vec::new(),
        }
    }

    /// It is `text` now; `is_over`, as far as is known.
    pub(super) fn tell(
        &mut self,
        emitter: &mut Emitter,
        run: &mut RunTrack,
        response: &str,
        text: &str,
        is_over: bool,
    ) {
        let before = text.get(..self.n_told);
        if before.is_none_or(|before| hash(before.as_bytes()) != self.print) {
            self.take_back(emitter, run);
        }
        let n_told = self.n_told;
        let new = text.get(n_told..).unwrap_or("");
        if new.is_empty() && (!is_over || self.open.is_none()) {
            return;
        }
        let (begins, number) = *self
            .open
            .get_or_insert_with(|| (n_told, run.next_part(response, self.kind)));
        let place = run.track.place().in_response(response);
        let word = match self.kind {
            Kind::Text => "text",
            Kind::Thinking => "thought",
        };
        let id = format!("{response}:{word}{number}");
        if is_over {
            let whole = text.get(begins..).unwrap_or("").to_owned();
            emitter.add_as(&id, &place, done(self.kind, whole, number));
            self.open = None;
            self.events.clear();
        } else {
            let id = format!("{id}.{n_told}");
            let event = emitter.add_as(&id, &place, piece(self.kind, new.to_owned(), number));
            self.events.push(event.id.clone());
        }
        self.n_told = text.len();
        self.print = hash(text.as_bytes());
    }

    /// What was told of it is not what it says.
    pub(super) fn take_back(&mut self, emitter: &mut Emitter, run: &RunTrack) {
        self.n_told = 0;
        self.print = hash(b"");
        self.open = None;
        let event_ids = std::mem::take(&mut self.events);
        if event_ids.is_empty() {
            return;
        }
        let retract = Retract {
            event_ids,
            extra: Extra::default(),
        };
        emitter.add("again", &run.track.place(), retract);
    }
}

fn piece(kind: Kind, text: String, number: u32) -> Payload {
    let part = Some(number);
    match kind {
        Kind::Text => AssistantChunk {
            text,
            part,
            ..AssistantChunk::default()
        }
        .into(),
        Kind::Thinking => ThinkingChunk {
            text,
            part,
            ..ThinkingChunk::default()
        }
        .into(),
    }
}

fn done(kind: Kind, text: String, number: u32) -> Payload {
    let part = Some(number);
    match kind {
        Kind::Text => AssistantDone {
            text,
            part,
            ..AssistantDone::default()
        }
        .into(),
        Kind::Thinking => ThinkingDone {
            text,
            part,
            ..ThinkingDone::default()
        }
        .into(),
    }
}
