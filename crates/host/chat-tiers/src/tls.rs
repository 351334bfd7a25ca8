//! How connections are encrypted.

use std::sync::Once;

/// Chooses what rustls does its cryptography with, for the whole process. Whoever makes clients of HTTP calls it before.
pub fn choose_cryptography() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        // Where somebody chose before, that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
