//! Bodies that a reader asked to see whole: what was asked for, how far it has come, and what is kept of it.
//!
//! | is | when | becomes |
//! |---|---|---|
//! | – | `ask`, and nothing of it is elsewhere | here |
//! | –, failed | `ask` | coming |
//! | coming | the last body arrived | here |
//! | coming | `fail` | failed |
//! | coming, failed, here | `leave` | – |
//! | here | others need the room | – |
//!
//! Who fetches, and how it is shown, is for the page. A body is kept for the place that asked for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_event::BodyRef;

use crate::block::BlockId;
use crate::long_text::WHOLE_BYTES;

/// Bodies that are kept, together; those that were asked for first go first.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

/// Which text of a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// The only one: a prompt, a notice, a raw line.
    Text,
    /// An argument of a call.
    Argument(Box<str>),
    /// What a call gave; of several texts, which.
    Result(usize),
    /// What a command gave, where that is one text.
    Printed,
    /// What a call printed.
    Output,
    /// Why it failed.
    Error,
    /// What one agent wrote to another.
    Said,
    /// What that one answered.
    Answer,
    /// A whole diff.
    Diff,
    /// The file that a diff changes, as it was before.
    OldText,
    /// What was sent along, by its place.
    Attachment(usize),
}

impl Spot {
    /// How much of it is fetched and shown: of a text what a browser lays out at once.
    pub fn most_bytes(&self) -> u64 {
        match self {
            Spot::Attachment(_) => crate::media::MOST_BYTES,
            // Of these only what is on the screen is drawn, however long they are.
            Spot::OldText | Spot::Diff | Spot::Printed => crate::media::MOST_BYTES,
            _ => WHOLE_BYTES as u64,
        }
    }

    /// The beginning of a text that is shown here, cut on a character.
    pub fn shown<'t>(&self, text: &'t str) -> &'t str {
        &text[..text.floor_char_boundary(self.most_bytes() as usize)]
    }
}

/// A text of a block.
pub type Place = (BlockId, Spot);

/// How far the whole of a place has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// It is being fetched.
    Coming {
        /// Bytes that have come.
        n_bytes: u64,
        /// Bytes that there are to come.
        of_bytes: u64,
    },
    /// It did not come, for this reason.
    Failed(String),
    /// It is here, and shown.
    Here,
}

/// One body that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its hash.
    pub sha256: Box<str>,
    /// How much of it: all, or the beginning that is shown at once.
    pub n_bytes: u64,
    /// How long it is.
    pub of_bytes: u64,
}

/// What readers asked for.
#[derive(Debug, Default)]
pub struct Loads {
    asked: BTreeMap<Place, Asked>,
    n_asked: u64,
    kept_bytes: usize,
}

#[derive(Debug)]
struct Asked {
    /// Rises with each that is asked for.
    nth: u64,
    load: Load,
    /// What of it has come whole.
    bodies: BTreeMap<Box<str>, Arc<str>>,
}

impl Asked {
    fn kept_bytes(&self) -> usize {
        self.bodies.values().map(|body| body.len()).sum()
    }
}

impl Loads {
    /// The reader asks for all of a place; what is to be fetched for it. Asked for again while it comes or is here,
    /// nothing is; after a failure what is still missing.
    pub fn ask(&mut self, place: Place, references: &[BodyRef]) -> Vec<Wanted> {
        let known = self.asked.get(&place);
        if known.is_some_and(|asked| !matches!(asked.load, Load::Failed(_))) {
            return Vec::new();
        }
        let bodies = known.map(|asked| asked.bodies.clone()).unwrap_or_default();
        let missing = references
            .iter()
            .filter(|reference| !bodies.contains_key(reference.sha256.as_str()));
        let most_bytes = place.1.most_bytes();
        let wanted: Vec<Wanted> = missing
            .map(|reference| Wanted {
                sha256: reference.sha256.as_str().into(),
                n_bytes: reference.bytes.min(most_bytes),
                of_bytes: reference.bytes,
            })
            .collect();
        let load = if wanted.is_empty() {
            Load::Here
        } else {
            Load::Coming {
                n_bytes: 0,
                of_bytes: wanted.iter().map(|wanted| wanted.n_bytes).sum(),
            }
        };
        self.n_asked += 1;
        let nth = self.n_asked;
        self.asked.insert(place, Asked { nth, load, bodies });
        wanted
    }

    /// So many bytes of a place have come.
    pub fn note(&mut self, place: &Place, n_more: u64) {
        if let Some(asked) = self.asked.get_mut(place)
            && let Load::Coming { n_bytes, of_bytes } = &mut asked.load
        {
            *n_bytes = n_bytes.saturating_add(n_more).min(*of_bytes);
        }
    }

    /// A body of a place has come whole; `last` of those that were wanted. The blocks that show less for it: none that
    /// `is_shown`, which would ask for it again at once, and take the room of the next.
    pub fn arrive(
        &mut self,
        place: &Place,
        (sha256, last): (&str, bool),
        body: Arc<str>,
        is_shown: &dyn Fn(BlockId) -> bool,
    ) -> Vec<BlockId> {
        let Some(asked) = self.asked.get_mut(place) else {
            return Vec::new();
        };
        self.kept_bytes += body.len();
        if let Some(before) = asked.bodies.insert(sha256.into(), body) {
            self.kept_bytes -= before.len();
        }
        if last {
            asked.load = Load::Here;
        }
        self.make_room(place, is_shown)
    }

    fn make_room(&mut self, newest: &Place, is_shown: &dyn Fn(BlockId) -> bool) -> Vec<BlockId> {
        let mut gone = Vec::new();
        while self.kept_bytes > KEPT_BYTES {
            let others = self.asked.iter().filter(|(place, asked)| {
                *place != newest
                    && asked.load == Load::Here
                    && !asked.bodies.is_empty()
                    && !is_shown(place.0)
            });
            let Some((oldest, _)) = others.min_by_key(|(_, asked)| asked.nth) else {
                break;
            };
            let oldest = oldest.clone();
            self.leave(&oldest);
            gone.push(oldest.0);
        }
        gone
    }

    /// What is missing of a place does not come.
    pub fn fail(&mut self, place: &Place, why: String) {
        if let Some(asked) = self.asked.get_mut(place) {
            asked.load = Load::Failed(why);
        }
    }

    /// The reader is done with a place: nothing of it is kept.
    pub fn leave(&mut self, place: &Place) {
        if let Some(asked) = self.asked.remove(place) {
            self.kept_bytes -= asked.kept_bytes();
        }
    }

    /// How far a place has come; `None` where nobody asked.
    pub fn load(&self, place: &Place) -> Option<&Load> {
        self.asked.get(place).map(|asked| &asked.load)
    }

    /// The places of a block that are on their way.
    pub fn coming(&self, block: BlockId) -> Vec<Place> {
        let of_block = self.asked.iter().filter(|(place, _)| place.0 == block);
        let coming = of_block.filter(|(_, asked)| matches!(asked.load, Load::Coming { .. }));
        coming.map(|(place, _)| place.clone()).collect()
    }

    /// A body of a place, where it has come.
    pub fn body(&self, place: &Place, sha256: &str) -> Option<Arc<str>> {
        self.asked.get(place)?.bodies.get(sha256).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(sha256: &str, bytes: u64) -> BodyRef {
        BodyRef {
            sha256: sha256.to_owned(),
            bytes,
            ..BodyRef::default()
        }
    }

    fn place(block: u32) -> Place {
        (BlockId(block), Spot::Result(0))
    }

    fn unshown(_: BlockId) -> bool {
        false
    }

    #[test]
    fn what_is_here_needs_no_fetching_and_what_comes_is_fetched_once() {
        let mut loads = Loads::default();
        assert!(loads.ask(place(1), &[]).is_empty());
        assert_eq!(loads.load(&place(1)), Some(&Load::Here));
        let wanted = loads.ask(place(2), &[reference("a", 10), reference("b", 900_000)]);
        let sizes: Vec<u64> = wanted.iter().map(|wanted| wanted.n_bytes).collect();
        assert_eq!(sizes, [10, WHOLE_BYTES as u64]);
        assert!(loads.ask(place(2), &[reference("a", 10)]).is_empty());
        loads.note(&place(2), 7);
        let of_bytes = 10 + WHOLE_BYTES as u64;
        let coming = Load::Coming {
            n_bytes: 7,
            of_bytes,
        };
        assert_eq!(loads.load(&place(2)), Some(&coming));
        loads.arrive(&place(2), ("a", false), "0123456789".into(), &unshown);
        loads.fail(&place(2), "the server answered 503".to_owned());
        // Tried again, only what is missing is fetched.
        let wanted = loads.ask(place(2), &[reference("a", 10), reference("b", 900_000)]);
        assert_eq!(wanted.len(), 1);
        assert_eq!(&*wanted[0].sha256, "b");
        loads.arrive(&place(2), ("b", true), "b".into(), &unshown);
        assert_eq!(loads.load(&place(2)), Some(&Load::Here));
        assert_eq!(loads.body(&place(2), "a").as_deref(), Some("0123456789"));
        loads.leave(&place(2));
        assert_eq!((loads.load(&place(2)), loads.kept_bytes), (None, 0));
    }

    #[test]
    fn what_comes_after_the_reader_left_is_not_kept() {
        let mut loads = Loads::default();
        loads.ask(place(1), &[reference("a", 10)]);
        assert_eq!(loads.coming(BlockId(1)), [place(1)]);
        loads.leave(&place(1));
        let gone = loads.arrive(&place(1), ("a", true), "late".into(), &unshown);
        assert!(gone.is_empty());
        assert_eq!((loads.load(&place(1)), loads.kept_bytes), (None, 0));
    }

    #[test]
    fn the_oldest_go_where_there_is_no_room_and_the_newest_stays() {
        let mut loads = Loads::default();
        let body: Arc<str> = "x".repeat(WHOLE_BYTES).into();
        let mut gone = Vec::new();
        for n in 0..40 {
            loads.ask(place(n), &[reference("a", WHOLE_BYTES as u64)]);
            gone.extend(loads.arrive(&place(n), ("a", true), body.clone(), &unshown));
            assert!(loads.kept_bytes <= KEPT_BYTES);
            assert_eq!(loads.load(&place(n)), Some(&Load::Here));
        }
        let expected: Vec<BlockId> = (0..8).map(BlockId).collect();
        assert_eq!(gone, expected);
        assert_eq!(loads.load(&place(0)), None);
    }
    #[test]
    fn what_is_shown_stays_however_much_it_is() {
        let mut loads = Loads::default();
        let body: Arc<str> = "x".repeat(WHOLE_BYTES).into();
        for n in 0..40 {
            loads.ask(place(n), &[reference("a", WHOLE_BYTES as u64)]);
            let gone = loads.arrive(&place(n), ("a", true), body.clone(), &|_| true);
            assert_eq!(gone, []);
        }
        // Once they are off the screen they make room.
        loads.ask(place(40), &[reference("a", WHOLE_BYTES as u64)]);
        let gone = loads.arrive(&place(40), ("a", true), body, &unshown);
        assert_eq!(gone.len(), 9);
        assert!(loads.kept_bytes <= KEPT_BYTES);
    }
}
