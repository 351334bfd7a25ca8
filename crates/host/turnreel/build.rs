//! Lets cargo see when the built page changes, which is embedded in the program; in debug it is read from its folder.
#![allow(
    clippy::disallowed_macros,
    reason = "cargo reads what a build script prints"
)]

use std::path::Path;

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dist");
    // A missing folder counts as changed each time, and is none to read from; where it cannot be made, building is only slower.
    let _ = std::fs::create_dir_all(&dist);
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let seen = if is_debug {
        Path::new("build.rs")
    } else {
        &dist
    };
    println!("cargo::rerun-if-changed={}", seen.display());
}
