//! Where the event with an id may stand.
//!
//! Ids are kept as hashes of eight bytes with the offset of their line: those that the index has stay on the disk, the newer
//! ones are held in memory until the index is written anew. The line at the offset decides whether it is the one.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use chat_event::jsonl::crc32c;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::platform;
use crate::random::random_base64url;

/// A hash of an id, and the offset of a line.
pub(super) type Place = (u64, u64);

/// A block of places on the disk: its checksum, how many it has, and the places in order.
pub(super) const BLOCK_BYTES: usize = 4096;
const BLOCK_HEAD_BYTES: usize = 16;
const PLACE_BYTES: usize = 16;
pub(super) const BLOCK_PLACES: usize = (BLOCK_BYTES - BLOCK_HEAD_BYTES) / PLACE_BYTES;

/// Offsets of lines by the hash of their ids.
#[derive(Debug)]
pub(super) struct Ids {
    /// Keys the hash, anew for each log, so nobody can choose ids that clash.
    key: String,
    recent: HashMap<u64, u64>,
    /// Those whose hash was taken.
    clashing: Vec<Place>,
    older: Older,
    /// Those that come all at once.
    many: Option<Vec<Place>>,
}

/// The places that were sorted before.
#[derive(Debug)]
pub(super) enum Older {
    /// On the disk, in blocks; a block's first hash each.
    Kept {
        file: File,
        blocks_at: u64,
        first_hashes: Vec<u64>,
        n_places: u64,
    },
    /// In memory, where the disk does not take them.
    Held(Vec<Place>),
}

/// What stands in the index is not what was written there.
#[derive(Debug)]
pub(super) struct Damaged;

impl Ids {
    /// None yet.
    ///
    /// # Errors
    ///
    /// Where the system has no random bytes to give.
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self::with(
            random_base64url::<16>()?,
            Older::Held(Vec::new()),
        ))
    }

    pub(super) fn with(key: String, older: Older) -> Self {
        Ids {
            key,
            recent: HashMap::new(),
            clashing: Vec::new(),
            older,
            many: None,
        }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn insert(&mut self, id: &str, offset: u64) {
        self.insert_place((self.hash(id), offset));
    }

    pub(super) fn insert_place(&mut self, (hash, offset): Place) {
        if let Some(many) = &mut self.many {
            many.push((hash, offset));
            return;
        }
        if *self.recent.entry(hash).or_insert(offset) != offset {
            self.clashing.push((hash, offset));
        }
    }

    /// Offsets of the lines to look at for that id.
    ///
    /// # Errors
    ///
    /// Where the index cannot be trusted.
    pub(super) fn candidates(&self, id: &str) -> Result<Vec<u64>, Damaged> {
        let hash = self.hash(id);
        let mut offsets = self.older.places(hash)?;
        offsets.extend(self.recent.get(&hash));
        let clashing = self.clashing.iter().filter(|(other, _)| *other == hash);
        offsets.extend(clashing.map(|(_, offset)| offset));
        Ok(offsets)
    }

    /// How many are held in memory, and how many are on the disk.
    pub(super) fn counts(&self) -> (usize, u64) {
        let recent = self.recent.len() + self.clashing.len();
        match &self.older {
            Older::Kept { n_places, .. } => (recent, *n_places),
            Older::Held(places) => (recent + places.len(), 0),
        }
    }

    /// The file that has the older ones.
    pub(super) fn kept_in(&self) -> Option<&File> {
        match &self.older {
            Older::Kept { file, .. } => Some(file),
            Older::Held(_) => None,
        }
    }

    /// Those that came since the older ones were sorted, in order.
    pub(super) fn recent(&self) -> Vec<Place> {
        let recent = self.recent.iter().map(|(hash, at)| (*hash, *at));
        let mut recent: Vec<Place> = recent.chain(self.clashing.iter().copied()).collect();
        recent.sort_unstable();
        recent
    }

    /// Shows all places to `visit` in order.
    ///
    /// # Errors
    ///
    /// Where `visit` refuses, or the index cannot be trusted.
    pub(super) fn each(&self, visit: &mut dyn FnMut(Place) -> io::Result<()>) -> io::Result<()> {
        let mut newer = self.recent().into_iter().peekable();
        let mut n_blocks = 0;
        while let Some(block) = self.older.block(n_blocks).map_err(|Damaged| damaged())? {
            n_blocks += 1;
            for place in block {
                while let Some(earlier) = newer.next_if(|earlier| *earlier < place) {
                    visit(earlier)?;
                }
                visit(place)?;
            }
        }
        newer.try_for_each(visit)
    }

    /// All is on the disk now.
    pub(super) fn kept(&mut self, older: Older) {
        self.older = older;
        self.recent = HashMap::new();
        self.clashing = Vec::new();
    }

    /// Many come, as a log that is read from its beginning has them: sorted once, they take less room.
    pub(super) fn begin_many(&mut self) {
        if matches!(&self.older, Older::Held(places) if places.is_empty()) {
            self.many = Some(Vec::new());
        }
    }

    pub(super) fn end_many(&mut self) {
        if let Some(mut places) = self.many.take() {
            places.sort_unstable();
            self.older = Older::Held(places);
        }
    }

    fn hash(&self, id: &str) -> u64 {
        let digest = Sha256::new()
            .chain_update(self.key.as_bytes())
            .chain_update(id.as_bytes())
            .finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        u64::from_le_bytes(first)
    }
}

impl Older {
    fn places(&self, hash: u64) -> Result<Vec<u64>, Damaged> {
        let mut offsets = Vec::new();
        let mut n_block = match self {
            Older::Kept { first_hashes, .. } => first_hashes
                .partition_point(|first| *first < hash)
                .saturating_sub(1),
            Older::Held(places) => {
                let from = places.partition_point(|place| place.0 < hash);
                let same = places[from..].iter().take_while(|place| place.0 == hash);
                return Ok(same.map(|place| place.1).collect());
            }
        };
        // Places of one hash may go on in the next block.
        while let Some(block) = self.block(n_block)? {
            let from = block.partition_point(|place| place.0 < hash);
            let same = block[from..].iter().take_while(|place| place.0 == hash);
            offsets.extend(same.map(|place| place.1));
            if block.last().is_some_and(|place| place.0 > hash) {
                break;
            }
            n_block += 1;
        }
        Ok(offsets)
    }

    /// The places of one block; `None` behind the last.
    fn block(&self, n_block: usize) -> Result<Option<Vec<Place>>, Damaged> {
        match self {
            Older::Held(places) => {
                let mut blocks = places.chunks(BLOCK_PLACES);
                Ok(blocks.nth(n_block).map(<[Place]>::to_vec))
            }
            Older::Kept {
                file,
                blocks_at,
                first_hashes,
                ..
            } => {
                let Some(first_hash) = first_hashes.get(n_block) else {
                    return Ok(None);
                };
                let mut block = [0; BLOCK_BYTES];
                let at = blocks_at + (n_block * BLOCK_BYTES) as u64;
                let read = platform::read_at(file, &mut block, at).map_err(|_| Damaged)?;
                let places = Some(read).filter(|read| *read == BLOCK_BYTES);
                let places = places.and_then(|_| decode(&block)).ok_or(Damaged)?;
                // A block of another place or time would have a right checksum, too.
                let is_its_own = places.first().is_some_and(|place| place.0 == *first_hash);
                if is_its_own {
                    Ok(Some(places))
                } else {
                    Err(Damaged)
                }
            }
        }
    }
}

/// A block of the index.
pub(super) fn encode(places: &[Place]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[4..6].copy_from_slice(
        &u16::try_from(places.len())
            .unwrap_or_default()
            .to_le_bytes(),
    );
    let mut at = BLOCK_HEAD_BYTES;
    for (hash, offset) in places {
        block[at..at + 8].copy_from_slice(&hash.to_le_bytes());
        block[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
        at += PLACE_BYTES;
    }
    let checksum = crc32c(&block[4..]);
    block[..4].copy_from_slice(&checksum.to_le_bytes());
    block
}

fn decode(block: &[u8; BLOCK_BYTES]) -> Option<Vec<Place>> {
    let (checksum, rest) = block.split_first_chunk::<4>()?;
    let n_places = usize::from(u16::from_le_bytes(*rest.first_chunk::<2>()?));
    if crc32c(rest) != u32::from_le_bytes(*checksum) || n_places > BLOCK_PLACES {
        return None;
    }
    let (words, _) = block[BLOCK_HEAD_BYTES..].as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let places = pairs.iter().take(n_places);
    Some(
        places
            .map(|[hash, offset]| (u64::from_le_bytes(*hash), u64::from_le_bytes(*offset)))
            .collect(),
    )
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the index is damaged")
}
