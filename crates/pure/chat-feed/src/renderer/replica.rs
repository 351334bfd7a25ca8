//! A renderer that reads a log, and another that shows what it makes of it.
//!
//! While it hears, the other one has the feed and no more. At the end it is handed the rest as well, and then is as if it
//! had taken all events itself: more can come.

use chat_event::pack::{Broken, Pack, Packed, Packer, Unpacker};

use super::ChatRenderer;
use crate::block::EventIdx;
use crate::feed::Feed;
use crate::patch::FeedPatch;
use crate::replica::Replicate;

/// What was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Some of it: more is told.
    More,
    /// All of it: the renderer goes on by itself.
    All,
}

/// Keeps another renderer up to date.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::{ChatRenderer, Teller};
///
/// let (mut reads, mut shows) = (ChatRenderer::with_history(), ChatRenderer::with_history());
/// let mut teller = Teller::of(&reads);
/// let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"assistant_chunk","payload":{"text":"Hi"}}"#;
/// let patches = reads.render_event(&ChatEvent::from_json(line).unwrap());
/// let mut heard = Vec::new();
/// shows.hear(teller.tell(&reads, &patches), &mut heard).unwrap();
/// assert_eq!(heard, patches);
/// assert_eq!(shows.feed().rows().count(), 1);
/// ```
#[derive(Debug)]
pub struct Teller {
    /// What the other one has.
    told: Feed,
    n_events: EventIdx,
}

impl Teller {
    /// The other one took the same events as this renderer.
    pub fn of(renderer: &ChatRenderer) -> Teller {
        Teller {
            told: renderer.feed.clone(),
            n_events: renderer.event,
        }
    }

    /// What the other one lacks, for [`ChatRenderer::hear`]; `patches` are what changed since the last time.
    pub fn tell(&mut self, renderer: &ChatRenderer, patches: &[FeedPatch]) -> Packed {
        let mut out = self.written(renderer, patches);
        false.pack(&mut out);
        out.into_packed()
    }

    /// The same, and all that it needs to go on by itself.
    pub fn hand_over(mut self, renderer: &ChatRenderer, patches: &[FeedPatch]) -> Packed {
        let mut out = self.written(renderer, patches);
        true.pack(&mut out);
        renderer.pack_rest(&mut out);
        out.into_packed()
    }

    fn written(&mut self, renderer: &ChatRenderer, patches: &[FeedPatch]) -> Packer {
        let mut out = Packer::default();
        self.n_events.pack(&mut out);
        self.n_events = renderer.event;
        renderer.event.pack(&mut out);
        out.number(patches.len() as u64);
        for patch in patches {
            patch.pack(&mut out);
        }
        renderer.feed.tell(&mut self.told, &mut out);
        out
    }
}

impl ChatRenderer {
    /// Takes what a [`Teller`] wrote that knows what this renderer has; what changed is added to `patches`.
    ///
    /// Until it was handed over to, it must take no events itself.
    ///
    /// # Errors
    ///
    /// Where the bytes are not what a teller of the same build wrote for this renderer. What is shown is then any mixture
    /// of both: it has to begin again.
    pub fn hear(&mut self, told: Packed, patches: &mut Vec<FeedPatch>) -> Result<Heard, Broken> {
        let mut input = Unpacker::new(&told.bytes, told.kept);
        if EventIdx::unpack(&mut input) != self.event {
            // It is meant for one that has taken more, or less.
            return Err(Broken);
        }
        self.event = Pack::unpack(&mut input);
        let heard = Vec::unpack(&mut input);
        self.feed.hear(&mut input);
        let all = bool::unpack(&mut input);
        if all {
            self.unpack_rest(&mut input);
        }
        input.end()?;
        patches.extend(heard);
        Ok(if all { Heard::All } else { Heard::More })
    }
}

/// What a renderer has beside its feed, its count and what it needs for one event only.
macro_rules! rest {
    ($( $field:ident ),*) => {
        impl ChatRenderer {
            fn pack_rest(&self, out: &mut Packer) {
                $( self.$field.pack(out); )*
            }

            fn unpack_rest(&mut self, input: &mut Unpacker<'_>) {
                $( self.$field = Pack::unpack(input); )*
            }
        }
    };
}

rest!(
    seen,
    now_ms,
    turn_ids,
    current_turn,
    n_numbered_turns,
    turn_works,
    filled_turns,
    prompted_turns,
    open_turns,
    response_ids,
    unnamed_responses,
    response_works,
    later_parts,
    late_work,
    calls,
    edited_in,
    asks,
    asked_for,
    open_sides,
    background,
    ended_behind,
    free_asks,
    agent_hues,
    begun,
    has_ended,
    standing,
    newest_turn,
    is_cwd_guessed,
    rows_of_ids,
    newest_usage,
    retries,
    set_backs,
    closed
);
