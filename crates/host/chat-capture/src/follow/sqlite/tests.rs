#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use super::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/opencode")
        .join(name)
}

/// The rows of the events' table, each as its id and its data; `slice` rows behind another.
fn rows(path: &Path) -> io::Result<Vec<(i64, String, String)>> {
    let mut database = Database::open(path)?;
    let table = database
        .table("event")?
        .ok_or_else(|| damaged("no table"))?;
    let (id, data) = (table.column("id"), table.column("data"));
    let mut rows = Vec::new();
    let mut after = i64::MIN;
    loop {
        let slice = database.rows(&table, after)?;
        let Some(last) = slice.last() else { break };
        after = last.rowid;
        for row in slice {
            let text = |at: Option<usize>| {
                let value = at.and_then(|at| row.values.get(at));
                value.and_then(Value::text).unwrap_or_default().to_owned()
            };
            rows.push((row.rowid, text(id), text(data)));
        }
    }
    Ok(rows)
}

fn expected() -> Vec<(i64, String, String)> {
    let text = std::fs::read_to_string(fixture("rows.jsonl")).unwrap();
    let rows = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        (row["rowid"].as_i64().unwrap(), text("id"), text("data"))
    });
    rows.collect()
}

#[test]
fn rows_are_what_sqlite_reads_in_the_file_and_in_its_write_ahead_log() {
    assert_eq!(rows(&fixture("opencode.db")).unwrap(), expected());
    // Without the log it is as it was before.
    let dir = tempfile::tempdir().unwrap();
    let alone = dir.path().join("opencode.db");
    std::fs::copy(fixture("opencode.db"), &alone).unwrap();
    let before = rows(&alone).unwrap();
    assert!(!before.is_empty() && before.len() < expected().len());
    assert_eq!(before, expected()[..before.len()]);
}

#[test]
fn of_a_log_that_is_cut_off_or_damaged_whole_commits_count() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    std::fs::copy(fixture("opencode.db"), &path).unwrap();
    let log = std::fs::read(fixture("opencode.db-wal")).unwrap();
    let all = expected();
    let mut seen = std::collections::BTreeSet::new();
    for cut in (0..log.len()).step_by(700) {
        let mut cut_off = log[..cut].to_vec();
        std::fs::write(beside(&path, "-wal"), &cut_off).unwrap();
        let n = rows(&path).unwrap().len();
        assert_eq!(rows(&path).unwrap(), all[..n], "cut at {cut}");
        seen.insert(n);
        // One wrong byte ends it there.
        cut_off.extend_from_slice(&log[cut..]);
        cut_off[cut] ^= 1;
        std::fs::write(beside(&path, "-wal"), &cut_off).unwrap();
        let n = rows(&path).unwrap().len();
        assert_eq!(rows(&path).unwrap(), all[..n], "wrong at {cut}");
    }
    assert!(seen.len() > 2, "{seen:?}");
}

#[test]
fn a_damaged_database_is_an_error_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let bytes = std::fs::read(fixture("opencode.db")).unwrap();
    let mut n_errors = 0;
    let mut seed = 7_u64;
    for _ in 0..3000 {
        let mut damaged = bytes.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = usize::try_from(seed >> 33).unwrap() % damaged.len();
            damaged[at] = seed.to_le_bytes()[2];
        }
        std::fs::write(&path, &damaged).unwrap();
        n_errors += usize::from(rows(&path).is_err());
    }
    for cut in (0..bytes.len()).step_by(501) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        n_errors += usize::from(rows(&path).is_err());
    }
    assert!(n_errors > 0);
}
