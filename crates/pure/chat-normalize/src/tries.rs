//! Requests of APIs that failed: what is sent again then is the same turn, which waits for that.

use crate::emit::{Emitter, hash};

/// The newest request, and whether it failed.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    request: u64,
    failed: Option<Failed>,
}

#[derive(Debug)]
struct Failed {
    why: String,
    at_ms: i64,
}

impl Tries {
    /// A request says the conversation as these `prints`, behind what it calls `behind`. Why it failed before, where it is
    /// the newest one again.
    pub(crate) fn begin(&mut self, prints: &[u64], behind: &str) -> Option<String> {
        let request = hash_of(prints, behind);
        let before = std::mem::replace(&mut self.request, request);
        let failed = self.failed.take_if(|_| before == request)?;
        Some(failed.why)
    }

    /// Whether this request is the newest one again.
    pub(crate) fn is_newest(&self, prints: &[u64], behind: &str) -> bool {
        self.request == hash_of(prints, behind)
    }

    /// The newest request failed.
    pub(crate) fn fail(&mut self, emitter: &Emitter, code: &str, message: &str) {
        let why = if message.is_empty() { code } else { message };
        self.failed = Some(Failed {
            why: why.to_owned(),
            at_ms: emitter.time_ms,
        });
    }

    /// Whether the newest request failed, and was not sent again.
    pub(crate) fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The turn ends: when that was, where nothing came behind its failure.
    pub(crate) fn end(&mut self) -> Option<i64> {
        self.failed.take().map(|failed| failed.at_ms)
    }
}

fn hash_of(prints: &[u64], behind: &str) -> u64 {
    let mix = |all: u64, print: &u64| (all ^ print).wrapping_mul(0x0100_0000_01b3);
    prints.iter().fold(hash(behind.as_bytes()), mix)
}
