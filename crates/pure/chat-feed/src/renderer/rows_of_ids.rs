//! Which row an event came to, by a hash of the event's id.

use chat_event::pack::{Pack, Packer, Unpacker};

use super::seen::ByHash;
use crate::block::BlockId;

/// A hash and a row, the lowest byte first.
const ENTRY_BYTES: usize = 8 + 4;

/// Rows by the hashes of ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowsOfIds {
    /// Those of a log that is at its end, or that was read elsewhere, the hashes ascending. They are told as they lie: a
    /// table is made entry by entry, and held the page for 13 ms at the end of a million events.
    settled: Vec<[u8; ENTRY_BYTES]>,
    /// Those that came since; where there are two of one hash these hold.
    newest: ByHash<BlockId>,
}

impl RowsOfIds {
    /// Notes the row; it takes the place of another one.
    pub(super) fn insert(&mut self, id_hash: u64, row: BlockId) {
        self.newest.insert(id_hash, row);
    }

    /// The row that was noted last.
    pub(super) fn get(&self, id_hash: u64) -> Option<BlockId> {
        if let Some(&row) = self.newest.get(&id_hash) {
            return Some(row);
        }
        let at = self.settled.binary_search_by_key(&id_hash, hash_in);
        self.settled.get(at.ok()?).map(row_in)
    }

    /// No more come: they take less.
    pub(super) fn settle(&mut self) {
        self.settled = self.sorted();
        self.newest = ByHash::default();
    }

    fn sorted(&self) -> Vec<[u8; ENTRY_BYTES]> {
        #[allow(clippy::disallowed_methods, reason = "they are sorted")]
        let newest = self.newest.iter().map(|(&hash, &row)| entry(hash, row));
        let is_left = |of: &&[u8; ENTRY_BYTES]| !self.newest.contains_key(&hash_in(of));
        let mut all: Vec<_> = self.settled.iter().filter(is_left).copied().collect();
        all.extend(newest);
        all.sort_unstable_by_key(hash_in);
        all
    }
}

impl Pack for RowsOfIds {
    fn pack(&self, out: &mut Packer) {
        match self.newest.is_empty() {
            true => out.bytes(self.settled.as_flattened()),
            false => out.bytes(self.sorted().as_flattened()),
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> RowsOfIds {
        let (settled, rest) = input.bytes().as_chunks();
        if !rest.is_empty() {
            input.fail();
        }
        RowsOfIds {
            settled: settled.to_vec(),
            newest: ByHash::default(),
        }
    }
}

fn entry(hash: u64, row: BlockId) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    let (of_hash, of_row) = entry.split_at_mut(8);
    of_hash.copy_from_slice(&hash.to_le_bytes());
    of_row.copy_from_slice(&row.0.to_le_bytes());
    entry
}

fn hash_in(entry: &[u8; ENTRY_BYTES]) -> u64 {
    let (hash, _) = entry.split_first_chunk().unwrap_or((&[0; 8], &[]));
    u64::from_le_bytes(*hash)
}

fn row_in(entry: &[u8; ENTRY_BYTES]) -> BlockId {
    let (_, row) = entry.split_last_chunk().unwrap_or((&[], &[0; 4]));
    BlockId(u32::from_le_bytes(*row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed_over(rows: &RowsOfIds) -> RowsOfIds {
        let mut out = Packer::default();
        rows.pack(&mut out);
        let packed = out.into_packed();
        let mut input = Unpacker::new(&packed.bytes, packed.kept);
        let rows = RowsOfIds::unpack(&mut input);
        assert_eq!(input.end(), Ok(()));
        rows
    }

    #[test]
    fn the_row_noted_last_is_found_before_and_behind_a_handing_over() {
        let mut rows = RowsOfIds::default();
        let hash_of = |n: u32| u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut expected = std::collections::BTreeMap::new();
        for round in 0..4_u32 {
            for n in (round * 50)..(round * 50 + 100) {
                rows.insert(hash_of(n), BlockId(n + round));
                expected.insert(n, BlockId(n + round));
            }
            match round {
                0 => rows.settle(),
                1 => rows = handed_over(&rows),
                2 => rows = handed_over(&handed_over(&rows)),
                _ => {}
            }
            for n in 0..400 {
                assert_eq!(rows.get(hash_of(n)), expected.get(&n).copied(), "{n}");
            }
        }
    }

    #[test]
    fn half_an_entry_is_damage() {
        let mut out = Packer::default();
        out.bytes(&[1; ENTRY_BYTES + 1]);
        let packed = out.into_packed();
        let mut input = Unpacker::new(&packed.bytes, packed.kept);
        RowsOfIds::unpack(&mut input);
        assert!(input.end().is_err());
    }
}
