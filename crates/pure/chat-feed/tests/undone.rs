//! Turns that the user went back behind: they stay in the feed and say so, wherever and whenever that is told.

use chat_event::ChatEvent;
use chat_feed::arrangement::{Arrangement, Mode, Row, Verbosity};
use chat_feed::panel::{Scope, files, statistics, timeline};
use chat_feed::playback::Moment;
use chat_feed::projections::trace::Verbosity as TraceVerbosity;
use chat_feed::projections::{
    to_claude_prompt, to_markdown, to_openai_messages, to_session_summary, to_tool_trace,
};
use chat_feed::{BlockBody, ChatRenderer, Feed, FeedPatch, Undone};
use serde_json::{Value, json};

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

/// What the rows are, in a word each.
fn rows(arrangement: &Arrangement, feed: &Feed) -> Vec<String> {
    let word = |row| match row {
        Row::Work(turn) => format!("line of {}", feed.turn(turn).id.as_deref().unwrap_or("")),
        Row::Company(_) => "group".to_owned(),
        Row::Block(id) => match &feed.block(id).body {
            BlockBody::Prompt(_) => "prompt".to_owned(),
            BlockBody::Text(_) => "text".to_owned(),
            BlockBody::ToolCall(_) => "call".to_owned(),
            BlockBody::FileEdit(_) => "edit".to_owned(),
            BlockBody::Notice { .. } => "notice".to_owned(),
            BlockBody::Error { .. } => "error".to_owned(),
            BlockBody::TurnEnd(_) => "end".to_owned(),
            other => format!("{other:?}"),
        },
    };
    arrangement.shown(feed).map(word).collect()
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
    let again = |ids: &[&str]| set_back(json!({"againTurnIds": ids}));
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
    let retract = |nth: usize| ("retract", "", json!({"eventIds": [format!("e{nth}")]}));
    assert_eq!(is(&[left(&["t2", "t3"]), retract(three.len())]), "");
    let last = [left(&["t2", "t3"]), left(&["t3"]), retract(three.len())];
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
    let undone = |at: usize| feed.turns()[at].undone;
    let by = |files_restored| {
        let by = notices.next().unwrap().id;
        Some(Undone { by, files_restored })
    };
    let wanted = [true, false].map(by);
    let of_turn = |id: &str| {
        feed.turns()
            .iter()
            .position(|turn| turn.id.as_deref() == Some(id))
    };
    assert_eq!(undone(of_turn("t1").unwrap()), wanted[0]);
    assert_eq!(undone(of_turn("t9").unwrap()), wanted[1]);
}

#[test]
fn a_moment_before_the_user_went_back_shows_the_turn_as_it_was() {
    let lines = [turns(&["t1", "t2"]), vec![left(&["t2"])], turn("t3")].concat();
    let renderer = rendered(&lines);
    let set_back_at = u32::try_from(lines.len() - turn("t3").len()).unwrap();
    let mut moment = Moment::now(&renderer);
    let mut arrangement = arranged(&renderer, Mode::default());
    let mut go = |n_events: u32| {
        let mut patches = Vec::new();
        moment.seek(&renderer, n_events, &mut patches);
        arrangement.apply(moment.feed(), &patches, &mut Vec::new());
        let rows = rows(&arrangement, moment.feed());
        (undone(moment.feed()).join(" "), rows.join(", "))
    };
    let told = "prompt, line of t1, text, end, prompt, line of t2, ";
    for _ in 0..2 {
        let (ids, shown) = go(set_back_at - 1);
        assert_eq!((&*ids, shown), ("", format!("{told}text, end")));
        let (ids, shown) = go(set_back_at);
        assert_eq!((&*ids, shown), ("t2", format!("{told}notice")));
    }
}

#[test]
fn an_undone_turn_is_its_prompt_and_a_line_and_opens() {
    let mut lines = turn("t1");
    // What failed and what it took are part of it.
    lines.insert(5, ("error", "t1", json!({"code": "x", "message": "no"})));
    let events = log(&[lines, vec![left(&["t1"])]].concat());
    let (last, before) = events.split_last().unwrap();
    let mut renderer = ChatRenderer::new();
    let mut arrangement = Arrangement::new(Mode::default());
    let mut patches = Vec::new();
    for event in before {
        renderer.apply(event, &mut patches);
    }
    arrangement.apply(renderer.feed(), &patches, &mut Vec::new());
    let settled = ["prompt", "line of t1", "error", "text", "end"];
    assert_eq!(rows(&arrangement, renderer.feed()), settled);
    let mut patches = Vec::new();
    renderer.apply(last, &mut patches);
    let mut changes = Vec::new();
    arrangement.apply(renderer.feed(), &patches, &mut changes);
    let undone = ["prompt", "line of t1", "notice"];
    assert_eq!(rows(&arrangement, renderer.feed()), undone);
    // Each row that stays looks otherwise.
    let first = renderer.feed().rows().next().unwrap().turn;
    let prompt = renderer.feed().rows().next().unwrap().id;
    for row in [Row::Block(prompt), Row::Work(first)] {
        let id = arrangement.id_of(row).unwrap();
        let is_told = |change: &_| *change == chat_feed::arrangement::RowChange::Changed(id);
        assert!(changes.iter().any(is_told), "{row:?}: {changes:?}");
    }
    arrangement.set_open(renderer.feed(), Row::Work(first), true, &mut changes);
    let opened = [
        "prompt",
        "line of t1",
        "call",
        "edit",
        "error",
        "text",
        "end",
        "notice",
    ];
    assert_eq!(rows(&arrangement, renderer.feed()), opened);
    // One that was open stays so.
    let mut patches = Vec::new();
    let again = log(&[
        turn("t1"),
        vec![left(&["t1"]), set_back(json!({"againTurnIds": ["t1"]}))],
    ]
    .concat());
    let again = ChatEvent {
        id: "again".to_owned(),
        seq: None,
        ..again.last().unwrap().clone()
    };
    renderer.apply(&again, &mut patches);
    arrangement.apply(renderer.feed(), &patches, &mut changes);
    let stands = [
        "prompt",
        "line of t1",
        "call",
        "edit",
        "error",
        "text",
        "end",
        "notice",
        "notice",
    ];
    assert_eq!(rows(&arrangement, renderer.feed()), stands);
}

#[test]
fn nothing_of_an_undone_turn_is_lost_in_any_mode() {
    let renderer = rendered(&[turn("t1"), vec![left(&["t1"])]].concat());
    let all = ["prompt", "call", "edit", "text", "end", "notice"];
    for (mode, wanted) in [
        (
            Mode {
                fold: false,
                ..Mode::default()
            },
            &all[..],
        ),
        (
            Mode {
                verbosity: Verbosity::Verbose,
                ..Mode::default()
            },
            &all[..],
        ),
        (
            Mode {
                verbosity: Verbosity::Quiet,
                ..Mode::default()
            },
            &["prompt", "line of t1", "notice"][..],
        ),
        (
            Mode {
                verbosity: Verbosity::Quiet,
                fold: false,
                ..Mode::default()
            },
            &["prompt", "text", "end", "notice"][..],
        ),
    ] {
        let arrangement = arranged(&renderer, mode);
        assert_eq!(rows(&arrangement, renderer.feed()), wanted, "{mode:?}");
    }
    // Whoever finds something in it is brought there.
    let mut arrangement = arranged(&renderer, Mode::default());
    let feed = renderer.feed();
    let text = feed
        .rows()
        .find(|row| matches!(row.body, BlockBody::Text(_)))
        .unwrap()
        .id;
    let row = arrangement.reveal(feed, text, &mut Vec::new());
    assert_eq!(row, Some(Row::Block(text)));
}

#[test]
fn an_undone_turn_whose_end_was_not_told_is_one_line_once_the_agent_goes_on() {
    let mut open = turn("t1");
    open.pop();
    let lines = [open, vec![left(&["t1"])], turn("t2")].concat();
    let renderer = rendered(&lines);
    let shown = rows(&arranged(&renderer, Mode::default()), renderer.feed());
    assert_eq!(shown[..2], ["prompt", "line of t1"], "{shown:?}");
    assert!(!shown[..4].contains(&"text".to_owned()), "{shown:?}");
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
        let second = feed
            .turns()
            .iter()
            .position(|turn| turn.id.as_deref() == Some("t2"));
        let second = chat_feed::TurnIdx(u32::try_from(second.unwrap()).unwrap());
        assert_eq!(files(feed, Scope::Turn(second)).files.len(), 1);
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
    let gone = [&two[..], &[left(&["t2"])], &turn("t3")].concat();
    assert_eq!(said(&gone), ["Ask t1", "Ask t3"]);
    let back = [&gone[..], &[set_back(json!({"againTurnIds": ["t2"]}))]].concat();
    assert_eq!(said(&back), ["Ask t1", "Ask t2", "Done t2.", "Ask t3"]);
    let taken_back = [
        &gone[..],
        &[(
            "retract",
            "",
            json!({"eventIds": [format!("e{}", two.len())]}),
        )],
    ]
    .concat();
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
    let lines = [turns(&["t1", "t2"]), vec![left(&["t2"])], turn("t3")].concat();
    let events = log(&lines);
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
