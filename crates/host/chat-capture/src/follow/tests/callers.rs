//! Files that say themselves which session's call started them, as Droid's: what comes late, goes away and lies.

use std::fmt::Write;

use chat_event::Payload;

use super::*;

/// Follows what Droid keeps in a folder, in projects of it.
struct Droid {
    dir: tempfile::TempDir,
    follow: Follow,
    log: Log,
}

impl Droid {
    fn new(files: &[(&str, String)]) -> Droid {
        let dir = tempfile::tempdir().unwrap();
        let droid = Droid {
            follow: Droid::follow(dir.path()),
            log: Log::default(),
            dir,
        };
        for (path, text) in files {
            droid.write(path, text);
        }
        droid
    }

    fn follow(dir: &Path) -> Follow {
        Follow::new(FollowSettings {
            places: vec![Place::of_files(Agent::Droid, dir.join("sessions"))],
            newer_than: Duration::from_hours(24),
            spool_dir: dir.join("spool"),
            kept: dir.join("following.json"),
            compared_by: None,
        })
    }

    fn path(&self, path: &str) -> PathBuf {
        let root = self.dir.path().canonicalize().unwrap();
        root.join("sessions").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&mut self) {
        // A folder that changed within the tick of its disk's clock is listed again.
        read_all(&mut self.follow, &mut self.log);
    }

    /// In which sessions a text was told, each time.
    fn told_in(&self, text: &str) -> Vec<&str> {
        let events = self.log.events.iter();
        let events = events.filter(|event| match &event.payload {
            Payload::AssistantDone(said) => said.text == text,
            _ => false,
        });
        events.map(|event| event.session_id.as_str()).collect()
    }
}

/// A session's lines, with a call `ID-call` and its words `ID says`; `caller` is the session whose call started it.
fn session(id: &str, caller: Option<&str>) -> String {
    let calling = caller.map_or_else(String::new, |caller| {
        format!(r#","callingSessionId":"{caller}","callingToolUseId":"{caller}-call""#)
    });
    let mut text = String::new();
    let mut say = |line: String| writeln!(text, "{line}").unwrap();
    say(format!(
        r#"{{"type":"session_start","id":"{id}","owner":"dev","cwd":"/w"{calling}}}"#
    ));
    let blocks = [
        ("user", r#"{"type":"text","text":"Go"}"#.to_owned()),
        (
            "assistant",
            format!(
                r#"{{"type":"tool_use","id":"{id}-call","name":"Task","input":{{"prompt":"Go"}}}}"#
            ),
        ),
        (
            "assistant",
            format!(r#"{{"type":"text","text":"{id} says"}}"#),
        ),
    ];
    for (nth, (role, block)) in blocks.iter().enumerate() {
        say(format!(
            r#"{{"type":"message","id":"{id}-{nth}","timestamp":"2026-11-30T10:00:0{nth}.000Z","message":{{"role":"{role}","content":[{block}]}}}}"#
        ));
    }
    text
}

#[test]
fn a_session_whose_caller_comes_days_later_stays_what_it_was_told_as() {
    let mut droid = Droid::new(&[("-w/child.jsonl", session("child", Some("own")))]);
    droid.follow.look(&mut droid.log);
    droid.read();
    assert_eq!(droid.told_in("child says"), ["child"]);
    droid.write("-w/own.jsonl", &session("own", None));
    droid.read();
    assert_eq!(droid.told_in("own says"), ["own"]);
    assert_eq!(droid.told_in("child says"), ["child"]);
    // Also after a new start.
    droid.follow.close();
    droid.follow = Droid::follow(droid.dir.path());
    droid.follow.look(&mut droid.log);
    let text = session("child", Some("own")).replace("child-2", "child-3");
    let last = text
        .lines()
        .last()
        .unwrap()
        .replace("child says", "child goes on");
    droid.write(
        "-w/child.jsonl",
        &format!("{}{last}\n", session("child", Some("own"))),
    );
    droid.read();
    assert_eq!(droid.told_in("child goes on"), ["child"]);
}

#[test]
fn a_caller_that_is_away_for_a_while_or_for_good_leaves_no_sessions_behind() {
    let mut droid = Droid::new(&[
        ("-w/own.jsonl", session("own", None)),
        ("-w/child.jsonl", session("child", Some("own"))),
        ("-w/grandchild.jsonl", session("grandchild", Some("child"))),
    ]);
    droid.follow.look(&mut droid.log);
    droid.read();
    for text in ["own says", "child says", "grandchild says"] {
        assert_eq!(droid.told_in(text), ["own"], "{text}");
    }
    // As between the two steps of one who writes it anew.
    for gone in ["-w/own.jsonl", "-w/child.jsonl"] {
        let text = std::fs::read_to_string(droid.path(gone)).unwrap();
        std::fs::remove_file(droid.path(gone)).unwrap();
        droid.read();
        droid.write(gone, &text);
        droid.read();
    }
    std::fs::remove_file(droid.path("-w/own.jsonl")).unwrap();
    droid.read();
    let sessions = droid.log.events.iter().map(|it| it.session_id.as_str());
    let sessions: BTreeSet<&str> = sessions.collect();
    assert_eq!(sessions, BTreeSet::from(["own"]));
}

#[test]
fn what_is_called_as_a_session_and_is_none_hides_no_others() {
    for lie in ["", "{}\n", "no session\n", "[]", "{\"type\":\"message\"}\n"] {
        let mut droid = Droid::new(&[
            ("-w/own.jsonl", lie.to_owned()),
            ("-w/child.jsonl", session("child", Some("own"))),
        ]);
        // An empty one may have been begun just now.
        let own = std::fs::File::options()
            .write(true)
            .open(droid.path("-w/own.jsonl"));
        own.unwrap()
            .set_modified(std::time::SystemTime::now() - QUIET * 2)
            .unwrap();
        droid.follow.look(&mut droid.log);
        droid.read();
        assert_eq!(
            droid.told_in("child says"),
            ["child"],
            "{lie} {:#?}",
            droid.log.events
        );
    }
}

#[test]
fn a_caller_whose_first_line_is_being_written_is_waited_for() {
    let own = session("own", None);
    for n_bytes in [0, 20] {
        let mut droid = Droid::new(&[
            ("-w/own.jsonl", own[..n_bytes].to_owned()),
            ("-w/child.jsonl", session("child", Some("own"))),
        ]);
        droid.follow.look(&mut droid.log);
        droid.read();
        assert!(droid.told_in("child says").is_empty());
        droid.write("-w/own.jsonl", &own);
        droid.read();
        assert_eq!(droid.told_in("child says"), ["own"]);
    }
}

#[test]
fn of_two_callers_of_a_name_the_one_beside_it_is_it() {
    // Copied whole, as a backup, into folders that come before and behind.
    let mut files = Vec::new();
    for folder in ["+backup", "-w", "backup"] {
        files.push((format!("{folder}/own.jsonl"), session("own", None)));
        files.push((
            format!("{folder}/child.jsonl"),
            session("child", Some("own")),
        ));
    }
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(at, it)| (at.as_str(), it.clone()))
        .collect();
    let mut droid = Droid::new(&files);
    droid.follow.look(&mut droid.log);
    for folder in ["+backup", "-w", "backup"] {
        let known = &droid.follow.known[&droid.path(&format!("{folder}/own.jsonl"))];
        let parts: Vec<&PathBuf> = known.parts.keys().collect();
        assert_eq!(parts, [&droid.path(&format!("{folder}/child.jsonl"))]);
    }
}

#[test]
fn names_that_lead_elsewhere_circles_and_chains_without_an_end_hold_nobody_up() {
    let long = "x".repeat(60_000);
    let mut files = vec![
        ("-w/self.jsonl".to_owned(), session("self", Some("self"))),
        ("-w/up.jsonl".to_owned(), session("up", Some("../-w/self"))),
        (
            "-w/abs.jsonl".to_owned(),
            session("abs", Some("/etc/passwd")),
        ),
        ("-w/long.jsonl".to_owned(), session("long", Some(&long))),
        (
            "-w/of-self.jsonl".to_owned(),
            session("of-self", Some("self")),
        ),
    ];
    for nth in 0..200 {
        let caller = format!("n{}", (nth + 1) % 200);
        files.push((
            format!("-w/n{nth}.jsonl"),
            session(&format!("n{nth}"), Some(&caller)),
        ));
    }
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(at, it)| (at.as_str(), it.clone()))
        .collect();
    let mut droid = Droid::new(&files);
    droid.follow.look(&mut droid.log);
    droid.read();
    for id in ["self", "up", "abs", "long", "n7", "n199"] {
        assert_eq!(droid.told_in(&format!("{id} says")), [id]);
    }
    assert_eq!(droid.told_in("of-self says"), ["self"]);
    assert!(droid.log.warned.is_empty(), "{:?}", droid.log.warned);
}

#[test]
fn thousands_of_sub_agents_are_told_a_few_at_once() {
    let mut files = vec![("-w/own.jsonl".to_owned(), session("own", None))];
    for nth in 0..2000 {
        files.push((
            format!("-w/c{nth}.jsonl"),
            session(&format!("c{nth}"), Some("own")),
        ));
    }
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(at, it)| (at.as_str(), it.clone()))
        .collect();
    let mut droid = Droid::new(&files);
    droid.follow.look(&mut droid.log);
    let mut most = 0;
    loop {
        let before = droid.log.events.len();
        if !droid.follow.step(&mut droid.log).is_zero() {
            break;
        }
        most = most.max(droid.log.events.len() - before);
    }
    for nth in [0, 7, 1999] {
        assert_eq!(droid.told_in(&format!("c{nth} says")), ["own"]);
    }
    assert!(most < 500, "{most} events were held at once");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_told_of() {
    use std::os::unix::fs::PermissionsExt;
    let mut droid = Droid::new(&[("-w/own.jsonl", session("own", None))]);
    let path = droid.path("-w/own.jsonl");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        // Who runs this may read everything.
        return;
    }
    droid.follow.look(&mut droid.log);
    droid.read();
    assert_eq!(droid.log.warned.len(), 1, "{:?}", droid.log.warned);
}
