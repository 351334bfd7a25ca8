//! In which order, and how often, the system is asked to make things durable.

use std::path::Path;
use std::process::Command;

use super::disk::SmallDisk;
use super::removal::{many_sessions, remove_all};
use super::{end_traced, log_path, strace};
use crate::support::{PROGRAM, Server, chunks, soon};

/// `strace` that writes these calls to a file; `more` is what else it does.
fn tracing(calls: &str, into: &Path, more: &[&str]) -> Option<Command> {
    let mut command = strace()?;
    command.args(more);
    command.args(["-e", &format!("trace={calls}"), "-o"]);
    command.arg(into).arg(PROGRAM);
    Some(command)
}

/// What the server asked of the system to keep a body, in order: makes of folders, renames and what was made durable.
#[test]
fn the_folder_of_a_body_has_a_durable_name_before_its_body_has() {
    let dir = tempfile::tempdir().unwrap();
    let trace = tempfile::NamedTempFile::new().unwrap();
    let calls = "mkdir,mkdirat,fsync,rename,renameat,renameat2";
    let Some(command) = tracing(calls, trace.path(), &["-y", "-s", "300"]) else {
        return;
    };
    let more = ["--no-examples"];
    let mut server = Server::start_by(command, dir.path(), "127.0.0.1:0", &more).unwrap();
    let body = b"a body";
    let sha256 = chat_store::sha256_hex(body);
    assert!(server.put_blob(&sha256, body) < 300);
    end_traced(&mut server);
    let said = std::fs::read_to_string(trace.path()).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let blobs = dir.path().join("blobs");
    let folder = blobs.join(&sha256[..2]);
    let behind = |from: usize, call: &str, what: String| {
        let at = lines[from..]
            .iter()
            .position(|line| line.contains(call) && line.contains(&what));
        from + at.unwrap_or_else(|| panic!("no {call} {what}: {said}")) + 1
    };
    let shown = |path: &Path| format!("<{}>", path.display());
    let made = behind(0, "mkdir", format!("{}\"", blobs.display()));
    let named = behind(made, "fsync", shown(dir.path()));
    let made = behind(named, "mkdir", format!("{}\"", folder.display()));
    let named = behind(made, "fsync", shown(&blobs));
    let kept = behind(
        named,
        "rename",
        format!("{}\"", folder.join(&sha256).display()),
    );
    behind(kept, "fsync", shown(&folder));
}

#[test]
fn the_disk_is_waited_for_a_few_times_for_all_that_are_removed_together() {
    let dir = tempfile::tempdir().unwrap();
    let trace = tempfile::NamedTempFile::new().unwrap();
    let ids = many_sessions(dir.path(), 40);
    let Some(command) = tracing("fsync,fdatasync", trace.path(), &[]) else {
        return;
    };
    let output = remove_all(command, dir.path(), &ids);
    assert!(output.status.success(), "{output:?}");
    let said = std::fs::read_to_string(trace.path()).unwrap();
    let n_synced = said.lines().filter(|line| line.contains("sync(")).count();
    assert!((3..10).contains(&n_synced), "{said}");
}

/// The calls by which those are removed, in order, with the paths of what they are done to.
fn removing(data: &Path, ids: &[String]) -> Option<Vec<String>> {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let calls = "openat,unlink,unlinkat,fsync";
    let command = tracing(calls, trace.path(), &["-y", "-s", "300"])?;
    let output = remove_all(command, data, ids);
    assert!(output.status.success(), "{output:?}");
    let said = std::fs::read_to_string(trace.path()).unwrap();
    Some(said.lines().map(str::to_owned).collect())
}

/// What a mark stands for is gone for good before the mark is.
#[test]
fn what_stood_aside_of_a_removed_session_is_gone_for_good_before_its_mark() {
    let dir = tempfile::tempdir().unwrap();
    let ids = many_sessions(dir.path(), 2);
    let log = log_path(dir.path(), &ids[1]);
    let stem = log.file_name().unwrap().to_str().unwrap();
    let stem = stem.strip_suffix(".events.jsonl").unwrap();
    let aside = dir.path().join("restoring");
    std::fs::create_dir_all(&aside).unwrap();
    let torn = aside.join(format!("{stem}.torn-1"));
    std::fs::write(&torn, "torn").unwrap();
    let Some(lines) = removing(dir.path(), &ids) else {
        return;
    };
    let at = |call: &str, what: String| {
        let found = lines
            .iter()
            .position(|line| line.contains(call) && line.contains(&what));
        found.unwrap_or_else(|| panic!("no {call} {what}: {lines:#?}"))
    };
    let gone = at("unlink", format!("{}\"", torn.display()));
    let durable = at("fsync", format!("<{}>", aside.display()));
    let unmarked = at("unlink", format!("{stem}.removing\""));
    assert!(gone < durable && durable < unmarked, "{lines:#?}");
}

/// Only the first, which makes room for it, goes without one.
#[test]
fn on_a_full_disk_those_that_are_removed_together_are_marked_as_soon_as_there_is_room() {
    let Some(disk) = SmallDisk::new("8m,nr_inodes=300") else {
        return;
    };
    let data = disk.path().join("data");
    let ids = many_sessions(&data, 6);
    let filled = (0..).find(|n| std::fs::File::create(disk.path().join(n.to_string())).is_err());
    assert!(filled < Some(300));
    let Some(lines) = removing(&data, &ids) else {
        return;
    };
    let is_marked = |id: &&String| {
        let begins = format!("/{id}-");
        let mut of_it = lines.iter().filter(|line| line.contains(&begins));
        let mark = of_it.clone().position(|line| {
            line.contains(".removing\", ") && line.contains("O_CREAT") && !line.contains(" = -1")
        });
        let gone = of_it.position(|line| line.contains("unlink") && !line.contains(".removing"));
        assert!(gone.is_some(), "{lines:#?}");
        mark.is_some_and(|mark| Some(mark) < gone)
    };
    assert_eq!(ids.iter().filter(is_marked).count(), ids.len() - 1);
}

#[test]
fn what_came_to_many_sessions_is_made_durable_beside_each_other() {
    const N: usize = 24;
    let dir = tempfile::tempdir().unwrap();
    let trace = tempfile::NamedTempFile::new().unwrap();
    let slow = ["-e", "inject=fdatasync:delay_enter=100000"];
    let Some(command) = tracing("fdatasync", trace.path(), &slow) else {
        return;
    };
    let more = ["--no-examples", "--sync", "everysec"];
    let mut server = Server::start_by(command, dir.path(), "127.0.0.1:0", &more).unwrap();
    for n in 0..N {
        assert_eq!(server.post(&format!("m{n}"), &chunks(1, 1)).0, 200);
    }
    let said = || std::fs::read_to_string(trace.path()).unwrap();
    soon("all are durable", || {
        said().matches("fdatasync(").count() >= N
    });
    end_traced(&mut server);
    // How many wait for the disk, as the calls begin and end.
    let (mut n_now, mut n_most) = (0, 0);
    for line in said().lines().filter(|line| line.contains("fdatasync")) {
        n_now += i32::from(line.contains("fdatasync("));
        n_most = n_most.max(n_now);
        n_now -= i32::from(line.contains(" = "));
    }
    assert!(n_most > 1, "{}", said());
}
