//! Databases of agents as they were written some time ago, and what is asked of who follows them.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::Server;
use crate::support::home::{Home, events};

/// A file `AGENT/NAME` of the fixtures, with other times in it.
pub(super) fn fixture(file: &str, date_anew: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat-capture/tests");
    let mut bytes = std::fs::read(folder.join(file)).unwrap();
    date_anew(&mut bytes);
    if file.ends_with("-wal") {
        sum_anew(&mut bytes);
    }
    bytes
}

/// Writes other thousands of seconds into the times of the rows' texts, in place of the recorded ones: they happened some
/// two hours ago, for a session that rests for a day ends whatever waits in it. Once for all files.
pub(super) fn date_texts_anew(bytes: &mut [u8], recorded: &[u8; 7]) {
    static ANEW: OnceLock<String> = OnceLock::new();
    let anew = ANEW.get_or_init(|| format!("{}", now_s() / 1000 - 8));
    for at in 0..bytes.len() - recorded.len() {
        let digits = &mut bytes[at..at + recorded.len()];
        if digits == recorded {
            digits.copy_from_slice(anew.as_bytes());
        }
    }
}

/// Writes other times in place of those from `began_s` on, up to 255 seconds later: into the rows, where they are numbers of
/// four bytes, and into the texts, where they are digits. They are of some minutes ago, once for all files.
pub(super) fn date_rows_anew(bytes: &mut [u8], began_s: u64) {
    static ANEW: OnceLock<u64> = OnceLock::new();
    let anew = *ANEW.get_or_init(|| (now_s() & !0xff) - 0x100);
    let prefix = &began_s.to_be_bytes()[4..7];
    for at in 0..bytes.len() - 10 {
        if &bytes[at..at + 3] == prefix {
            bytes[at..at + 3].copy_from_slice(&anew.to_be_bytes()[4..7]);
            continue;
        }
        let digits = std::str::from_utf8(&bytes[at..at + 10]).ok();
        let time: Option<u64> = digits.and_then(|digits| digits.parse().ok());
        if let Some(time) = time.filter(|time| (began_s..began_s + 0x100).contains(time)) {
            let time = (time - began_s + anew).to_string();
            bytes[at..at + 10].copy_from_slice(time.as_bytes());
        }
    }
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// The checksums of a write-ahead log, which go from frame to frame (SQLite's file format, 4.2).
fn sum_anew(log: &mut [u8]) {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let is_big = number(&log[..4]) & 1 == 1;
    let page_bytes = number(&log[8..12]) as usize;
    let mut sums = (number(&log[24..28]), number(&log[28..32]));
    let add = |sums: &mut (u32, u32), bytes: &[u8]| {
        for pair in bytes.chunks_exact(8) {
            let word = |bytes: &[u8]| match is_big {
                true => number(bytes),
                false => number(bytes).swap_bytes(),
            };
            sums.0 = sums.0.wrapping_add(word(&pair[..4])).wrapping_add(sums.1);
            sums.1 = sums.1.wrapping_add(word(&pair[4..])).wrapping_add(sums.0);
        }
    };
    for frame in log[32..].chunks_exact_mut(24 + page_bytes) {
        add(&mut sums, &frame[..8]);
        add(&mut sums, &frame[24..]);
        frame[16..20].copy_from_slice(&sums.0.to_be_bytes());
        frame[20..24].copy_from_slice(&sums.1.to_be_bytes());
    }
}

/// How many events of a kind a session has.
pub(super) fn n_of(home: &Home, session: &str, kind: &str) -> usize {
    let all = events(&home.data(), session);
    all.iter().filter(|event| event["type"] == kind).count()
}

/// Reads all of it again, of which nothing is noted any more.
pub(super) fn read_again(home: &Home, args: &[&str]) -> Server {
    std::fs::remove_file(home.data().join("following.json")).unwrap();
    let server = home.watch(args);
    std::thread::sleep(Duration::from_millis(1500));
    server
}

/// A database was read and is as it was.
pub(super) fn assert_only_read(home: &Home, database: &str, bytes: &[u8]) {
    assert_eq!(std::fs::read(home.path(database)).unwrap(), bytes);
    assert!(!home.path(&format!("{database}-shm")).exists());
}
