//! The agent that runs a hook: whether it is still there. One that is killed ends no hook.

/// What started us.
#[derive(Debug)]
pub(super) struct Agent {
    /// The agent itself, or the shell that it runs its hooks in.
    parent: Option<u32>,
    /// Of a shell, which outlives who started it.
    above: Option<u32>,
}

impl Agent {
    /// The one that runs us now.
    pub(super) fn find() -> Agent {
        let parent = parent();
        Agent {
            parent,
            above: parent
                .filter(|&parent| is_shell(parent))
                .and_then(parent_of),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        let is_orphan = |parent| self.above.is_some() && parent_of(parent) != self.above;
        parent() != self.parent || self.parent.is_some_and(is_orphan)
    }
}

fn parent() -> Option<u32> {
    #[cfg(unix)]
    {
        Some(std::os::unix::process::parent_id())
    }
    #[cfg(not(unix))]
    None
}

/// Only of a shell is it asked who started it: an agent may outlive who started that.
fn is_shell(process: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let shells = ["sh", "bash", "dash", "zsh", "ash", "busybox", "ksh", "fish"];
    shells.contains(&name.trim_end())
}

/// Where the system tells it, as Linux does.
fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its name, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}
