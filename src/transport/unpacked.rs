//! The bytes of a source, unpacked where it is packed: its first bytes say so, and not its name.
//!
//! What unpacks is a part of its own, which no plain log needs. Whoever reads takes the bytes as they come and stops when
//! it is enough, so that a small file that holds a lot is read no further than a long one.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::rc::Weak;

use chat_unpack::{Head, Packing, Unpacker};

use super::pushed::{self, Pushed};
use super::{Progress, Sink, Update};
use crate::platform::part::part;
use crate::platform::stream::{Blob, ByteStream};

part! {
    /// What unpacks.
    pub(super) static UNPACK: Unpacking = table, in unpack, "unpacks logs";
}

/// What the part can do.
#[derive(Clone, Copy)]
pub(super) struct Unpacking {
    pub(super) begin: fn(Packing) -> Box<dyn Unpacks>,
    /// Unpacks what was pushed so far.
    pub(super) pushed: UnpackPushed,
}

type UnpackPushed = fn(Weak<Pushed>) -> Pin<Box<dyn Future<Output = ()>>>;

fn table() -> Unpacking {
    Unpacking {
        begin: |packing| Box::new(Unpacker::new(packing)),
        pushed: |pushed| Box::pin(pushed::unpack(pushed)),
    }
}

/// What makes bytes of packed bytes.
pub(super) trait Unpacks {
    /// Takes packed bytes.
    fn push(&mut self, packed: &[u8]);
    /// The next bytes; `None` where more packed bytes are needed. An error says what is damaged, and where.
    fn unpack(&mut self) -> Result<Option<Vec<u8>>, String>;
    /// There are no more packed bytes.
    fn finish(&mut self);
}

impl Unpacks for Unpacker {
    fn push(&mut self, packed: &[u8]) {
        Unpacker::push(self, packed);
    }

    fn unpack(&mut self) -> Result<Option<Vec<u8>>, String> {
        match Unpacker::unpack(self) {
            Ok(piece) => Ok(piece.map(<[u8]>::to_vec)),
            Err(why) => Err(why.to_string()),
        }
    }

    fn finish(&mut self) {
        // Whether it is cut off is said behind what is left to unpack.
        let _ = Unpacker::finish(self);
    }
}

/// Why no more bytes come.
pub(crate) enum Broken {
    /// They cannot be read.
    Source(String),
    /// They cannot be unpacked: what, and where.
    Packing(String),
}

/// A source, read from its beginning.
pub(crate) struct Unpacked {
    bytes: ByteStream,
    sink: Sink,
    how: How,
    n_read: u64,
}

enum How {
    /// So far it is not known.
    Unsure(Vec<u8>),
    Plain,
    Packed {
        unpacks: Box<dyn Unpacks>,
        ended: Option<Result<(), String>>,
    },
}

impl Unpacked {
    /// The bytes of this source, of which nothing was read. `sink` is told where the part that unpacks does not come.
    pub(crate) fn new(bytes: ByteStream, sink: &Sink) -> Unpacked {
        Unpacked {
            bytes,
            sink: sink.clone(),
            how: How::Unsure(Vec::new()),
            n_read: 0,
        }
    }

    /// Those of a file from `offset` on, counted as it is unpacked.
    pub(super) async fn of_blob_from(
        file: &Blob,
        offset: u64,
        sink: &Sink,
    ) -> Result<Unpacked, Broken> {
        let mut whole = Unpacked::new(ByteStream::of_blob(file).map_err(Broken::Source)?, sink);
        if offset == 0 {
            return Ok(whole);
        }
        if !whole.is_packed().await? {
            let rest = ByteStream::of_blob_from(file, offset).map_err(Broken::Source)?;
            let mut rest = Unpacked::new(rest, sink);
            rest.how = How::Plain;
            return Ok(rest);
        }
        let mut n_left = offset;
        while n_left > 0
            && let Some(mut piece) = whole.next().await?
        {
            let n_passed = usize::try_from(n_left).map_or(piece.len(), |n| n.min(piece.len()));
            n_left -= n_passed as u64;
            if n_passed < piece.len() {
                piece.drain(..n_passed);
                let How::Packed { unpacks, ended } = whole.how else {
                    return Ok(whole);
                };
                let unpacks = Box::new(Begun(Some(piece), unpacks));
                whole.how = How::Packed { unpacks, ended };
            }
        }
        Ok(whole)
    }

    /// Length of the source in bytes, as it lies there, where it is known.
    pub(super) fn byte_len(&self) -> Option<u64> {
        self.bytes.byte_len
    }

    /// No more of it is wanted.
    pub(super) fn close(&self) {
        self.bytes.close();
    }

    /// How much of the source was read.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            n_read: self.n_read,
            of_bytes: self.bytes.byte_len,
            fits: None,
        }
    }

    /// Whether it is packed: its first bytes are waited for.
    pub(super) async fn is_packed(&mut self) -> Result<bool, Broken> {
        while let How::Unsure(_) = self.how {
            let more = self.read().await.map_err(Broken::Source)?;
            let How::Unsure(begun) = &mut self.how else {
                break;
            };
            match &more {
                Some(more) => begun.extend_from_slice(more),
                // As short as that, nothing is packed.
                None => break,
            }
            match Head::of(begun) {
                Head::Unsure => {}
                Head::Plain => break,
                Head::Packed(packing) => {
                    let begun = std::mem::take(begun);
                    let sink = self.sink.clone();
                    let part = UNPACK.needed(|lack| sink(Update::Lacks(lack))).await;
                    let mut unpacks = (part.begin)(packing);
                    unpacks.push(&begun);
                    let ended = None;
                    self.how = How::Packed { unpacks, ended };
                }
            }
        }
        Ok(matches!(self.how, How::Packed { .. }))
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        self.is_packed().await?;
        loop {
            match &mut self.how {
                How::Unsure(begun) => {
                    let begun = std::mem::take(begun);
                    self.how = How::Plain;
                    if !begun.is_empty() {
                        return Ok(Some(begun));
                    }
                }
                How::Plain => return self.read().await.map_err(Broken::Source),
                How::Packed { unpacks, ended } => {
                    if let Some(piece) = unpacks.unpack().or_else(|why| match ended {
                        // It is cut off because it could not be read on.
                        Some(Err(_)) => Ok(None),
                        _ => Err(Broken::Packing(why)),
                    })? {
                        return Ok(Some(piece));
                    }
                    match ended {
                        Some(Ok(())) => return Ok(None),
                        Some(Err(why)) => return Err(Broken::Source(why.clone())),
                        None => {}
                    }
                    let read = self.read().await;
                    if let How::Packed { unpacks, ended } = &mut self.how {
                        match read {
                            Ok(Some(packed)) => unpacks.push(&packed),
                            Ok(None) => *ended = Some(Ok(())),
                            Err(why) => *ended = Some(Err(why)),
                        }
                        if ended.is_some() {
                            unpacks.finish();
                        }
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, String> {
        let piece = self.bytes.next().await?;
        self.n_read += piece.as_ref().map_or(0, Vec::len) as u64;
        Ok(piece)
    }
}

/// Gives the rest of a piece, and then what follows.
struct Begun(Option<Vec<u8>>, Box<dyn Unpacks>);

impl Unpacks for Begun {
    fn push(&mut self, packed: &[u8]) {
        self.1.push(packed);
    }

    fn unpack(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self.0.take() {
            Some(rest) => Ok(Some(rest)),
            None => self.1.unpack(),
        }
    }

    fn finish(&mut self) {
        self.1.finish();
    }
}

/// Calls packed files as they would be called unpacked, for those who know files by their names; not where another file
/// is called so.
pub(crate) fn name_unpacked(paths: Vec<&mut String>) {
    let mut taken: BTreeSet<String> = paths.iter().map(|path| (**path).clone()).collect();
    for path in paths {
        let name = chat_unpack::name_of(path);
        if name.len() < path.len() && taken.insert(name.to_owned()) {
            path.truncate(name.len());
        }
    }
}
