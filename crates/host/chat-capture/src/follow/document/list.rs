//! A session's file that is one list of messages, written anew with each change: the tasks of Cline, Roo Code and Kilo Code,
//! `ui_messages.json`, and the sessions of Cline since 4, `ID.messages.json`.
//!
//! Such a file has many MB and is written with each message, so it is never held whole, and of a state only what differs
//! from the one before is read as JSON:
//!
//! | message, in order | what is done |
//! |---|---|
//! | the bytes that stood there before | passed by, for their hash is the same |
//! | one of the same name | told as changed |
//! | a new one | told |
//! | one of those known that does not come any more | told as left |
//!
//! A state is gone through in slices. What was written over meanwhile is gone through from its beginning; what it told stays
//! known. One that ends too early is being written: what stands in it is true, and nothing is left before its end is seen.
//! One that was written just now may be written once more within the same tick of its disk's clock, and as long: it is gone
//! through again when that is over.

use std::collections::HashMap;

use chat_normalize::TaskLine;

use super::super::file::{Facts, Followed, Taken};
use super::super::source::Failed;
use super::is_settled;
use super::item::{Form, Head, Item, hash, value_len};

/// As much is read at once; more where a message is longer.
const PIECE_BYTES: u64 = 256 * 1024;

/// The longest message, and what may stand before the first of a session.
const MOST_BYTES: u64 = chat_event::jsonl::MAX_LINE_BYTES as u64;
const MOST_HEAD_BYTES: usize = 64 * 1024;

/// More messages than any task has: each is kept by its name.
const MOST_ITEMS: usize = if cfg!(test) { 10_000 } else { 500_000 };

/// So many are told as left in one line: with the longest names that is no longer than a line may be.
const MOST_LEFT: usize = 10_000;

/// What is known of the messages of a document.
#[derive(Debug)]
pub(in crate::follow) struct List {
    form: Form,
    /// As they were told.
    known: Vec<Item>,
    pass: Option<Pass>,
    /// The state that was gone through last, and whether it could change unseen then.
    done: Option<(Facts, bool)>,
}

/// A state that is being gone through.
#[derive(Debug)]
struct Pass {
    facts: Facts,
    /// How it is known again, and whether it is the one that an earlier reader told.
    taken: Taken,
    is_told: bool,
    /// Bytes that were gone through.
    at: u64,
    piece_bytes: u64,
    /// What stands before the first message, once that is known.
    head: Option<String>,
    items: Vec<Item>,
    /// How many of the known ones came, or are left.
    n_known: usize,
    /// Where those behind stand, by their names: the first of each name last.
    places: Option<HashMap<u64, Vec<usize>>>,
    /// What is to be told.
    lines: Vec<u8>,
}

/// What a slice was.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::follow) enum Slice {
    /// There is more.
    More,
    /// The state is gone through.
    Whole,
    /// It is not whole.
    Torn,
    /// It begins with another message: it is another file.
    Other,
}

impl List {
    /// The messages of a document of this name; `None` for those that are read otherwise.
    pub(in crate::follow) fn of(path: &std::path::Path) -> Option<List> {
        Some(List {
            form: Form::of(path)?,
            known: Vec::new(),
            pass: None,
            done: None,
        })
    }

    /// Whether this state was gone through.
    pub(in crate::follow) fn has(&self, facts: Facts) -> bool {
        let is_done = self.done.is_some_and(|(done, _)| done == facts);
        self.pass.is_none() && is_done && !self.is_unsure(facts)
    }

    /// Whether this state was gone through when it could still change unseen, and cannot any more.
    pub(in crate::follow) fn is_unsure(&self, facts: Facts) -> bool {
        self.done == Some((facts, true)) && is_settled(facts)
    }

    /// Goes through the next slice of the file as it is now; `lines` gets what is to be told. Also how the state is known
    /// again, and whether it is `skip`.
    pub(in crate::follow) fn read(
        &mut self,
        file: &mut Followed,
        skip: Taken,
        lines: &mut Vec<u8>,
    ) -> Result<(Slice, Taken, bool), Failed> {
        let facts = file.facts()?;
        let mut pass = match self.pass.take() {
            Some(pass) if pass.facts == facts => pass,
            before => {
                self.leave(before);
                let taken = file.taken(facts.len)?;
                Pass::new(facts, taken, taken == skip)
            }
        };
        let known = (pass.taken, pass.is_told);
        let slice = self.go_on(file, &mut pass);
        lines.append(&mut pass.lines);
        match &slice {
            Ok(Slice::Whole) => {
                // A list that was emptied is about to be written.
                if !pass.items.is_empty() {
                    self.known = std::mem::take(&mut pass.items);
                }
                self.done = Some((facts, !is_settled(facts)));
            }
            Ok(Slice::More) => self.pass = Some(pass),
            Ok(Slice::Other) => {}
            // Its rest may come with other bytes before it.
            Ok(Slice::Torn) | Err(_) => self.leave(Some(pass)),
        }
        slice.map(|slice| (slice, known.0, known.1))
    }

    /// Bytes of the state that were gone through, where there is more of it.
    pub(in crate::follow) fn at(&self) -> Option<u64> {
        self.pass.as_ref().map(|pass| pass.at)
    }

    /// A state is not gone through to its end. What it told is known, and so is what was to come.
    fn leave(&mut self, pass: Option<Pass>) {
        if let Some(mut pass) = pass {
            let behind = self.known.drain(pass.n_known.min(self.known.len())..);
            pass.items.extend(behind);
            self.known = pass.items;
        }
        self.done = None;
    }

    fn go_on(&mut self, file: &mut Followed, pass: &mut Pass) -> Result<Slice, Failed> {
        let mut bytes = Vec::new();
        file.read(pass.at, pass.piece_bytes, &mut bytes)?;
        if file.facts()? != pass.facts {
            // Written over since: what was read may be half of one state and half of another.
            return Ok(Slice::Torn);
        }
        let is_end = (bytes.len() as u64) < pass.piece_bytes;
        let mut at = 0;
        if pass.head.is_none() {
            match self.form.head(&bytes, MOST_HEAD_BYTES) {
                Head::Begins { head, at: begins } => (pass.head, at) = (Some(head), begins),
                Head::Torn if bytes.len() < MOST_HEAD_BYTES => return Ok(Slice::Torn),
                Head::Torn | Head::Other => {
                    let what = "it is no list of messages".to_owned();
                    return Err(Failed::Broken(what));
                }
            }
        }
        loop {
            let is_between = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b',';
            at += bytes[at..].iter().take_while(is_between).count();
            let rest = &bytes[at..];
            if rest.first() == Some(&b']') {
                return Ok(self.ends(pass));
            }
            if let Some(len) = self.take_same(pass, rest) {
                at += len;
                continue;
            }
            let Some(len) = value_len(rest) else {
                break;
            };
            if pass.items.len() >= MOST_ITEMS {
                let what = format!("it has more than {MOST_ITEMS} messages");
                return Err(Failed::Broken(what));
            }
            if !self.take(pass, &rest[..len]) {
                return Ok(Slice::Other);
            }
            at += len;
        }
        pass.at += at as u64;
        if is_end {
            return Ok(Slice::Torn);
        }
        // A message that is longer than what was read is read by itself.
        if at == 0 && pass.piece_bytes >= MOST_BYTES {
            let what = "a message in it is longer than 16 MiB".to_owned();
            return Err(Failed::Broken(what));
        }
        pass.piece_bytes = match at {
            0 => (pass.piece_bytes * 4).min(MOST_BYTES),
            _ => PIECE_BYTES,
        };
        Ok(Slice::More)
    }

    /// Takes the next message where it is the known one; how long it is.
    fn take_same(&mut self, pass: &mut Pass, rest: &[u8]) -> Option<usize> {
        let item = self.known.get_mut(pass.n_known)?;
        let ends = rest.get(item.len)?;
        let is_end = ends.is_ascii_whitespace() || matches!(ends, b',' | b']');
        if !is_end || hash(&rest[..item.len]) != item.hash {
            return None;
        }
        let len = item.len;
        pass.n_known += 1;
        pass.items.push(std::mem::take(item));
        Some(len)
    }

    /// Takes the next message; false where it shows that this is another file.
    fn take(&mut self, pass: &mut Pass, bytes: &[u8]) -> bool {
        let item = self.form.item(bytes);
        let line = self
            .form
            .line(pass.head.as_deref(), pass.items.len(), bytes);
        match self.place_of(pass, &item) {
            Some(place) => {
                let known = self.known.get(place);
                let is_same = known.is_some_and(|it| (it.hash, it.len) == (item.hash, item.len));
                self.left(pass, place);
                pass.n_known += 1;
                if !is_same {
                    pass.tell(&TaskLine::changed(&line));
                }
            }
            None if pass.items.is_empty() && !self.known.is_empty() => return false,
            None => {
                let last = self.known.get(pass.n_known..).and_then(<[Item]>::last);
                // Else it was put between them.
                if last.is_some_and(|last| item.ts >= last.ts) {
                    self.left(pass, self.known.len());
                }
                pass.tell(&line);
            }
        }
        pass.items.push(item);
        true
    }

    /// Which of the known ones that did not come yet a message is.
    fn place_of(&self, pass: &mut Pass, item: &Item) -> Option<usize> {
        let behind = self.known.get(pass.n_known..)?;
        if behind.first()?.name_hash == item.name_hash {
            return Some(pass.n_known);
        }
        let places = pass.places.get_or_insert_with(|| {
            let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
            for (nth, item) in behind.iter().enumerate().rev() {
                let same = places.entry(item.name_hash).or_default();
                same.push(pass.n_known + nth);
            }
            places
        });
        let same = places.get_mut(&item.name_hash)?;
        while same.last().is_some_and(|place| *place < pass.n_known) {
            same.pop();
        }
        same.last().copied()
    }

    /// Those before this place that did not come are left.
    fn left(&self, pass: &mut Pass, upto: usize) {
        let left = self.known.get(pass.n_known..upto).unwrap_or_default();
        for left in left.chunks(MOST_LEFT) {
            pass.tell(&TaskLine::left(left.iter().map(|item| &*item.name)));
        }
        pass.n_known = upto;
    }

    fn ends(&self, pass: &mut Pass) -> Slice {
        if !pass.items.is_empty() {
            self.left(pass, self.known.len());
        }
        Slice::Whole
    }
}

impl Pass {
    fn new(facts: Facts, taken: Taken, is_told: bool) -> Pass {
        Pass {
            facts,
            taken,
            is_told,
            at: 0,
            piece_bytes: PIECE_BYTES,
            head: None,
            items: Vec::new(),
            n_known: 0,
            places: None,
            lines: Vec::new(),
        }
    }

    fn tell(&mut self, line: &str) {
        self.lines.extend_from_slice(line.as_bytes());
        self.lines.push(b'\n');
    }
}
