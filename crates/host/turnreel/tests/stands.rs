//! How a session stands: the list, the feed's head, the panel, the connection, the summary and the trace say the same of each
//! moment.

mod waits;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support;
use crate::support::dice::Dice;
use chat_event::payload::{
    AssistantChunk, ErrorEvent, Interrupt, Notice, PermissionRequest, PermissionResolved,
    QuestionRequest, QuestionResolved, Retract, SessionEnd, SessionStart, SessionStatus, ToolCall,
    ToolError, ToolInputChunk, ToolResult, TurnEnd, TurnStart, UserMessage,
};
use chat_event::{ChatEvent, Json, Payload, SetBack};
use chat_feed::panel::statistics;
use chat_feed::projections::trace::{ToolTrace, Verbosity};
use chat_feed::projections::{SessionOutcome, SessionSummarizer};
use chat_feed::{BlockBody, ChatRenderer, TurnState};
use chat_normalize::{Context, SessionReader};
use chat_store::{Options, Session, SessionId, Store, Summary, SyncPolicy};

/// When a file is read that says nothing of when its events came.
const LONG_AFTER_MS: i64 = 4_102_444_800_000;

/// The recordings, where they are, and the stories.
fn recordings() -> Vec<PathBuf> {
    let entries = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stories = here.join("../../../tests/sessions");
    let folders = support::shared("recordings").into_iter().chain([stories]);
    let files = folders
        .flat_map(entries)
        .flat_map(entries)
        .chain(entries(here.join("tests/recordings")));
    let files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    assert!(files.len() > 20, "{files:?}");
    files
}

fn events_of(bytes: &[u8]) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let read = reader
        .push(bytes, 1, &mut events)
        .and_then(|()| reader.finish(1, &mut events));
    match read {
        Ok(()) => events,
        Err(_) => Vec::new(),
    }
}

/// All who say how one session stands.
struct Everywhere {
    list: Arc<Session>,
    feed: ChatRenderer,
    summary: SessionSummarizer,
    trace: ToolTrace,
    said: String,
    _store: (Store, tempfile::TempDir),
}

impl Everywhere {
    fn of(session_id: &str) -> Everywhere {
        let id = SessionId::parse(session_id).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            sync: SyncPolicy::Never,
            ..Options::default()
        };
        let store = Store::open(dir.path(), options).unwrap();
        Everywhere {
            list: store.session_or_new(&id).unwrap(),
            feed: ChatRenderer::new(),
            summary: SessionSummarizer::new(),
            trace: ToolTrace::new(Verbosity::Normal),
            said: String::new(),
            _store: (store, dir),
        }
    }

    /// Takes the next event, and holds them against one another.
    fn take(&mut self, event: &ChatEvent, what: &dyn std::fmt::Display) {
        self.feed.render_event(event);
        self.summary.push(event);
        self.trace.push(event, &mut Vec::new());
        let recv_ms = event.recv.unwrap_or(LONG_AFTER_MS);
        self.list
            .append(vec![event.clone()], false, recv_ms)
            .unwrap();
        let row = self.list.summary();
        let (status, outcome) = (row.status.as_str(), row.outcome.as_deref());
        let kind = event.payload.event_type();
        let at = format!(
            "{what}: after a {kind} {:?}: {status} {outcome:?}",
            event.id
        );

        let session = self.feed.feed().session();
        let head = session.outcome.map(word);
        assert_eq!(session.status.as_deref().unwrap_or("idle"), status, "{at}");
        assert_eq!(head, outcome, "{at}");
        assert_eq!(session.ended.is_some(), status == "ended", "{at}");
        self.hold_what_is_open(&row, &at);
        let works = matches!(status, "busy" | "retrying");
        if let Some(newest) = self.feed.newest_turn() {
            let state = newest.state;
            assert_eq!(state, session.outcome.unwrap_or(TurnState::Running), "{at}");
        }
        // What is shown of all that runs costs as much as the session is long: that it says the same between changes follows.
        let said = format!("{status} {outcome:?}");
        if said == self.said {
            return;
        }
        self.said = said;
        if let Some(newest) = self.feed.newest_turn().filter(|turn| turn.number > 0) {
            let panel = statistics(self.feed.feed());
            let of_newest = panel.turns.iter().find(|turn| turn.number == newest.number);
            let runs = works && newest.state == TurnState::Running;
            assert_eq!(of_newest.unwrap().runs, runs, "{at}");
        }
        let summary = match self.summary.summary().outcome {
            Some(SessionOutcome::Running) | None => None,
            Some(SessionOutcome::Completed) => Some("completed"),
            Some(SessionOutcome::Interrupted) => Some("interrupted"),
            Some(SessionOutcome::Failed) => Some("failed"),
        };
        assert_eq!(summary, outcome, "{at}");
        let running = self.trace.running();
        if works {
            assert!(!running.is_empty(), "{at}");
        }
        if status == "ended" {
            assert_eq!(running, [], "{at}");
        }
    }
}

impl Everywhere {
    /// What waits and what runs now, and since when: in proportion to what is open.
    fn hold_what_is_open(&self, row: &Summary, at: &str) {
        let feed = self.feed.feed();
        let first = self.feed.asks_that_wait().min();
        assert_eq!(row.asks, self.feed.waiting_asks(), "asks, {at}");
        let since_ms = first.map(|first| feed.block(first).at_ms);
        let told = row.ask.as_ref().map(|ask| ask.since_ms);
        assert_eq!(told, since_ms, "the first ask, {at}");
        let calls = self.feed.calls_that_run();
        let calls = calls.filter_map(|id| match &feed.block(id).body {
            // One that is still being written, or of which only a sub-agent was heard, does nothing yet.
            BlockBody::ToolCall(call) if feed.contains(id) && call.args_event.is_some() => {
                Some((id, (&*call.tool_name, call.runs_since_ms())))
            }
            _ => None,
        });
        let newest = calls.max_by_key(|(id, _)| *id).map(|(_, call)| call);
        let told = row.doing.as_ref();
        let told = told.map(|doing| (&*doing.tool, doing.since_ms));
        assert_eq!(told, newest, "what runs, {at}");
    }
}

fn word(state: TurnState) -> &'static str {
    match state {
        TurnState::Running => "running",
        TurnState::Completed => "completed",
        TurnState::Interrupted => "interrupted",
        TurnState::Failed => "failed",
    }
}

/// Each session of these events, event by event.
fn hold(events: &[ChatEvent], what: &dyn std::fmt::Display) {
    let Some(first) = events.first() else {
        return;
    };
    let mut everywhere = Everywhere::of(&first.session_id);
    let own = events.iter();
    for event in own.filter(|event| event.session_id == first.session_id && !event.is_control()) {
        everywhere.take(event, what);
    }
}

#[test]
fn all_say_the_same_of_each_moment() {
    for path in recordings() {
        let events = events_of(&std::fs::read(&path).unwrap());
        hold(&events, &path.display());
        // Without what says so outright, the turns decide.
        let mut turns = events;
        turns.retain(|event| {
            !matches!(
                event.payload,
                Payload::TurnStart(_) | Payload::SessionStatus(_) | Payload::SessionEnd(_)
            )
        });
        hold(&turns, &path.display());
    }
}

/// What was told by one source is told again behind its end by another, as where a transcript is read that a pipe told before.
#[test]
fn all_say_the_same_where_it_is_told_again() {
    for path in recordings() {
        let mut events = events_of(&std::fs::read(&path).unwrap());
        let mut again = events.clone();
        for event in &mut again {
            event.id.push_str(":again");
        }
        events.append(&mut again);
        let mut now_ms = 1;
        for event in &mut events {
            now_ms = now_ms.max(event.timestamp.unwrap_or_default());
            event.recv = Some(now_ms);
        }
        hold(&events, &path.display());
    }
}

/// Sessions that no agent would write: turns side by side, sub-agents of their own, clocks that go back, and requests that are
/// told late, twice, by two sources, and answered before they are asked.
#[test]
fn all_say_the_same_of_whatever_is_told() {
    let mut dice = Dice::new(11);
    for round in 0..1000 {
        let mut everywhere = Everywhere::of("s1");
        for nth in 0..dice.between(1, 40) {
            let payload = match dice.between(0, 2) {
                0 => of_a_turn(&mut dice),
                _ => of_what_is_open(&mut dice),
            };
            let at_ms = dice.between(1, 30) as i64;
            let mut event = ChatEvent::new(format!("e{nth}"), at_ms, "s1", payload);
            event.recv = Some(dice.between(20, 30) as i64).filter(|_| round % 2 == 0);
            let named = dice.between(0, 4) > 0;
            event.turn_id = named.then(|| format!("t{}", dice.between(0, 4)));
            if dice.between(0, 6) == 0 {
                event.parent_tool_call_id = Some(format!("c{}", dice.between(0, 3)));
            }
            // No source takes back a piece of a call that is still being written, nor what a sub-agent said first.
            let is_piece = matches!(event.payload, Payload::ToolInputChunk(_));
            if is_piece || event.parent_tool_call_id.is_some() {
                event.id.insert(0, 'n');
            }
            everywhere.take(&event, &round);
        }
    }
}

/// What begins, ends or tells of turns and sessions.
fn of_a_turn(dice: &mut Dice) -> Payload {
    let outcome = ["completed", "interrupted", "failed"][dice.between(0, 3) as usize];
    let status = ["busy", "idle", "retrying"][dice.between(0, 3) as usize];
    match dice.between(0, 14) {
        0 | 1 => TurnStart::default().into(),
        2 | 3 => UserMessage::default().into(),
        4 | 5 => AssistantChunk {
            text: "Hi".into(),
            ..AssistantChunk::default()
        }
        .into(),
        6 | 7 => {
            let mut end = TurnEnd {
                outcome: Some(outcome.to_owned()).filter(|_| dice.between(0, 2) == 0),
                ..TurnEnd::default()
            };
            if dice.between(0, 3) == 0 {
                end.extra.insert("guessed", serde_json::json!(true).into());
            }
            end.into()
        }
        8 => Interrupt::default().into(),
        9 => ErrorEvent::default().into(),
        10 => SessionEnd::default().into(),
        11 => SessionStart::default().into(),
        12 => set_back(SetBack {
            left: vec![format!("t{}", dice.between(0, 4))],
            cleared: dice.between(0, 3) == 0,
            ..SetBack::default()
        }),
        _ => SessionStatus {
            status: status.to_owned(),
            ..SessionStatus::default()
        }
        .into(),
    }
}

/// Calls and requests, their results and answers, and that something is taken back.
fn of_what_is_open(dice: &mut Dice) -> Payload {
    let call_id = format!("c{}", dice.between(0, 4));
    let request_id = format!("r{}", dice.between(0, 4));
    let tool_name = format!("tool {}", dice.between(0, 2));
    let asked_for = Some(call_id.clone()).filter(|_| dice.between(0, 2) == 0);
    let answerable = Some(dice.between(0, 2) == 0).filter(|_| dice.between(0, 3) > 0);
    match dice.between(0, 15) {
        0..=2 => ToolCall {
            tool_call_id: call_id,
            tool_name,
            ..ToolCall::default()
        }
        .into(),
        3 => ToolInputChunk {
            tool_call_id: call_id,
            ..ToolInputChunk::default()
        }
        .into(),
        4..=6 => {
            let code = [None, Some("no_result"), Some("interrupted"), Some("failed")];
            let code = code[dice.between(0, 4) as usize].filter(|_| dice.between(0, 2) == 0);
            let said = [Json::default(), Json::string(""), Json::string("Done")];
            ToolResult {
                tool_call_id: call_id,
                result: said[dice.between(0, 3) as usize].clone(),
                background: Some(dice.between(0, 2) == 0).filter(|_| dice.between(0, 2) == 0),
                error: code.map(|code| ToolError {
                    code: Some(code.to_owned()),
                    ..ToolError::default()
                }),
                ..ToolResult::default()
            }
            .into()
        }
        7..=9 => PermissionRequest {
            request_id,
            tool_call_id: asked_for,
            tool_name,
            answerable,
            ..PermissionRequest::default()
        }
        .into(),
        10 => QuestionRequest {
            request_id,
            tool_call_id: asked_for,
            answerable,
            ..QuestionRequest::default()
        }
        .into(),
        11 | 12 => PermissionResolved {
            request_id,
            decision: ["allow", "deny"][dice.between(0, 2) as usize].to_owned(),
            ..PermissionResolved::default()
        }
        .into(),
        13 => QuestionResolved {
            request_id,
            ..QuestionResolved::default()
        }
        .into(),
        _ => Retract {
            event_ids: vec![format!("e{}", dice.between(0, 40))],
            ..Retract::default()
        }
        .into(),
    }
}

/// The notice that says it.
fn set_back(told: SetBack) -> Payload {
    let mut notice = Notice::default();
    told.write(&mut notice.extra);
    notice.into()
}

/// Who went back behind a turn whose end nobody told waits for nothing of it, and answers nothing that was asked in it.
#[test]
fn all_say_the_same_of_a_turn_that_was_left() {
    let event = |nth: usize, turn: &str, payload: Payload| {
        let mut event = ChatEvent::new(format!("e{nth}"), nth as i64, "s1", payload);
        event.turn_id = Some(turn.to_owned()).filter(|it| !it.is_empty());
        event
    };
    let begun = || -> Vec<(&str, Payload)> {
        let call = ToolCall {
            tool_call_id: "c".to_owned(),
            ..ToolCall::default()
        };
        let permission = PermissionRequest {
            request_id: "p".to_owned(),
            tool_call_id: Some("c".to_owned()),
            ..PermissionRequest::default()
        };
        let question = QuestionRequest {
            request_id: "q".to_owned(),
            ..QuestionRequest::default()
        };
        // As a hook asks that runs beside the session.
        let of_no_turn = PermissionRequest {
            request_id: "hook".to_owned(),
            tool_name: "hook".to_owned(),
            ..PermissionRequest::default()
        };
        vec![
            ("t1", UserMessage::default().into()),
            ("t1", AssistantChunk::default().into()),
            ("t1", TurnEnd::default().into()),
            ("t2", UserMessage::default().into()),
            ("t2", call.into()),
            ("t2", permission.into()),
            ("t2", question.into()),
            ("", of_no_turn.into()),
        ]
    };
    let after = |told: SetBack, more: Vec<(&str, Payload)>| {
        let what = format!("{told:?}");
        let mut everywhere = Everywhere::of("s1");
        let told = std::iter::once(("", set_back(told)));
        let events = begun().into_iter().chain(told).chain(more);
        for (nth, (turn, payload)) in events.enumerate() {
            everywhere.take(&event(nth, turn, payload), &what);
            assert_eq!(everywhere.feed.check(), Ok(()), "{what}");
            let row = everywhere.list.summary();
            assert_eq!(row.asks, everywhere.feed.waiting_asks(), "{what}");
        }
        let row = everywhere.list.summary();
        let runs = row.doing.is_some();
        (row.asks, runs, row.status.clone(), row.outcome.clone())
    };
    let left = |turns: &[&str]| SetBack {
        left: turns.iter().map(|it| (*it).to_owned()).collect(),
        ..SetBack::default()
    };
    let stands = |asks: usize, runs: bool, status: &str, outcome: Option<&str>| {
        (asks, runs, status.to_owned(), outcome.map(str::to_owned))
    };
    let stopped = stands(1, false, "idle", Some("interrupted"));
    assert_eq!(after(left(&["t2"]), vec![]), stopped);
    assert_eq!(after(left(&["t1", "t2"]), vec![]), stopped);
    // What stays goes on, and so does what a context that was made shorter left.
    let as_before = stands(3, true, "busy", None);
    assert_eq!(after(left(&["t1"]), vec![]), as_before);
    let cleared = SetBack {
        cleared: true,
        ..left(&["t2"])
    };
    assert_eq!(after(cleared, vec![]), as_before);
    // Its end may still be told, and the session goes on.
    let end: Payload = TurnEnd {
        outcome: Some("failed".to_owned()),
        ..TurnEnd::default()
    }
    .into();
    let failed = stands(1, false, "idle", Some("failed"));
    assert_eq!(after(left(&["t2"]), vec![("t2", end)]), failed);
    let next = vec![("t3", UserMessage::default().into())];
    assert_eq!(after(left(&["t2"]), next), stands(1, false, "busy", None));
}

/// What a sub-agent asks that was left to the background waits, whatever turn ends; and no longer than the sub-agent works.
#[test]
fn all_say_the_same_of_what_is_asked_in_the_background() {
    let event = |nth: usize, turn: &str, around: &str, payload: Payload| {
        let mut event = ChatEvent::new(format!("e{nth}"), nth as i64, "s1", payload);
        event.turn_id = Some(turn.to_owned());
        event.parent_tool_call_id = Some(around.to_owned()).filter(|it| !it.is_empty());
        event
    };
    let call = |id: &str| -> Payload {
        ToolCall {
            tool_call_id: id.to_owned(),
            ..ToolCall::default()
        }
        .into()
    };
    let result = |id: &str, background: Option<bool>| -> Payload {
        ToolResult {
            tool_call_id: id.to_owned(),
            result: chat_event::Json::string("It runs"),
            background,
            ..ToolResult::default()
        }
        .into()
    };
    let ask = |id: &str| -> Payload {
        PermissionRequest {
            request_id: id.to_owned(),
            tool_name: id.to_owned(),
            ..PermissionRequest::default()
        }
        .into()
    };
    let answer = |id: &str| -> Payload {
        PermissionResolved {
            request_id: id.to_owned(),
            ..PermissionResolved::default()
        }
        .into()
    };
    let end = || -> Payload { TurnEnd::default().into() };
    let stop = || -> Payload { Interrupt::default().into() };
    // A sub-agent in the background has one of its own, and that one asks.
    let begun = vec![
        ("t1", "", call("outer")),
        ("t1", "outer", call("inner")),
        ("t1", "inner", ask("before")),
        ("t1", "", result("outer", Some(true))),
        ("t1", "", call("plain")),
        ("t1", "plain", ask("of the turn")),
        ("t1", "", end()),
        ("t1", "inner", ask("behind")),
        ("t2", "", call("next")),
        ("t2", "", end()),
    ];
    let endings = [
        vec![("t1", "", answer("before")), ("t1", "", answer("behind"))],
        vec![("t1", "", result("outer", Some(false)))],
        vec![
            ("t1", "outer", result("inner", None)),
            ("t1", "", result("outer", Some(false))),
        ],
        vec![("t1", "inner", stop())],
        vec![("t1", "outer", stop())],
        vec![("t3", "", stop()), ("t3", "", SessionEnd::default().into())],
        // The sub-agent's own is left to the background as well, and goes on alone.
        vec![
            ("t1", "outer", result("inner", Some(true))),
            ("t1", "", result("outer", Some(false))),
            ("t1", "", result("inner", Some(false))),
        ],
    ];
    for ending in endings {
        let what = format!("{ending:?}");
        let mut everywhere = Everywhere::of("s1");
        let told = begun.iter().cloned().chain(ending);
        let mut most = 0;
        for (nth, (turn, around, payload)) in told.enumerate() {
            let event = event(nth, turn, around, payload);
            everywhere.take(&event, &what);
            let (asks, waiting) = (
                everywhere.list.summary().asks,
                everywhere.feed.waiting_asks(),
            );
            assert_eq!(asks, waiting, "{what}: after {event:?}");
            most = most.max(asks);
            if nth + 1 == begun.len() {
                assert_eq!(asks, 2, "{what}");
            }
        }
        assert_eq!((most, everywhere.list.summary().asks), (2, 0), "{what}");
    }
}

/// One file whose program's clock was an hour ahead, and was put right between two turns.
#[test]
fn of_one_source_the_newest_turn_is_the_one_that_came_last() {
    let line = |hour: u64, second: u64, nth: u64, kind: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"u{nth}","sessionId":"s1","timestamp":"2026-01-01T0{hour}:00:0{second}.000Z","message":{{"role":"{kind}","content":{content}}}}}"#
        )
    };
    let answer = r#"[{"type":"text","text":"Done"}]"#;
    let mut lines = vec![
        line(2, 1, 1, "user", r#""First""#),
        line(2, 2, 2, "assistant", answer),
        line(1, 3, 3, "user", r#""Second""#),
    ];
    let mut stands = Vec::new();
    for more in [None, Some(line(1, 4, 4, "assistant", answer))] {
        lines.extend(more);
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        let bytes = lines.join("\n") + "\n";
        reader.push(bytes.as_bytes(), 1, &mut events).unwrap();
        hold(&events, &"live");
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let newest = renderer.newest_turn().unwrap();
        stands.push((
            newest.number,
            newest.state,
            renderer.feed().session().works(),
        ));
        reader.finish(1, &mut events).unwrap();
        hold(&events, &"at its end");
        renderer.replay_events(&events);
        assert!(renderer.feed().session().ended.is_some(), "{events:#?}");
    }
    assert_eq!(stands, [(2, TurnState::Running, true); 2]);
}
