//! A hash that is the same for ever on every machine, as the ids of stored sessions need: FNV-1a with 64 bits. It guards no
//! secret.

/// The hash of bytes that come piece by piece.
///
/// ```
/// use chat_event::StableHash;
/// let mut hash = StableHash::default();
/// hash.take(b"a");
/// assert_eq!(hash.value(), 0xaf63_dc4c_8601_ec8c);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StableHash(u64);

impl Default for StableHash {
    fn default() -> StableHash {
        StableHash(0xcbf2_9ce4_8422_2325)
    }
}

impl StableHash {
    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash of all that was taken.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// The hash of bytes.
pub fn stable_hash(bytes: &[u8]) -> u64 {
    let mut hash = StableHash::default();
    hash.take(bytes);
    hash.value()
}
