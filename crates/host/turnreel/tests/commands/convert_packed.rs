//! `turnreel convert`: logs that lie packed, by themselves or in an exported page.

use std::io::Write;

use super::convert::{converted, session, sessions};
use crate::support::command::{self, text};

#[test]
fn packed_input_is_read_as_it_is_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let input = session("codex-rollout/input.rollout.jsonl");
    let whole = std::fs::read(&input).unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&whole).unwrap();
    let gz = packer.finish().unwrap();
    let zst =
        ruzstd::encoding::compress_to_vec(&whole[..], ruzstd::encoding::CompressionLevel::Fastest);
    let recorded = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    // By the bytes and not by the name.
    for (name, packed) in [("a.jsonl.gz", &gz), ("b.jsonl.zst", &zst), ("c.jsonl", &gz)] {
        let path = dir.path().join(name);
        std::fs::write(&path, packed).unwrap();
        assert_eq!(converted(&[&path.to_string_lossy()]), recorded, "{name}");
    }
    let cut = dir.path().join("cut.jsonl.gz");
    std::fs::write(&cut, &gz[..gz.len() / 2]).unwrap();
    // One that is cut off is a log that was cut off: what came is written, and that there was more is said.
    let at = format!("the gzip file is cut off after {} bytes", gz.len() / 2);
    for (program, name) in [("convert", "cut.events.jsonl"), ("export", "cut.jsonl")] {
        let place = dir.path().join(name);
        let args = [&*cut.to_string_lossy(), "-o", &*place.to_string_lossy()];
        let output = command::run(program, &args, b"");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{program}: {told}");
        assert!(told.contains(&at), "{program}: {told}");
        assert!(!told.contains("nothing was read"), "{program}: {told}");
        let written = std::fs::read_to_string(&place).unwrap();
        assert!(written.lines().count() > 3, "{program}: {written}");
    }
}

/// A page as `turnreel export` writes it, as far as a reader looks at it.
fn page_of(log: &str) -> String {
    use base64::Engine;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(log.as_bytes()).unwrap();
    let packed = base64::prelude::BASE64_STANDARD.encode(packed.finish().unwrap());
    let [before, after, end] = [
        chat_feed::export::PAGE_PIECE,
        chat_feed::export::PAGE_PIECE_END,
        chat_feed::export::PAGE_END,
    ];
    format!("<!DOCTYPE html>\n<html lang=\"en\">\n{before}{packed}{after}{end}")
}

#[test]
fn an_exported_page_is_read_as_the_log_that_it_holds() {
    let log = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.html");
    std::fs::write(&path, page_of(&log)).unwrap();
    let path = path.to_string_lossy().into_owned();
    assert_eq!(converted(&[&path]), log);
    let output = command::run(
        "export",
        &["-", "--to", "jsonl", "--no-mask"],
        page_of(&log).as_bytes(),
    );
    assert_eq!(text(&output.stdout), log);
}

#[test]
fn of_a_page_of_others_it_is_said_what_it_is() {
    let page = format!(
        "<!DOCTYPE html>\n<title>Ours</title>\n{}",
        "<p>Words</p>\n".repeat(10_000)
    );
    let output = command::run("convert", &["-"], page.as_bytes());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("a web page without a session"), "{said}");
    // One that is cut off is told as far as it goes.
    let log = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    let page = page_of(&log);
    let output = command::run("convert", &["-"], &page.as_bytes()[..page.len() * 2 / 3]);
    let said = text(&output.stderr);
    assert!(said.contains("the exported page is cut off"), "{said}");
    assert!(text(&output.stdout).lines().count() > 3);
}
