//! Asks the linker to leave in the shipped page what moves with what, so that it can be cut into parts; and writes the
//! style sheets of the element without what only people read of them, and at which widths they do something else.

use std::collections::BTreeSet;
use std::env::var;
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=style");
    let is_page = var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    // What is not optimised stays in one piece.
    let is_shipped = var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_page && is_shipped {
        println!("cargo::rustc-link-arg-bins=--emit-relocs");
    }
    let out_dir = var("OUT_DIR").map_err(io::Error::other)?;
    let mut edges_px = BTreeSet::new();
    for entry in fs::read_dir("style")? {
        let path = entry?.path();
        if let Some(name) = path.file_name()
            && path.extension().is_some_and(|it| it == "css")
        {
            let sheet = fs::read_to_string(&path)?;
            edges_px.extend(edges_in(&sheet));
            fs::write(Path::new(&out_dir).join(name), short(&sheet))?;
        }
    }
    fs::write(
        Path::new(&out_dir).join("edges.rs"),
        format!("{:?}", Vec::from_iter(edges_px)),
    )
}

/// The widths, in px, that a sheet asks to be below: `data-below~="768"`. See `src/components/width.rs`.
fn edges_in(sheet: &str) -> impl Iterator<Item = u32> {
    let asked = sheet.split("data-below~=\"").skip(1);
    asked.filter_map(|behind| behind.split('"').next()?.parse().ok())
}

/// A sheet without comments, and with no more white space than what parts words. Texts in quotes stay as they are.
fn short(sheet: &str) -> String {
    let mut written = String::with_capacity(sheet.len());
    let mut rest = sheet;
    let mut is_apart = false;
    while let Some(char) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
            is_apart = true;
            continue;
        }
        if char.is_whitespace() {
            rest = &rest[char.len_utf8()..];
            is_apart = true;
            continue;
        }
        let stands_close = |char: char| "{};,".contains(char);
        let behind = written.chars().next_back();
        // A colon that begins a pseudo-class belongs to what stands before it, or to nothing.
        let close_behind = behind.is_none_or(|behind| stands_close(behind) || behind == ':');
        if is_apart && !close_behind && !stands_close(char) {
            written.push(' ');
        }
        is_apart = false;
        let quoted = ['"', '\''].contains(&char);
        let end = match rest[char.len_utf8()..].find(char).filter(|_| quoted) {
            Some(end) => end + 2 * char.len_utf8(),
            None => char.len_utf8(),
        };
        written.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    written.replace(";}", "}")
}
