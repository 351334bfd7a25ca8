//! Lets cargo see when the built page changes: it is embedded in the program.

use std::path::Path;

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dist");
    // A missing folder counts as changed each time; an empty one does not. Where it cannot be made, building is only slower.
    let _ = std::fs::create_dir_all(&dist);
    println!("cargo::rerun-if-changed={}", dist.display());
}
