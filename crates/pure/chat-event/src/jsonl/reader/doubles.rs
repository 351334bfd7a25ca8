//! What tells events that came before: a hash of what names them, and one of what is written for them.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ChatEvent;
use crate::jsonl::salvage::split_checksum;

/// A hash of what names an event.
pub(super) fn hash_of_id(event: &ChatEvent) -> u64 {
    let mut hasher = DefaultHasher::new();
    event.session_id.hash(&mut hasher);
    event.id.hash(&mut hasher);
    hasher.finish()
}

/// A hash of what is written for an event, without its place in the log: `seq`, `recv` and the checksum, where our
/// writer puts them. Around `seq` blanks may stand, as Python writes them.
///
/// It is taken of the bytes because writing each event anew would cost as much as reading it; so the same event in
/// another spelling is another content.
pub(super) fn hash_of_content(event: &ChatEvent, written: &[u8]) -> u64 {
    let written = match split_checksum(written) {
        Some((before, _)) => before,
        None => written.strip_suffix(b"}").unwrap_or(written),
    };
    let written = behind_seq(written)
        .or_else(|| written.strip_prefix(b"{"))
        .unwrap_or(written)
        .trim_ascii_start();
    let recv = event
        .recv
        .and_then(|_| written.windows(RECV.len()).position(|it| it == RECV));
    let Some(recv) = recv else {
        return mix(written);
    };
    let (before, behind) = written.split_at(recv);
    let behind = behind.get(RECV.len()..).unwrap_or_default();
    mix(&[before, behind_number(behind)].concat())
}

/// What follows the number at the front of an object.
fn behind_seq(written: &[u8]) -> Option<&[u8]> {
    let key = written.strip_prefix(b"{")?.trim_ascii_start();
    let colon = key.strip_prefix(b"\"seq\"")?.trim_ascii_start();
    let number = colon.strip_prefix(b":")?.trim_ascii_start();
    behind_number(number).trim_ascii_start().strip_prefix(b",")
}

const RECV: &[u8] = b",\"recv\":";

fn behind_number(mut bytes: &[u8]) -> &[u8] {
    while let [b'0'..=b'9' | b'-', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// A fast hash of bytes.
///
/// Whoever makes two texts with one hash on purpose gains that a conflict is counted as a double: the first event counts
/// either way.
fn mix(bytes: &[u8]) -> u64 {
    // Odd numbers without pattern, so that the four lanes tell their words apart.
    const FACTORS: [u64; 4] = [
        0x9e37_79b9_7f4a_7c15,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x27d4_eb2f_1656_67c5,
    ];
    let step =
        |lane: u64, word: u64, factor: u64| (lane.rotate_left(23) ^ word).wrapping_mul(factor);
    let mut lanes = FACTORS;
    let (words, rest) = bytes.as_chunks::<8>();
    let (blocks, words) = words.as_chunks::<4>();
    for block in blocks {
        for ((lane, word), factor) in lanes.iter_mut().zip(block).zip(FACTORS) {
            *lane = step(*lane, u64::from_le_bytes(*word), factor);
        }
    }
    let [factor, ..] = FACTORS;
    let mut hash = bytes.len() as u64;
    for lane in lanes {
        hash = step(hash, lane, factor);
    }
    for word in words {
        hash = step(hash, u64::from_le_bytes(*word), factor);
    }
    for &byte in rest {
        hash = step(hash, u64::from(byte), factor);
    }
    hash ^ (hash >> 32)
}

/// The hasher of keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = mix(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
