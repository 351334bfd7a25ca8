//! What was found, in a few lines.

use chat_capture::Found;

/// More folders of an agent are not named one by one where nothing is in them.
const MOST_FOLDERS: usize = 3;

/// Where it was looked, and how many sessions there are.
pub(super) fn report(found: &[Found]) -> String {
    let (here, away): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.is_there);
    let mut text = String::new();
    for found in here.iter().filter(|found| says_something(found, &here)) {
        let name = found.agent.name();
        let folder = found.folder.display();
        let what = found.not_read.map_or_else(|| counts(found), str::to_owned);
        text.push_str(&format!("  {name:<12} {folder}: {what}\n"));
    }
    if found.is_empty() {
        text.push_str(
            "No agent's sessions are looked for: HOME is not set, or all agents are skipped\n",
        );
    } else if here.is_empty() {
        text.push_str("No agent keeps sessions here yet; it is looked for them in\n");
        let mut rest = away.as_slice();
        while let Some(found) = rest.first() {
            let n_same = rest.iter().take_while(|it| it.agent == found.agent);
            let n_same = n_same.count();
            let (name, folder) = (found.agent.name(), found.folder.display());
            // Extensions of editors have very many.
            let more = match n_same {
                ..=MOST_FOLDERS => String::new(),
                n => format!(", and {} more", n - 1),
            };
            text.push_str(&format!("  {name:<12} {folder}{more}\n"));
            rest = &rest[if more.is_empty() { 1 } else { n_same }..];
        }
    } else {
        text.insert_str(0, "Following\n");
    }
    text
}

/// Of an agent with two folders, one without sessions is nothing to speak of beside the other.
fn says_something(found: &Found, here: &[&Found]) -> bool {
    let same = here.iter().filter(|it| it.agent == found.agent);
    let first = same.clone().next();
    let named = same.clone().find(|it| it.sessions > 0).or(first);
    let is_named = named.is_some_and(|it| it.folder == found.folder);
    is_named || found.sessions > 0 || found.not_read.is_some()
}

fn counts(found: &Found) -> String {
    let sessions = |n: usize| match n {
        1 => "1 session".to_owned(),
        n => format!("{n} sessions"),
    };
    match found.sessions.saturating_sub(found.read) {
        0 => sessions(found.sessions),
        older => format!(
            "{}, and {older} older that are read when they go on",
            sessions(found.read)
        ),
    }
}

#[cfg(test)]
mod tests {
    use chat_capture::Agent;

    use super::*;

    fn found(agent: Agent, is_there: bool, sessions: usize, read: usize) -> Found {
        Found {
            agent,
            folder: format!("/h/{}", agent.name()).into(),
            is_there,
            sessions,
            read,
            not_read: None,
        }
    }

    #[test]
    fn what_is_there_is_told_and_where_nothing_is_where_it_was_looked() {
        let all = [
            found(Agent::Claude, true, 7, 5),
            found(Agent::Codex, true, 1, 1),
            found(Agent::Pi, false, 0, 0),
        ];
        assert_eq!(
            report(&all),
            "Following\n  Claude Code  /h/Claude Code: 5 sessions, and 2 older that are read when they go on\n  Codex        /h/Codex: 1 session\n"
        );
        // An agent with two folders is named by the one that has sessions, else by the first.
        let of_qwen = |first: usize, second: usize| {
            let mut all = [
                found(Agent::Qwen, true, first, first),
                found(Agent::Qwen, true, second, second),
            ];
            all[1].folder = "/h/tmp".into();
            report(&all).lines().count() - 1
        };
        assert_eq!(of_qwen(1, 0), 1);
        assert_eq!(of_qwen(0, 1), 1);
        assert_eq!(of_qwen(0, 0), 1);
        assert_eq!(of_qwen(1, 1), 2);
        let none = [found(Agent::Claude, false, 0, 0)];
        assert_eq!(
            report(&none),
            "No agent keeps sessions here yet; it is looked for them in\n  Claude Code  /h/Claude Code\n"
        );
        assert!(report(&[]).contains("HOME is not set"), "{}", report(&[]));
        let many = |n: usize| report(&vec![found(Agent::Roo, false, 0, 0); n]);
        assert_eq!(many(3).lines().count(), 4);
        assert!(
            many(4).ends_with("/h/Roo Code, and 3 more\n"),
            "{}",
            many(4)
        );
    }
}
