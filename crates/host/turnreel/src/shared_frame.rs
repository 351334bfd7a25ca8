//! An `ev` frame that is encoded once and shared by all who are sent it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::ws::Utf8Bytes;
use chat_event::frame::EvText;

/// Frames that are kept: most followers stand at the same place, those who are a little behind at one of few others.
const KEPT_FRAMES: usize = 4;

/// Texts that a frame keeps, each for another number of the client's. Nearly all clients call their first one 1.
const KEPT_TEXTS: usize = 4;

/// The events `from` to `to` as a frame.
#[derive(Debug)]
pub(crate) struct SharedFrame {
    from: u64,
    pub(crate) to: u64,
    text: EvText,
    by_sub: Mutex<Vec<(u64, Utf8Bytes)>>,
}

impl SharedFrame {
    /// The frame's text for a subscription.
    pub(crate) fn for_sub(&self, sub: u64) -> Utf8Bytes {
        let mut by_sub = self.by_sub.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = by_sub.iter().find(|(of, _)| *of == sub) {
            return text.clone();
        }
        let text = Utf8Bytes::from(self.text.for_sub(sub));
        if by_sub.len() < KEPT_TEXTS {
            by_sub.push((sub, text.clone()));
        }
        text
    }
}

/// The newest frames of a session.
#[derive(Debug, Default)]
pub(crate) struct SharedFrames(VecDeque<Arc<SharedFrame>>);

impl SharedFrames {
    /// The frame of those events; `lines` gives them where it is not there yet.
    pub(crate) fn get<'a, L>(
        &mut self,
        from: u64,
        to: u64,
        lines: impl FnOnce() -> L,
    ) -> Arc<SharedFrame>
    where
        L: Iterator<Item = &'a str>,
    {
        let kept = |frame: &&Arc<SharedFrame>| (frame.from, frame.to) == (from, to);
        if let Some(frame) = self.0.iter().find(kept) {
            return frame.clone();
        }
        let frame = Arc::new(SharedFrame {
            from,
            to,
            text: EvText::new(from, to, lines()),
            by_sub: Mutex::default(),
        });
        self.0.truncate(KEPT_FRAMES - 1);
        self.0.push_front(frame.clone());
        frame
    }

    /// What they take at most, with all the texts that they may keep.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.0.iter().map(|frame| frame.text.bytes());
        texts.sum::<usize>() * (1 + KEPT_TEXTS)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
