//! Places that the page around the feed has named: each is a marker, and begins a chapter as a prompt does.

use super::clock::{Clock, exact};
use super::stops::{Marker, MarkerKind, Stops, order};
use crate::renderer::ChatRenderer;

/// So many places have names; those behind them have none.
pub const MOST_NAMED: usize = 1_000;

/// A place of a session, and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// What it is called.
    pub label: Box<str>,
    /// Where it is.
    pub at: NamedAt,
}

/// Where a place is that has a name.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedAt {
    /// Where the row of an event came, as links name it.
    Event(Box<str>),
    /// What happened first from so many milliseconds of the session on, idle stretches included.
    Elapsed(f64),
}

impl Stops {
    /// Names these places and no others. They are markers once [`Stops::place_named`] finds them.
    pub fn set_named(&mut self, mut named: Vec<Named>) {
        named.truncate(MOST_NAMED);
        self.named = named;
        self.take_names_off();
    }

    /// What a place of [`MarkerKind::Named`] is called.
    pub fn label(&self, kind: MarkerKind) -> Option<&str> {
        match kind {
            MarkerKind::Named(nth) => Some(&self.named.get(nth as usize)?.label),
            _ => None,
        }
    }

    /// Finds named places that have come since the last time. `clock` has heard of all that `renderer` has.
    pub fn place_named(&mut self, renderer: &ChatRenderer, clock: &Clock) {
        // It is asked for in each frame, and few pages name anything.
        if !self.named.is_empty() {
            self.place_unplaced(renderer, clock);
        }
    }

    #[inline(never)]
    fn place_unplaced(&mut self, renderer: &ChatRenderer, clock: &Clock) {
        // Times that are made up lead elsewhere than those that passed.
        if std::mem::replace(&mut self.made_up, clock.is_reconstructed()) != self.made_up {
            self.take_names_off();
        }
        let unplaced = std::mem::take(&mut self.unplaced);
        for nth in unplaced {
            let named = self.named.get(nth as usize);
            match named.and_then(|named| place_of(named, nth, renderer, clock)) {
                Some(marker) => {
                    for places in [&mut self.markers, &mut self.chapters] {
                        let at = places.partition_point(|other| order(other) < order(&marker));
                        places.insert(at, marker);
                    }
                }
                None => self.unplaced.push(nth),
            }
        }
    }

    /// Begins anew, for another session: what is named is looked for there.
    pub fn forget_session(&mut self) {
        let named = std::mem::take(&mut self.named);
        *self = Stops::default();
        self.set_named(named);
    }

    fn take_names_off(&mut self) {
        for places in [&mut self.markers, &mut self.chapters] {
            places.retain(|marker| !matches!(marker.kind, MarkerKind::Named(_)));
        }
        // There are no more than 32 bits count.
        self.unplaced = (0..).take(self.named.len()).collect();
    }
}

fn place_of(named: &Named, nth: u32, renderer: &ChatRenderer, clock: &Clock) -> Option<Marker> {
    let feed = renderer.feed();
    let event = match &named.at {
        NamedAt::Event(name) => feed.block(renderer.block_named(name)?).first_event,
        NamedAt::Elapsed(elapsed_ms) if *elapsed_ms > exact(clock.elapsed_ms()) => return None,
        NamedAt::Elapsed(elapsed_ms) => {
            let played_ms = clock.played_of(*elapsed_ms);
            // A time before the start is the start.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let before_ms = (played_ms.ceil().max(0.0) as u64).checked_sub(1);
            before_ms.map_or(0, |before_ms| clock.n_events_at(before_ms))
        }
    };
    Some(Marker {
        kind: MarkerKind::Named(nth),
        event: (event < clock.n_events()).then_some(event)?,
        block: feed.block_of_event(event)?,
    })
}
