//! Which processes write to a session's file, and whether they are gone: a session whose agent was killed is over, whatever
//! waits in it.
//!
//! | what is seen | what is taken to be so |
//! |---|---|
//! | a process of ours has the file open for writing, or says that it runs the session | it is the agent |
//! | one has a file open for writing that stands beside the session's for who runs it | the same |
//! | one has the agent's name, and its folder is the session's | it may be the agent |
//! | all that were seen so are gone, and there is no other now | the session is over |
//! | it was closed by one that goes on, or was never seen open | nothing: the files' rest tells |
//!
//! So a session is never ended for what we cannot see, as an agent of another user, in a container or on another machine.
//! Agents that keep their files open as long as they run are told of that way. Seen: Codex 0.169 its rollouts, OpenCode
//! 1.18 its database. The others open their files for each line: Claude Code says itself which process runs a session
//! (`running`), and so does Qwen Code in a terminal; Copilot CLI 1.0.102 has `inuse.PID.hold` open in the session's folder, and
//! locked, which stays after a kill and means nothing then; Pi 0.73 and 1.6 name their process `pi`, and Gemini CLI 0.61 is one `node` of many.
//! Droid 0.225.2 is a program of that name, in a terminal and without, and stays in its session's folder. Only Linux tells of
//! processes.
//!
//! Who was seen is noted (`kept`): one that is gone while we are away is missed with the next start.

use std::path::PathBuf;

use super::process::{Process, Processes};
use crate::pipe::now_ms;

/// A file's time is that of the system's last tick, up to so long before it was written.
const TICK_MS: i64 = 10;

/// Who writes to one file.
#[derive(Debug, Default)]
pub(super) enum Holders {
    /// Nobody was seen yet.
    #[default]
    Unseen,
    Seen(Vec<Process>),
    /// All that were seen are gone, as was found then (Unix epoch in milliseconds).
    Gone {
        at_ms: i64,
    },
}

impl Holders {
    pub(super) fn are_gone(&self) -> bool {
        matches!(self, Holders::Gone { .. })
    }

    /// Whether all processes have to be looked at for this file: nobody was seen, or all that were are gone.
    pub(super) fn are_due(&self) -> bool {
        match self {
            Holders::Unseen => true,
            Holders::Seen(seen) => !seen.iter().any(|it| it.is_there()),
            Holders::Gone { .. } => false,
        }
    }

    /// Those of an earlier start.
    pub(super) fn of(kept: Option<&Processes>) -> Holders {
        let seen = kept.and_then(Processes::as_of_now);
        seen.map_or(Holders::Unseen, Holders::Seen)
    }

    /// What is to be noted of them: `Some(None)` where nothing is. Of those that are gone stays what was noted while they
    /// were there.
    pub(super) fn noted(&self) -> Option<Option<Processes>> {
        match self {
            Holders::Unseen => Some(None),
            Holders::Seen(seen) => Some(Processes::of(seen)),
            Holders::Gone { .. } => None,
        }
    }

    /// Whether anybody was seen.
    pub(super) fn are_known(&self) -> bool {
        !matches!(self, Holders::Unseen)
    }

    /// Takes note of who has the file now.
    pub(super) fn see(&mut self, now: Vec<Process>) {
        *self = match std::mem::take(self) {
            _ if !now.is_empty() => Holders::Seen(now),
            Holders::Unseen => Holders::Unseen,
            Holders::Seen(seen) if seen.iter().any(|it| it.is_there()) => Holders::Seen(seen),
            Holders::Seen(_) => Holders::Gone { at_ms: now_ms() },
            gone @ Holders::Gone { .. } => gone,
        };
    }

    /// The file was written then. Where that is after all were gone, somebody goes on with it whom we may not see.
    pub(super) fn note_write(&mut self, written_ms: i64) {
        if matches!(self, Holders::Gone { at_ms } if written_ms > *at_ms - TICK_MS) {
            *self = Holders::Unseen;
        }
    }
}

/// Which processes are looked for.
#[derive(Debug)]
pub(super) enum Sought {
    /// Who has this file open for writing.
    File(PathBuf),
    /// Who has a file of Copilot CLI's open for writing that says in this folder who runs the session.
    HoldIn(PathBuf),
    /// Who has one of these names, and this folder.
    Named {
        names: &'static [&'static str],
        folder: PathBuf,
    },
}

#[cfg(target_os = "linux")]
impl Sought {
    /// Whether who has this file open is it.
    fn is_open_as(&self, file: &std::path::Path) -> bool {
        match self {
            Sought::File(path) => path == file,
            Sought::HoldIn(folder) => {
                let name = file.file_name().and_then(|name| name.to_str());
                let is_hold = |name: &str| name.starts_with("inuse.") && name.ends_with(".hold");
                name.is_some_and(is_hold) && file.parent() == Some(folder)
            }
            Sought::Named { .. } => false,
        }
    }
}

/// Looks which of our user's processes are these. Where the system does not tell, nobody is seen.
pub(super) fn look(sought: Vec<(Sought, &mut Holders)>) {
    let Some(mut found) = find(&sought) else {
        return;
    };
    for (nth, (_, holders)) in sought.into_iter().enumerate() {
        holders.see(std::mem::take(&mut found[nth]));
    }
}

#[cfg(not(target_os = "linux"))]
fn find(_: &[(Sought, &mut Holders)]) -> Option<Vec<Vec<Process>>> {
    None
}

/// For each of them who it is; `None` where the processes cannot be listed.
#[cfg(target_os = "linux")]
fn find(sought: &[(Sought, &mut Holders)]) -> Option<Vec<Vec<Process>>> {
    let mut found = vec![Vec::new(); sought.len()];
    let is_file = |it: &Sought| matches!(it, Sought::File(_) | Sought::HoldIn(_));
    let any_file = sought.iter().any(|(it, _)| is_file(it));
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        for (nth, (sought, _)) in sought.iter().enumerate() {
            if is_named(&entry.path(), sought) {
                found[nth].extend(Process::of(id));
            }
        }
        if !any_file {
            continue;
        }
        // Those of other users are not for us to see.
        let Ok(open) = std::fs::read_dir(entry.path().join("fd")) else {
            continue;
        };
        for open in open.flatten() {
            let Ok(file) = std::fs::read_link(open.path()) else {
                continue;
            };
            let is_it = |(it, _): &(Sought, &mut Holders)| it.is_open_as(&file);
            let Some(nth) = sought.iter().position(is_it) else {
                continue;
            };
            let about = entry.path().join("fdinfo").join(open.file_name());
            let process = Process::of(id).filter(|_| is_for_writing(&about));
            if let Some(process) = process.filter(|it| !found[nth].contains(it)) {
                found[nth].push(process);
            }
        }
    }
    Some(found)
}

/// Whether a process has a name and the folder that are looked for.
#[cfg(target_os = "linux")]
fn is_named(process: &std::path::Path, sought: &Sought) -> bool {
    let Sought::Named { names, folder } = sought else {
        return false;
    };
    let own = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
    let is_it = names.contains(&own.trim_end());
    is_it && std::fs::read_link(process.join("cwd")).is_ok_and(|it| it == *folder)
}

/// Whether a file was opened for writing (`proc_pid_fdinfo(5)`: its flags in octal). Who reads it, as `tail -f` does, is no
/// agent.
#[cfg(target_os = "linux")]
fn is_for_writing(about: &std::path::Path) -> bool {
    let about = std::fs::read_to_string(about).unwrap_or_default();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use std::path::Path;
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;

    /// So long something may take that is waited for.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A process that has the file open, and waits.
    fn holder(path: &Path, how: &str) -> Child {
        let script = format!("exec 3{how}\"$0\"; exec sleep 60");
        let child = Command::new("sh").arg("-c").arg(script).arg(path).spawn();
        child.unwrap()
    }

    fn look_at(path: &Path, holders: &mut Holders) {
        look(vec![(Sought::File(path.to_owned()), holders)]);
    }

    /// As a process is not there at once, nor gone.
    fn soon(path: &Path, holders: &mut Holders, done: impl Fn(&Holders) -> bool) {
        let began = std::time::Instant::now();
        while began.elapsed() < PATIENCE {
            look_at(path, holders);
            if done(holders) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("not in time: {holders:?}");
    }

    #[test]
    fn who_had_a_file_open_for_writing_is_missed_and_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("s.jsonl");
        std::fs::write(&path, "").unwrap();
        let mut holders = Holders::default();
        look_at(&path, &mut holders);
        assert!(matches!(holders, Holders::Unseen));
        // Who reads it is not seen, and not missed.
        let mut reader = holder(&path, "<");
        std::thread::sleep(Duration::from_millis(200));
        look_at(&path, &mut holders);
        reader.kill().unwrap();
        reader.wait().unwrap();
        look_at(&path, &mut holders);
        assert!(matches!(holders, Holders::Unseen));
        // Two that write: as long as one is there, it goes on.
        let mut first = holder(&path, ">>");
        let mut second = holder(&path, ">>");
        let both = |it: &Holders| matches!(it, Holders::Seen(seen) if seen.len() == 2);
        soon(&path, &mut holders, both);
        assert!(!holders.are_due());
        first.kill().unwrap();
        first.wait().unwrap();
        look_at(&path, &mut holders);
        assert!(matches!(&holders, Holders::Seen(seen) if seen.len() == 1));
        // A zombie is gone, too.
        second.kill().unwrap();
        soon(&path, &mut holders, Holders::are_gone);
        second.wait().unwrap();
        // One that comes back is seen again.
        let mut third = holder(&path, ">>");
        soon(&path, &mut holders, |it| matches!(it, Holders::Seen(_)));
        third.kill().unwrap();
        third.wait().unwrap();
    }

    #[test]
    fn what_is_written_at_the_moment_when_all_are_gone_was_written_by_somebody_else() {
        let gone = || Holders::Gone { at_ms: 10_000 };
        let mut last_words = gone();
        last_words.note_write(9_900);
        assert!(last_words.are_gone());
        // As Linux noted it for a file that was written a millisecond later.
        let mut goes_on = gone();
        goes_on.note_write(9_999);
        assert!(!goes_on.are_gone());
    }

    #[test]
    fn who_has_the_agents_name_in_the_sessions_folder_is_missed_and_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        // A process is named as the file that it runs.
        let pi = folder.join("pi");
        std::fs::copy("/bin/sleep", &pi).unwrap();
        let run = |program: &Path, folder: &Path| {
            let mut command = Command::new(program);
            command.arg("60").current_dir(folder);
            loop {
                match command.spawn() {
                    // Another test's process, which has not begun to run yet, has the file as it was written.
                    Err(why) if why.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    child => return child.unwrap(),
                }
            }
        };
        let look_for = |holders: &mut Holders| {
            let folder = folder.clone();
            let names = &["pi-rpc", "pi"];
            look(vec![(Sought::Named { names, folder }, holders)]);
        };
        let mut others = [
            run(&pi, Path::new("/")),
            run(Path::new("/bin/sleep"), &folder),
        ];
        let mut holders = Holders::default();
        look_for(&mut holders);
        assert!(!holders.are_known());
        let mut agent = run(&pi, &folder);
        let began = std::time::Instant::now();
        while began.elapsed() < PATIENCE {
            look_for(&mut holders);
            if holders.are_known() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(matches!(&holders, Holders::Seen(seen) if seen.len() == 1));
        agent.kill().unwrap();
        agent.wait().unwrap();
        look_for(&mut holders);
        assert!(holders.are_gone());
        for other in &mut others {
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    #[test]
    fn who_closes_a_file_and_goes_on_is_not_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("s.jsonl");
        let mut holders = Holders::default();
        let file = std::fs::File::create(&path).unwrap();
        look_at(&path, &mut holders);
        // Others that this process begins meanwhile have it, too, for a moment.
        assert!(holders.are_known());
        drop(file);
        look_at(&path, &mut holders);
        assert!(!holders.are_gone() && !holders.are_due());
    }
}
