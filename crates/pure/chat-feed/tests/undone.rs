//! Turns that the user went back behind: they stay in the feed and say so, wherever and whenever that is told.

use chat_event::ChatEvent;
use chat_feed::arrangement::{Arrangement, Mode, Row, Verbosity};
use chat_feed::panel::{Scope, agents, files, plan, statistics, timeline};
use chat_feed::playback::Moment;
use chat_feed::projections::trace::Verbosity as TraceVerbosity;
use chat_feed::projections::{
    to_claude_prompt, to_markdown, to_openai_messages, to_session_summary, to_tool_trace,
};
use chat_feed::{BlockBody, ChatRenderer, Feed, FeedPatch, TurnIdx, Undone};
use serde_json::{Value, json};

mod plans;
mod rows;

/// Events a second apart: `(type, turn, payload)`.
type Line = (&'static str, &'static str, Value);

fn log(lines: &[Line]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, turn, payload)): (usize, &Line)| {
        let mut line = json!({"id": format!("e{nth}"), "seq": nth + 1, "timestamp": 1_000 * (nth + 1), "sessionId": "s",
            "type": kind, "payload": payload});
        if !turn.is_empty() {
            line["turnId"] = json!(turn);
        }
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

/// A turn with a prompt, a call, what that changed, and an answer.
fn turn(id: &'static str) -> Vec<Line> {
    let path = format!("{id}.rs");
    vec![
        ("turn_start", id, json!({"trigger": "user"})),
        ("user_message", id, json!({"text": format!("Ask {id}")})),
        (
            "tool_call",
            id,
            json!({"toolCallId": id, "toolName": "Bash", "args": {"command": "make"}}),
        ),
        (
            "file_edit",
            id,
            json!({"toolCallId": id, "filePath": path, "changeType": "modified", "linesAdded": 2, "diffPreview": "+a\n+b"}),
        ),
        (
            "tool_result",
            id,
            json!({"toolCallId": id, "result": "made"}),
        ),
        ("assistant_done", id, json!({"text": format!("Done {id}.")})),
        ("turn_end", id, json!({"outcome": "completed"})),
    ]
}

fn turns(ids: &[&'static str]) -> Vec<Line> {
    ids.iter().flat_map(|id| turn(id)).collect()
}

/// A notice that tells of it, as the normalizers do.
fn set_back(members: Value) -> Line {
    let mut payload = json!({"level": "info", "source": "branch", "text": "the user went back"});
    let members = members.as_object().unwrap().clone();
    payload.as_object_mut().unwrap().extend(members);
    ("notice", "", payload)
}

fn left(ids: &[&str]) -> Line {
    set_back(json!({"leftTurnIds": ids}))
}

/// That the session goes forward to them again.
fn again(ids: &[&str]) -> Line {
    set_back(json!({"againTurnIds": ids}))
}

/// That an event is taken back.
fn retracted(nth: usize) -> Line {
    ("retract", "", json!({"eventIds": [format!("e{nth}")]}))
}

/// Two turns, the second of which is left, and a third.
fn gone_back() -> Vec<Line> {
    [turns(&["t1", "t2"]), vec![left(&["t2"])], turn("t3")].concat()
}

/// A prompt, with which a turn begins.
fn asks(turn: &'static str) -> Line {
    ("user_message", turn, json!({"text": turn}))
}

/// Where a turn stands among all.
fn turn_idx(feed: &Feed, id: &str) -> TurnIdx {
    let mut ids = feed.turns().iter().map(|turn| turn.id.as_deref());
    TurnIdx(u32::try_from(ids.position(|it| it == Some(id)).unwrap()).unwrap())
}

fn rendered(lines: &[Line]) -> ChatRenderer {
    let mut renderer = ChatRenderer::with_history();
    for event in &log(lines) {
        renderer.render_event(event);
        assert_eq!(renderer.check(), Ok(()));
    }
    renderer
}

/// The ids of the turns that are undone.
fn undone(feed: &Feed) -> Vec<&str> {
    let turns = feed.turns().iter().filter(|turn| turn.is_undone());
    turns.filter_map(|turn| turn.id.as_deref()).collect()
}

fn arranged(renderer: &ChatRenderer, mode: Mode) -> Arrangement {
    let mut arrangement = Arrangement::new(mode);
    let feed = renderer.feed();
    let insert = |block: &chat_feed::Block| FeedPatch::Insert {
        block: block.id,
        after: feed.prev(block.id),
    };
    let patches: Vec<FeedPatch> = feed.rows().map(insert).collect();
    arrangement.apply(feed, &patches, &mut Vec::new());
    arrangement
}

#[test]
fn turns_are_undone_whenever_that_is_told_and_stand_again_where_it_is() {
    let three = turns(&["t1", "t2", "t3"]);
    let after = |more: &[Line]| rendered(&[&three[..], more].concat());
    let is = |more: &[Line]| undone(after(more).feed()).join(" ");
    assert_eq!(is(&[]), "");
    assert_eq!(is(&[left(&["t2", "t3"])]), "t2 t3");
    assert_eq!(is(&[left(&["t3"]), left(&["t3", "t3"])]), "t3");
    assert_eq!(is(&[left(&["t9"])]), "", "a turn that is not here");
    // It comes to the turns that it names, also where they come behind it.
    let before = rendered(&[&[left(&["t2"])], &three[..]].concat());
    assert_eq!(undone(before.feed()), ["t2"]);
    // The session goes forward again.
    assert_eq!(is(&[left(&["t2", "t3"]), again(&["t3"])]), "t2");
    let both = set_back(json!({"leftTurnIds": ["t3"], "againTurnIds": ["t2"]}));
    assert_eq!(is(&[left(&["t2", "t3"]), both]), "t3");
    assert_eq!(is(&[left(&["t2"]), again(&["t2"]), left(&["t2"])]), "t2");
    // What comes late to such a turn changes nothing of it.
    let late = ("assistant_done", "t3", json!({"text": "Late."}));
    assert_eq!(is(&[left(&["t3"]), late]), "t3");
    // Nobody goes back behind what is cleared.
    let cleared = set_back(json!({"leftTurnIds": ["t1", "t2", "t3"], "cleared": true}));
    assert_eq!(is(&[left(&["t3"]), cleared.clone()]), "t3");
    let lines = [&three[..], &[cleared]].concat();
    assert_eq!(to_session_summary(&log(&lines)).undone_turns, 0);
    assert!(!to_markdown(&log(&lines)).contains("undone"));
    // Nor does what is no list of ids.
    assert_eq!(is(&[set_back(json!({"leftTurnIds": "t3"}))]), "");
    // The source takes it back.
    assert_eq!(is(&[left(&["t2", "t3"]), retracted(three.len())]), "");
    let last = [left(&["t2", "t3"]), left(&["t3"]), retracted(three.len())];
    assert_eq!(is(&last), "t3", "another one says so, too");
}

#[test]
fn a_turn_says_which_row_undid_it_and_whether_files_were_put_back() {
    let told = set_back(json!({"leftTurnIds": ["t1"], "filesRestored": true}));
    let renderer = rendered(&[turn("t1"), vec![told, left(&["t9"])], turn("t9")].concat());
    let feed = renderer.feed();
    let mut notices = feed
        .rows()
        .filter(|row| matches!(row.body, BlockBody::Notice { .. }));
    let by = |files_restored| {
        let by = notices.next().unwrap().id;
        Some(Undone { by, files_restored })
    };
    let wanted = [true, false].map(by);
    let undone = |id: &str| feed.turn(turn_idx(feed, id)).undone;
    assert_eq!([undone("t1"), undone("t9")], wanted);
}

#[test]
fn files_count_on_unless_the_agent_put_them_back() {
    let told = |members: Value| {
        let lines = [turns(&["t1", "t2"]), vec![set_back(members)]].concat();
        let renderer = rendered(&lines);
        let feed = renderer.feed();
        let changed = files(feed, Scope::Session);
        let figures = statistics(feed);
        let summary = to_session_summary(&log(&lines));
        assert_eq!(figures.files_changed as u64, summary.files_changed);
        assert_eq!(figures.lines_added, summary.lines_added);
        let n_undone = figures.turns.iter().filter(|turn| turn.undone).count();
        assert_eq!(n_undone as u64, summary.undone_turns);
        let of_bars = timeline(feed).bars.iter().filter(|bar| bar.undone).count();
        assert_eq!(of_bars, n_undone);
        // Of the turn itself it is told what it did.
        let second = Scope::Turn(turn_idx(feed, "t2"));
        assert_eq!(files(feed, second).files.len(), 1);
        let files = changed.files.iter();
        let files: Vec<_> = files
            .map(|file| (file.path.clone(), file.n_undone))
            .collect();
        (files, changed.n_put_back, summary.undone_turns)
    };
    let path = |turn: &str| format!("{turn}.rs");
    assert_eq!(
        told(json!({"leftTurnIds": ["t2"]})),
        (vec![(path("t1"), 0), (path("t2"), 1)], 0, 1)
    );
    assert_eq!(
        told(json!({"leftTurnIds": ["t2"], "filesRestored": true})),
        (vec![(path("t1"), 0)], 1, 1)
    );
    assert_eq!(
        told(json!({"againTurnIds": ["t2"], "filesRestored": true})),
        (vec![(path("t1"), 0), (path("t2"), 0)], 0, 0)
    );
}

#[test]
fn agents_and_failures_of_it_are_told_as_such() {
    let work = |turn: &'static str| {
        let call = |id: String, name: &str| {
            let payload =
                json!({"toolCallId": id, "toolName": name, "args": {"description": turn}});
            ("tool_call", turn, payload)
        };
        let failed = json!({"toolCallId": turn, "error": {"message": "no"}});
        [
            asks(turn),
            call(format!("agent of {turn}"), "Task"),
            call(turn.to_owned(), "Bash"),
            ("tool_result", turn, failed),
        ]
    };
    let lines = [&work("t1")[..], &work("t2"), &[left(&["t2"])]].concat();
    let renderer = rendered(&lines);
    let of_agents: Vec<bool> = agents(renderer.feed()).iter().map(|it| it.undone).collect();
    assert_eq!(of_agents, [false, true]);
    let failures = statistics(renderer.feed()).failures;
    let of_failures: Vec<bool> = failures.iter().map(|it| it.undone).collect();
    assert_eq!(of_failures, [true, false], "the newest first");
}

#[test]
fn a_model_is_told_nothing_of_what_was_left() {
    let compacted = (
        "compaction",
        "t2",
        json!({"trigger": "auto", "summary": "So far"}),
    );
    let said = |lines: &[Line]| {
        let events = log(lines);
        let messages = serde_json::to_string(&to_openai_messages(&events)).unwrap();
        let prompt = to_claude_prompt(&events);
        let is_in = |word: &str| {
            assert_eq!(
                messages.contains(word),
                prompt.contains(word),
                "{word}: {messages} {prompt}"
            );
            messages.contains(word)
        };
        let words = ["Ask t1", "Ask t2", "Done t2.", "Ask t3", "So far"];
        words
            .into_iter()
            .filter(|word| is_in(word))
            .collect::<Vec<_>>()
    };
    let two = turns(&["t1", "t2"]);
    let gone = gone_back();
    assert_eq!(said(&gone), ["Ask t1", "Ask t3"]);
    let back = [&gone[..], &[again(&["t2"])]].concat();
    assert_eq!(said(&back), ["Ask t1", "Ask t2", "Done t2.", "Ask t3"]);
    let taken_back = [&gone[..], &[retracted(two.len())]].concat();
    assert_eq!(said(&taken_back), said(&back));
    let cleared = set_back(json!({"leftTurnIds": ["t1", "t2"], "cleared": true}));
    let anew = [&two[..], &[cleared], &turn("t3")].concat();
    assert_eq!(said(&anew), ["Ask t3"]);
    // What stands in for the beginning stays, for nothing else does.
    let shorter = [&two[..], &[compacted, left(&["t2"])], &turn("t3")].concat();
    assert_eq!(said(&shorter), ["Ask t3", "So far"]);
}

#[test]
fn a_transcript_and_a_trace_tell_of_it() {
    let events = log(&gone_back());
    let transcript = to_markdown(&events);
    let headings: Vec<&str> = transcript
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    assert_eq!(headings, ["## Turn 1", "## Turn 2, undone", "## Turn 3"]);
    assert!(transcript.contains("Done t2."), "nothing is left out of it");
    let trace = to_tool_trace(&events, TraceVerbosity::Normal);
    assert!(trace.contains("[INFO] the user went back\n"), "{trace}");
}
