//! What the readers know: over all recordings and fixtures, which dialect each file is told to be, and what stays `raw`
//! because no rule knows it.
//!
//! `tests/formats.txt` has it, folder by folder, so that a new kind is seen; `TURNREEL_BLESS=1` writes it anew. The
//! files lie beside the checkout; where they are not there, the test says so and holds nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::normalized::{read, sorted};
use super::shared;

/// Of how many lines one may be raw, at most.
const LINES_PER_RAW: [(&str, u64); 2] = [("recordings", 200), ("fixtures", 50)];

/// What lies in a folder beside sessions, by the end of its name.
const NO_SESSIONS: &[&str] = &[
    ".times",
    ".tsv",
    ".md",
    ".diff.json",
    ".meta.json",
    ".stderr.txt",
    ".stdin.jsonl",
    ".appserver-in.jsonl",
    ".acp-in.jsonl",
];

#[derive(Default)]
struct Folder {
    dialects: BTreeMap<String, u64>,
    lines: u64,
    raw: BTreeMap<String, u64>,
    refused: BTreeMap<String, String>,
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in sorted(folder) {
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn look_at(folder: &Path) -> Folder {
    let mut seen = Folder::default();
    let mut files = Vec::new();
    files_below(folder, &mut files);
    for path in files {
        let name = path
            .strip_prefix(folder)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let tool_result = name.contains("__tool-results__");
        if tool_result || NO_SESSIONS.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let read = read(&std::fs::read(&path).unwrap());
        match (&read.verdict, read.dialect) {
            (Ok(()), Some(dialect)) => {
                *seen.dialects.entry(dialect.word().to_owned()).or_default() += 1;
                // A document is one line, and stands for as many as it gives events.
                seen.lines += read.report.lines.max(read.report.events);
                for (kind, count) in read.report.raw {
                    *seen
                        .raw
                        .entry(format!("{} {kind}", dialect.word()))
                        .or_default() += count;
                }
            }
            (Err(why), _) => {
                let why = why.to_string();
                let why = why
                    .split("; formats read")
                    .next()
                    .unwrap_or(&why)
                    .to_owned();
                seen.refused.insert(name, why);
            }
            (Ok(()), None) => panic!("{name}: read as nothing"),
        }
    }
    seen
}

#[test]
fn what_is_told_and_what_stays_raw_is_known() {
    let mut text = String::new();
    for (root, lines_per_raw) in LINES_PER_RAW {
        let Some(root_path) = shared::shared(root) else {
            return;
        };
        let (mut lines, mut raws) = (0, 0);
        for path in sorted(&root_path).into_iter().filter(|path| path.is_dir()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let seen = look_at(&path);
            // What is kept as a sample of formats that are not read counts for nothing.
            if name != "other" {
                lines += seen.lines;
                raws += seen.raw.values().sum::<u64>();
            }
            writeln!(text, "{root}/{name}").unwrap();
            for (dialect, count) in &seen.dialects {
                writeln!(text, "  {count} {dialect}").unwrap();
            }
            for (kind, count) in &seen.raw {
                writeln!(text, "  {count} raw {kind}").unwrap();
            }
            for (file, why) in &seen.refused {
                writeln!(text, "  refused {file}: {why}").unwrap();
            }
        }
        assert!(
            raws * lines_per_raw < lines,
            "{root}: {raws} of {lines} lines are raw"
        );
        eprintln!("{root}: {raws} of {lines} lines are raw");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats.txt");
    if std::env::var_os("TURNREEL_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    for (got, wanted) in text.lines().zip(wanted.lines()) {
        assert_eq!(
            got, wanted,
            "TURNREEL_BLESS=1 writes tests/formats.txt anew"
        );
    }
    assert_eq!(text.lines().count(), wanted.lines().count());
}
