//! How the rows of such a turn stand in the list.

use super::*;

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

#[test]
fn a_moment_before_the_user_went_back_shows_the_turn_as_it_was() {
    let lines = gone_back();
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
    let again = log(&[turn("t1"), vec![left(&["t1"]), again(&["t1"])]].concat());
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
