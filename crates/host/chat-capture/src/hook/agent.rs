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
        let mut begun =
            children_of(self.above.or(self.parent)).filter(|process| !self.ran.contains(process));
        begun.any(|process| {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            is_evaluated(command, &String::from_utf8_lossy(&line))
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

/// Whether a shell's command line evaluates this command and no longer one: all of it is one word behind `eval`, and behind
/// that stands what an agent's shell adds.
fn is_evaluated(command: &str, line: &str) -> bool {
    let mut at = 0;
    while let Some(word) = next_word(line, &mut at) {
        if word != "eval" {
            continue;
        }
        let Some(evaluated) = next_word(line, &mut at) else {
            return false;
        };
        let behind = unquoted(line.get(at..).unwrap_or_default().trim_start());
        let adds = ["< /dev/null", "</dev/null", "&& pwd", "&&pwd"];
        let is_an_agents = adds.iter().any(|adds| behind.starts_with(adds));
        return is_an_agents && unquoted(evaluated).trim() == command.trim();
    }
    false
}

/// The next word from here on as the shell takes it apart, in its quotes; an argument's end ends it, too.
fn next_word<'l>(line: &'l str, at: &mut usize) -> Option<&'l str> {
    let is_blank = |c: char| c.is_whitespace() || c == '\0';
    let rest = line.get(*at..)?.trim_start_matches(is_blank);
    let begin = line.len() - rest.len();
    let mut quote = None;
    let mut is_escaped = false;
    let end = rest.find(|c: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (quote, c) {
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && is_blank(c)
    });
    *at = end.map_or(line.len(), |end| begin + end);
    line.get(begin..*at).filter(|word| !word.is_empty())
}

/// What a shell makes of a word: without its quotes, and with what they protect.
fn unquoted(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut quote = None;
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            // Within double quotes it protects but these.
            (Some('"'), '\\') if !chars.peek().is_some_and(|c| "$`\"\\\n".contains(*c)) => {
                plain.push(c);
            }
            (None | Some('"'), '\\') => plain.extend(chars.next().filter(|c| *c != '\n')),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_again_in_a_shells_quotes() {
        // As Claude Code 2.1.330 has it.
        let line = "/bin/bash\0-c\0shopt -u extglob || true && eval 'echo '\"'\"'it is'\"'\"'; sleep 2' < /dev/null && pwd\0";
        assert!(is_evaluated("echo 'it is'; sleep 2", line));
        assert!(!is_evaluated("sleep 2", line));
        // As older ones have it.
        for line in [
            r#"eval "echo 'it is'; sleep 2" \< /dev/null && pwd -P >| /tmp/cwd"#,
            r"eval echo\ \'it\ is\'\;\ sleep\ 2 && pwd -P",
        ] {
            assert!(is_evaluated("echo 'it is'; sleep 2", line), "{line}");
        }
    }

    #[test]
    fn a_command_that_only_begins_like_it_is_another() {
        let line = |command: &str| format!("true && eval '{command}' < /dev/null && pwd");
        assert!(is_evaluated("git diff", &line("git diff")));
        for other in [
            "git diff HEAD~1",
            "git diff && pwd",
            "git diff < /dev/null && pwd",
            "git difftool",
            "gitdiff",
            "eval git diff",
            "git  diff",
        ] {
            assert!(!is_evaluated("git diff", &line(other)), "{other}");
        }
        // Its own quotes are its own.
        let file = r#"true && eval 'git diff "x y"' < /dev/null && pwd"#;
        assert!(is_evaluated(r#"git diff "x y""#, file));
        assert!(!is_evaluated("git diff x y", file));
        let costs = r#"eval "echo \"\$PRICE\" \n" < /dev/null"#;
        assert!(is_evaluated(r#"echo "$PRICE" \n"#, costs));
        // Whoever runs this, it is no agent's shell.
        assert!(!is_evaluated("git diff", "eval 'git diff'"));
        assert!(!is_evaluated("git diff", "eval 'git diff' | less"));
    }
}
