//! What the page takes of a worker: it comes with the part, for nothing is told before that is here.

use std::cell::Cell;
use std::rc::Rc;

use chat_event::pack::{Pack, Packed, Unpacker};
use chat_feed::ChatRenderer;

use super::page::Stage;
use super::{BODIES, ENDED, FAILED, HEARD, STOPPED, take_progress};
use crate::platform::stream::Blob;
use crate::transport::kept::doors;
use crate::transport::{Failure, Sink, Update};

/// Takes what the worker tells.
pub(super) fn take(mut told: Packed, blob: Option<Blob>, sink: &Sink) -> Stage {
    let what = told.bytes.pop();
    let Some(progress) = take_progress(&mut told.bytes) else {
        return Stage::Broken;
    };
    match what {
        Some(HEARD) => {
            let broken = Rc::new(Cell::new(false));
            sink(Update::Heard(told, ChatRenderer::hear, broken.clone()));
            sink(Update::Progress(progress));
            if broken.get() {
                Stage::Broken
            } else {
                Stage::Begun
            }
        }
        Some(BODIES) => {
            let Some(stretch) = blob else {
                return Stage::Broken;
            };
            sink(Update::Bodies(stretch, doors));
            Stage::Begun
        }
        Some(ENDED) => Stage::Done,
        Some(STOPPED) => {
            sink(Update::Stopped(failure_of(&told.bytes)));
            Stage::Failed
        }
        Some(FAILED) => {
            sink(Update::Failed(failure_of(&told.bytes)));
            Stage::Failed
        }
        Some(_) | None => Stage::Broken,
    }
}

fn failure_of(bytes: &[u8]) -> Failure {
    let mut input = Unpacker::new(bytes, Vec::new());
    let (what, next) = <(String, String)>::unpack(&mut input);
    let failure = Failure::new(what, next);
    match bool::unpack(&mut input) {
        true => failure.refused(),
        false => failure,
    }
}
