#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use chat_normalize::Dialect;

use super::*;
use crate::sources::{Entered, Sources};

/// Takes all, and remembers what it was told.
#[derive(Debug, Default)]
struct Log {
    events: Vec<ChatEvent>,
    warned: Vec<String>,
    is_removed: bool,
}

impl Taker for Log {
    fn take(&mut self, _: &str, mut events: Vec<ChatEvent>) -> Result<(), Error> {
        self.events.append(&mut events);
        Ok(())
    }

    fn log_after(&mut self, _: &str, after: &str) -> Result<(Vec<ChatEvent>, String), Error> {
        Ok((Vec::new(), after.to_owned()))
    }

    fn has_log(&mut self, _: &str) -> bool {
        !self.is_removed
    }

    fn warn(&mut self, what: &str) {
        self.warned.push(what.to_owned());
    }

    fn progress(&mut self, _: &Progress) {}
}

/// Follows what Claude Code keeps in a folder.
fn follow(dir: &Path) -> Follow {
    Follow::new(FollowSettings {
        places: vec![Place {
            agent: Agent::Claude,
            folder: dir.join("projects"),
        }],
        newer_than: Duration::from_hours(24),
        spool_dir: dir.join("spool"),
        kept: dir.join("following.json"),
        compared_by: None,
    })
}

/// Reads all that there is now.
fn read_all(follow: &mut Follow, log: &mut Log) {
    follow.next_look = Instant::now();
    while follow.step(log).is_zero() {}
}

/// A session with a prompt, which was read.
fn followed(dir: &Path) -> (PathBuf, Follow, Log) {
    let project = dir.join("projects/-w");
    std::fs::create_dir_all(&project).unwrap();
    let path = project.join("s1.jsonl");
    std::fs::write(&path, prompt("s1")).unwrap();
    let (mut follow, mut log) = (follow(dir), Log::default());
    follow.look(&mut log);
    read_all(&mut follow, &mut log);
    (path, follow, log)
}

/// Adds a prompt in these words to it.
fn go_on(path: &Path, id: &str, words: &str) {
    let mut text = std::fs::read_to_string(path).unwrap();
    text.push_str(&prompt("s1").replace("u-s1", id).replace("Hi", words));
    std::fs::write(path, text).unwrap();
}

fn prompt(session: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u-{session}","sessionId":"{session}","timestamp":"2026-11-21T21:03:00.000Z","message":{{"role":"user","content":"Hi"}}}}"#
    ) + "\n"
}

#[test]
fn files_that_are_gone_for_long_are_forgotten_and_those_of_a_folder_that_is_away_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("projects/-w");
    std::fs::create_dir_all(&project).unwrap();
    for session in ["s1", "s2"] {
        std::fs::write(project.join(format!("{session}.jsonl")), prompt(session)).unwrap();
    }
    // One of a sub-agent that says whose it is.
    std::fs::write(project.join("agent-a1.jsonl"), prompt("s1")).unwrap();
    let mut log = Log::default();
    let mut follow = follow(dir.path());
    follow.look(&mut log);
    read_all(&mut follow, &mut log);
    let n_owners = |follow: &Follow| follow.trees[0].n_owners();
    assert_eq!((follow.known.len(), n_owners(&follow)), (2, 1));
    let gone = project.join("s1.jsonl");
    std::fs::remove_file(&gone).unwrap();
    std::fs::remove_file(project.join("agent-a1.jsonl")).unwrap();
    read_all(&mut follow, &mut log);
    assert_eq!((follow.known.len(), n_owners(&follow)), (2, 0));
    let Some(long_ago) = Instant::now().checked_sub(FORGET) else {
        // The machine was started just now, and knows no such time.
        return;
    };
    follow.known.get_mut(&gone).unwrap().gone_since = Some(long_ago);
    read_all(&mut follow, &mut log);
    assert!(follow.known.contains_key(&gone), "it has not ended yet");
    follow.unload(&gone);
    read_all(&mut follow, &mut log);
    assert!(!follow.known.contains_key(&gone) && !follow.kept.has(&gone));
    // A disk that is not there comes back.
    let away = dir.path().join("away");
    std::fs::rename(dir.path().join("projects"), &away).unwrap();
    let path = project.join("s2.jsonl");
    read_all(&mut follow, &mut log);
    follow.known.get_mut(&path).unwrap().gone_since = Some(long_ago);
    follow.unload(&path);
    read_all(&mut follow, &mut log);
    assert!(follow.known.contains_key(&path) && follow.kept.has(&path));
    assert!(log.warned.is_empty(), "{:?}", log.warned);
    let said = log.events.iter();
    let said = said.filter(|it| it.payload.event_type() == "user_message");
    assert_eq!(said.count(), 2);
}

#[test]
fn a_session_that_was_removed_is_not_told_to_have_ended_and_is_back_with_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let n_told = log.events.len();
    assert!(n_told > 0);
    let rests = |follow: &mut Follow| {
        follow.known.get_mut(&path).unwrap().facts.changed_ms -= duration_ms(LONG_REST);
    };
    log.is_removed = true;
    rests(&mut follow);
    follow.settle(&mut log);
    assert_eq!(log.events.len(), n_told, "{:?}", log.events);
    assert!(follow.kept.is_ended(&path), "it is not looked at again");
    // Its agent goes on with it.
    go_on(&path, "u-more", "On");
    read_all(&mut follow, &mut log);
    let told = &log.events[n_told..];
    let n_said = told
        .iter()
        .filter(|it| it.payload.event_type() == "user_message");
    assert_eq!(n_said.count(), 1, "{told:?}");
    // There is a log again, whose end is told.
    log.is_removed = false;
    rests(&mut follow);
    follow.settle(&mut log);
    let last = log.events.iter().rev();
    let ends = last.filter(|it| it.payload.event_type() == "session_end");
    assert_eq!(ends.count(), 1);
}

#[test]
fn of_a_removed_session_that_another_source_tells_too_what_was_told_is_not_told_again() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let hooks = dir.path().join("spool/hooks");
    let hooks = Sources::of_files(&hooks, Dialect::ClaudeHooks);
    assert!(matches!(hooks.enter("s1"), Ok(Entered::Turn(_))));
    log.is_removed = true;
    for words in ["On", "And on"] {
        log.events.clear();
        go_on(&path, words, words);
        read_all(&mut follow, &mut log);
        let said = log.events.iter();
        let said = said.filter(|it| it.payload.event_type() == "user_message");
        let said: Vec<String> = said.map(ChatEvent::to_line).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(&format!("\"{words}\"")), "{said:?}");
        log.is_removed = false;
    }
}
