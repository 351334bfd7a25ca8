//! Free ports for what has to have the same one after it was stopped, or is told its port before it takes it.

// Helpers of tests may panic as the tests do, and each test uses its part of them.
#![allow(clippy::unwrap_used, dead_code)]

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that systems give to connections (from 32,768 on Linux, from 49,152 elsewhere). One of those is free now and
/// taken a moment later: by any connection of another test, and even by a client that asks for a server that is away, which the
/// kernel may connect with itself.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

static N_GIVEN: AtomicU16 = AtomicU16::new(0);

/// Each call gives another one; processes side by side begin at different places.
pub(crate) fn free_port() -> u16 {
    let from = (std::process::id() % u32::from(COUNT)) * 997;
    let mut left = 0..COUNT;
    left.find_map(|_| {
        let n = u32::from(N_GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + ((from + n) % u32::from(COUNT)) as u16;
        TcpListener::bind(("127.0.0.1", port))
            .is_ok()
            .then_some(port)
    })
    .unwrap()
}

/// The same as what `--listen` takes.
pub(crate) fn free_address() -> String {
    format!("127.0.0.1:{}", free_port())
}
