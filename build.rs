//! Asks the linker to leave in the shipped page what moves with what, so that it can be cut into parts.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_page = var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    // What is not optimised stays in one piece.
    let is_shipped = var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_page && is_shipped {
        println!("cargo::rustc-link-arg-bins=--emit-relocs");
    }
}
