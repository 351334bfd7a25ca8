#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use chat_normalize::Dialect;

use super::*;
use crate::sources::{Entered, Sources};

mod agents;
mod callers;
mod put_away;
mod results;
mod seen_soon;
mod vibe;

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
        places: vec![Place::of_files(Agent::Claude, dir.join("projects"))],
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

/// A file that was copied, synced or restored is newer than what it tells.
#[test]
fn a_session_that_rests_is_idle_since_its_last_line_whenever_its_file_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let answer = r#"{"type":"assistant","uuid":"a1","sessionId":"s1","timestamp":"2026-11-21T21:03:00.660Z","message":{"id":"m1","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"Hi"}],"usage":{"input_tokens":1,"output_tokens":2}}}"#;
    let rests = |follow: &mut Follow, log: &mut Log| {
        follow.known.get_mut(&path).unwrap().facts.changed_ms -= duration_ms(QUIET);
        follow.settle(log);
    };
    std::fs::write(&path, format!("{}{answer}\n", prompt("s1"))).unwrap();
    read_all(&mut follow, &mut log);
    rests(&mut follow, &mut log);
    let last: Vec<(&str, Option<i64>)> = log
        .events
        .iter()
        .rev()
        .take(2)
        .map(|event| (event.event_type(), event.timestamp))
        .collect();
    let at_ms = Some(1_795_294_980_660);
    assert_eq!(last, [("session_status", at_ms), ("usage", at_ms)]);
    // It goes on: what was told at rest is not told again.
    go_on(&path, "u-more", "On");
    read_all(&mut follow, &mut log);
    rests(&mut follow, &mut log);
    let used = log
        .events
        .iter()
        .filter(|event| event.event_type() == "usage");
    assert_eq!(used.count(), 1);
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

/// Prompts in these words that were told.
fn n_told(log: &Log, words: &str) -> usize {
    let said = format!("\"{words}\"");
    let prompts = log.events.iter();
    let prompts = prompts.filter(|it| it.payload.event_type() == "user_message");
    prompts.filter(|it| it.to_line().contains(&said)).count()
}

/// As where a file is written anew by a program that did not finish it before.
#[test]
fn a_file_that_was_no_session_is_read_once_it_is_another() {
    type Write = fn(&Path, &str);
    let writes: [Write; 2] = [
        |path, text| std::fs::write(path, text).unwrap(),
        |path, text| {
            let new = path.with_extension("new");
            // Longer than the one before.
            std::fs::write(&new, text.repeat(2_000)).unwrap();
            std::fs::rename(&new, path).unwrap();
        },
    ];
    for write in writes {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut follow, mut log) = followed(dir.path());
        let path = dir.path().join("projects/-w/s2.jsonl");
        std::fs::write(&path, "no session\n".repeat(20_000)).unwrap();
        read_all(&mut follow, &mut log);
        assert!(follow.known[&path].refused, "{:?}", log.warned);
        write(&path, &prompt("s2").replace("Hi", "New"));
        // It is hot: that is looked at more often than all.
        follow.look_at_hot();
        follow.known.get_mut(&path).unwrap().not_before = None;
        read_all(&mut follow, &mut log);
        assert_ne!(n_told(&log, "New"), 0, "{:?}", log.warned);
    }
}

/// As a disk does that is not there for a while.
#[test]
fn what_was_not_read_when_its_folder_went_is_read_once_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let (here, away) = (dir.path().join("projects"), dir.path().join("away"));
    let project = here.join("-w");
    std::fs::create_dir_all(&project).unwrap();
    for session in ["s1", "s2"] {
        std::fs::write(project.join(format!("{session}.jsonl")), prompt(session)).unwrap();
    }
    let (mut follow, mut log) = (follow(dir.path()), Log::default());
    follow.look(&mut log);
    assert_eq!(follow.backlog.len(), 2);
    std::fs::rename(&here, &away).unwrap();
    read_all(&mut follow, &mut log);
    assert_eq!((n_told(&log, "Hi"), follow.backlog.len()), (0, 0));
    assert_eq!(follow.progress.sessions, 0, "none of them was read");
    std::fs::rename(&away, &here).unwrap();
    read_all(&mut follow, &mut log);
    assert_eq!(n_told(&log, "Hi"), 2);
    // One that is held, with something that was seen and not read.
    let path = project.join("s1.jsonl");
    go_on(&path, "u-more", "On");
    follow.look_around(&mut log);
    std::fs::rename(&here, &away).unwrap();
    read_all(&mut follow, &mut log);
    assert_eq!(n_told(&log, "On"), 0);
    std::fs::rename(&away, &here).unwrap();
    read_all(&mut follow, &mut log);
    assert_eq!((n_told(&log, "On"), n_told(&log, "Hi")), (1, 2));
    // What was told to its end is not read again for that it was away.
    std::fs::rename(&here, &away).unwrap();
    read_all(&mut follow, &mut log);
    std::fs::rename(&away, &here).unwrap();
    follow.look_around(&mut log);
    assert!(follow.changed.is_empty(), "{:?}", follow.changed);
}

#[cfg(unix)]
#[test]
fn one_look_that_cannot_list_a_folder_takes_nothing_for_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let (here, away) = (dir.path().join("projects"), dir.path().join("away"));
    std::fs::rename(&here, &away).unwrap();
    // A link to itself leads nowhere, and is not said to be missing.
    std::os::unix::fs::symlink(&here, &here).unwrap();
    read_all(&mut follow, &mut log);
    assert!(!follow.known[&path].is_gone());
    let said = |log: &Log| log.warned.iter().any(|it| it.starts_with("could not list"));
    assert!(said(&log), "{:?}", log.warned);
    std::fs::remove_file(&here).unwrap();
    read_all(&mut follow, &mut log);
    assert!(follow.known[&path].is_gone());
    std::fs::rename(&away, &here).unwrap();
    read_all(&mut follow, &mut log);
    assert!(!follow.known[&path].is_gone());
}

#[test]
fn what_is_written_after_an_end_that_waits_to_be_told_is_told_too() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let hooks = dir.path().join("spool/hooks");
    let hooks = Sources::of_files(&hooks, Dialect::ClaudeHooks);
    let turn = hooks.enter("s1").unwrap();
    follow.known.get_mut(&path).unwrap().facts.changed_ms -= duration_ms(LONG_REST);
    follow.settle(&mut log);
    assert!(follow.loaded[&path].has_ended(), "its end waits");
    go_on(&path, "u-more", "On");
    read_all(&mut follow, &mut log);
    assert_eq!(n_told(&log, "On"), 0);
    drop(turn);
    follow.known.get_mut(&path).unwrap().not_before = None;
    read_all(&mut follow, &mut log);
    let ends = log.events.iter();
    let ends = ends.filter(|it| it.payload.event_type() == "session_end");
    assert_eq!((ends.count(), n_told(&log, "On")), (1, 1));
}

#[test]
fn a_reader_that_is_finished_is_made_anew_where_its_session_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s1.jsonl");
    std::fs::write(&path, prompt("s1")).unwrap();
    let mut session = Session::load(&path, Agent::Claude, None);
    let mut log = Log::default();
    let mut read = |session: &mut Session| {
        let facts = Facts::of(&path).unwrap();
        while session
            .read(facts, &BTreeMap::new(), true, &mut log.events)
            .unwrap()
            .more
        {}
        (n_told(&log, "Hi"), n_told(&log, "On"))
    };
    assert_eq!(read(&mut session), (1, 0));
    session.end(&mut Vec::new());
    go_on(&path, "u-more", "On");
    assert_eq!(read(&mut session), (1, 1));
    assert!(!session.has_ended());
}

#[test]
fn half_a_list_of_opencodes_sessions_forgets_none_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencode/opencode.db");
    let database = dir.path().join("opencode.db");
    std::fs::copy(&fixture, &database).unwrap();
    let mut follow = Follow::new(FollowSettings {
        places: vec![Place::of_databases(Agent::OpenCode, dir.path().to_owned())],
        newer_than: Duration::from_hours(24),
        spool_dir: dir.path().join("spool"),
        kept: dir.path().join("following.json"),
        compared_by: None,
    });
    let mut log = Log::default();
    let found = follow.look(&mut log);
    assert!(found[0].sessions > 0);
    let other = "ses_other".to_owned();
    follow
        .kept
        .put_database(&database, other.clone(), store::Told::default());
    std::fs::write(&database, "no database").unwrap();
    follow.look_at_databases(&mut log);
    assert_eq!(log.warned.len(), 1, "{:?}", log.warned);
    assert!(follow.kept.database(&database).contains_key(&other));
    std::fs::copy(&fixture, &database).unwrap();
    follow.look_at_databases(&mut log);
    assert!(!follow.kept.database(&database).contains_key(&other));
}
