//! Long bodies of a log that comes from files or an address: the browser keeps them, outside of this program's memory,
//! and a reference stands in their place, as a server would tell it.
//!
//! They are kept in stretches, in the order in which they came: for each the event's id and the body, with their lengths
//! before them. A body's name says where it begins. Whoever has all of the bytes makes the same names of the same events.

use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;

use chat_event::{BodyRef, ChatEvent, Payload, bodies};
use chat_feed::loads::Wanted;

use super::Limits;
use super::live::text_of;
use super::watch::{Watch, watch};
use crate::platform::frame;
use crate::platform::part::part;
use crate::platform::save::blob_of_bytes;
use crate::platform::stream::{Blob, bytes_of_blob};

part! {
    /// What takes bodies out and brings them back: no short log needs it.
    pub(crate) static KEEP: Keeping = table, in keep, "keeps what is long in a log";
}

/// What the part can do.
#[derive(Clone, Copy)]
pub(crate) struct Keeping {
    /// Watches over a long source.
    pub(super) watch: fn(Limits) -> Box<dyn Watch>,
}

/// Makes what brings a body, or its beginning (the function hears how many bytes more have come), and what shows all of
/// them, each with its event's id, until it is told that it is enough.
pub(crate) type Doors = fn(Kept) -> (Fetch, ShowAll);

type Fetch = Rc<dyn Fn(&str, Wanted, Rc<dyn Fn(u64)>) -> Coming<String>>;
type ShowAll = Rc<dyn Fn(Show) -> Coming<()>>;
type Show = Box<dyn FnMut(&str, &str) -> bool>;
type Coming<T> = Pin<Box<dyn Future<Output = Result<T, String>>>>;

fn table() -> Keeping {
    Keeping { watch }
}

/// How the bodies are had that are kept.
pub(super) fn doors(kept: Kept) -> (Fetch, ShowAll) {
    let from = kept.clone();
    (
        Rc::new(move |_, wanted, told| Box::pin(body(from.clone(), wanted, told))),
        Rc::new(move |show| Box::pin(show_all(kept.clone(), show))),
    )
}

/// How the name of a body begins that is kept here.
pub(crate) const NAMED: &str = "kept-";

/// Longer bodies are taken out: of shorter ones the two ends that stay are nearly all.
// The ends that are shown before anything is asked for are 6 KiB together.
const OVER_BYTES: usize = 8 * 1024;
/// So much is gathered before the browser is given it.
const STRETCH_BYTES: usize = 1024 * 1024;

/// Before the id and the body stand their lengths.
const HEAD_BYTES: usize = 8;
/// Set in the length of an id whose body nobody looks for texts in: the file before a change.
const UNSHOWN: u32 = 1 << 31;

/// Bodies that are being taken out.
#[derive(Default)]
pub(super) struct Taking {
    open: Vec<u8>,
    /// What the browser was given before.
    n_given: u64,
}

impl Taking {
    /// Takes the long bodies out of an event.
    pub(super) fn take(&mut self, event: &mut ChatEvent) {
        if !bodies::TYPES.contains(&event.event_type()) {
            return;
        }
        // What people write is short, and copied whole.
        let prompt = match &mut event.payload {
            Payload::UserMessage(message) => Some(std::mem::take(&mut message.text)),
            _ => None,
        };
        let old_text = match &event.payload {
            Payload::FileEdit(edit) => edit.old_text.as_ref().map(|text| text.preview().as_ptr()),
            _ => None,
        };
        let id = event.id.clone();
        let Ok(()) = bodies::take_out(event, OVER_BYTES, &mut |text| {
            let shown = old_text != Some(text.as_ptr());
            Ok::<_, Infallible>(BodyRef::to(text, self.keep(&id, text, shown)))
        });
        if let (Payload::UserMessage(message), Some(text)) = (&mut event.payload, prompt) {
            message.text = text;
        }
    }

    fn keep(&mut self, id: &str, text: &str, shown: bool) -> String {
        let flag = if shown { 0 } else { UNSHOWN };
        // A line of a log is far shorter than 2 GiB.
        let [id_bytes, text_bytes] =
            [id.len(), text.len()].map(|len| u32::try_from(len).unwrap_or(0));
        self.open.extend((id_bytes | flag).to_le_bytes());
        self.open.extend(text_bytes.to_le_bytes());
        self.open.extend_from_slice(id.as_bytes());
        let begins_at = self.n_given + self.open.len() as u64;
        self.open.extend_from_slice(text.as_bytes());
        format!("{NAMED}{begins_at:x}")
    }

    /// What the browser is to keep, where it is enough or `all` is wanted.
    pub(super) fn give(&mut self, all: bool) -> Option<Blob> {
        if self.open.is_empty() || !(all || self.open.len() >= STRETCH_BYTES) {
            return None;
        }
        let blob = blob_of_bytes(&self.open);
        self.n_given += self.open.len() as u64;
        self.open.clear();
        // One long body does not keep its room for all that follow.
        self.open.shrink_to(2 * STRETCH_BYTES);
        Some(blob)
    }
}

/// The bodies that the browser keeps of one session, as far as they have come.
#[derive(Clone, Default)]
pub(crate) struct Kept(Rc<RefCell<Stretches>>);

#[derive(Default)]
struct Stretches {
    /// Each with where it begins.
    blobs: Vec<(u64, Blob)>,
    n_bytes: u64,
}

impl Kept {
    /// Whether nothing has come yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().blobs.is_empty()
    }

    /// The next stretch has come.
    pub(crate) fn add(&self, blob: Blob) {
        let mut stretches = self.0.borrow_mut();
        let begins_at = stretches.n_bytes;
        // A stretch is shorter than 2^53 bytes.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        {
            stretches.n_bytes += blob.size() as u64;
        }
        stretches.blobs.push((begins_at, blob));
    }

    /// It begins again.
    pub(crate) fn clear(&self) {
        self.0.take();
    }

    /// The stretch that has a place, and where in it that is.
    fn stretch_at(&self, at: u64) -> Option<(Blob, u64)> {
        let stretches = self.0.borrow();
        let n_before = stretches.blobs.partition_point(|(from, _)| *from <= at);
        let (from, blob) = stretches.blobs.get(n_before.checked_sub(1)?)?;
        (at < stretches.n_bytes).then(|| (blob.clone(), at - from))
    }
}

/// How often a body is looked for that is still on its way, and how long it is waited in between.
const TRIES: u32 = 40;
const WAIT_MS: u32 = 50;

async fn body(kept: Kept, wanted: Wanted, told: Rc<dyn Fn(u64)>) -> Result<String, String> {
    let named = wanted.sha256.strip_prefix(NAMED);
    let at = named.and_then(|at| u64::from_str_radix(at, 16).ok());
    let at = at.ok_or("it is not in this file")?;
    for _ in 0..TRIES {
        if let Some((blob, from)) = kept.stretch_at(at) {
            let bytes = bytes_of_blob(&blob, from, wanted.n_bytes).await?;
            told(bytes.len() as u64);
            return text_of(bytes, wanted.n_bytes < wanted.of_bytes);
        }
        frame::sleep(WAIT_MS).await;
    }
    Err("it has not come".to_owned())
}

async fn show_all(kept: Kept, mut show: Show) -> Result<(), String> {
    let mut nth = 0;
    loop {
        let next = kept.0.borrow().blobs.get(nth).cloned();
        let Some((_, blob)) = next else {
            return Ok(());
        };
        nth += 1;
        let bytes = bytes_of_blob(&blob, 0, u64::MAX).await?;
        let mut rest = bytes.as_slice();
        while let Some((id, text, after)) = record(rest) {
            if let Some(text) = text
                && !show(id, text)
            {
                return Ok(());
            }
            rest = after;
        }
        frame::yield_now().await;
    }
}

/// The first record of a stretch, its body where texts are looked for in it, and what follows.
fn record(bytes: &[u8]) -> Option<(&str, Option<&str>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let [a, b, c, d, lengths @ ..] = *head;
    let id_bytes = u32::from_le_bytes([a, b, c, d]);
    let text_bytes = usize::try_from(u32::from_le_bytes(lengths)).ok()?;
    let (id, rest) = rest.split_at_checked(usize::try_from(id_bytes & !UNSHOWN).ok()?)?;
    let (text, rest) = rest.split_at_checked(text_bytes)?;
    let shown = id_bytes & UNSHOWN == 0;
    let text = shown.then(|| std::str::from_utf8(text).ok()).flatten();
    Some((std::str::from_utf8(id).ok()?, text, rest))
}
