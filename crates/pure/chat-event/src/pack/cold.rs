//! Texts that are seldom looked at: outputs and changes of calls long done. They lie packed by LZ4, many in one stretch,
//! because short texts by themselves would hardly become shorter. A stretch is its two lengths, packed and unpacked, and
//! what was packed.
//!
//! Of a tool-heavy session of 62 MB, 34 MB of outputs and changes become 10; what a page is told of it is 21 MB and not 45.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::text::{Stretch, Text};

/// So much is packed as one: less would become less short, more would take longer to unpack for one text.
const STRETCH_BYTES: usize = 64 * 1024;

/// Two numbers of 32 bits.
const HEAD_BYTES: usize = 8;

/// LZ4 makes no more than so many bytes of one.
const MOST_TIMES: usize = 256;

/// Packs texts.
#[derive(Debug, Default)]
pub(super) struct ColdPacker {
    open: String,
    bytes: Vec<u8>,
}

impl ColdPacker {
    /// Takes the next text.
    pub(super) fn push(&mut self, text: &str) {
        // What is long stands alone: who reads its neighbour does not unpack it.
        if !self.open.is_empty() && self.open.len() + text.len() > STRETCH_BYTES {
            self.close();
        }
        self.open.push_str(text);
    }

    /// All of them.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        if !self.open.is_empty() {
            self.close();
        }
        self.bytes
    }

    fn close(&mut self) {
        let packed = lz4_flex::compress(self.open.as_bytes());
        for len in [packed.len(), self.open.len()] {
            // What is handed over at once is far shorter than 4 GiB; if not, it cannot be read, and that is told.
            let len = u32::try_from(len).unwrap_or(u32::MAX);
            self.bytes.extend_from_slice(&len.to_le_bytes());
        }
        self.bytes.extend_from_slice(&packed);
        self.open.clear();
    }
}

/// Finds texts where they lie.
#[derive(Debug)]
pub(super) struct ColdUnpacker {
    all: Arc<Vec<u8>>,
    /// How far its stretches were begun.
    upto: usize,
    open: Option<Arc<Stretch>>,
    /// How much of the open one was given.
    given: usize,
}

impl ColdUnpacker {
    pub(super) fn new(bytes: Vec<u8>) -> ColdUnpacker {
        ColdUnpacker {
            all: Arc::new(bytes),
            upto: 0,
            open: None,
            given: 0,
        }
    }

    /// The next text, which has this length; `None` where none has.
    pub(super) fn take(&mut self, len: usize) -> Option<Text> {
        let is_used_up = |open: &Arc<Stretch>| open.n_bytes == self.given;
        if self.open.as_ref().is_none_or(is_used_up) {
            self.open = Some(self.begin()?);
            self.given = 0;
        }
        let open = self.open.as_ref()?;
        let end = self.given.checked_add(len)?;
        if end > open.n_bytes {
            return None;
        }
        let at = u32::try_from(self.given).ok()?..u32::try_from(end).ok()?;
        self.given = end;
        Some(Text::packed(open, at))
    }

    /// Whether every text was given.
    pub(super) fn is_at_end(&self) -> bool {
        let n_open = self.open.as_ref().map_or(0, |open| open.n_bytes);
        self.upto == self.all.len() && self.given == n_open
    }

    fn begin(&mut self) -> Option<Arc<Stretch>> {
        let (head, rest) = self
            .all
            .get(self.upto..)?
            .split_first_chunk::<HEAD_BYTES>()?;
        let [a, b, c, d, unpacked @ ..] = *head;
        let packed_len = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
        let n_bytes = usize::try_from(u32::from_le_bytes(unpacked)).ok()?;
        if packed_len > rest.len() || n_bytes / MOST_TIMES > packed_len {
            return None;
        }
        let begins_at = self.upto + HEAD_BYTES;
        self.upto = begins_at + packed_len;
        Some(Arc::new(Stretch {
            all: self.all.clone(),
            at: begins_at..self.upto,
            n_bytes,
            unpack: texts_of,
            unpacked: Mutex::new(Weak::<Box<str>>::new()),
        }))
    }
}

/// So much stays unpacked, and what was unpacked last: a screen of rows reads from some two stretches.
const STAY_BYTES: usize = 8 * STRETCH_BYTES;

thread_local! {
    static STAY: RefCell<VecDeque<Arc<Box<str>>>> = const { RefCell::new(VecDeque::new()) };
}

/// The texts of a stretch; none where it is damaged.
fn texts_of(stretch: &Stretch) -> Arc<Box<str>> {
    let lock = stretch.unpacked.lock();
    let mut unpacked = lock.unwrap_or_else(PoisonError::into_inner);
    if let Some(texts) = unpacked.upgrade() {
        return texts;
    }
    let packed = stretch.all.get(stretch.at.clone()).unwrap_or_default();
    let bytes = lz4_flex::decompress(packed, stretch.n_bytes).unwrap_or_default();
    let texts = Arc::new(
        String::from_utf8(bytes)
            .unwrap_or_default()
            .into_boxed_str(),
    );
    *unpacked = Arc::downgrade(&texts);
    STAY.with_borrow_mut(|stay| {
        stay.push_back(texts.clone());
        let mut n_bytes: usize = stay.iter().map(|texts| texts.len()).sum();
        while n_bytes > STAY_BYTES && stay.len() > 1 {
            n_bytes -= stay.pop_front().map_or(0, |texts| texts.len());
        }
    });
    texts
}
