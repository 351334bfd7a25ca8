//! The rules of the project, held early: none of them needs a build of the page.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::expect_used,
    reason = "a test that cannot read its subject fails"
)]

mod architecture;
mod contrast;
mod dependencies;
mod metadata;
mod modules;
mod source;
