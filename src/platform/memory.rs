//! The memory of this program. It only grows: what is given back is used again before more is asked for.

use std::arch::wasm32::memory_size;

/// As the browser counts it out.
const PAGE_BYTES: usize = 64 * 1024;

/// How many bytes this program took of the browser.
pub(crate) fn taken_bytes() -> u64 {
    (memory_size::<0>() as u64) * PAGE_BYTES as u64
}
