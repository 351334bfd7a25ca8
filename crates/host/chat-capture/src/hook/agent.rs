//! The agent that runs a hook: whether it is still there, and what it runs. One that is killed ends no hook.

use std::collections::BTreeSet;

/// What started us.
#[derive(Debug)]
pub(super) struct Agent {
    /// The agent itself, or the shell that it runs its hooks in.
    parent: Option<u32>,
    /// Of a shell, which outlives who started it.
    above: Option<u32>,
    /// What the agent ran when it asked.
    ran: BTreeSet<u32>,
}

impl Agent {
    /// The one that runs us now.
    pub(super) fn find() -> Agent {
        let parent = parent();
        let above = parent
            .filter(|&parent| is_shell(parent))
            .and_then(parent_of);
        Agent {
            parent,
            above,
            ran: children_of(above.or(parent)).collect(),
        }
    }

    /// Whether it began to run a command since it asked: as a shell's `eval`, and quoted for it.
    pub(super) fn runs(&self, command: &str) -> bool {
        let command = unquoted(&format!("eval {command}"));
        let mut begun =
            children_of(self.above.or(self.parent)).filter(|process| !self.ran.contains(process));
        begun.any(|process| {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            unquoted(&String::from_utf8_lossy(&line)).contains(&command)
        })
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

/// Where the system tells them, as Linux does. Each thread of a process has its own.
fn children_of(process: Option<u32>) -> impl Iterator<Item = u32> {
    let threads = process.map(|process| std::fs::read_dir(format!("/proc/{process}/task")));
    let threads = threads.into_iter().flatten().flatten().flatten();
    threads.flat_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let children = text
            .split_whitespace()
            .filter_map(|child| child.parse().ok());
        children.collect::<Vec<u32>>()
    })
}

/// A command without what a shell's quotes put around it and into it.
fn unquoted(command: &str) -> String {
    let is_quote = |c: char| matches!(c, '\'' | '"' | '\\') || c.is_whitespace() || c.is_control();
    command.chars().filter(|&c| !is_quote(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_again_in_a_shells_quotes() {
        // As Claude Code 2.1.330 has it.
        let line = r#"/bin/bash -c shopt -u extglob || true && eval 'echo '"'"'it is'"'"'; sleep 2' < /dev/null && pwd"#;
        let has = |command: &str| unquoted(line).contains(&unquoted(&format!("eval {command}")));
        assert!(has("echo 'it is'; sleep 2"));
        assert!(!has("sleep 2"));
    }
}
