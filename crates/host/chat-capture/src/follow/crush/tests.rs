//! The database of one project as it is written: `tests/crush` says what is in it.

use std::collections::BTreeSet;
use std::path::Path;

use chat_event::Payload;

use super::*;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crush");
    std::fs::read(folder.join(name)).unwrap()
}

/// The write-ahead log as it was after each change.
fn logs() -> Vec<Vec<u8>> {
    let log = fixture("crush.db-wal");
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let frame = 24 + number(8) as usize;
    let ends = (32..log.len()).step_by(frame);
    let ends = ends.filter(|at| number(at + 4) != 0);
    let logs = ends.map(|at| log[..at + frame].to_vec());
    std::iter::once(Vec::new()).chain(logs).collect()
}

/// The database with what its log holds written back to it.
fn written_back(log: &[u8]) -> Vec<u8> {
    let mut bytes = fixture("crush.db");
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap()) as usize;
    let page_bytes = number(8);
    for at in (32..log.len()).step_by(24 + page_bytes) {
        let begins = (number(at) - 1) * page_bytes;
        let ends = begins + page_bytes;
        bytes.resize(bytes.len().max(ends), 0);
        bytes[begins..ends].copy_from_slice(&log[at + 24..at + 24 + page_bytes]);
    }
    bytes
}

struct Project {
    dir: tempfile::TempDir,
    kept: BTreeMap<String, Told>,
    told: Vec<ChatEvent>,
}

impl Project {
    fn new() -> Project {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crush")).unwrap();
        let project = Project {
            dir,
            kept: BTreeMap::new(),
            told: Vec::new(),
        };
        std::fs::write(project.path(), fixture("crush.db")).unwrap();
        project
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(".crush/crush.db")
    }

    fn store(&self) -> Crush {
        let mut store = Crush::new(&self.path());
        store.look(i64::MIN, &self.kept).unwrap();
        store
    }

    fn write_log(&self, log: &[u8]) {
        std::fs::write(self.dir.path().join(".crush/crush.db-wal"), log).unwrap();
    }

    fn write(&self, database: &[u8]) {
        std::fs::write(self.path(), database).unwrap();
    }

    /// Reads all that is new.
    fn read(&mut self, store: &mut Crush) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        loop {
            let (more, news) = store.read(&self.kept).unwrap();
            for mut news in news {
                events.append(&mut news.events);
                self.kept.insert(news.session, news.told);
            }
            if !more {
                break;
            }
        }
        self.told.extend(events.iter().cloned());
        events
    }
}

/// What was told, without pieces, and what is told of a session as often as it changes.
fn whole(events: &[ChatEvent]) -> BTreeSet<String> {
    let is_whole = |event: &&ChatEvent| {
        !matches!(
            event.payload,
            Payload::AssistantChunk(_)
                | Payload::ThinkingChunk(_)
                | Payload::Usage(_)
                | Payload::SessionStart(_)
        )
    };
    let line = |event: &ChatEvent| {
        let mut value: serde_json::Value = serde_json::from_str(&event.to_line()).unwrap();
        value["timestamp"].take();
        value.to_string()
    };
    events.iter().filter(is_whole).map(line).collect()
}

fn assert_once(events: &[ChatEvent]) {
    let mut ids = BTreeSet::new();
    for event in events {
        assert!(ids.insert(&event.id), "{} was told twice", event.id);
    }
}

fn at_once() -> Vec<ChatEvent> {
    let mut project = Project::new();
    project.write_log(&fixture("crush.db-wal"));
    let mut store = project.store();
    assert_eq!(store.n_sessions(), (1, 1));
    project.read(&mut store);
    project.told
}

#[test]
fn what_is_written_on_is_told_once_as_it_comes() {
    let mut project = Project::new();
    let mut store = project.store();
    let mut pieces = Vec::new();
    for log in logs() {
        project.write_log(&log);
        for event in project.read(&mut store) {
            if let Payload::AssistantChunk(chunk) = event.payload {
                pieces.push(chunk.text);
            }
        }
    }
    assert_eq!(pieces[..2], ["I pu", "sh it"]);
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn who_begins_anew_at_any_change_tells_what_is_new_and_nothing_twice() {
    let mut project = Project::new();
    for log in logs() {
        project.write_log(&log);
        let mut store = project.store();
        project.read(&mut store);
        // And when nothing changed.
        let mut store = project.store();
        assert_eq!(project.read(&mut store), []);
    }
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn rows_that_are_gone_and_come_again_are_not_told_twice() {
    let mut project = Project::new();
    let mut store = project.store();
    let logs = logs();
    for at in [0, 3, 5, 2, 9, 4, 12, 1, logs.len() - 1] {
        project.write_log(&logs[at]);
        project.read(&mut store);
    }
    // A session's row is told as often as it is another than before.
    let is_usage = |event: &ChatEvent| matches!(event.payload, Payload::Usage(_));
    project.told.retain(|event| !is_usage(event));
    assert_once(&project.told);
}

#[test]
fn what_was_read_is_told_though_a_session_behind_it_cannot_be() {
    let mut project = Project::new();
    let logs = logs();
    let mut store = project.store();
    project.write(&written_back(&logs[3]));
    project.read(&mut store);
    // The answer grew, and no index can be read.
    let mut damaged = written_back(&logs[4]);
    let page_bytes = usize::from(u16::from_be_bytes([damaged[16], damaged[17]]));
    for at in (0..damaged.len()).step_by(page_bytes).skip(1) {
        if [2, 10].contains(&damaged[at]) {
            damaged[at] = 0;
        }
    }
    project.write(&damaged);
    store.enqueue("another".to_owned(), &project.kept);
    let (more, mut news) = store.read(&project.kept).unwrap();
    assert!(more);
    project.told.append(&mut news[0].events);
    assert_eq!(news[0].told, store.loaded[&news[0].session].reading.told);
    let why = store.read(&project.kept).unwrap_err().to_string();
    assert!(why.contains("session another"), "{why}");
    assert!(store.waiting().has("another"));
    // It waits, and the others go on.
    project.write(&written_back(logs.last().unwrap()));
    project.read(&mut store);
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn a_message_that_has_the_number_of_one_that_was_deleted_is_told() {
    for is_started_anew in [false, true] {
        let mut project = Project::new();
        let logs = logs();
        let mut store = project.store();
        project.write(&written_back(&logs[1]));
        project.read(&mut store);
        // What was told last was another message.
        let (session, told) = project.kept.iter_mut().next().unwrap();
        let last = told.seqs[session];
        assert!(told.marks["last"].starts_with(&format!("{last} ")));
        told.marks.insert("last".to_owned(), format!("{last} gone"));
        if is_started_anew {
            store = project.store();
        } else {
            store.last = Some((last, "gone".to_owned()));
            store.seen = None;
        }
        let again = project.read(&mut store);
        let is_user = |event: &ChatEvent| matches!(event.payload, Payload::UserMessage(_));
        assert_eq!(again.iter().filter(|event| is_user(event)).count(), 1);
        assert_eq!(project.read(&mut store), []);
    }
}

#[test]
fn all_that_was_told_is_told_anew_to_who_compares_it() {
    let mut project = Project::new();
    project.write_log(&fixture("crush.db-wal"));
    let mut store = project.store();
    project.read(&mut store);
    let mut anew = Vec::new();
    for (session, told) in &project.kept {
        store
            .tell_anew(session, told, &mut |event| anew.push(event))
            .unwrap();
    }
    assert_eq!(whole(&anew), whole(&project.told));
}

#[test]
fn a_sub_agents_work_stands_within_its_call_and_the_title_comes_from_its_row() {
    let told = at_once();
    let parent = |text: &str| {
        let says = |event: &&ChatEvent| matches!(&event.payload, Payload::AssistantDone(it) if it.text == text);
        told.iter().find(says).unwrap().parent_tool_call_id.clone()
    };
    assert_eq!(parent("It wants a comma.").as_deref(), Some("toolu_07"));
    assert_eq!(parent("The greeting is polite now."), None);
    let begins = told.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.title.clone(), start.cwd.clone())),
        _ => None,
    });
    let (title, cwd) = begins.unwrap();
    assert_eq!(title.as_deref(), Some("Polite greeting"));
    assert!(cwd.is_some());
}

#[test]
fn an_end_that_was_told_is_not_told_again_when_it_goes_on() {
    let mut project = Project::new();
    let logs = logs();
    // In the middle of an answer.
    project.write_log(&logs[3]);
    let mut store = project.store();
    project.read(&mut store);
    let rests = RestsMs {
        long: -i64::MAX,
        rest: -i64::MAX,
        quiet: 0,
        are_left: true,
    };
    let (ended, away) = store.settle(rests, 10);
    assert_eq!(away.len(), 1);
    for mut news in ended {
        project.told.append(&mut news.events);
        project.kept.insert(news.session, news.told);
    }
    assert!(matches!(
        project.told.last().unwrap().payload,
        Payload::SessionEnd(_)
    ));
    // Nothing of it is held until it goes on.
    let mut store = project.store();
    assert_eq!(project.read(&mut store), []);
    assert!(!store.holds_any());
    for log in &logs[3..] {
        project.write_log(log);
        project.read(&mut store);
    }
    assert_once(&project.told);
    let is_rejected = |event: &&ChatEvent| matches!(&event.payload, Payload::ToolResult(it) if it.tool_call_id == "toolu_11");
    assert_eq!(project.told.iter().filter(is_rejected).count(), 1);
}

#[test]
fn a_database_of_another_kind_is_named() {
    let project = Project::new();
    let mut bytes = fixture("crush.db");
    let name = b"    parts TEXT";
    let at = bytes.windows(name.len()).position(|it| it == name).unwrap();
    bytes[at..at + name.len()].copy_from_slice(b"    pieces TEX");
    std::fs::write(project.path(), bytes).unwrap();
    let mut store = Crush::new(&project.path());
    let why = store.look(0, &BTreeMap::new()).unwrap_err();
    let why = why.to_string();
    assert!(why.contains("messages has no column parts"), "{why}");
}

fn answer(rowid: i64, session: &str, parts: rows::Parts) -> rows::Message {
    let id = format!("m{rowid}");
    let columns = serde_json::json!({"id": id, "session_id": session, "role": "assistant", "created_at": 1_796_032_800});
    rows::Message {
        rowid,
        id,
        session: session.to_owned(),
        role: "assistant".to_owned(),
        columns: columns.as_object().unwrap().clone(),
        parts,
    }
}

fn says(text: &str) -> rows::Parts {
    rows::Parts::Text(format!(r#"[{{"type":"text","data":{{"text":"{text}"}}}}]"#))
}

#[test]
fn an_answer_that_grows_longer_than_is_read_is_named_once() {
    let mut talk = Talk::new(Told::default(), None);
    let mut events = Vec::new();
    talk.message(&answer(1, "s", says("I")), &mut events);
    events.clear();
    for bytes in [17_000_000, 18_000_000] {
        talk.message(&answer(1, "s", rows::Parts::Long(bytes)), &mut events);
    }
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(matches!(&event.payload, Payload::Notice(it) if it.text.contains("17000000 bytes")));
    assert_eq!(talk.growing().count(), 0);
}

#[test]
fn of_many_agents_at_once_those_that_began_last_are_looked_at() {
    let mut talk = Talk::new(Told::default(), None);
    let mut events = Vec::new();
    let calls = (2..=100).map(|n| {
        serde_json::json!({"type": "tool_call", "data": {"id": format!("c{n}"), "name": "agent", "input": "{}"}})
    });
    let calls = serde_json::Value::from_iter(calls).to_string();
    talk.message(&answer(1, "s", rows::Parts::Text(calls)), &mut events);
    for rowid in 2..=100 {
        let session = format!("m1$$c{rowid}");
        talk.message(&answer(rowid, &session, says("I")), &mut events);
    }
    let growing: BTreeSet<i64> = talk.growing().collect();
    let wanted: BTreeSet<i64> = std::iter::once(1).chain(38..=100).collect();
    assert_eq!(growing, wanted);
    let marks = talk.reading.told.marks.keys();
    assert_eq!(marks.filter(|id| talk::is_of_message(id)).count(), 64);
    events.clear();
    talk.message(&answer(100, "m1$$c100", says("I see")), &mut events);
    let goes_on = |event: &ChatEvent| matches!(&event.payload, Payload::AssistantChunk(it) if it.text == " see");
    assert!(events.iter().any(goes_on), "{events:?}");
}
