//! Sessions of Qwen Code that are put away and taken out again.

use super::*;

fn line(n: u32, words: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u{n}","sessionId":"s1","cwd":"/w","version":"0.24.4","timestamp":"2026-11-21T21:03:0{n}.000Z","message":{{"role":"user","parts":[{{"text":"{words}"}}]}}}}"#
    ) + "\n"
}

#[test]
fn a_session_that_is_put_away_and_goes_on_does_not_end_where_it_lay() {
    let dir = tempfile::tempdir().unwrap();
    let chats = dir.path().canonicalize().unwrap().join("projects/-w/chats");
    std::fs::create_dir_all(chats.join("archive")).unwrap();
    let (out, away) = (chats.join("s1.jsonl"), chats.join("archive/s1.jsonl"));
    std::fs::write(&out, line(1, "Hi")).unwrap();
    let mut follow = Follow::new(FollowSettings {
        places: vec![Place::of_files(Agent::Qwen, dir.path().join("projects"))],
        newer_than: Duration::from_hours(24),
        spool_dir: dir.path().join("spool"),
        kept: dir.path().join("following.json"),
        compared_by: None,
    });
    let mut log = Log::default();
    follow.look(&mut log);
    read_all(&mut follow, &mut log);
    let mut text = line(1, "Hi");
    for (nth, (from, to)) in [(&out, &away), (&away, &out)].into_iter().enumerate() {
        std::fs::rename(from, to).unwrap();
        read_all(&mut follow, &mut log);
        // It is of long ago where it lay, and is written where it lies.
        let known = follow.known.get_mut(from).unwrap();
        known.facts.changed_ms -= duration_ms(LONG_REST);
        text.push_str(&line(2 + nth as u32, "Go on"));
        std::fs::write(to, &text).unwrap();
        read_all(&mut follow, &mut log);
        follow.settle(&mut log);
        let kinds = log.events.iter().map(|event| event.payload.event_type());
        let kinds: Vec<&str> = kinds.collect();
        assert!(!kinds.contains(&"session_end"), "{kinds:?}");
    }
    let said = log.events.iter();
    let said = said.filter(|it| it.payload.event_type() == "user_message");
    let ids: BTreeSet<&str> = said.map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
}
