//! What the list says of a session: what it used, what it says of itself, how much came lately.

mod stands;

use chat_event::payload::{
    PermissionRequest, SessionStart, ToolCall, ToolResult, TurnEnd, TurnStart, Usage,
};
use chat_event::{ChatEvent, Payload};
use chat_store::Summary;

use self::stands::after_times;
use crate::support::{id, open};

/// The summary after these payloads; the turn and the response of each go with it.
fn after(events: Vec<(&str, &str, Payload)>) -> Summary {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let events = events.into_iter().enumerate();
    let events = events.map(|(n, (turn, response, payload))| {
        let mut event = ChatEvent::new(format!("e{n}"), 1, "s1", payload);
        event.turn_id = Some(turn.to_owned());
        event.response_id = Some(response.to_owned()).filter(|id| !id.is_empty());
        event
    });
    session.append(events.collect(), false, 1000).unwrap();
    session.summary().as_ref().clone()
}

fn usage(scope: &str, input_tokens: u64, cost_usd: f64) -> Payload {
    Usage {
        scope: scope.to_owned(),
        // Those that go into the cache are read as well; those that come from it were counted when they went in.
        input_tokens: input_tokens - 3,
        cache_write_tokens: Some(3),
        cache_read_tokens: Some(70_000),
        output_tokens: 1,
        cost_usd: Some(cost_usd),
        ..Usage::default()
    }
    .into()
}

#[test]
fn no_figure_is_counted_twice() {
    // The figures of a response come again while it grows.
    let responses = vec![
        ("t1", "r1", usage("response", 10, 0.1)),
        ("t1", "r1", usage("response", 30, 0.2)),
        ("t1", "r2", usage("response", 100, 0.4)),
    ];
    let summary = after(responses.clone());
    assert_eq!((summary.tokens, summary.cost_usd), (Some(132), Some(0.6)));
    // What a turn says stands for its responses.
    let mut turns = responses;
    turns.push(("t1", "", usage("turn", 200, 1.0)));
    turns.push(("t2", "r3", usage("response", 5, 0.5)));
    let summary = after(turns.clone());
    assert_eq!((summary.tokens, summary.cost_usd), (Some(207), Some(1.5)));
    // What the session says stands for all.
    turns.push(("t2", "", usage("session", 999, 3.0)));
    let summary = after(turns.clone());
    assert_eq!((summary.tokens, summary.cost_usd), (Some(1000), Some(3.0)));
    // Less than before is a run that counts anew.
    turns.push(("t3", "", usage("session", 10, 0.5)));
    let summary = after(turns);
    assert_eq!((summary.tokens, summary.cost_usd), (Some(1011), Some(3.5)));
}

#[test]
fn figures_of_many_turns_add_up_in_a_constant_space() {
    let turns: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
    let events = turns
        .iter()
        .flat_map(|turn| {
            let end = TurnEnd {
                cost_usd: Some(0.5),
                ..TurnEnd::default()
            };
            [
                (turn.as_str(), "", TurnStart::default().into()),
                (turn.as_str(), "r", usage("response", 9, 0.1)),
                (turn.as_str(), "", end.into()),
            ]
        })
        .collect();
    let summary = after(events);
    assert_eq!(
        (summary.turns, summary.tokens, summary.cost_usd),
        (200, Some(2000), Some(100.0))
    );
}

#[test]
fn a_branch_is_told_and_the_context_of_a_sub_agent_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let start = SessionStart {
        git_branch: Some("main".to_owned()),
        ..SessionStart::default()
    };
    let context = |used| Usage {
        scope: "response".to_owned(),
        context_used: Some(used),
        context_size: Some(200_000),
        ..Usage::default()
    };
    let mut nested = ChatEvent::new("e2", 1, "s1", context(5));
    nested.parent_tool_call_id = Some("c1".to_owned());
    let events = vec![
        ChatEvent::new("e0", 1, "s1", start),
        ChatEvent::new("e1", 1, "s1", context(90_000)),
        nested,
    ];
    session.append(events, false, 1000).unwrap();
    let summary = session.summary();
    assert_eq!(summary.git_branch.as_deref(), Some("main"));
    assert_eq!(
        (summary.context_used, summary.context_size),
        (Some(90_000), Some(200_000))
    );
}

#[test]
fn its_first_and_last_times_are_those_of_its_events() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    for (n, timestamp) in [1_000, 1_800].into_iter().enumerate() {
        let event = ChatEvent::new(format!("e{n}"), timestamp, "s1", TurnStart::default());
        session.append(vec![event], false, 2_000_000_000).unwrap();
    }
    let summary = session.summary();
    assert_eq!(
        (summary.started_ms, summary.last_event_ms),
        (Some(1_000), Some(1_800))
    );
    assert_eq!(summary.last_activity_ms, Some(2_000_000_000));
}

#[test]
fn the_last_ten_minutes_are_counted_by_half_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let mut n = 0;
    let mut at = |recv_ms: i64| {
        n += 1;
        let event = ChatEvent::new(format!("e{n}"), 1, "s1", TurnStart::default());
        session.append(vec![event], false, recv_ms).unwrap();
        session.summary().pace.clone()
    };
    at(1_000);
    at(29_999);
    let pace = at(90_000);
    assert_eq!((pace.newest_ms, pace.counts), (90_000, vec![2, 0, 0, 1]));
    // A clock that goes back changes no bar but the newest.
    let pace = at(5);
    assert_eq!((pace.newest_ms, pace.counts), (90_000, vec![2, 0, 0, 2]));
    let pace = at(90_000 + 19 * 30_000);
    assert_eq!((pace.counts.len(), pace.counts[0]), (20, 2));
    let pace = at(i64::MAX);
    assert_eq!(pace.counts, vec![1]);
}

/// The list sends its row to all who follow it, with each event.
#[test]
fn what_a_session_says_of_itself_is_cut_in_the_list_and_long_names_are_known_by_less() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let long = "é".repeat(1 << 20);
    let said = || Some(long.clone());
    let start = SessionStart {
        cwd: said(),
        agent: said(),
        provider: said(),
        model: said(),
        git_branch: said(),
        sandbox_id: said(),
        ..SessionStart::default()
    };
    let in_turn = |n: u64, payload: Payload| {
        let mut event = ChatEvent::new(format!("e{n}"), 1, "s1", payload);
        event.turn_id = Some(format!("{long}{}", n / 10));
        event.response_id = Some(long.clone());
        event
    };
    let call = ToolCall {
        tool_call_id: long.clone(),
        tool_name: "Bash".to_owned(),
        ..ToolCall::default()
    };
    let request = PermissionRequest {
        request_id: long.clone(),
        tool_call_id: said(),
        ..PermissionRequest::default()
    };
    let events = vec![
        ChatEvent::new("e0", 1, "s1", start),
        in_turn(10, call.into()),
        in_turn(11, request.into()),
        in_turn(12, usage("response", 10, 0.1)),
    ];
    session.append(events, false, 1000).unwrap();
    let row = session.summary();
    assert_eq!(row.cwd.as_ref().unwrap().len(), 4096);
    for cut in [
        &row.agent,
        &row.provider,
        &row.model,
        &row.git_branch,
        &row.sandbox_id,
    ] {
        assert_eq!(cut.as_ref().unwrap().len(), 800);
    }
    assert_eq!((row.asks, row.doing.is_some(), row.turns), (1, true, 1));
    // What goes with the row is kept beside the log.
    store.close();
    let index = dir.path().join(format!("{}.idx", id("s1").stem()));
    let n_bytes = std::fs::metadata(&index).unwrap().len();
    assert!(n_bytes < 64 * 1024, "{n_bytes}");
    // They name what they did.
    let store = {
        drop((session, store));
        open(dir.path())
    };
    let session = store.session(&id("s1")).unwrap();
    let result = ToolResult {
        tool_call_id: long.clone(),
        ..ToolResult::default()
    };
    let end = in_turn(14, TurnEnd::default().into());
    session
        .append(vec![in_turn(13, result.into())], false, 1000)
        .unwrap();
    let row = session.summary();
    assert_eq!((row.doing.is_some(), row.turns), (false, 1));
    session.append(vec![end], false, 1000).unwrap();
    let row = session.summary();
    assert_eq!((row.asks, row.status.as_str(), row.turns), (0, "idle", 1));
    let next = in_turn(20, TurnStart::default().into());
    session.append(vec![next], false, 1000).unwrap();
    assert_eq!(session.summary().turns, 2);
}

/// A pipe takes the agent to run where it runs itself, until somebody tells where that is.
#[test]
fn a_guessed_folder_gives_way_to_the_one_that_is_told() {
    let start = |cwd: &str, is_guess: bool| {
        let mut start = SessionStart {
            cwd: Some(cwd.to_owned()),
            ..SessionStart::default()
        };
        if is_guess {
            let mark = chat_event::Json::from(&serde_json::json!(true));
            start.extra.insert(SessionStart::CWD_GUESSED, mark);
        }
        (1, "", Payload::from(start))
    };
    let stands = |events: &[(i64, &str, Payload)]| {
        let row = after_times(events);
        (row.cwd.unwrap(), row.cwd_guessed)
    };
    let all = [
        start("/elsewhere", true),
        start("/w", false),
        start("/w/src", false),
        start("/other", true),
    ];
    assert_eq!(stands(&all[..1]), ("/elsewhere".to_owned(), true));
    assert_eq!(stands(&all), ("/w".to_owned(), false));
}

/// Sub-agents answer side by side: what one of them used may come again when the next has begun.
#[test]
fn responses_that_are_told_in_turns_count_once() {
    let grown = [("r1", 10), ("r2", 10), ("r1", 30), ("r2", 20), ("r1", 40)];
    let grown = grown.map(|(response, tokens)| ("t1", response, usage("response", tokens, 0.1)));
    assert_eq!(after(grown.to_vec()).tokens, Some(62));
}

#[test]
fn a_request_for_a_command_is_told_by_its_script() {
    let args = serde_json::json!({"command": "/bin/bash -lc 'rm -f notes.txt'", "cwd": "/w"});
    let request = PermissionRequest {
        request_id: "r1".to_owned(),
        tool_name: "shell".to_owned(),
        args: Some(chat_event::Json::from(&args)),
        ..PermissionRequest::default()
    };
    let asked = after(vec![("t1", "", request.into())]).ask.unwrap();
    assert_eq!(asked.text, "rm -f notes.txt");
    assert!(asked.whole.is_some(), "all of it is shown");
}
