//! A disk that fails, or is full.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{POLICIES, end_traced, full, log_path, meddling, send_until_it_ends, start, whole_log};
use crate::support::{Remote, Server, chunks};

#[test]
fn a_disk_that_fails_to_sync_is_never_acknowledged_and_costs_no_other_session() {
    let times: Vec<u64> = if full() {
        (1..=20).collect()
    } else {
        vec![1, 2, 5]
    };
    for &when in &times {
        let dir = tempfile::tempdir().unwrap();
        let mut server = start(dir.path(), "127.0.0.1:0", "always");
        for session in ["bad", "good"] {
            assert_eq!(server.post(session, &chunks(1, 3)).0, 200);
        }
        server.stop();
        let log = log_path(dir.path(), "bad");
        let Some(command) = meddling(&format!("fdatasync:error=EIO:when={when}"), &[&log]) else {
            return;
        };
        let more = ["--no-examples", "--sync", "always"];
        let mut server = Server::start_by(command, dir.path(), "127.0.0.1:0", &more).unwrap();
        let remote = Remote::of(&server);
        // Calls are counted by thread, and several may take turns.
        let (acked, sent) = send_until_it_ends(&remote, "bad", 4, 300);
        assert!(sent > acked, "the failure is not seen: {when}");
        // It is not tried again on the file that failed.
        let (status, answer) = server.post("bad", &chunks(acked + 1, sent));
        assert_eq!(
            (status, &answer["error"]["code"]),
            (503, &json!("degraded"))
        );
        assert!(answer["error"]["retryAfterMs"].is_number());
        // What was acknowledged is read as before, and nothing else, by pages as by sockets; and others are served.
        assert_eq!(whole_log(&server, "bad").len() as u64, acked);
        assert_eq!(server.socket().open(1, "bad", None)["head"], acked);
        assert_eq!(server.post("good", &chunks(4, 6)).0, 200);
        assert_eq!(server.get("/readyz").0, 503, "it says so to who watches it");
        end_traced(&mut server);
        let server = start(dir.path(), "127.0.0.1:0", "always");
        let found = whole_log(&server, "bad").len() as u64;
        assert_eq!(found, acked, "what is not durable is not in the log");
        assert_eq!(server.post("bad", &chunks(acked + 1, sent + 1)).0, 200);
        assert_eq!(whole_log(&server, "bad").len() as u64, sent + 1);
    }
}

/// A disk of its own in memory; gone when this goes.
pub(super) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `size` may be followed by other options.
    pub(super) fn new(size: &str) -> Option<SmallDisk> {
        let disk = SmallDisk(tempfile::tempdir().unwrap());
        let mounted = disk.mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        if !mounted {
            eprintln!("skipped: no disk can be mounted here");
        }
        mounted.then_some(disk)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    fn grow(&self, size: &str) {
        assert!(self.mount(&["-o", &format!("remount,size={size}")]));
    }

    fn mount(&self, args: &[&str]) -> bool {
        let mounting = Command::new("mount").args(args).arg(self.0.path()).output();
        mounting.is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_refuses_until_there_is_room_and_no_line_is_torn() {
    let rounds = if full() { 20 } else { 2 };
    for round in 0..rounds {
        let Some(disk) = SmallDisk::new("1m") else {
            return;
        };
        let data = disk.0.path().join("data");
        let server = start(&data, "127.0.0.1:0", POLICIES[round % 3]);
        let (mut acked, mut n_refused) = (0, 0);
        let size = 50 + round as u64 * 13;
        while n_refused < 5 {
            let (status, answer) = server.post("s1", &chunks(acked + 1, acked + size));
            match status {
                200 => acked += size,
                507 => {
                    assert_eq!(answer["error"]["code"], "disk_full");
                    assert!(answer["error"]["retryAfterMs"].is_number());
                    n_refused += 1;
                }
                other => panic!("{other}: {answer}"),
            }
            assert!(acked < 100_000, "the disk is never full");
        }
        // Nothing half-written is left, and reads go on.
        let text = std::fs::read_to_string(log_path(&data, "s1")).unwrap();
        assert!(text.ends_with('\n'));
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok())
        );
        assert_eq!(whole_log(&server, "s1").len() as u64, acked);
        disk.grow("8m");
        // No longer than five seconds, says the bar; it is at once.
        assert_eq!(server.post("s1", &chunks(acked + 1, acked + size)).0, 200);
        assert_eq!(whole_log(&server, "s1").len() as u64, acked + size);
        drop(server);
        let server = start(&data, "127.0.0.1:0", "never");
        assert_eq!(whole_log(&server, "s1").len() as u64, acked + size);
    }
}

#[test]
fn a_server_starts_on_a_full_disk_and_gives_what_there_is() {
    let Some(disk) = SmallDisk::new("1m") else {
        return;
    };
    let data = disk.0.path().join("data");
    let mut server = start(&data, "127.0.0.1:0", "everysec");
    assert_eq!(server.post("s1", &chunks(1, 50)).0, 200);
    server.kill();
    let fill = |name: &str, piece: &[u8]| {
        let mut file = std::fs::File::create(disk.0.path().join(name)).unwrap();
        while file.write_all(piece).is_ok() {}
    };
    fill("large", &[b'x'; 65536]);
    fill("small", &[b'x'; 512]);
    let mut server = start(&data, "127.0.0.1:0", "everysec");
    assert_eq!(whole_log(&server, "s1").len(), 50);
    assert_eq!(server.post("s1", &chunks(51, 900)).0, 507);
    assert!(!data.join("server.json").exists(), "it is another server's");
    disk.grow("8m");
    assert_eq!(server.post("s1", &chunks(51, 100)).0, 200);
    server.stop();
    let server = start(&data, "127.0.0.1:0", "everysec");
    assert_eq!(whole_log(&server, "s1").len(), 100);
}
