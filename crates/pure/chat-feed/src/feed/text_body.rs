//! Texts that grew event by event.

use std::fmt;

use chat_event::{Text, TextRef};

use crate::block::EventIdx;
use crate::history::{Lengths, Rewrite};
use crate::terminal::Stream;

/// A text that grew event by event.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextBody {
    pub(crate) text: Streamed,
    /// Whether its call has its result: from then on it is told packed, since most readers never look at it. More may still
    /// come; then it lies open again.
    pub(crate) is_seldom_read: bool,
    /// How long it was after each event that changed it. Kept where the feed keeps its history; of the assistant's text by
    /// its rows instead.
    pub(crate) growth: Lengths,
    /// Where it did more than grow.
    pub(crate) rewrites: Vec<Rewrite>,
    /// How much of a call's input has come, in Unicode scalar values.
    pub(crate) n_chars: u64,
    /// Where another stream than before begins: of a tool's output.
    pub(crate) switches: Vec<(usize, Stream)>,
}

/// What was streamed so far.
#[derive(Clone, Default)]
pub(crate) struct Streamed {
    open: String,
    /// The text where it is at rest; nothing is open then.
    cold: Option<Text>,
}

impl Streamed {
    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.cold.as_ref().map_or(self.open.len(), Text::len)
    }

    /// The text.
    pub(crate) fn read(&self) -> TextRef<'_> {
        match &self.cold {
            Some(text) => text.read(),
            None => self.open.as_str().into(),
        }
    }

    /// The text, to be changed.
    pub(crate) fn open(&mut self) -> &mut String {
        if let Some(text) = self.cold.take() {
            self.open = text.read().into_string();
        }
        &mut self.open
    }

    /// The text, to be kept where it is seldom read.
    pub(crate) fn to_cold(&self) -> Text {
        match &self.cold {
            Some(text) => text.clone(),
            None => self.open.as_str().into(),
        }
    }
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}

impl From<Text> for Streamed {
    fn from(text: Text) -> Streamed {
        Streamed {
            open: String::new(),
            cold: Some(text),
        }
    }
}

impl From<String> for Streamed {
    fn from(open: String) -> Streamed {
        Streamed { open, cold: None }
    }
}

impl TextBody {
    pub(crate) fn grew(&mut self, event: EventIdx) {
        self.growth.set(event, self.text.len());
    }

    /// What comes next comes from this stream.
    pub(crate) fn switch(&mut self, stream: Stream) {
        let now = self
            .switches
            .last()
            .map_or(Stream::Stdout, |(_, stream)| *stream);
        if now != stream {
            self.switches.push((self.text.len(), stream));
        }
    }
}
