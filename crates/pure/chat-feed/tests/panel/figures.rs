//! Counts, tokens, costs and durations: one figure is the same wherever it is told.

use super::*;

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

/// What the transcript and the trace say of a call, and the panel of the calls that took long.
fn told_of_calls(lines: &[(&str, Value)]) -> (String, String, Vec<u64>) {
    let (events, renderer) = session(lines);
    let line_with = |text: String, begin: &str| {
        let line = text.lines().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let slowest = statistics(renderer.feed()).slowest;
    (
        line_with(to_markdown(&events), "**Call**"),
        line_with(to_tool_trace(&events, Verbosity::Normal), "[TOOL]"),
        slowest.iter().map(|slow| slow.duration_ms).collect(),
    )
}

#[test]
fn a_call_runs_from_when_it_was_let_run() {
    let call = (
        "tool_call",
        json!({"timestamp": 0, "turnId": "t", "toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}}),
    );
    let ask = |at_ms: i64| {
        (
            "permission_request",
            json!({"timestamp": at_ms, "turnId": "t", "requestId": "p", "toolCallId": "c", "toolName": "Bash"}),
        )
    };
    let allow = (
        "permission_resolved",
        json!({"timestamp": 601_000, "turnId": "t", "requestId": "p", "decision": "allow"}),
    );
    let result = (
        "tool_result",
        json!({"timestamp": 603_000, "turnId": "t", "toolCallId": "c", "result": ""}),
    );
    let told = (
        "**Call** `Bash` (2.0 s)".to_owned(),
        "[TOOL] bash: make (empty) — 2.0s".to_owned(),
        vec![2_000],
    );
    let asked = [call.clone(), ask(1_000), allow.clone(), result.clone()];
    assert_eq!(told_of_calls(&asked), told);
    // Also where the call is told behind the answer.
    let mut late = call.clone();
    late.1["timestamp"] = json!(602_000);
    assert_eq!(told_of_calls(&[ask(1_000), allow, late, result]), told);
    // That there is no result is found out at some time.
    let mut lost = (
        "tool_result",
        json!({"timestamp": 603_000, "turnId": "t", "toolCallId": "c", "result": "", "error": {"code": "no_result", "message": "none"}}),
    );
    let untold = (
        "**Call** `Bash` (no result)".to_owned(),
        "[TOOL] bash: make (no result)".to_owned(),
        Vec::new(),
    );
    assert_eq!(told_of_calls(&[call.clone(), lost.clone()]), untold);
    lost.1["durationMs"] = json!(70);
    assert_eq!(told_of_calls(&[call, lost]).2, [70]);
}

#[test]
fn a_sub_agents_session_is_its_share_and_not_the_sessions() {
    let usage = |parent: Option<&str>, input: u64| {
        (
            "usage",
            json!({"turnId": "t", "parentToolCallId": parent, "scope": "session", "cumulative": true, "inputTokens": input}),
        )
    };
    let (events, renderer) = session(&[
        ("turn_start", json!({"turnId": "t", "trigger": "user"})),
        (
            "tool_call",
            json!({"turnId": "t", "toolCallId": "c", "toolName": "Task", "kind": "agent", "args": {}}),
        ),
        usage(None, 100_000),
        usage(Some("c"), 2_000),
        usage(Some("c"), 5_000),
        usage(None, 110_000),
    ]);
    let feed = renderer.feed();
    let fresh = |tokens: Option<chat_feed::projections::TokenCounts>| tokens.map(|it| it.fresh());
    assert_eq!(fresh(to_session_summary(&events).usage), Some(110_000));
    assert_eq!(fresh(statistics(feed).tokens), Some(110_000));
    assert_eq!(fresh(agents(feed)[0].tokens), Some(5_000));
    let said = feed.session().usage.as_ref();
    assert_eq!(said.map(|usage| usage.input_tokens), Some(110_000));
}

#[test]
fn a_session_lasts_from_its_earliest_time_to_its_latest() {
    let said = |at_ms: i64| ("user_message", json!({"text": "x", "timestamp": at_ms}));
    let (events, renderer) = session(&[said(5_000), said(9_000), said(2_000)]);
    let session = renderer.feed().session();
    assert_eq!(
        (session.first_ms, session.last_ms),
        (Some(2_000), Some(9_000))
    );
    assert_eq!(statistics(renderer.feed()).duration_ms, Some(7_000));
    assert_eq!(to_session_summary(&events).duration_ms, Some(7_000));
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
        // It takes the place of another one: both are one from here on.
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
    assert_eq!(of_turns, [1, 3]);
    assert_eq!([counted(turn(0)), counted(turn(1))], [1, 3]);
    let n_files = counted(Scope::Session);
    assert_eq!(statistics(feed).files_changed, n_files);
    assert_eq!(to_session_summary(&events).files_changed, n_files as u64);
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
    assert_eq!(ends[0].tokens.unwrap().fresh(), 217);
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
            json!({"turnId": "t", "responseId": "r", "scope": "response", "inputTokens": 10, "outputTokens": 20,
                "cacheWriteTokens": 90, "cacheReadTokens": 40_000}),
        ),
        (
            "usage",
            json!({"scope": "session", "inputTokens": 0, "outputTokens": 0, "costUsd": 0.5}),
        ),
    ]);
    let feed = renderer.feed();
    // What was written to the cache was read for the first time; what came from it was counted before.
    assert_eq!(feed.tokens().unwrap().fresh(), 120);
    assert_eq!(feed.cost_usd(), Some(0.5));
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
fn a_turn_that_shows_nothing_took_its_time_and_ended_once() {
    let mut lines = vec![
        (
            "turn_start",
            json!({"timestamp": 1_000, "turnId": "a", "trigger": "system"}),
        ),
        ("turn_end", json!({"timestamp": 3_000, "turnId": "a"})),
        // Another source tells of it as well.
        ("turn_end", json!({"timestamp": 9_000, "turnId": "a"})),
    ];
    for _ in 0..2 {
        let (events, renderer) = session(&lines);
        let (figures, summary) = (statistics(renderer.feed()), to_session_summary(&events));
        assert_eq!((figures.busy_ms, summary.busy_ms), (2_000, 2_000));
        assert_eq!(figures.turns[0].duration_ms, Some(2_000));
        lines.push((
            "assistant_done",
            json!({"timestamp": 2_000, "turnId": "a", "responseId": "r", "text": "late"}),
        ));
    }
}

#[test]
fn a_sub_agents_window_is_not_the_sessions() {
    let used = |parent: Option<&str>| {
        let usage =
            json!({"turnId": "t", "scope": "response", "inputTokens": 7, "contextSize": 100});
        let told = json!({"turnId": "t", "parentToolCallId": parent, "trigger": "auto"});
        let (_, renderer) = session(&[("usage", usage), ("compaction", told)]);
        renderer.feed().context().used
    };
    assert_eq!((used(Some("c")), used(None)), (Some(7), None));
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

/// As that of another machine, or one that was never set.
#[test]
fn an_end_by_a_clock_that_is_behind_ends_the_session_and_makes_it_no_longer() {
    let now_ms = 1_790_000_000_000_i64;
    for end_ms in [0, now_ms - 60_000] {
        let (events, renderer) = session(&[
            (
                "turn_start",
                json!({"timestamp": now_ms, "turnId": "a", "trigger": "user"}),
            ),
            (
                "assistant_done",
                json!({"timestamp": now_ms + 1_000, "turnId": "a", "text": "x"}),
            ),
            (
                "turn_end",
                json!({"timestamp": now_ms + 4_000, "turnId": "a"}),
            ),
            (
                "session_end",
                json!({"timestamp": end_ms, "reason": "exit"}),
            ),
        ]);
        let feed = renderer.feed();
        assert_eq!(feed.session().ended.as_deref(), Some("exit"), "{end_ms}");
        let (figures, summary) = (statistics(feed), to_session_summary(&events));
        assert_eq!(figures.duration_ms, Some(4_000), "{end_ms}");
        assert_eq!(summary.duration_ms, Some(4_000), "{end_ms}");
        assert_eq!(summary.started_ms, Some(now_ms), "{end_ms}");
        let line = timeline(feed);
        assert_eq!((line.start_ms, line.end_ms), (now_ms, now_ms + 4_000));
        // Its row has no time, and the replay ends with what was last.
        let of_end = feed.rows().last().unwrap();
        assert!(matches!(of_end.body, BlockBody::SessionEnd { .. }));
        assert_eq!(of_end.at_ms, None, "{end_ms}");
        let mut replayed = ChatRenderer::with_history();
        replayed.replay_events(&events);
        let mut clock = chat_feed::playback::Clock::default();
        clock.follow(replayed.feed());
        assert_eq!(
            clock.wall_ms_at(clock.length_ms() as f64),
            Some(now_ms + 4_000)
        );
    }
}

#[test]
fn a_session_lasts_no_shorter_than_its_last_turn_says() {
    let lasted = |told_ms: u64| {
        let end = json!({"turnId": "t", "outcome": "completed", "durationMs": told_ms});
        let lines = [
            ("user_message", json!({"turnId": "t", "text": "go"})),
            ("turn_end", end),
        ];
        let (_, renderer) = session(&lines);
        let figures = statistics(renderer.feed());
        assert_eq!(figures.duration_ms, renderer.feed().lasted_ms());
        figures.duration_ms
    };
    // Its events are a second apart; much more is no matter of a moment.
    assert_eq!(
        [900, 1_060, 60_000].map(lasted),
        [1_000, 1_060, 1_000].map(Some)
    );
}

/// What a compaction took between two turns is counted beside what the turn before says that it used.
#[test]
fn what_was_used_behind_the_end_of_a_turn_is_of_none() {
    let response = |n: u64| json!({"scope": "response", "inputTokens": n, "outputTokens": 1});
    let told = json!({"scope": "turn", "inputTokens": 100, "outputTokens": 20});
    for (usage, wanted) in [(json!(null), 30), (told, 130)] {
        let lines = [
            ("user_message", json!({"turnId": "t", "text": "go"})),
            ("turn_end", json!({"turnId": "t", "usage": usage})),
            ("usage", response(10)),
            ("usage", response(20)),
        ];
        let (events, renderer) = session(&lines);
        let (figures, summary) = (statistics(renderer.feed()), to_session_summary(&events));
        assert_eq!(figures.tokens, summary.usage);
        let input = figures.tokens.map(|tokens| tokens.input_tokens);
        assert_eq!(input, Some(wanted));
        assert_eq!((figures.turns.len(), summary.turns), (1, 1));
    }
    // Another turn goes on.
    let lines = [
        ("turn_start", json!({"turnId": "t", "trigger": "user"})),
        ("turn_start", json!({"turnId": "u", "trigger": "user"})),
        ("turn_end", json!({"turnId": "t"})),
        ("usage", response(10)),
        (
            "turn_end",
            json!({"turnId": "u", "usage": {"inputTokens": 12, "outputTokens": 2}}),
        ),
    ];
    let (events, renderer) = session(&lines);
    let (figures, summary) = (statistics(renderer.feed()), to_session_summary(&events));
    assert_eq!(figures.tokens, summary.usage);
    assert_eq!(summary.usage.map(|tokens| tokens.input_tokens), Some(12));
}
