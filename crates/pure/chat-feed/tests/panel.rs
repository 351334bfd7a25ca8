//! Promises of the panel: each of its values follows from the feed alone, and its figures are those of the rows.
#![allow(clippy::unwrap_used)]

mod support;

use chat_event::ChatEvent;
use chat_feed::inbox::Inbox;
use chat_feed::panel::{
    AgentState, ChangedFile, FileChange, Scope, Sum, TreeRowKind, agents, edits_of, files, plan,
    raw_events, statistics, timeline,
};
use chat_feed::projections::to_session_summary;
use chat_feed::{BlockBody, BlockId, ChatRenderer, Feed};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{late_and_twice, log};

/// A session of these events, a second apart: `(type, payload)`, or with fields of the envelope.
fn session(lines: &[(&str, Value)]) -> (Vec<ChatEvent>, ChatRenderer) {
    let event = |(nth, (event_type, payload)): (usize, &(&str, Value))| {
        let mut payload = payload.clone();
        let mut line = json!({"id": format!("e{nth}"), "seq": nth + 1, "sessionId": "s", "timestamp": 1_000 * (nth as i64 + 1), "type": event_type});
        for field in ["timestamp", "turnId", "responseId", "parentToolCallId"] {
            if let Some(value) = payload.as_object_mut().unwrap().remove(field) {
                line[field] = value;
            }
        }
        line["payload"] = payload;
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    let events: Vec<ChatEvent> = lines.iter().enumerate().map(event).collect();
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    (events, renderer)
}

fn edit(path: &str, old: Option<&str>, new: Option<&str>) -> (&'static str, Value) {
    let diff = chat_diff::diff_texts(path, old, new);
    (
        "file_edit",
        json!({
            "filePath": path, "changeType": diff.change.as_str(), "linesAdded": diff.lines_added,
            "linesRemoved": diff.lines_removed, "diffPreview": chat_diff::preview(&diff.text),
            "fullDiff": diff.text, "fullDiffAvailable": true, "fullDiffSize": diff.text.len(),
        }),
    )
}

fn tree(feed: &Feed) -> Vec<String> {
    let files = files(feed, Scope::Session);
    let line = |row: &chat_feed::panel::TreeRow| {
        let counts = match row.kind {
            TreeRowKind::Folder(_) => String::new(),
            TreeRowKind::File(at) => {
                let file: &ChangedFile = &files.files[at];
                format!(
                    " {} +{} -{}",
                    file.change.as_str(),
                    file.lines_added,
                    file.lines_removed
                )
            }
        };
        format!("{}{}{counts}", "  ".repeat(row.depth.into()), row.name)
    };
    files.tree.iter().map(line).collect()
}

/// All values of the panel, as text.
fn panel(feed: &Feed) -> String {
    let ids: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    let raw: Vec<_> = ids.iter().map(|&id| raw_events(feed, id)).collect();
    let files = files(feed, Scope::Session);
    let sums: Vec<Sum> = files
        .files
        .iter()
        .map(|file| edits_of(feed, file, |_| None::<&str>))
        .collect();
    format!(
        "{files:?}\n{sums:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{raw:?}",
        plan(feed, 100),
        agents(feed),
        timeline(feed),
        statistics(feed),
        feed.context(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_panel_is_the_same_however_the_events_came(
        events in log(60),
        jitter in proptest::collection::vec((0usize..40, any::<bool>()), 60),
    ) {
        let mut inbox = Inbox::default();
        let mut live = ChatRenderer::new();
        for event in late_and_twice(&events, &jitter) {
            let mut ready = Vec::new();
            inbox.push(event.clone(), &mut ready);
            for event in &ready {
                live.handle_new_event(event);
                // Looking at it changes nothing.
                let _ = panel(live.feed());
            }
        }
        let mut replayed = ChatRenderer::new();
        replayed.replay_events(&events);
        prop_assert_eq!(panel(live.feed()), panel(replayed.feed()));
    }

    #[test]
    fn any_events_in_any_order_have_a_panel(events in log(60).prop_shuffle()) {
        let mut renderer = ChatRenderer::new();
        for event in &events {
            renderer.render_event(event);
        }
        let feed = renderer.feed();
        let _ = panel(feed);
        let line = timeline(feed);
        for pair in line.bars.windows(2) {
            prop_assert!(pair[0].start_ms <= pair[1].start_ms);
        }
        for (nth, bar) in line.bars.iter().enumerate() {
            prop_assert!(bar.start_ms <= bar.run_ms && bar.run_ms <= bar.end_ms);
            prop_assert!(bar.lane < line.n_lanes);
            for other in &line.bars[..nth] {
                prop_assert!(other.lane != bar.lane || other.end_ms <= bar.start_ms);
            }
        }
    }

    #[test]
    fn the_counts_of_files_are_the_sums_of_their_edits(
        edits in proptest::collection::vec(("[ab](/[ab]){0,3}", "(created|modified|deleted|renamed)", 0u32..9, 0u32..9, proptest::option::of("[ab]")), 0..30),
    ) {
        let lines: Vec<(&str, Value)> = edits
            .iter()
            .map(|(path, change, added, removed, old)| {
                ("file_edit", json!({"filePath": path, "changeType": change, "linesAdded": added, "linesRemoved": removed, "oldPath": old}))
            })
            .collect();
        let (events, renderer) = session(&lines);
        let files = files(renderer.feed(), Scope::Session);
        let sum = |of: fn(&ChangedFile) -> u64| files.files.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|file| file.edits.len() as u64), edits.len() as u64);
        prop_assert_eq!(sum(|file| file.lines_added), edits.iter().map(|edit| u64::from(edit.2)).sum::<u64>());
        prop_assert_eq!(files.lines_added, sum(|file| file.lines_added));
        prop_assert_eq!(files.lines_removed, sum(|file| file.lines_removed));
        prop_assert_eq!(files.lines_removed, to_session_summary(&events).lines_removed);
        let leaves = files.tree.iter().filter(|row| matches!(row.kind, TreeRowKind::File(_))).count();
        prop_assert_eq!(leaves, files.files.len());
    }
}

#[test]
fn files_stand_in_a_tree_with_lone_folders_on_one_line() {
    let (_, renderer) = session(&[
        ("session_start", json!({"cwd": "/home/dev/demo"})),
        edit(
            "/home/dev/demo/src/broker/ring.rs",
            Some("a\n"),
            Some("b\nc\n"),
        ),
        edit(
            "/home/dev/demo/src/broker/deep/down/x.rs",
            None,
            Some("x\n"),
        ),
        edit("/home/dev/demo/README.md", Some("a\n"), None),
        edit("/etc/hosts", Some("a\n"), Some("b\n")),
        edit(
            "/home/dev/demo/src/broker/ring.rs",
            Some("b\nc\n"),
            Some("b\nd\n"),
        ),
    ]);
    assert_eq!(
        tree(renderer.feed()),
        [
            "/etc",
            "  hosts modified +1 -1",
            "src/broker",
            "  deep/down",
            "    x.rs created +1 -0",
            "  ring.rs modified +3 -2",
            "README.md deleted +0 -1",
        ]
    );
}

#[test]
fn a_path_of_a_hundred_thousand_folders_is_a_tree_all_the_same() {
    let path = "a/".repeat(100_000) + "b";
    let (_, renderer) = session(&[
        edit(&path, None, Some("x\n")),
        edit("///", None, Some("x\n")),
    ]);
    assert_eq!(files(renderer.feed(), Scope::Session).files.len(), 2);
    assert!(tree(renderer.feed()).len() <= 40);
}

#[test]
fn the_edits_of_a_file_are_summed_up() {
    let (_, renderer) = session(&[
        edit("a.txt", None, Some("one\ntwo\n")),
        edit("a.txt", Some("one\ntwo\n"), Some("one\nzwei\n")),
    ]);
    let file = &files(renderer.feed(), Scope::Session).files[0];
    assert_eq!(file.change, FileChange::Created);
    let sum = edits_of(renderer.feed(), file, |_| None::<&str>);
    let whole = chat_diff::diff_texts("a.txt", None, Some("one\nzwei\n"));
    assert_eq!(
        sum,
        Sum::Whole {
            text: whole.text,
            lines_added: 2,
            lines_removed: 0
        }
    );
}

#[test]
fn edits_that_do_not_follow_from_each_other_stand_apart_with_the_reason() {
    let (_, renderer) = session(&[
        edit("a.txt", Some("one\n"), Some("two\n")),
        edit("a.txt", Some("three\n"), Some("four\n")),
    ]);
    let file = &files(renderer.feed(), Scope::Session).files[0];
    match edits_of(renderer.feed(), file, |_| None::<&str>) {
        Sum::Apart { why, edits } => {
            assert_eq!(why, "Something else changed this file before edit 2");
            assert_eq!(edits.len(), 2);
            assert!(edits.iter().all(|edit| edit.whole));
        }
        whole => panic!("{whole:?}"),
    }
}

#[test]
fn a_diff_that_is_cut_is_summed_up_once_it_is_loaded() {
    let first = chat_diff::diff_texts("a", Some("one\n"), Some("two\n"));
    let cut = json!({"filePath": "a", "changeType": "modified", "diffPreview": "--- a", "fullDiffAvailable": true, "fullDiffSize": first.text.len()});
    let (_, renderer) = session(&[
        ("file_edit", cut),
        edit("a", Some("two\n"), Some("three\n")),
    ]);
    let feed = renderer.feed();
    let file = &files(feed, Scope::Session).files[0];
    match edits_of(feed, file, |_| None::<&str>) {
        Sum::Apart { why, edits } => {
            assert_eq!(why, "Only a part of 1 of 2 edits is here");
            assert!(edits[0].available && !edits[1].available);
        }
        whole => panic!("{whole:?}"),
    }
    let loaded = |id| (id == file.edits[0]).then_some(first.text.as_str());
    let sum = edits_of(feed, file, loaded);
    let whole = chat_diff::diff_texts("a", Some("one\n"), Some("three\n"));
    assert_eq!(
        sum,
        Sum::Whole {
            text: whole.text,
            lines_added: 1,
            lines_removed: 1
        }
    );
}

#[test]
fn a_file_that_moves_takes_its_history_along() {
    let moved = json!({"filePath": "b", "oldPath": "a", "changeType": "renamed", "linesAdded": 1});
    let (_, renderer) = session(&[edit("a", Some("x\n"), Some("y\n")), ("file_edit", moved)]);
    let files = files(renderer.feed(), Scope::Session).files;
    assert_eq!(files.len(), 1);
    assert_eq!(
        (files[0].path.as_str(), files[0].old_path.as_deref()),
        ("b", Some("a"))
    );
    assert_eq!(
        (files[0].change, files[0].edits.len()),
        (FileChange::Renamed, 2)
    );
}

#[test]
fn one_turn_has_its_own_files() {
    let mut late = edit("b", None, Some("x\n"));
    late.1["turnId"] = json!("t2");
    let mut early = edit("a", None, Some("x\n"));
    early.1["turnId"] = json!("t1");
    let (_, renderer) = session(&[early, late]);
    let feed = renderer.feed();
    let turn = feed.last().map(|id| feed.block(id).turn).unwrap();
    let names: Vec<String> = files(feed, Scope::Turn(turn))
        .files
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn the_newest_plan_that_was_proposed_in_words_is_told() {
    let call = |id: &str, name: &str, args: Value| {
        let payload = json!({"toolCallId": id, "toolName": name, "kind": "plan", "args": args});
        ("tool_call", payload)
    };
    let (_, renderer) = session(&[
        call("a", "ExitPlanMode", json!({"plan": "# First"})),
        call("b", "ExitPlanMode", json!({"plan": "# Second\n\n- Read"})),
        call(
            "c",
            "TodoWrite",
            json!({"todos": [{"content": "Read", "status": "pending"}]}),
        ),
        call("d", "ExitPlanMode", json!({})),
    ]);
    let plan = plan(renderer.feed(), 10);
    let (block, words) = plan.proposed.unwrap();
    assert_eq!(words, "# Second\n\n- Read");
    let BlockBody::ToolCall(call) = &renderer.feed().block(block).body else {
        panic!("no call");
    };
    assert_eq!(&*call.tool_call_id, "b");
    assert_eq!(plan.block, None);
}

#[test]
fn the_plan_has_its_newest_state_and_its_steps() {
    let entries = |list: &[(&str, &str)]| {
        let entries: Vec<Value> = list
            .iter()
            .map(|(content, status)| json!({"content": content, "status": status}))
            .collect();
        json!({"entries": entries})
    };
    let (_, renderer) = session(&[
        (
            "plan",
            entries(&[("read", "in_progress"), ("write", "pending")]),
        ),
        (
            "plan",
            entries(&[
                ("read", "completed"),
                ("write", "in_progress"),
                ("test", "pending"),
            ]),
        ),
        (
            "plan",
            entries(&[("write", "in_progress"), ("test", "pending")]),
        ),
    ]);
    let plan = plan(renderer.feed(), 2);
    assert_eq!(
        (
            plan.n_done,
            plan.entries.len(),
            plan.steps.len(),
            plan.n_older_steps
        ),
        (0, 2, 2, 1)
    );
    let told: Vec<(&str, Option<&str>, Option<&str>)> = plan.steps[1]
        .changes
        .iter()
        .map(|change| {
            (
                change.content.as_str(),
                change.before.as_deref(),
                change.now.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("read", Some("in_progress"), Some("completed")),
            ("write", Some("pending"), Some("in_progress")),
            ("test", None, Some("pending")),
        ]
    );
    assert_eq!(plan.steps[0].changes[0].now, None);
}

#[test]
fn sub_agents_have_their_steps_tokens_and_state() {
    let (_, renderer) = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Task", "args": {"subagent_type": "Explore", "description": "Map callers"}}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "b", "toolName": "Read", "args": {"file_path": "x"}, "parentToolCallId": "a"}),
        ),
        (
            "usage",
            json!({"scope": "response", "inputTokens": 10, "outputTokens": 2, "parentToolCallId": "a", "responseId": "r"}),
        ),
        (
            "usage",
            json!({"scope": "response", "inputTokens": 10, "outputTokens": 5, "parentToolCallId": "a", "responseId": "r"}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Task", "args": {"subagent_type": "Inner", "description": "Look"}, "parentToolCallId": "a"}),
        ),
        (
            "permission_request",
            json!({"requestId": "p", "toolName": "Bash", "parentToolCallId": "c"}),
        ),
        ("tool_result", json!({"toolCallId": "b", "result": "x"})),
    ]);
    let agents = agents(renderer.feed());
    let told: Vec<_> = agents
        .iter()
        .map(|agent| {
            (
                agent.name.as_str(),
                agent.depth,
                agent.steps,
                agent.state,
                agent.tokens.map(|tokens| tokens.output_tokens),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("Explore", 0, 2, AgentState::NeedsYou, Some(5)),
            ("Inner", 1, 0, AgentState::NeedsYou, None),
        ]
    );
}

#[test]
fn the_wait_for_an_approval_stands_apart_from_the_run() {
    let (_, renderer) = session(&[
        (
            "tool_call",
            json!({"timestamp": 0, "toolCallId": "a", "toolName": "Bash", "args": {"command": "ls"}}),
        ),
        (
            "permission_request",
            json!({"timestamp": 100, "requestId": "p", "toolCallId": "a", "toolName": "Bash"}),
        ),
        (
            "permission_resolved",
            json!({"timestamp": 60_100, "requestId": "p", "decision": "allow"}),
        ),
        (
            "tool_result",
            json!({"timestamp": 61_000, "toolCallId": "a", "result": "x", "durationMs": 850}),
        ),
        (
            "tool_call",
            json!({"timestamp": 500, "toolCallId": "b", "toolName": "Read", "args": {}}),
        ),
        (
            "tool_result",
            json!({"timestamp": 700, "toolCallId": "b", "result": "x"}),
        ),
        (
            "notice",
            json!({"timestamp": 161_000, "level": "info", "text": "later"}),
        ),
    ]);
    let line = timeline(renderer.feed());
    let bars: Vec<_> = line
        .bars
        .iter()
        .map(|bar| (bar.start_ms, bar.run_ms, bar.end_ms, bar.lane))
        .collect();
    assert_eq!(bars, [(0, 60_100, 61_000, 0), (500, 500, 700, 1)]);
    // Nothing happens from the end of the first call to the notice, which is cut to two seconds.
    assert_eq!(line.cuts.len(), 1);
    assert_eq!(line.length_ms(), 63_000);
    assert_eq!(line.place_ms(111_000), 62_000);
    assert_eq!(statistics(renderer.feed()).waited_ms, 60_000);
}

#[test]
fn one_duration_is_told_everywhere() {
    let asked = |call: &str, at_ms: i64| {
        [
            (
                "tool_call",
                json!({"timestamp": at_ms, "turnId": "t", "toolCallId": call, "toolName": "Bash", "args": {"command": call}}),
            ),
            (
                "permission_request",
                json!({"timestamp": at_ms + 100, "turnId": "t", "requestId": call, "toolCallId": call, "toolName": "Bash"}),
            ),
            (
                "permission_resolved",
                json!({"timestamp": at_ms + 5_100, "turnId": "t", "requestId": call, "decision": "allow"}),
            ),
        ]
    };
    let mut lines = vec![(
        "turn_start",
        json!({"timestamp": 0, "turnId": "t", "trigger": "user"}),
    )];
    lines.extend(asked("measured", 1_000));
    lines.push((
        "tool_result",
        json!({"timestamp": 9_100, "turnId": "t", "toolCallId": "measured", "result": "x"}),
    ));
    lines.extend(asked("told", 10_000));
    lines.push((
        "tool_result",
        json!({"timestamp": 18_000, "turnId": "t", "toolCallId": "told", "result": "x", "durationMs": 1_200}),
    ));
    lines.push((
        "turn_end",
        json!({"timestamp": 18_000, "turnId": "t", "outcome": "completed", "durationMs": 4_200}),
    ));
    let (_, renderer) = session(&lines);
    let feed = renderer.feed();
    let rows = feed.rows().filter_map(|block| match &block.body {
        BlockBody::ToolCall(call) => call.duration_ms,
        BlockBody::TurnEnd(end) => end.duration_ms,
        _ => None,
    });
    // What waited is told by the row of who was asked.
    assert_eq!(rows.collect::<Vec<_>>(), [3_000, 1_200, 4_200]);
    let bars = timeline(feed).bars;
    let of_bars: Vec<_> = bars.iter().map(|bar| bar.took_ms).collect();
    assert_eq!(of_bars, [Some(3_000), Some(1_200)]);
    let figures = statistics(feed);
    let of_calls: Vec<_> = figures
        .slowest
        .iter()
        .map(|slow| slow.duration_ms)
        .collect();
    assert_eq!(of_calls, [3_000, 1_200]);
    assert_eq!(figures.calls.duration_ms, 4_200);
    assert_eq!(
        (figures.busy_ms, figures.turns[0].duration_ms),
        (4_200, Some(4_200))
    );
    assert_eq!(feed.turns()[0].took_ms, Some(4_200));
}

#[test]
fn a_turn_counts_each_file_once() {
    let edit = |turn: &str, path: &str| {
        (
            "file_edit",
            json!({"turnId": turn, "filePath": path, "changeType": "modified", "linesAdded": 1, "linesRemoved": 0}),
        )
    };
    let (_, renderer) = session(&[
        ("turn_start", json!({"turnId": "t", "trigger": "user"})),
        edit("t", "a"),
        edit("t", "b"),
        edit("t", "a"),
        ("turn_start", json!({"turnId": "u", "trigger": "user"})),
        edit("u", "a"),
    ]);
    let turns = renderer.feed().turns();
    let counted: Vec<_> = turns.iter().map(|turn| (turn.edits, turn.files)).collect();
    assert_eq!(counted, [(3, 2), (1, 1)]);
}

#[test]
fn a_file_that_moves_is_counted_once_everywhere() {
    let edit = |turn: &str, path: &str, change: &str, old: Option<&str>| {
        let mut edit = json!({"turnId": turn, "filePath": path, "changeType": change, "linesAdded": 1, "linesRemoved": 0});
        if let Some(old) = old {
            edit["oldPath"] = old.into();
        }
        ("file_edit", edit)
    };
    let (events, renderer) = session(&[
        ("turn_start", json!({"turnId": "t", "trigger": "user"})),
        edit("t", "a", "modified", None),
        edit("t", "b", "modified", None),
        edit("t", "c", "renamed", Some("b")),
        edit("t", "c", "modified", None),
        // It takes the place of another one, which stays.
        edit("t", "a", "renamed", Some("c")),
        // Of an earlier turn, or of nobody knows when.
        ("turn_start", json!({"turnId": "u", "trigger": "user"})),
        edit("u", "d", "renamed", Some("a")),
        edit("u", "f", "renamed", Some("e")),
        edit("u", "a", "created", None),
    ]);
    let feed = renderer.feed();
    let counted = |scope| files(feed, scope).files.len();
    let turn = |nth| Scope::Turn(chat_feed::TurnIdx(nth));
    let of_turns: Vec<_> = feed
        .turns()
        .iter()
        .map(|turn| turn.files as usize)
        .collect();
    assert_eq!(of_turns, [2, 3]);
    assert_eq!([counted(turn(0)), counted(turn(1))], [2, 3]);
    let n_files = counted(Scope::Session);
    assert_eq!(statistics(feed).files_changed, n_files);
    assert_eq!(to_session_summary(&events).files_changed, n_files as u64);
}

#[test]
fn places_on_the_timeline_keep_the_order_of_times() {
    let times = [
        0,
        1_000,
        50_000,
        50_001,
        52_000,
        52_001,
        900_000,
        i64::MAX / 2,
    ];
    let lines: Vec<(&str, Value)> = times
        .iter()
        .map(|at_ms| {
            (
                "notice",
                json!({"timestamp": at_ms, "level": "info", "text": at_ms.to_string()}),
            )
        })
        .collect();
    let (_, renderer) = session(&lines);
    let line = timeline(renderer.feed());
    let mut last = -1;
    for at_ms in (0..1_000_000).step_by(500) {
        let place_ms = line.place_ms(at_ms);
        assert!(place_ms >= last, "{at_ms}");
        last = place_ms;
    }
    assert!(line.length_ms() <= 11_002, "{}", line.length_ms());
}

#[test]
fn the_figures_are_those_of_the_summary() {
    let (events, renderer) = session(&[
        ("turn_start", json!({"turnId": "t", "trigger": "user"})),
        (
            "tool_call",
            json!({"turnId": "t", "toolCallId": "a", "toolName": "Bash", "args": {"command": "make"}}),
        ),
        (
            "tool_result",
            json!({"turnId": "t", "toolCallId": "a", "result": "no", "error": {"message": "exit 1"}, "durationMs": 9_000}),
        ),
        (
            "tool_call",
            json!({"turnId": "t", "toolCallId": "b", "toolName": "Read", "args": {"file_path": "x"}}),
        ),
        (
            "usage",
            json!({"turnId": "t", "responseId": "r", "scope": "response", "inputTokens": 100, "outputTokens": 20, "cacheReadTokens": 7, "contextSize": 1000}),
        ),
        (
            "usage",
            json!({"turnId": "t", "responseId": "q", "scope": "response", "inputTokens": 1, "outputTokens": 2, "costUsd": 0.5}),
        ),
        (
            "error",
            json!({"turnId": "t", "code": "overloaded", "message": "busy"}),
        ),
        (
            "turn_end",
            json!({"turnId": "t", "outcome": "failed", "durationMs": 12_000}),
        ),
    ]);
    let feed = renderer.feed();
    let (figures, summary) = (statistics(feed), to_session_summary(&events));
    assert_eq!(figures.tokens, summary.usage);
    assert_eq!(figures.cost_usd, summary.cost_usd);
    assert_eq!(figures.busy_ms, summary.busy_ms);
    assert_eq!(figures.calls.total, summary.tool_calls.total);
    assert_eq!(figures.calls.failed, summary.tool_calls.failed);
    assert_eq!(
        figures.calls.without_result,
        summary.tool_calls.without_result
    );
    assert_eq!(figures.turns[0].tokens, summary.usage);
    assert_eq!(figures.n_failures, 2);
    assert_eq!(figures.failures[0].line, "overloaded: busy");
    assert_eq!(
        (
            figures.slowest[0].line.as_str(),
            figures.slowest[0].duration_ms
        ),
        ("$ make", 9_000)
    );
    assert_eq!(feed.context().used, Some(3));
    assert_eq!(feed.context().size, Some(1000));
}

#[test]
fn a_turns_end_tells_what_all_of_its_answers_used() {
    let usage = |parent: Option<&str>, response: &str, n_read: u32| {
        let mut usage = json!({"turnId": "t", "responseId": response, "scope": "response", "inputTokens": n_read, "outputTokens": 20, "costUsd": 0.1, "model": "m"});
        if let Some(parent) = parent {
            usage["parentToolCallId"] = parent.into();
        }
        ("usage", usage)
    };
    let call = json!({"turnId": "t", "toolCallId": "a", "toolName": "Task", "args": {}});
    let (events, renderer) = session(&[
        ("turn_start", json!({"turnId": "t", "trigger": "user"})),
        ("tool_call", call),
        usage(None, "r", 1),
        // The same again, now whole.
        usage(None, "r", 100),
        usage(Some("a"), "of the sub-agent", 50),
        ("turn_end", json!({"turnId": "t", "durationMs": 12_000})),
        // The figures of the last answer come after the end.
        usage(None, "q", 7),
        (
            "usage",
            json!({"scope": "session", "inputTokens": 157, "outputTokens": 60, "costUsd": 0.3}),
        ),
    ]);
    let feed = renderer.feed();
    let ends: Vec<_> = feed
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::TurnEnd(end) => Some(end),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].tokens.unwrap().total(), 217);
    assert_eq!(ends[0].tokens, feed.tokens());
    assert_eq!(ends[0].tokens, statistics(feed).turns[0].tokens);
    assert_eq!(ends[0].cost_usd, Some(0.3));
    assert_eq!(ends[0].model.as_deref(), Some("m"));
    assert_eq!(to_session_summary(&events).usage, ends[0].tokens);
}

#[test]
fn a_session_that_tells_its_cost_alone_has_the_tokens_of_its_turns() {
    let (_, renderer) = session(&[
        (
            "usage",
            json!({"turnId": "t", "responseId": "r", "scope": "response", "inputTokens": 100, "outputTokens": 20}),
        ),
        (
            "usage",
            json!({"scope": "session", "inputTokens": 0, "outputTokens": 0, "costUsd": 0.5}),
        ),
    ]);
    let feed = renderer.feed();
    assert_eq!(feed.tokens().unwrap().total(), 120);
    assert_eq!(feed.cost_usd(), Some(0.5));
}

#[test]
fn a_row_has_the_json_of_its_events() {
    let (events, renderer) = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Bash", "args": {"command": "ls", "n": 1.50}, "turnId": "t"}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": "x", "exitCode": 0, "turnId": "t"}),
        ),
    ]);
    let feed = renderer.feed();
    let call = feed
        .rows()
        .find(|block| matches!(block.body, BlockBody::ToolCall(_)))
        .unwrap();
    let raw = raw_events(feed, call.id);
    assert_eq!(raw.len(), 2);
    for (raw, event) in raw.iter().zip(&events) {
        let told: Value = serde_json::from_str(&raw.text).unwrap();
        let came: Value = serde_json::from_str(&event.to_line()).unwrap();
        for field in ["id", "timestamp", "type", "turnId", "sessionId"] {
            assert_eq!(told[field], came[field], "{field}");
        }
        for (name, value) in came["payload"].as_object().unwrap() {
            assert_eq!(&told["payload"][name], value, "{name}");
        }
    }
}

#[test]
fn a_paragraph_has_the_event_with_all_of_the_answer() {
    let text = "Without telemetry: ~15 ms.\n\n1. Added `runtime/trace`\n\nDone.";
    let done = json!({"text": text, "turnId": "t", "responseId": "r"});
    let (_, renderer) = session(&[("assistant_done", done)]);
    let feed = renderer.feed();
    let rows: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    assert!(rows.len() > 2, "{rows:?}");
    for id in feed
        .rows()
        .filter(|block| matches!(block.body, BlockBody::Text(_)))
    {
        let raw = raw_events(feed, id.id);
        let told: Value = serde_json::from_str(&raw[0].text).unwrap();
        assert_eq!(told["payload"]["text"], text);
    }
}

#[test]
fn what_turns_took_is_what_they_say_else_what_lies_between() {
    let (events, renderer) = session(&[
        (
            "turn_start",
            json!({"timestamp": 1_000, "turnId": "a", "trigger": "user"}),
        ),
        (
            "assistant_done",
            json!({"timestamp": 3_000, "turnId": "a", "responseId": "r", "text": "x"}),
        ),
        (
            "turn_end",
            json!({"timestamp": 4_000, "turnId": "a", "guessed": true}),
        ),
        (
            "turn_start",
            json!({"timestamp": 900_000, "turnId": "b", "trigger": "user"}),
        ),
        (
            "assistant_done",
            json!({"timestamp": 901_000, "turnId": "b", "responseId": "q", "text": "x"}),
        ),
        (
            "turn_end",
            json!({"timestamp": 902_000, "turnId": "b", "guessed": true}),
        ),
        // What is known comes after the guess, and is not given up for another.
        (
            "turn_end",
            json!({"timestamp": 903_000, "turnId": "b", "durationMs": 2_500}),
        ),
        (
            "turn_end",
            json!({"timestamp": 990_000, "turnId": "b", "guessed": true}),
        ),
    ]);
    let (figures, summary) = (statistics(renderer.feed()), to_session_summary(&events));
    assert_eq!((figures.busy_ms, summary.busy_ms), (5_500, 5_500));
}

#[test]
fn a_session_is_where_it_began() {
    let (_, renderer) = session(&[
        ("session_start", json!({"provider": "a", "cwd": "/w/demo"})),
        (
            "session_start",
            json!({"provider": "a", "cwd": "/w/demo/sub"}),
        ),
    ]);
    assert_eq!(renderer.feed().session().cwd.as_deref(), Some("/w/demo"));
}
