//! Processes of this machine: told apart over the numbers that they share, and known again by a later start.
//!
//! Only Linux tells of them (`proc(5)`). Elsewhere there are none, and nobody is missed.

use std::path::Path;
use std::sync::LazyLock;

use chat_event::stable_hash;
use serde::{Deserialize, Serialize};

/// A process: numbers are used again, so when it was started is part of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    id: u32,
    /// In clock ticks since the machine was started.
    started: u64,
}

impl Process {
    /// The process of that number, where there is one. One that ended and whose end nobody took note of yet is none.
    pub(super) fn of(id: u32) -> Option<Process> {
        let stat = std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat"));
        let stat = stat.ok()?;
        // Its name may have anything in it (`proc_pid_stat(5)`): what follows it begins with the state, and the time of its
        // start is the 22nd field of all.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let started = fields.nth(18)?.parse().ok()?;
        Some(Process { id, started })
    }

    /// The process of that number that was started then, where it is there.
    pub(super) fn started_at(id: u32, started: u64) -> Option<Process> {
        Process::of(id).filter(|process| process.started == started)
    }

    /// The process of that number, where it was started by then (Unix epoch in milliseconds): who has the number now may be
    /// another one.
    pub(super) fn begun_by(id: u32, at_ms: i64) -> Option<Process> {
        // The clock was set a little since, or the time is that of a tick.
        const SLACK_MS: i64 = 2000;
        // A tick of these times is a hundredth of a second on all machines of today, whatever the kernel's own clock does.
        const TICK_MS: u64 = 10;
        let process = Process::of(id)?;
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let booted = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
        let booted_ms = booted.trim().parse::<i64>().ok()?.checked_mul(1000)?;
        let since_ms = process.started.checked_mul(TICK_MS)?;
        let started_ms = booted_ms.checked_add(i64::try_from(since_ms).ok()?)?;
        (started_ms <= at_ms.saturating_add(SLACK_MS)).then_some(process)
    }

    pub(super) fn is_there(self) -> bool {
        Process::of(self.id) == Some(self)
    }
}

/// Processes as they are noted for a later start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Processes {
    on: System,
    are: Vec<Process>,
}

/// Whose numbers they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct System {
    /// The machine, and which of its containers.
    machine: u64,
    /// Which of its starts.
    boot: u64,
}

impl Processes {
    /// `None` where they could not be known again.
    pub(super) fn of(processes: &[Process]) -> Option<Processes> {
        Some(Processes {
            on: System::here()?,
            are: processes.to_vec(),
        })
    }

    /// Those of them that may be there still; `None` where that cannot be told, as they are another machine's.
    pub(super) fn as_of_now(&self) -> Option<Vec<Process>> {
        self.as_of(System::here()?)
    }

    fn as_of(&self, here: System) -> Option<Vec<Process>> {
        if self.on.machine != here.machine {
            return None;
        }
        // None outlives the machine, whoever has its number now.
        let is_same = self.on.boot == here.boot;
        Some(if is_same {
            self.are.clone()
        } else {
            Vec::new()
        })
    }
}

impl System {
    fn here() -> Option<System> {
        static HERE: LazyLock<Option<System>> = LazyLock::new(System::look);
        *HERE
    }

    fn look() -> Option<System> {
        let text = |path: &str| std::fs::read_to_string(path).ok();
        let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let machine = format!("{}{}", text("/etc/machine-id")?, space.display());
        Some(System {
            machine: stable_hash(machine.as_bytes()),
            boot: stable_hash(text("/proc/sys/kernel/random/boot_id")?.as_bytes()),
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_another_one_where_its_number_is_used_again() {
        let ours = Process::of(std::process::id()).unwrap();
        assert!(ours.is_there());
        assert_eq!(Process::started_at(ours.id, ours.started), Some(ours));
        assert_eq!(Process::started_at(ours.id, ours.started + 1), None);
        let now_ms = crate::pipe::now_ms();
        assert_eq!(Process::begun_by(ours.id, now_ms), Some(ours));
        assert_eq!(Process::begun_by(ours.id, now_ms - 86_400_000), None);
    }

    #[test]
    fn those_of_an_earlier_start_of_the_machine_are_gone_and_nothing_is_known_of_other_machines() {
        let ours = Process::of(std::process::id()).unwrap();
        let here = System {
            machine: 1,
            boot: 2,
        };
        let noted = Processes {
            on: here,
            are: vec![ours],
        };
        let as_of = |machine, boot| noted.as_of(System { machine, boot });
        assert_eq!(as_of(1, 2), Some(vec![ours]));
        assert_eq!(as_of(1, 3), Some(Vec::new()));
        assert_eq!(as_of(3, 2), None);
    }
}
