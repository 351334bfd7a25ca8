//! Which processes run sessions, as agents say themselves in files that they keep for that. What such a file says counts only
//! where there is that process, and was by then: after a kill the file stays. Who writes none is not seen.
//!
//! Claude Code keeps one for each of its processes, beside its projects: `sessions/PID.json`. Seen: 2.1.330, in a terminal and with `-p`: `{"pid": 25248, "sessionId": "…", "procStart": "3900326", …}`, where
//! `procStart` is the start of the process as Linux says it. The file is there before the session's own, tells of another
//! session once its process goes on with that one, and is deleted at the end of the process.
//!
//! Qwen Code keeps one for each session, beside the session's own: `chats/ID.runtime.json`. Seen: 0.24.4, in a terminal alone
//! and not with `-p`: `{"schema_version": 1, "pid": 19181, "session_id": "…", "hostname": "vm", "started_at": 1796115377.771}`,
//! where the time is that of the file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde::Deserialize;

use super::file::Followed;
use super::process::Process;

/// The longest file that is read; they have some 700 bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// More processes than anybody runs at once; those of killed ones stay.
const MOST_FILES: usize = 2000;

/// What is said of one process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Running {
    pid: u32,
    session_id: String,
    /// A number as text.
    proc_start: String,
}

/// The processes that are there, by the ids of their sessions; `projects` is the folder of the sessions' own files.
pub(super) fn running(projects: &Path) -> BTreeMap<String, Vec<Process>> {
    let mut found: BTreeMap<String, Vec<Process>> = BTreeMap::new();
    let folder = projects.with_file_name("sessions");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|path| path.extension() == Some(OsStr::new("json")));
    for path in files.take(MOST_FILES) {
        if let Some((session, process)) = read(&path) {
            found.entry(session).or_default().push(process);
        }
    }
    found
}

/// What stands beside a session of Qwen Code.
#[derive(Debug, Deserialize)]
struct Beside {
    pid: u32,
    session_id: String,
    hostname: String,
    /// When it was written, Unix epoch in seconds.
    started_at: f64,
}

/// The process that runs the session whose own file this is, as is said beside it; `None` where none is, or it is another
/// machine's.
pub(super) fn running_beside(main: &Path) -> Option<Process> {
    let mut bytes = Vec::new();
    let mut file = Followed::open(&main.with_extension("runtime.json")).ok()?;
    file.read(0, MAX_BYTES, &mut bytes).ok()?;
    let said: Beside = serde_json::from_slice(&bytes).ok()?;
    let is_ours = main.file_stem().is_some_and(|id| *id == *said.session_id);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    if !is_ours || host.trim_end() != said.hostname {
        return None;
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a time that is no time is that of no process"
    )]
    let at_ms = (said.started_at * 1000.0) as i64;
    Process::begun_by(said.pid, at_ms)
}

/// What one file says; `None` where it is none of these, or its process is gone.
fn read(path: &Path) -> Option<(String, Process)> {
    let mut bytes = Vec::new();
    let mut file = Followed::open(path).ok()?;
    file.read(0, MAX_BYTES, &mut bytes).ok()?;
    let said: Running = serde_json::from_slice(&bytes).ok()?;
    let process = Process::started_at(said.pid, said.proc_start.parse().ok()?)?;
    Some((said.session_id, process))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    /// When a process was started, as Linux says it.
    fn started(id: u32) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        fields.split_whitespace().nth(19).unwrap().parse().unwrap()
    }

    #[test]
    fn a_process_counts_where_it_is_there_and_other_files_say_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = dir.path().join("sessions");
        std::fs::create_dir(&sessions).unwrap();
        let pid = std::process::id();
        let says = |name: &str, session: &str, pid: u32, started: u64| {
            let text = format!(
                r#"{{"pid":{pid},"sessionId":"{session}","procStart":"{started}","status":"busy"}}"#
            );
            std::fs::write(sessions.join(name), text).unwrap();
        };
        says("1.json", "s1", pid, started(pid));
        // Its process was killed, and another one has its number.
        says("2.json", "s2", pid, started(pid) + 1);
        says("3.key", "s3", pid, started(pid));
        std::fs::write(sessions.join("4.json"), r#"{"pid":-1,"sessionId":"s4"}"#).unwrap();
        std::fs::write(sessions.join("5.json"), "\u{0}").unwrap();
        std::fs::write(sessions.join("6.json"), vec![b' '; 1 << 20]).unwrap();
        std::os::unix::fs::symlink(sessions.join("1.json"), sessions.join("7.json")).unwrap();
        let found = running(&dir.path().join("projects"));
        let n_found: Vec<_> = found
            .iter()
            .map(|(id, it)| (id.as_str(), it.len()))
            .collect();
        assert_eq!(n_found, [("s1", 1)]);
        assert!(running(&dir.path().join("none/projects")).is_empty());
    }
}
