//! What a log may hold very many of costs no more than their number: of these sizes each test would take minutes if
//! what is done for one grew with all.

use chat_event::payload::{
    AssistantChunk, AudioChunk, ErrorEvent, FileEdit, Interrupt, PermissionRequest, Plan,
    PlanEntry, Retract, ThinkingChunk, ToolCall, ToolResult,
};
use chat_event::{ChatEvent, Payload};
use chat_feed::arrangement::{Arrangement, Mode, Row};
use chat_feed::playback::Stops;
use chat_feed::projections::to_openai_messages;
use chat_feed::{BlockBody, ChatRenderer};

fn log(payloads: impl Iterator<Item = Payload>) -> Vec<ChatEvent> {
    let event = |(nth, payload)| {
        let mut event = ChatEvent::new(format!("e{nth}"), 0, "s", payload);
        event.turn_id = Some("t".to_owned());
        event.response_id = Some("r".to_owned());
        event
    };
    payloads.enumerate().map(event).collect()
}

fn replayed(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(events);
    renderer
}

/// All of them arranged at once.
fn arranged(events: &[ChatEvent]) -> (ChatRenderer, Arrangement) {
    let (mut renderer, mut patches) = (ChatRenderer::new(), Vec::new());
    for event in events {
        renderer.apply(event, &mut patches);
    }
    let mut arrangement = Arrangement::new(Mode::default());
    arrangement.apply(renderer.feed(), &patches, &mut Vec::new());
    (renderer, arrangement)
}

#[test]
fn very_many_parts_of_one_response_are_taken_back() {
    const N: u32 = 300_000;
    let said = (0..N).map(|part| {
        let part = Some(part);
        let text = "x".to_owned();
        match part < Some(N / 2) {
            true => Payload::from(AssistantChunk {
                text,
                part,
                ..AssistantChunk::default()
            }),
            false => Payload::from(ThinkingChunk {
                text,
                part,
                ..ThinkingChunk::default()
            }),
        }
    });
    let taken_back = (0..N - 1).map(|nth| {
        Payload::from(Retract {
            event_ids: vec![format!("e{nth}")],
            ..Retract::default()
        })
    });
    let events = log(said.chain(taken_back));
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    let rows = renderer.feed().rows();
    let thoughts = rows.filter(|row| matches!(row.body, BlockBody::Thinking(_)));
    assert_eq!(thoughts.count(), 1);
    assert!(to_openai_messages(&events).len() <= 1);
}

/// Each chunk of an odd number comes before the one it stands behind.
#[test]
fn very_many_chunks_come_a_little_late() {
    const N: u64 = 100_000;
    let chunk = |index: u64| AssistantChunk {
        text: format!("{index}\n\n"),
        part: Some(0),
        index: Some(index),
        ..AssistantChunk::default()
    };
    let events = log((0..N).map(|nth| chunk(nth ^ 1).into()));
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    let feed = renderer.feed();
    let rows: Vec<_> = feed
        .rows()
        .filter(|row| matches!(row.body, BlockBody::Text(_)))
        .collect();
    assert_eq!(rows.len() as u64, N);
    for (nth, row) in rows.iter().enumerate() {
        assert_eq!(&*feed.text(row.id), nth.to_string());
    }
}

/// The last comes first: of each that comes the whole text would be read again. They are there all the same.
#[test]
fn very_many_chunks_come_in_the_wrong_order() {
    const N: u64 = 60_000;
    let chunk = |index: u64| AssistantChunk {
        text: format!("{index}\n\n"),
        part: Some(0),
        index: Some(index),
        ..AssistantChunk::default()
    };
    let events = log((0..N).rev().map(|index| chunk(index).into()));
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    let feed = renderer.feed();
    let rows = feed
        .rows()
        .filter(|row| matches!(row.body, BlockBody::Text(_)));
    let numbers: std::collections::BTreeSet<u64> =
        rows.map(|row| feed.text(row.id).parse().unwrap()).collect();
    assert_eq!(numbers, (0..N).collect());
}

#[test]
fn very_many_spoken_answers_are_open_at_once() {
    const N: u64 = 60_000;
    let spoken = (0..N).map(|seq| {
        Payload::from(AudioChunk {
            data: Some("AA==".to_owned()),
            seq,
            ..AudioChunk::default()
        })
    });
    let failures = (0..N).map(|nth| {
        Payload::from(ErrorEvent {
            message: nth.to_string(),
            ..ErrorEvent::default()
        })
    });
    let mut events = log(spoken.chain(failures));
    for (nth, event) in events.iter_mut().enumerate() {
        event.response_id = Some(format!("r{nth}"));
    }
    let renderer = replayed(&events);
    let rows = renderer.feed().rows();
    let is_whole = rows.filter_map(|row| match row.body {
        BlockBody::Audio {
            chunks: 1, done, ..
        } => Some(done),
        _ => None,
    });
    assert_eq!(is_whole.filter(|is_whole| *is_whole).count() as u64, N);
}

#[test]
fn very_many_edits_of_one_turn_are_taken_back() {
    const N: u32 = 100_000;
    let edits = (0..N).map(|nth| {
        Payload::from(FileEdit {
            file_path: format!("{nth}.rs"),
            change_type: "modified".to_owned(),
            ..FileEdit::default()
        })
    });
    let taken_back = (0..N - 1).map(|nth| {
        Payload::from(Retract {
            event_ids: vec![format!("e{nth}")],
            ..Retract::default()
        })
    });
    let renderer = replayed(&log(edits.chain(taken_back)));
    assert_eq!(renderer.check(), Ok(()));
    let turn = &renderer.feed().turns()[0];
    assert_eq!((turn.edits, turn.files), (1, 1));
}

/// Requests of each kind: of a hook, of an agent's own log, and of a call that is answered here.
#[test]
fn very_many_requests_and_calls_are_open_at_once() {
    const N: u32 = 60_000;
    let requests = (0..N).map(|nth| {
        Payload::from(PermissionRequest {
            request_id: format!("p{nth}"),
            tool_call_id: (nth % 3 > 0).then(|| format!("c{nth}")),
            answerable: Some(nth % 3 != 1),
            ..PermissionRequest::default()
        })
    });
    let calls = (0..N).map(|nth| {
        Payload::from(ToolCall {
            tool_call_id: format!("c{nth}"),
            ..ToolCall::default()
        })
    });
    let mut events = log(requests.chain(calls));
    for (nth, event) in events.iter_mut().enumerate() {
        // What differs from all others is told by nobody else.
        if let Payload::PermissionRequest(request) = &mut event.payload {
            request.tool_name = format!("tool {nth}");
        }
    }
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    assert_eq!(renderer.waiting_asks(), N as usize);
    let rows = renderer.feed().rows();
    let waiting = rows.filter(|row| matches!(&row.body, BlockBody::ToolCall(call) if call.waits));
    assert_eq!(waiting.count() as u32, N / 3 * 2);
}

#[test]
fn very_many_agents_have_their_stretches() {
    const N: u32 = 300_000;
    let call = |id: String| {
        Payload::from(ToolCall {
            tool_call_id: id,
            ..ToolCall::default()
        })
    };
    let calls = (0..N).flat_map(|nth| [call(format!("a{nth}")), call(format!("of {nth}"))]);
    let mut events = log(calls);
    for (nth, event) in events.iter_mut().enumerate() {
        event.parent_tool_call_id = (nth % 2 == 1).then(|| format!("a{}", nth / 2));
    }
    let renderer = replayed(&events);
    let mut stops = Stops::default();
    stops.follow(renderer.feed());
    assert_eq!(stops.agents().len() as u32, N);
    let last = stops.agents().last().unwrap();
    assert_eq!((last.from, last.to), (2 * N - 2, 2 * N - 1));
}

/// All steps of an agent, whose call is closed.
#[test]
fn very_many_hidden_blocks_have_the_row_that_stands_for_them() {
    const N: usize = 100_000;
    let calls = (0..=N).map(|nth| {
        Payload::from(ToolCall {
            tool_call_id: format!("c{nth}"),
            ..ToolCall::default()
        })
    });
    let mut events = log(calls);
    for event in events.iter_mut().skip(1) {
        event.parent_tool_call_id = Some("c0".to_owned());
    }
    let (renderer, arrangement) = arranged(&events);
    let feed = renderer.feed();
    let blocks: Vec<_> = feed.rows().map(|block| block.id).skip(1).collect();
    assert!(blocks.len() >= N && arrangement.shown(feed).count() <= 2);
    let rows = arrangement.nearest_of_each(feed, &blocks);
    assert!(rows[0].is_some() && rows.iter().all(|row| *row == rows[0]));
}

/// Each call gives way to its changed file, whose neighbours in the same turn are of the same file or of another.
#[test]
fn very_many_edits_of_a_turn_that_runs_have_their_places() {
    const N: usize = 15_000;
    let edits = (0..N).flat_map(|nth| {
        let call_id = format!("c{nth}");
        let call = ToolCall {
            tool_call_id: call_id.clone(),
            tool_name: "Edit".to_owned(),
            ..ToolCall::default()
        };
        let edit = FileEdit {
            tool_call_id: call_id.clone(),
            file_path: format!("{}.rs", nth / 2),
            change_type: "modified".to_owned(),
            ..FileEdit::default()
        };
        let result = ToolResult {
            tool_call_id: call_id,
            ..ToolResult::default()
        };
        [call.into(), edit.into(), result.into()]
    });
    let mut renderer = ChatRenderer::new();
    let mut arrangement = Arrangement::new(Mode::default());
    for event in &log(edits) {
        let patches = renderer.render_event(event);
        arrangement.apply(renderer.feed(), &patches, &mut Vec::new());
    }
    let feed = renderer.feed();
    // Of each two a header and both changes.
    assert_eq!(arrangement.shown(feed).count(), N / 2 * 3);
}

/// Each with a plan of its own, which a call made and took further.
#[test]
fn very_many_agents_have_plans() {
    const N: usize = 60_000;
    let of_agent = |nth: usize, payload: Payload| {
        let mut event = log(std::iter::once(payload)).remove(0);
        event.parent_tool_call_id = (nth < N).then(|| format!("a{nth}"));
        event
    };
    let call = |id: String, tool_name: &str| ToolCall {
        tool_call_id: id,
        tool_name: tool_name.to_owned(),
        args: serde_json::json!({"todos": [{"content": "x", "status": "pending"}]}).into(),
        ..ToolCall::default()
    };
    let plan = |status: &str| Plan {
        entries: vec![PlanEntry {
            content: "x".to_owned(),
            status: status.to_owned(),
            ..PlanEntry::default()
        }],
        ..Plan::default()
    };
    let agents = (0..N).map(|nth| of_agent(N, call(format!("a{nth}"), "Task").into()));
    let plans = (0..N).flat_map(|nth| {
        let result = ToolResult {
            tool_call_id: format!("t{nth}"),
            ..ToolResult::default()
        };
        [
            of_agent(nth, call(format!("t{nth}"), "TodoWrite").into()),
            of_agent(nth, plan("pending").into()),
            of_agent(nth, result.into()),
            of_agent(nth, plan("in_progress").into()),
        ]
    });
    let mut events: Vec<ChatEvent> = agents.chain(plans).collect();
    for (nth, event) in events.iter_mut().enumerate() {
        event.id = format!("e{nth}");
    }
    let (renderer, arrangement) = arranged(&events);
    let feed = renderer.feed();
    let rows = feed.rows();
    let plans: Vec<_> = rows
        .filter(|row| matches!(row.body, BlockBody::Plan(_)))
        .map(|row| row.id)
        .collect();
    assert_eq!(plans.len(), N);
    assert!(
        plans
            .iter()
            .all(|&plan| arrangement.is_open(feed, Row::Block(plan)))
    );
    let steps = feed.plan_steps();
    assert_eq!(steps.len(), 2 * N);
    assert!(steps[N].changes.iter().all(|it| it.content == "x"));
}

/// While all others run on.
#[test]
fn very_many_calls_are_stopped_one_by_one() {
    const N: usize = 60_000;
    let calls = (0..N).map(|nth| {
        Payload::from(ToolCall {
            tool_call_id: format!("c{nth}"),
            ..ToolCall::default()
        })
    });
    let stops = (0..N - 1).map(|_| Payload::from(Interrupt::default()));
    let mut events = log(calls.chain(stops));
    for (nth, event) in events.iter_mut().enumerate().skip(N) {
        event.parent_tool_call_id = Some(format!("c{}", nth - N));
    }
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    assert_eq!(renderer.calls_that_run().count(), N);
}
