//! ChatEvents as OpenCode's bus would have told them: against what it did tell, and for logs of other agents against the
//! rules of its order.

mod changes;
mod costs;

use std::collections::{BTreeMap, BTreeSet};

use crate::support::bus;
use crate::support::{Random, Source, read, sources};
use bus::{check, line, text};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{OpenCodeOut, to_opencode_events};
use serde_json::{Value, json};

/// What the bus tells, without what may differ:
///
/// | the bus of 1.18 | ours | why |
/// |---|---|---|
/// | `session.updated`, `session.diff` and the prompt again after each step | once, when the session rests | a log has neither titles being made nor snapshots of files |
/// | `busy` before each request, and before `idle` | once, and after a retry | requirement E3 |
/// | a running call again for each state of its own | for its output and its session only | a log says a call once |
/// | a sub-agent's `session.created` before its call runs | after | a log learns of the session from its first event |
/// | `todo.updated` between a call's states | before or behind the call | a log says the plan on its own |
/// | a call is pending as soon as the model names it | when it runs | a log says a call once |
/// | an answer begins before its first part | with it | a log has no event for an empty answer |
/// | `finish` alone or with the end, in the first of the last two | alone | both are seen in recordings |
/// | a `patch` part where git is there | where files changed | a log knows the changes |
/// | a call of no tool is `invalid` as it runs | when it ended | a log says why it failed with the result |
/// | answers from a dead request: whole behind `idle`, which is said again | whole before `idle` | requirement E3 |
fn settled(events: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut busy = BTreeSet::new();
    let mut running = BTreeSet::new();
    let mut failed = BTreeSet::new();
    // Of two idles without work between them, the last.
    let mut rests = BTreeMap::new();
    let mut early = BTreeSet::new();
    for (at, event) in events.iter().enumerate() {
        let session = text(event, "/properties/sessionID");
        match (text(event, "/type"), text(event, "/properties/status/type")) {
            ("session.status", "idle") | ("session.idle", _) => {
                let key = (session, text(event, "/type"));
                early.extend(rests.insert(key, at));
            }
            ("session.status", _) => {
                rests.remove(&(session, "session.status"));
                rests.remove(&(session, "session.idle"));
            }
            _ => {}
        }
    }
    for (_, event) in events
        .iter()
        .enumerate()
        .filter(|(at, _)| !early.contains(at))
    {
        let session = text(event, "/properties/sessionID").to_owned();
        let kind = text(event, "/type");
        let Some(mut line) = line(event) else {
            continue;
        };
        let again = match (kind, text(event, "/properties/status/type")) {
            ("session.status", "busy") => !busy.insert(session),
            ("session.status", "idle") => !busy.remove(&session),
            ("session.status", _) => {
                busy.remove(&session);
                false
            }
            ("session.idle", _) => lines.last().is_none_or(|last| !last.ends_with(" idle")),
            ("session.created" | "session.updated" | "session.diff" | "todo.updated", _) => true,
            ("message.updated", _) => {
                let whole = line.contains(" whole");
                if event.pointer("/properties/info/error").is_some() {
                    failed.insert(text(event, "/properties/info/parentID").to_owned());
                }
                line.ends_with(" again")
                    || event.pointer("/properties/info/error").is_some()
                    || (line.starts_with("answer") && !whole)
                    || lines.contains(&line)
            }
            ("message.part.updated", _) if line.contains(": running ") => {
                let call = text(event, "/properties/part/callID");
                line = format!(
                    "{call} runs {}",
                    event["properties"]["part"]["state"]["input"]
                );
                !running.insert(line.clone())
            }
            ("message.part.updated", _) => line.contains(": pending ") || line.starts_with("patch"),
            _ => false,
        };
        if !again {
            lines.push(line);
        }
    }
    lines.extend(failed.iter().map(|prompt| format!("{prompt} failed")));
    lines
}

fn buses() -> Vec<Source> {
    let mut buses = sources("recordings/opencode", |name| {
        name.ends_with(".events.jsonl")
    });
    buses.extend(sources("fixtures/opencode-events", |name| {
        name.ends_with(".event.jsonl") || name.ends_with(".sse.txt")
    }));
    for bus in &mut buses {
        let text = String::from_utf8(std::mem::take(&mut bus.bytes)).unwrap();
        let lines = text.lines().filter(|line| line.starts_with(['{', 'd']));
        let lines: Vec<&str> = lines
            .map(|line| line.trim_start_matches("data: "))
            .collect();
        bus.bytes = lines.join("\n").into_bytes();
    }
    buses
}

#[test]
fn what_the_bus_told_is_told_again_in_its_order() {
    for source in buses() {
        let told = to_opencode_events(&read(&source.bytes).events);
        let before = settled(&crate::support::values(&source.bytes));
        let after = settled(&told);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "{}", source.name);
        }
        assert_eq!(before.len(), after.len(), "{}", source.name);
    }
}

/// The times in OpenCode's ids begin anew after about two years, and so does their order.
fn within_a_year(events: &[ChatEvent]) -> bool {
    let times = || events.iter().filter_map(|event| event.timestamp);
    let span = times().max().zip(times().min());
    span.is_none_or(|(last, first)| last - first < 365 * 86_400_000)
}

/// All sources that are read, of whatever agent.
fn all_sources() -> Vec<Source> {
    let mut all = Vec::new();
    for folder in ["recordings", "fixtures"] {
        let Some(folder_path) = crate::support::shared(folder) else {
            continue;
        };
        let mut names: Vec<String> = std::fs::read_dir(folder_path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        for name in names.iter().filter(|name| !name.ends_with(".tsv")) {
            all.extend(sources(&format!("{folder}/{name}"), |name| {
                name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".txt")
            }));
        }
    }
    // The largest say the same many times.
    all.retain(|source| source.bytes.len() < 400_000);
    all
}

/// Whether words stand behind the end of their turn.
fn speaks_late(events: &[ChatEvent]) -> bool {
    let mut ended = BTreeSet::new();
    events.iter().any(|event| match &event.payload {
        Payload::TurnEnd(_) => {
            ended.insert(event.turn_id.clone());
            false
        }
        Payload::AssistantDone(_) => event.turn_id.is_some() && ended.contains(&event.turn_id),
        _ => false,
    })
}

#[test]
fn logs_of_all_agents_are_told_in_the_order_of_the_bus() {
    let mut left_out = BTreeSet::new();
    for source in all_sources() {
        let events = read(&source.bytes).events;
        let mut out = OpenCodeOut::new();
        let mut told = Vec::new();
        for event in &events {
            out.push(event, &mut told);
        }
        out.finish(&mut told);
        let rests = check(&source.name, &told, within_a_year(&events));
        let n_turns = events
            .iter()
            .filter(|event| event.event_type() == "turn_end" && event.parent_tool_call_id.is_none())
            .count();
        // Who says something behind the end of a turn is busy once more, of which the log says nothing.
        if speaks_late(&events) {
            continue;
        }
        assert!(
            rests <= n_turns.max(1),
            "{}: {rests} of {n_turns}",
            source.name
        );
        let n_idle = events
            .iter()
            .filter(|event| matches!(&event.payload, Payload::SessionStatus(status) if status.status == "idle"))
            .count();
        // What stands outside of any turn is told as one, of which the log says nothing.
        if n_turns > 0 {
            assert_eq!(rests, n_idle, "{}", source.name);
        }
        left_out.extend(out.left_out().keys().cloned());
        assert_eq!(told, to_opencode_events(&events), "{}", source.name);
    }
    let known = [
        "a change outside of any answer",
        "a permission that nobody asked for",
        "a piece of output of no running call",
        "agent_callback",
        "agent_message",
        "notice",
        "progress",
        "raw",
        "the end of what ran in the background",
        "usage of a turn whose answers were whole",
        "usage of an answer that was whole",
    ];
    assert!(
        left_out.iter().all(|kind| known.contains(&kind.as_str())),
        "{left_out:?}"
    );
}

/// What a log says, an event a line, with its place; ids of texts and chunks' cuts are not compared.
fn facts(events: &[ChatEvent]) -> Vec<String> {
    let mut facts = Vec::new();
    for event in events {
        let what = match &event.payload {
            Payload::SessionStatus(_) | Payload::SessionStart(_) | Payload::Notice(_) => continue,
            Payload::ToolResult(result) => format!(
                "{:?} {:?}",
                crate::support::told(std::slice::from_ref(event)),
                result.exit_code
            ),
            Payload::ToolCall(call) => format!(
                "{} {} {}",
                call.tool_call_id,
                call.tool_name,
                call.args.as_text()
            ),
            Payload::FileEdit(edit) => format!("{edit:?}"),
            Payload::UserMessage(message) => format!("{message:?}"),
            Payload::QuestionRequest(request) => format!("{request:?}"),
            Payload::Plan(plan) => format!("{plan:?}"),
            _ => crate::support::told(std::slice::from_ref(event)).concat(),
        };
        facts.push(format!(
            "{} {:?} {:?} {:?} {what}",
            event.event_type(),
            event.turn_id,
            event.response_id,
            event.parent_tool_call_id,
        ));
    }
    facts
}

fn bytes_of(told: &[Value]) -> Vec<u8> {
    let lines: Vec<String> = told.iter().map(Value::to_string).collect();
    lines.join("\n").into_bytes()
}

#[test]
fn what_is_told_of_the_bus_says_the_same_when_it_is_read() {
    for source in buses() {
        let events = read(&source.bytes).events;
        let told = to_opencode_events(&events);
        let again = read(&bytes_of(&told));
        assert_eq!(again.report.unreadable, 0, "{}", source.name);
        assert!(
            again.report.raw.is_empty(),
            "{}: {:?}",
            source.name,
            again.report.raw
        );
        for (before, after) in facts(&events).iter().zip(&facts(&again.events)) {
            assert_eq!(before, after, "{}", source.name);
        }
        assert_eq!(
            facts(&events).len(),
            facts(&again.events).len(),
            "{}",
            source.name
        );
    }
}

/// What was said and done, without what only one agent has: its turns' and answers' ids, and its codes of failures.
fn gist(events: &[ChatEvent]) -> Vec<String> {
    let mut gist = Vec::new();
    for event in events {
        let inside = event.parent_tool_call_id.is_some();
        let what = match &event.payload {
            Payload::UserMessage(message) if message.text.preview().is_empty() => continue,
            Payload::UserMessage(message) => format!("user {:?}", message.text),
            Payload::AssistantDone(done) if !done.text.is_empty() => format!("text {}", done.text),
            Payload::ThinkingDone(done) if !done.text.is_empty() => {
                format!("thought {}", done.text)
            }
            Payload::ToolCall(call) => {
                format!(
                    "call {} {} {}",
                    call.tool_call_id,
                    call.tool_name,
                    call.args.as_text()
                )
            }
            // On the bus a call is over when it went to the background.
            Payload::ToolResult(result) if result.background == Some(false) => continue,
            Payload::ToolResult(result) => {
                format!("result {} {:?}", result.tool_call_id, result.exit_code)
            }
            Payload::FileEdit(edit) => format!(
                "edit {} {} {} {:?} +{} -{} {:?}",
                edit.tool_call_id,
                edit.change_type,
                edit.file_path,
                edit.old_path,
                edit.lines_added,
                edit.lines_removed,
                edit.full_diff,
            ),
            Payload::Plan(plan) => format!("plan {:?}", plan.entries),
            Payload::QuestionRequest(request) => format!("question {}", request.questions.len()),
            Payload::PermissionRequest(request) => format!("may {}", request.tool_name),
            _ => continue,
        };
        gist.push(format!("{inside} {what}"));
    }
    gist
}

#[test]
fn what_is_told_of_other_agents_says_the_same_when_it_is_read() {
    for folder in ["claude-code", "codex"] {
        for source in sources(&format!("recordings/{folder}"), |name| {
            name.ends_with(".jsonl") && !name.contains("-in.")
        }) {
            let events = read(&source.bytes).events;
            let told = to_opencode_events(&events);
            let again = read(&bytes_of(&told));
            let (before, after) = (gist(&events), gist(&again.events));
            // Here a call is told after what it started; on the bus a session has its call when it begins.
            if source.name != "subagent-plain.hooks.jsonl" {
                assert_eq!(before, after, "{}", source.name);
            }
        }
    }
}

/// What the members of an event are called, by its kind and that of its part.
fn members(told: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in told {
        let of = &event["properties"];
        let kind = [
            text(event, "/type"),
            text(of, "/info/role"),
            text(of, "/part/type"),
            text(of, "/part/state/status"),
            text(of, "/status/type"),
        ]
        .concat();
        let all = members.entry(kind).or_default();
        for (at, value) in [
            ("", Some(of)),
            ("info.", of.get("info")),
            ("info.time.", of.pointer("/info/time")),
            ("part.", of.get("part")),
            ("state.", of.pointer("/part/state")),
            ("status.", of.get("status")),
            (
                "tokens.",
                of.pointer("/info/tokens").or(of.pointer("/part/tokens")),
            ),
        ] {
            let names = value.and_then(Value::as_object).into_iter().flatten();
            all.extend(names.map(|(name, _)| format!("{at}{name}")));
        }
    }
    members
}

#[test]
fn members_are_those_that_the_bus_has() {
    // What a log does not know: snapshots of files, what a session's own rules are, sums that follow from others.
    let unknown = [
        "part.snapshot",
        "info.permission",
        "info.summary",
        "tokens.total",
        "state.title",
        "state.metadata",
    ];
    for source in buses()
        .iter()
        .filter(|source| !source.name.contains("1.1."))
    {
        let theirs = members(&crate::support::values(&source.bytes));
        let ours = members(&to_opencode_events(&read(&source.bytes).events));
        for (kind, ours) in &ours {
            let Some(theirs) = theirs.get(kind) else {
                continue;
            };
            let missing: Vec<&String> = theirs
                .difference(ours)
                .filter(|name| !unknown.contains(&name.as_str()))
                .collect();
            assert!(
                missing.is_empty(),
                "{} {kind}: without {missing:?}",
                source.name
            );
        }
    }
}

/// An event of a log that nobody wrote: few ids, so that much meets.
fn any_event(random: &mut Random, n: usize) -> ChatEvent {
    let id = |random: &mut Random, stem: &str, n: usize| format!("{stem}{}", random.below(n));
    let call = id(random, "c", 4);
    let part = [json!(null), json!(0), json!(1)][random.below(3)].clone();
    let (kind, payload) = match random.below(24) {
        0 | 1 => (
            "turn_start",
            json!({"trigger": (["user", "system"][random.below(2)])}),
        ),
        2 => (
            "turn_end",
            json!({"outcome": (["completed", "interrupted", "failed"][random.below(3)])}),
        ),
        3 => (
            "user_message",
            json!({"text": "Hi", "attachments": [{"mediaType": "a/b", "ref": "x"}, 1]}),
        ),
        4 | 5 => ("assistant_chunk", json!({"text": "ab", "part": part})),
        6 => (
            "assistant_done",
            json!({"text": id(random, "ab", 2), "part": part}),
        ),
        7 => ("thinking_chunk", json!({"text": "ab", "part": part})),
        8 => ("thinking_done", json!({"text": "", "part": part})),
        9 | 10 => (
            "tool_call",
            json!({"toolCallId": call, "toolName": "x", "args": [1], "kind": (["execute", "agent"][random.below(2)])}),
        ),
        11 => (
            "tool_input_chunk",
            json!({"toolCallId": call, "toolName": "x", "chunk": "{"}),
        ),
        12 => (
            "tool_output_chunk",
            json!({"toolCallId": call, "chunk": "out"}),
        ),
        13 | 14 => (
            "tool_result",
            json!({"toolCallId": call, "result": {"a": 1}, "exitCode": 1}),
        ),
        15 => (
            "file_edit",
            json!({"toolCallId": call, "filePath": "/a", "changeType": "renamed", "oldPath": "/b"}),
        ),
        16 => (
            "usage",
            json!({"scope": (["response", "turn", "session"][random.below(3)]), "cumulative": true, "inputTokens": u64::MAX}),
        ),
        17 => (
            "session_status",
            json!({"status": (["busy", "idle", "retrying", "x"][random.below(4)])}),
        ),
        18 => (
            "permission_request",
            json!({"requestId": call, "toolCallId": call}),
        ),
        19 => (
            "permission_resolved",
            json!({"requestId": call, "decision": "allow"}),
        ),
        20 => ("error", json!({"code": "x", "message": "y"})),
        21 => ("interrupt", json!({"reason": "user_cancel"})),
        22 => ("compaction", json!({"summary": "short"})),
        _ => [
            ("session_end", json!({"reason": ""})),
            ("session_start", json!({"model": "m", "title": "T"})),
            ("agent_switch", json!({"toAgentId": "plan"})),
            (
                "retract",
                json!({"eventIds": [format!("e{}", random.below(n + 1))]}),
            ),
            (
                "question_request",
                json!({"requestId": "q", "questions": [{"text": "?"}]}),
            ),
            (
                "question_resolved",
                json!({"requestId": "q", "outcome": "answered", "answers": {"?": 1}}),
            ),
            ("turn_end", json!({})),
        ][random.below(7)]
        .clone(),
    };
    let mut event =
        json!({"id": format!("e{n}"), "sessionId": "s", "type": kind, "payload": payload});
    if random.below(5) > 0 {
        event["timestamp"] = json!(random.below(5_000));
    }
    if random.below(4) > 0 {
        event["turnId"] = json!(id(random, "t", 3));
    }
    if random.below(2) > 0 {
        event["responseId"] = json!(id(random, "r", 4));
    }
    if random.below(4) == 0 {
        event["parentToolCallId"] = json!(id(random, "c", 4));
    }
    ChatEvent::from_json(&event.to_string()).unwrap()
}

#[test]
fn whatever_the_log_says_is_told_in_the_order_of_the_bus() {
    for seed in 1..800 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
        let n_events = 1 + random.below(60);
        let events: Vec<ChatEvent> = (0..n_events).map(|n| any_event(&mut random, n)).collect();
        let told = to_opencode_events(&events);
        check(&format!("seed {seed}"), &told, true);
        let mut out = OpenCodeOut::new();
        let mut twice = Vec::new();
        for event in &events {
            out.push(event, &mut twice);
            let n_told = twice.len();
            out.push(event, &mut twice);
            assert_eq!(twice.len(), n_told, "seed {seed}: told twice");
        }
        out.finish(&mut twice);
        let n_told = twice.len();
        out.finish(&mut twice);
        assert_eq!(twice.len(), n_told, "seed {seed}: ended twice");
        assert_eq!(twice, told, "seed {seed}");
    }
}

/// Events of one session and turn, from their types and payloads.
fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let events = lines.iter().enumerate().map(|(at, (kind, payload))| {
        let event = json!({"id": format!("e{at}"), "timestamp": 1_795_294_338_000_u64 + at as u64, "sessionId": "s",
            "type": kind, "turnId": "t", "responseId": payload.get("r"), "payload": payload});
        ChatEvent::from_json(&event.to_string()).unwrap()
    });
    events.collect()
}

/// `seeds/004`: "Read README.md and add a line at the end", two calls, then the final text.
#[test]
fn a_turn_is_told_in_the_order_that_is_asked_for() {
    let call =
        |id: &str, name: &str| json!({"toolCallId": id, "toolName": name, "args": {}, "r": "r"});
    let result = |id: &str| json!({"toolCallId": id, "result": "ok", "r": "r"});
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("session_status", json!({"status": "busy"})),
        ("user_message", json!({"text": "Read"})),
        ("assistant_chunk", json!({"text": "I'll ", "r": "a"})),
        ("assistant_chunk", json!({"text": "read", "r": "a"})),
        ("assistant_done", json!({"text": "I'll read", "r": "a"})),
        ("tool_call", call("c1", "Read")),
        ("tool_result", result("c1")),
        ("tool_call", call("c2", "Edit")),
        ("tool_result", result("c2")),
        ("assistant_done", json!({"text": "Done!", "r": "b"})),
        ("turn_end", json!({"outcome": "completed"})),
        ("session_status", json!({"status": "idle"})),
        ("session_end", json!({"reason": "exit"})),
    ]);
    let told = to_opencode_events(&events);
    assert_eq!(check("seed 004", &told, true), 1);
    let short: Vec<String> = told
        .iter()
        .map(|event| {
            let of = &event["properties"];
            let words = [
                text(event, "/type"),
                text(of, "/info/role"),
                text(of, "/info/finish"),
                text(of, "/part/type"),
                text(of, "/part/callID"),
                text(of, "/part/state/status"),
                text(of, "/part/text"),
                text(of, "/delta"),
                text(of, "/status/type"),
            ];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            words.join(" ")
        })
        .collect();
    assert_eq!(
        short,
        [
            "session.created",
            "session.updated",
            "message.updated user",
            "message.part.updated text Read",
            "session.status busy",
            "message.updated assistant",
            "message.part.updated step-start",
            "message.part.updated text",
            "message.part.delta I'll ",
            "message.part.delta read",
            "message.part.updated text I'll read",
            "message.part.updated tool c1 pending",
            "message.part.updated tool c1 running",
            "message.part.updated tool c1 completed",
            "message.part.updated tool c2 pending",
            "message.part.updated tool c2 running",
            "message.part.updated tool c2 completed",
            "message.part.updated step-finish",
            "message.updated assistant tool-calls",
            "message.updated assistant tool-calls",
            "message.updated assistant",
            "message.part.updated step-start",
            "message.part.updated text",
            "message.part.updated text Done!",
            "message.part.updated step-finish",
            "message.updated assistant stop",
            "message.updated assistant stop",
            "session.status idle",
            "session.idle",
            "session.updated",
            "session.diff",
            "message.updated user",
        ]
    );
}

#[test]
fn a_guess_that_was_wrong_is_taken_back() {
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("user_message", json!({"text": "Hi"})),
        ("assistant_chunk", json!({"text": "Let me ", "r": "a"})),
        ("session_status", json!({"status": "idle", "guessed": true})),
        ("session_status", json!({"status": "busy"})),
        ("assistant_chunk", json!({"text": "see", "r": "a"})),
        ("turn_end", json!({"outcome": "completed"})),
        ("session_status", json!({"status": "idle"})),
    ]);
    let told = to_opencode_events(&events);
    let states: Vec<&str> = told
        .iter()
        .map(|event| text(event, "/properties/status/type"))
        .filter(|state| !state.is_empty())
        .collect();
    assert_eq!(states, ["busy", "idle", "busy", "idle"]);
}

/// What is told of a log grows with it, not with its square.
#[test]
fn output_in_many_pieces_is_not_told_again_with_each() {
    let mut lines = vec![(
        "tool_call",
        json!({"toolCallId": "c", "toolName": "bash", "args": {}}),
    )];
    lines.extend((0..20_000).map(|_| {
        (
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": "0123456789"}),
        )
    }));
    let events = log(&lines);
    let told = bytes_of(&to_opencode_events(&events));
    assert!(told.len() < 8_000_000, "{}", told.len());
}

/// Turns, calls and results of which the log never says the end, more than are kept open: each is told and closed once.
#[test]
fn what_never_ends_is_told_and_closed_however_much_it_is() {
    const N: usize = 2500;
    let mut lines = Vec::new();
    for n in 0..N {
        let (turn, response) = (format!("t{n}"), format!("r{n}"));
        let mut say = |kind: &str, payload: Value| {
            let id = format!("e{}", lines.len());
            lines.push(json!({"id": id, "timestamp": 1_795_294_338_000_u64 + n as u64, "sessionId": "s", "type": kind,
                "turnId": turn, "responseId": response, "payload": payload}));
        };
        say("turn_start", json!({"trigger": "user"}));
        say("user_message", json!({"text": "Go on"}));
        say("assistant_chunk", json!({"text": "I will", "part": 0}));
        let call = json!({"toolCallId": format!("c{n}"), "toolName": "Edit", "args": {}});
        say("tool_call", call);
        let result = json!({"toolCallId": format!("lost{n}"), "result": "x"});
        say("tool_result", result);
    }
    let events: Vec<ChatEvent> = lines
        .iter()
        .map(|line| ChatEvent::from_json(&line.to_string()).unwrap())
        .collect();
    let told = to_opencode_events(&events);
    check("what never ends", &told, true);
    let parts = || {
        told.iter()
            .map(|event| &event["properties"]["part"])
            .filter(|part| part["type"] == "tool")
    };
    let ended: BTreeSet<&str> = parts()
        .filter(|part| {
            matches!(
                part["state"]["status"].as_str(),
                Some("completed" | "error")
            )
        })
        .filter_map(|part| part["callID"].as_str())
        .collect();
    assert_eq!(ended.len(), 2 * N);
}

/// A call that ended long ago is forgotten: a change of it is counted, and one of a late call is told.
#[test]
fn a_change_is_told_by_its_call_as_long_as_that_is_known() {
    const N: usize = 1500;
    let mut lines = Vec::new();
    for n in 0..N {
        let id = format!("c{n}");
        lines.push((
            "tool_call",
            json!({"toolCallId": id, "toolName": "Edit", "args": {}, "r": format!("r{n}")}),
        ));
        lines.push(("tool_result", json!({"toolCallId": id, "result": "ok"})));
    }
    for n in [0, N - 1] {
        let path = format!("/f{n}");
        lines.push((
            "file_edit",
            json!({"toolCallId": format!("c{n}"), "filePath": path, "changeType": "modified",
                "linesAdded": 1, "linesRemoved": 0}),
        ));
    }
    let told = to_opencode_events(&log(&lines));
    let edited: Vec<&str> = told
        .iter()
        .filter(|event| event["type"] == "file.edited")
        .filter_map(|event| event["properties"]["file"].as_str())
        .collect();
    assert_eq!(edited, [format!("/f{}", N - 1)]);
}
