//! Who runs a session: the process that a server's `owner_lease.json` names, in the session's folder as long as it has the
//! session; else a process of the agent's name that works where the session does.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::folder::read;
use super::held::Held;
use crate::follow::file::Facts;
use crate::follow::holders::{self, Holders, Sought};
use crate::follow::process::Process;

/// What the agent's processes are called.
const NAMES: &[&str] = &["openhands"];

/// Between two looks at all processes.
const PAUSE: Duration = Duration::from_secs(2);

/// Who was seen to run the sessions that are held.
#[derive(Debug, Default)]
pub(super) struct Runs {
    of: BTreeMap<String, Run>,
    next_look: Option<Instant>,
}

#[derive(Debug, Default)]
struct Run {
    holders: Holders,
    /// The process that the lease names, and the lease as it was looked at last.
    owner: Option<Process>,
    lease: Option<Facts>,
}

#[derive(Deserialize)]
struct Lease {
    owner_host: String,
    owner_pid: u32,
}

impl Runs {
    /// Looks who runs them, and notes which of them nobody runs any more. One that nobody was seen to run is not left.
    pub(super) fn look(
        &mut self,
        root: &Path,
        held: &mut BTreeMap<String, Held>,
        changed_ms: &dyn Fn(&str) -> i64,
    ) {
        self.of.retain(|id, _| held.contains_key(id));
        let now = Instant::now();
        let is_due = self.next_look.is_none_or(|at| now >= at);
        if is_due {
            self.next_look = Some(now + PAUSE);
        }
        for id in held.keys() {
            let run = self.of.entry(id.clone()).or_default();
            run.see_lease(&root.join(id));
            run.holders.note_write(changed_ms(id));
        }
        if is_due {
            let due = self
                .of
                .iter_mut()
                .filter(|(_, run)| run.owner.is_none() && run.holders.are_due());
            let sought = due.filter_map(|(id, run)| {
                let folder = held.get(id)?.working_dir()?.canonicalize().ok()?;
                Some((
                    Sought::Named {
                        names: NAMES,
                        folder,
                    },
                    &mut run.holders,
                ))
            });
            let sought: Vec<_> = sought.collect();
            if !sought.is_empty() {
                holders::look(sought);
            }
        }
        for (id, held) in held {
            if let Some(run) = self.of.get(id) {
                held.as_mut().is_left = run.is_left();
            }
        }
    }
}

impl Run {
    fn see_lease(&mut self, folder: &Path) {
        let path = folder.join("owner_lease.json");
        let facts = Facts::of(&path);
        if let Some(facts) = facts.filter(|_| facts != self.lease) {
            self.owner = owner(&path, facts).or(self.owner);
        }
        self.lease = facts;
    }

    fn is_left(&self) -> bool {
        match self.owner {
            Some(owner) => self.lease.is_none() || !owner.is_there(),
            None => self.holders.are_gone(),
        }
    }
}

/// The process that a lease names, where it is of this machine.
fn owner(path: &Path, facts: Facts) -> Option<Process> {
    let lease: Lease = serde_json::from_slice(&read(path).ok()?).ok()?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let is_here = host.trim() == lease.owner_host;
    Process::begun_by(lease.owner_pid, facts.changed_ms).filter(|_| is_here)
}
