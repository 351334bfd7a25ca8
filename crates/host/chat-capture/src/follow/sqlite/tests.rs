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

/// Of one session, by its index: what a scan of the table finds.
#[test]
fn rows_found_by_an_index_are_those_of_a_scan_and_the_others_are_not_read() {
    let text = std::fs::read_to_string(fixture("rows.jsonl")).unwrap();
    let all = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| row[name].as_i64().unwrap();
        let session = row["aggregate_id"].as_str().unwrap().to_owned();
        (session, number("seq"), number("rowid"))
    });
    let all: Vec<(String, i64, i64)> = all.collect();
    let mut database = Database::open(&fixture("opencode.db")).unwrap();
    let by = &["aggregate_id", "seq"];
    let index = database.index("event", by).unwrap().unwrap();
    let mut sessions: Vec<&str> = all.iter().map(|(session, ..)| session.as_str()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    assert!(sessions.len() > 1);
    for session in sessions.into_iter().chain(["", "ses", "zzz"]) {
        for after in [i64::MIN, 0, 7, 30, i64::MAX] {
            let ours = all.iter();
            let ours = ours.filter(|(of, seq, _)| of == session && *seq > after);
            let mut ours: Vec<(i64, i64)> = ours.map(|(_, seq, rowid)| (*seq, *rowid)).collect();
            ours.sort_unstable();
            let found = database.find(index, session, after).unwrap();
            assert_eq!(found, ours, "{session} after {after}");
        }
    }
    // Some of the rows, and not the pages of the others.
    let table = database.table("event").unwrap().unwrap();
    let numbers: Vec<i64> = [2, 3, 40, 1000].to_vec();
    let before = database.left;
    let rows = database.rows_at(&table, &numbers).unwrap();
    let some = before - database.left;
    let found: Vec<i64> = rows.iter().map(|row| row.rowid).collect();
    assert_eq!(found, [2, 3, 40]);
    let before = database.left;
    let last = database.rows(&table, i64::MIN).unwrap().pop();
    assert!(some * 5 < before - database.left, "{some} bytes of all");
    assert_eq!(database.last_row(&table).unwrap(), last);
    // There are none by other columns, or none that has all rows.
    assert!(database.index("event", &["seq", "id"]).unwrap().is_none());
    assert!(database.index("session", by).unwrap().is_none());
}

/// The same with four bytes changed, other ones each time.
fn with_damage(bytes: &[u8], seed: &mut u64) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..4 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(*seed >> 33).unwrap() % damaged.len();
        damaged[at] = seed.to_le_bytes()[2];
    }
    damaged
}

#[test]
fn a_damaged_index_is_an_error_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let bytes = std::fs::read(fixture("opencode.db")).unwrap();
    let session = expected_session();
    let find = |path: &Path| -> io::Result<usize> {
        let mut database = Database::open(path)?;
        let index = database.index("event", &["aggregate_id", "seq"])?;
        let index = index.ok_or_else(|| damaged("no index"))?;
        Ok(database.find(index, &session, i64::MIN)?.len())
    };
    let whole = find(&fixture("opencode.db")).unwrap();
    let mut n_errors = 0;
    let mut seed = 11_u64;
    for _ in 0..3000 {
        std::fs::write(&path, with_damage(&bytes, &mut seed)).unwrap();
        match find(&path) {
            Ok(n) => assert!(n <= 4 * whole, "{n}"),
            Err(_) => n_errors += 1,
        }
    }
    assert!(n_errors > 0);
}

fn expected_session() -> String {
    let text = std::fs::read_to_string(fixture("rows.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    first["aggregate_id"].as_str().unwrap().to_owned()
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
        std::fs::write(&path, with_damage(&bytes, &mut seed)).unwrap();
        n_errors += usize::from(rows(&path).is_err());
    }
    for cut in (0..bytes.len()).step_by(501) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        n_errors += usize::from(rows(&path).is_err());
    }
    assert!(n_errors > 0);
}

/// A database of one table of one page, whose cells are these.
fn with_rows(cells: &[Vec<u8>]) -> Vec<u8> {
    let sql = b"CREATE TABLE event (id, data)";
    // Five values: "table", "event", "event", 2, the statement.
    let mut record = vec![6, 23, 23, 23, 1, 13 + 2 * u8::try_from(sql.len()).unwrap()];
    record.extend_from_slice(b"tableeventevent\x02");
    record.extend_from_slice(sql);
    let mut schema = vec![u8::try_from(record.len()).unwrap(), 1];
    schema.extend_from_slice(&record);
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.extend_from_slice(&4096_u16.to_be_bytes());
    bytes.resize(100, 0);
    bytes[56..60].copy_from_slice(&1_u32.to_be_bytes());
    leaf(&mut bytes, 0, 100, &[schema]);
    leaf(&mut bytes, 4096, 4096, cells);
    bytes
}

fn leaf(bytes: &mut Vec<u8>, page: usize, at: usize, cells: &[Vec<u8>]) {
    bytes.resize(page + 4096, 0);
    let n_cells = u16::try_from(cells.len()).unwrap();
    bytes[at] = 0x0d;
    bytes[at + 3..at + 5].copy_from_slice(&n_cells.to_be_bytes());
    let mut end = page + 4096;
    for (nth, cell) in cells.iter().enumerate() {
        end -= cell.len();
        bytes[end..end + cell.len()].copy_from_slice(cell);
        let start = u16::try_from(end - page).unwrap();
        let pointer = at + 8 + 2 * nth;
        bytes[pointer..pointer + 2].copy_from_slice(&start.to_be_bytes());
    }
}

/// A row with one text of one letter.
fn row(rowid: u8) -> Vec<u8> {
    vec![3, rowid, 2, 15, b'x']
}

#[test]
fn pages_that_lie_cost_no_more_than_the_file_is_long() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        rows(&path)
    };
    let ids = |rows: Vec<(i64, String, String)>| rows.into_iter().map(|row| row.0);
    let good = read(&with_rows(&[row(1), row(2), row(7)])).unwrap();
    assert_eq!(ids(good).collect::<Vec<_>>(), [1, 2, 7]);
    // The same row again and again, which would be told for ever.
    let said = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    let again = said(&with_rows(&[row(1), row(2), row(2)]));
    assert!(again.contains("out of order"), "{again}");
    let back = said(&with_rows(&[row(3), row(1)]));
    assert!(back.contains("out of order"), "{back}");
    // A record that says that it has very many values, each of no byte.
    let mut record = vec![0x9f, 0x20];
    record.resize(4000, 0);
    let mut wide = vec![0x9f, 0x20, 1];
    wide.extend_from_slice(&record);
    let wide = said(&with_rows(&[wide]));
    assert!(wide.contains("very many values"), "{wide}");
    // A tree that has itself as its child.
    let mut deep = with_rows(&[]);
    deep[4096] = 5;
    deep[4096 + 8..4096 + 12].copy_from_slice(&2_u32.to_be_bytes());
    let deep = said(&deep);
    assert!(deep.contains("too deep"), "{deep}");
}

#[test]
fn one_look_reads_some_times_what_the_file_holds_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let bytes = with_rows(&[row(1)]);
    std::fs::write(&path, &bytes).unwrap();
    let mut database = Database::open(&path).unwrap();
    let mut n_bytes = 0;
    while database.page(2).is_ok() {
        n_bytes += 4096;
    }
    assert!(n_bytes <= MOST_BYTES_MORE + MOST_TIMES * bytes.len() as u64);
}

#[test]
fn a_log_that_is_begun_anew_while_it_is_read_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    std::fs::copy(fixture("opencode.db"), &path).unwrap();
    let log = beside(&path, "-wal");
    std::fs::copy(fixture("opencode.db-wal"), &log).unwrap();
    let mut database = Database::open(&path).unwrap();
    assert!(database.is_still());
    let mut bytes = std::fs::read(&log).unwrap();
    // Its salt is another one each time.
    bytes[16] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    assert!(!database.is_still());
}

/// A row that is longer than any line that is read still says whose it is.
#[test]
fn of_a_row_that_is_too_long_the_first_values_are_read() {
    // Three values: a text, a number, and a text of twenty million bytes of which none stands here.
    let long = 20_000_000_i64 * 2 + 13;
    let mut head = vec![0, 13 + 2 * 5, 1];
    let groups = [21, 14, 7, 0].map(|shift| u8::try_from((long >> shift) & 0x7f).unwrap());
    head.extend(groups.iter().take(3).map(|group| group | 0x80));
    head.push(groups[3]);
    head[0] = u8::try_from(head.len()).unwrap();
    let record = [&head[..], b"ses_1", &[7]].concat();
    let found = record::first_values(&record);
    let expected = [
        Value::Text("ses_1".to_owned()),
        Value::Integer(7),
        Value::Long(20_000_000),
    ];
    assert_eq!(found, expected);
    assert!(record::values(&record).is_err());
}
