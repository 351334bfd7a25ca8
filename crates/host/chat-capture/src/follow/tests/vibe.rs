//! Mistral Vibe's store, written as the program writes it: record by record, with snapshots in between and what they make
//! needless taken away.

use std::collections::BTreeSet;

use chat_event::{Payload, stable_hash};
use chat_normalize::{AT_REST, Context, SessionReader};
use serde_json::{Value, json};

use super::*;
use crate::pipe::now_ms;

/// One session's folder.
struct Store {
    dir: tempfile::TempDir,
    session: String,
    entries: Vec<Value>,
    state: Value,
    /// The first numbers of the pieces of the journal that are there.
    pieces: Vec<u64>,
    generations: Vec<u64>,
    next: u64,
}

impl Store {
    fn new(session: &str) -> Store {
        let store = Store {
            dir: tempfile::tempdir().unwrap(),
            session: session.to_owned(),
            entries: Vec::new(),
            state: Value::Null,
            pieces: vec![1],
            generations: Vec::new(),
            next: 1,
        };
        for below in ["journal", "generations", "chunks"] {
            std::fs::create_dir_all(store.folder().join(below)).unwrap();
        }
        let meta = json!({"session_id": session, "title": null, "title_source": "auto",
            "environment": {"working_directory": "/home/me/demo"}, "config": {"model_name": "m-1"},
            "start_time": "2026-12-01T20:39:32.837000+00:00"});
        store.write("meta.json", &meta.to_string());
        store
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("logs/session/unified")
    }

    fn folder(&self) -> PathBuf {
        self.root().join(&self.session)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Beside it, and into its place.
        let beside = path.with_extension("tmp");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(beside, path).unwrap();
    }

    fn piece(&self) -> PathBuf {
        let first = self.pieces.last().unwrap();
        self.folder().join(format!("journal/{first:016}.jsonl"))
    }

    fn append_text(&self, text: &str) {
        let mut options = std::fs::File::options();
        let mut file = options
            .append(true)
            .create(true)
            .open(self.piece())
            .unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }

    fn append(&mut self, record: &Value) {
        self.append_text(&format!("{record}\n"));
        self.next = record["sequence"].as_u64().unwrap() + 1;
        for change in record["payload"]["delta"].as_array().into_iter().flatten() {
            let entry = &change["entry"];
            match change["op"].as_str().unwrap() {
                "append_entry" => self.entries.push(entry.clone()),
                "replace_entry" => {
                    let at = self.entries.iter().position(|it| it["id"] == entry["id"]);
                    self.entries[at.unwrap()] = entry.clone();
                }
                "set_envelope" => self.state = change["state"].clone(),
                op => panic!("{op}"),
            }
        }
    }

    /// Puts all that there is into a snapshot. What the one before the last had goes.
    fn snapshot(&mut self) {
        let upto = self.next - 1;
        let mut chunks = Vec::new();
        for entries in self.entries.chunks(3) {
            let text = serde_json::to_string_pretty(entries).unwrap();
            let name = format!("{:064x}", stable_hash(text.as_bytes()));
            self.write(&format!("chunks/{name}.json"), &text);
            chunks.push(name);
        }
        let generation = format!("generations/{upto:016}");
        let manifest = json!({"snapshot_sequence": upto, "projection_state": {"chunks": chunks}});
        let state = json!({"projection_state_version": 1, "session_id": self.session, "snapshot": self.state});
        self.write(
            &format!("{generation}/manifest.json"),
            &manifest.to_string(),
        );
        self.write(
            &format!("{generation}/projection-state.json"),
            &state.to_string(),
        );
        self.pieces.push(self.next);
        self.generations.push(upto);
        self.append_text("");
        let current = json!({"generation": format!("{upto:016}"), "snapshot_sequence": upto});
        self.write("CURRENT", &current.to_string());
        if self.pieces.len() > 2 {
            let gone = self.pieces.remove(0);
            let gone = self.folder().join(format!("journal/{gone:016}.jsonl"));
            std::fs::remove_file(gone).unwrap();
        }
        if self.generations.len() > 2 {
            let gone = self.generations.remove(0);
            let gone = self.folder().join(format!("generations/{gone:016}"));
            std::fs::remove_dir_all(gone).unwrap();
        }
    }

    fn follow(&self) -> Follow {
        Follow::new(FollowSettings {
            places: vec![Place::of_databases(Agent::Vibe, self.root())],
            newer_than: Duration::from_hours(24),
            spool_dir: self.dir.path().join("spool"),
            kept: self.dir.path().join("following.json"),
            compared_by: None,
        })
    }
}

/// Reads all that there is now.
fn look(follow: &mut Follow, log: &mut Log) {
    follow.next_look = Instant::now();
    for database in &mut follow.databases {
        database.rests_no_more();
    }
    while follow.step(log).is_zero() {}
}

/// The records of the story, so late that the last one is of now, or as they are.
fn story(is_of_now: bool) -> Vec<Value> {
    let path = "../../../tests/sessions/vibe-session/input.journal.jsonl";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut records: Vec<Value> = records.collect();
    let by_ms = now_ms() - 1_796_157_579_902;
    if is_of_now {
        records.iter_mut().for_each(|it| later(it, by_ms));
    }
    records
}

/// Moves all times.
fn later(value: &mut Value, by_ms: i64) {
    match value {
        Value::Number(number) => {
            if let Some(at_ms) = number.as_i64().filter(|it| *it > 1_700_000_000_000) {
                *value = (at_ms + by_ms).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| later(it, by_ms)),
        Value::Object(members) => members.values_mut().for_each(|it| later(it, by_ms)),
        _ => {}
    }
}

fn session_of(records: &[Value]) -> String {
    let named = records[0]["payload"]["params"]["sessionId"].as_str();
    named.unwrap().to_owned()
}

/// What is told of the session's talk: ids with what they are.
fn told(events: &[ChatEvent]) -> BTreeSet<(String, String)> {
    let talk = events.iter().filter(|event| {
        !matches!(
            event.payload,
            // Tokens are told as they stand, the rest frames a session.
            Payload::Usage(_)
                | Payload::SessionStart(_)
                | Payload::SessionEnd(_)
                | Payload::SessionStatus(_)
        )
    });
    let talk = talk.map(|event| (event.id.clone(), event.payload.event_type().to_owned()));
    talk.collect()
}

fn assert_once(events: &[ChatEvent], of: &str) {
    let mut seen = BTreeSet::new();
    for event in events {
        let is_end = matches!(event.payload, Payload::SessionEnd(_));
        assert!(is_end || seen.insert(&event.id), "{} twice: {of}", event.id);
    }
}

/// What the whole journal says.
fn whole(records: &[Value]) -> BTreeSet<(String, String)> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for record in records {
        let line = format!("{record}\n");
        reader.push(line.as_bytes(), AT_REST, &mut events).unwrap();
    }
    reader.finish(AT_REST, &mut events).unwrap();
    told(&events)
}

fn is_over(record: &Value) -> bool {
    record["type"] == "receipt_succeeded"
}

#[test]
fn a_session_is_told_once_however_seldom_it_is_looked_at() {
    for is_of_now in [true, false] {
        let records = story(is_of_now);
        let all = whole(&records);
        assert!(all.len() > 20, "{all:?}");
        for every in [1, 2, 3, 5, 8, 13, 21, 100] {
            for snapshots in [1, 7] {
                let mut store = Store::new(&session_of(&records));
                let (mut follow, mut log) = (store.follow(), Log::default());
                look(&mut follow, &mut log);
                for (nth, record) in records.iter().enumerate() {
                    store.append(record);
                    // Also in the middle of a turn.
                    if is_over(record) || nth % 7 == snapshots {
                        store.snapshot();
                    }
                    if nth % every == 0 {
                        look(&mut follow, &mut log);
                    }
                }
                look(&mut follow, &mut log);
                let of = format!("{is_of_now} {every} {snapshots}");
                assert_eq!(log.warned, [""; 0], "{of}");
                assert_eq!(told(&log.events), all, "{of}");
                if is_of_now {
                    assert_once(&log.events, &of);
                }
            }
        }
    }
}

#[test]
fn a_later_start_goes_on_where_the_one_before_was() {
    let records = story(true);
    let all = whole(&records);
    for stop in 0..records.len() {
        let mut store = Store::new(&session_of(&records));
        let mut log = Log::default();
        for (nth, record) in records.iter().enumerate() {
            store.append(record);
            if is_over(record) {
                store.snapshot();
            }
            if nth == stop {
                let mut first = store.follow();
                look(&mut first, &mut log);
                first.close();
                let n_events = log.events.len();
                // Nothing is new to one that looks on at once.
                let mut second = store.follow();
                look(&mut second, &mut log);
                second.close();
                assert_eq!(log.events.len(), n_events, "{stop}");
            }
        }
        let mut last = store.follow();
        look(&mut last, &mut log);
        assert_eq!(told(&log.events), all, "{stop}");
    }
}

#[test]
fn a_record_that_is_being_written_waits_and_a_journal_that_is_another_one_is_read_again() {
    let records = story(true);
    let mut store = Store::new(&session_of(&records));
    let (mut follow, mut log) = (store.follow(), Log::default());
    for record in &records {
        let line = format!("{record}\n");
        let (head, rest) = line.split_at(line.len() / 2);
        store.append_text(head);
        let before = told(&log.events);
        look(&mut follow, &mut log);
        assert_eq!(told(&log.events), before);
        store.append_text(rest);
        look(&mut follow, &mut log);
    }
    assert_eq!(told(&log.events), whole(&records));
    assert_once(&log.events, "halves");
    // It is cut off, and goes on otherwise: what was told stays, and what is new is told.
    let text = std::fs::read_to_string(store.piece()).unwrap();
    let kept: Vec<&str> = text.lines().take(20).collect();
    std::fs::write(store.piece(), kept.join("\n") + "\n").unwrap();
    look(&mut follow, &mut log);
    for (number, words) in [(78, "Once more"), (79, "And again")] {
        let entry = json!({"id": format!("user-x-{number}"), "sessionId": store.session, "turnId": format!("turn-x-{number}"), "type": "message",
            "role": "user", "source": "turn_start", "content": [{"type": "text", "text": words}], "generationStatus": "completed",
            "createdAt": now_ms(), "updatedAt": now_ms()});
        let other = json!({"recovery_journal_record_version": 1, "sequence": number, "type": "projection_delta",
            "payload": {"delta": [{"op": "append_entry", "entry": entry}]}});
        store.append(&other);
        look(&mut follow, &mut log);
    }
    let asked = log.events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(said) => Some(said.text.preview().to_string()),
        _ => None,
    });
    let asked: Vec<String> = asked.collect();
    assert_eq!(asked[asked.len() - 2..], ["Once more", "And again"]);
}

#[test]
fn a_session_ends_when_who_runs_it_is_gone() {
    let mut records = story(true);
    records.iter_mut().for_each(|it| later(it, -20_000));
    let mut store = Store::new(&session_of(&records));
    let active = store.root().with_file_name("active");
    std::fs::create_dir_all(&active).unwrap();
    let lock = active.join(format!("{}.lock.json", store.session));
    let said =
        json!({"lease_version": 1, "session_id": store.session, "process_id": std::process::id()});
    std::fs::write(&lock, said.to_string()).unwrap();
    for record in &records {
        store.append(record);
    }
    let (mut follow, mut log) = (store.follow(), Log::default());
    let ends = |log: &Log| {
        let is_end = |event: &&ChatEvent| matches!(event.payload, Payload::SessionEnd(_));
        log.events.iter().filter(is_end).count()
    };
    look(&mut follow, &mut log);
    assert_eq!(ends(&log), 0);
    std::fs::remove_file(&lock).unwrap();
    look(&mut follow, &mut log);
    // Who can be told of ends it.
    let expected = usize::from(cfg!(target_os = "linux"));
    assert_eq!(ends(&log), expected);
    look(&mut follow, &mut log);
    assert_eq!(ends(&log), expected);
}

#[test]
fn what_names_no_snapshot_is_said_and_leads_nowhere() {
    let records = story(true);
    let mut store = Store::new(&session_of(&records));
    for record in &records {
        store.append(record);
    }
    store.snapshot();
    let upto = store.generations[0];
    let manifest =
        json!({"snapshot_sequence": upto, "projection_state": {"chunks": ["../../../../secret"]}});
    store.write(
        &format!("generations/{upto:016}/manifest.json"),
        &manifest.to_string(),
    );
    let (mut follow, mut log) = (store.follow(), Log::default());
    look(&mut follow, &mut log);
    assert_eq!(log.warned.len(), 1, "{:?}", log.warned);
    assert!(log.warned[0].contains("names no chunk"), "{:?}", log.warned);
    for current in ["{", "{}", r#"{"generation": "../../x"}"#] {
        let (mut follow, mut log) = (store.follow(), Log::default());
        store.write("CURRENT", current);
        look(&mut follow, &mut log);
        assert_eq!(log.warned.len(), 1, "{current}: {:?}", log.warned);
    }
}

#[test]
fn a_snapshot_that_has_the_highest_number_is_read_once() {
    let records = story(true);
    let mut store = Store::new(&session_of(&records));
    for record in &records {
        store.append(record);
    }
    store.snapshot();
    let manifest = format!("generations/{:016}/manifest.json", store.generations[0]);
    let text = std::fs::read_to_string(store.folder().join(&manifest)).unwrap();
    let mut said: Value = serde_json::from_str(&text).unwrap();
    said["snapshot_sequence"] = u64::MAX.into();
    store.write(&manifest, &said.to_string());
    std::fs::remove_dir_all(store.folder().join("journal")).unwrap();
    let (mut follow, mut log) = (store.follow(), Log::default());
    follow.look(&mut log);
    let is_over = (0..50).any(|_| !follow.step(&mut log).is_zero());
    assert!(
        is_over && !log.events.is_empty(),
        "it is read again and again"
    );
}

#[test]
fn what_was_told_of_half_a_snapshot_is_told_on_by_a_later_start() {
    let records = story(true);
    let mut store = Store::new(&session_of(&records));
    for record in &records {
        store.append(record);
    }
    store.snapshot();
    let manifest = format!("generations/{:016}/manifest.json", store.generations[0]);
    let manifest = std::fs::read(store.folder().join(manifest)).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let second = manifest["projection_state"]["chunks"][1].as_str().unwrap();
    let second = store.folder().join(format!("chunks/{second}.json"));
    let away = second.with_extension("away");
    std::fs::rename(&second, &away).unwrap();
    let (mut first, mut log) = (store.follow(), Log::default());
    look(&mut first, &mut log);
    first.close();
    let before = told(&log.events);
    assert!(!before.is_empty());
    std::fs::rename(&away, &second).unwrap();
    let mut later = store.follow();
    look(&mut later, &mut log);
    let all = whole(&records);
    assert!(before.len() < all.len());
    assert_eq!(told(&log.events), all);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_looked_at_keeps_no_other_from_being_told() {
    let records = story(true);
    let mut store = Store::new(&session_of(&records));
    for record in &records {
        store.append(record);
    }
    // What leads elsewhere is not followed, wherever that is.
    for (other, to) in [
        ("0-linked", "journal".into()),
        ("z-linked", store.folder().join("journal")),
    ] {
        let other = store.root().join(other);
        std::fs::create_dir_all(&other).unwrap();
        std::os::unix::fs::symlink(to, other.join("journal")).unwrap();
    }
    // No piece is called so.
    let odd = store.root().join("odd/journal");
    std::fs::create_dir_all(&odd).unwrap();
    std::fs::write(odd.join(format!("{:016}.jsonl", 0)), "").unwrap();
    let (mut follow, mut log) = (store.follow(), Log::default());
    look(&mut follow, &mut log);
    look(&mut follow, &mut log);
    assert_eq!(told(&log.events), whole(&records));
    assert!(
        log.warned
            .iter()
            .all(|it| it.contains("-linked: journal is a link"))
    );
    assert!(!log.warned.is_empty());
}

#[test]
fn what_only_a_snapshot_says_of_commands_and_of_the_session_is_told() {
    let records = story(true);
    let mut store = Store::new(&session_of(&records));
    for record in &records[..2] {
        store.append(record);
    }
    let turn = store.entries[0]["turnId"].clone();
    let output = json!({"type": "success", "content": [], "structured_content": {"processId": "p-1", "status": "running"}});
    let entry = json!({"id": "effect-p", "sessionId": store.session, "turnId": turn, "type": "effect", "title": "process.start",
        "generationStatus": "completed", "createdAt": now_ms(), "updatedAt": now_ms(),
        "detail": {"toolName": "process.start", "kind": "tool", "input": {"command": "make"}},
        "state": {"status": "completed", "outputText": "", "output": output}});
    let number = store.next;
    store.append(&json!({"recovery_journal_record_version": 1, "sequence": number, "type": "projection_delta",
        "payload": {"delta": [{"op": "append_entry", "entry": entry}]}}));
    store.snapshot();
    let process = json!({"process_id": "p-1", "start_action_id": "p", "exit_code": 2, "finished_at": "2026-12-01T20:41:21.312Z"});
    let upto = store.generations[0];
    // Sub-agents have no other word of where they work.
    std::fs::remove_file(store.folder().join("meta.json")).unwrap();
    let runtime =
        json!({"session_id": store.session, "session_metadata": {"cwd": "/w", "active_model": "m"},
        "identity": {"parent_session_id": "above"}, "processes": [process]})
        .to_string();
    store.write(
        &format!("generations/{upto:016}/runtime-state.json"),
        &runtime,
    );
    let (mut follow, mut log) = (store.follow(), Log::default());
    look(&mut follow, &mut log);
    let results = log.events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some((result.background, result.exit_code)),
        _ => None,
    });
    let results: Vec<_> = results.collect();
    assert_eq!(results, [(Some(true), None), (Some(false), Some(2))]);
    let works_in = log.events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => start.cwd.clone(),
        _ => None,
    });
    assert_eq!(works_in.as_deref(), Some("/w"));
}
