//! Following agents' files: each line is told once, as it is written, and as `turnreel convert` tells it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::home::{
    Home, append, converted, events, ids, prompt, rests, sorted, story, texts,
};
use crate::support::{self, soon};
use serde_json::{Value, json};

#[test]
fn what_is_told_is_what_is_converted_however_the_file_was_written() {
    for (story_name, file, at) in [
        (
            "read-edit-transcript",
            "input.transcript.jsonl",
            ".claude/projects/-w/s.jsonl",
        ),
        (
            "codex-rollout",
            "input.rollout.jsonl",
            ".codex/sessions/2026/11/21/rollout-1.jsonl",
        ),
        (
            "pi-session",
            "input.session.jsonl",
            ".pi/agent/sessions/--w--/1.jsonl",
        ),
        (
            "gemini-chat",
            "input.chat.jsonl",
            ".gemini/tmp/p/chats/session-1.jsonl",
        ),
        (
            "qwen-chat",
            "input.chat.jsonl",
            ".qwen/projects/-home-dev-demo/chats/7d1f0c58-3a5e-4c7b-9a55-0d6a2f4f1a01.jsonl",
        ),
        (
            "droid-session",
            "input.session.jsonl",
            ".factory/sessions/-home-dev-demo/0b9b6d0a-5b7e-4d1c-9f0a-3c2e6a1d7f02.jsonl",
        ),
        (
            "copilot-session",
            "input.session.jsonl",
            ".copilot/session-state/c155ac26-d79d-4393-be78-a70066617089/events.jsonl",
        ),
    ] {
        let home = Home::new();
        let bytes = story(story_name, file).into_bytes();
        let path = home.write(at, "");
        let mut server = home.watch(&[]);
        let mut dice = support::dice::Dice::new(bytes.len() as u64);
        let mut rest = &bytes[..];
        let mut n_pieces = 0;
        while !rest.is_empty() {
            // Half lines and single bytes are pieces, too; in the middle the program is killed, and starts again.
            let most = rest.len().min(1 + bytes.len() / 8) as u64;
            let (piece, left) = rest.split_at(1 + dice.between(0, most) as usize);
            append(&path, piece);
            rest = left;
            std::thread::sleep(Duration::from_millis(dice.between(0, 400)));
            n_pieces += 1;
            if n_pieces % 7 == 3 {
                server.kill();
                server = home.watch(&[]);
            }
        }
        // It rests for so long that its session is over.
        rests(&path, Duration::from_hours(25));
        let expected = converted(&path);
        let session = expected[0]["sessionId"].as_str().unwrap().to_owned();
        soon("the session ends", || {
            let told = events(&home.data(), &session);
            told.len() >= expected.len()
        });
        assert_eq!(events(&home.data(), &session), expected, "{story_name}");
        // A new start finds nothing to tell.
        server.stop();
        let server = home.watch(&[]);
        std::thread::sleep(Duration::from_millis(1500));
        drop(server);
        assert_eq!(events(&home.data(), &session).len(), expected.len());
    }
}

#[test]
fn a_line_that_is_appended_arrives_within_a_second_or_two_and_a_half_one_waits() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let server = home.watch(&[]);
    let told = |text: &str| {
        let all = events(&home.data(), "s1");
        all.iter().any(|event| event["payload"]["text"] == text)
    };
    soon("the first is there", || told("First"));
    let line = prompt("s1", 2, "Second");
    let (half, rest) = line.split_at(line.len() / 2);
    append(&path, half.as_bytes());
    std::thread::sleep(Duration::from_millis(700));
    assert!(!told("Second"));
    append(&path, rest.as_bytes());
    soon("the second is there", || told("Second"));
    // One may come while the machine has no time for it, but not each.
    let comes_in_time = |n: usize| {
        let text = format!("Line {n}");
        append(&path, prompt("s1", n, &text).as_bytes());
        let began = Instant::now();
        soon("the line is there", || told(&text));
        began.elapsed() < Duration::from_secs(2)
    };
    assert!((3..13).any(comes_in_time));
    // A session in a folder that was not there.
    let is_found_in_time = |n: usize| {
        let id = format!("new{n}");
        let path = format!(".claude/projects/-{id}/{id}.jsonl");
        home.write(&path, prompt(&id, 1, "Other"));
        let began = Instant::now();
        soon("the new session is there", || ids(&server).contains(&id));
        began.elapsed() < Duration::from_secs(4)
    };
    assert!((0..10).any(is_found_in_time));
}

#[test]
fn starting_again_tells_nothing_twice_and_loses_nothing() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let mut server = home.watch(&[]);
    let texts = || texts(&home.data(), "s1");
    soon("the first is there", || texts() == ["First"]);
    server.stop();
    append(&path, prompt("s1", 2, "Away").as_bytes());
    let mut server = home.watch(&[]);
    soon("what came meanwhile is there", || {
        texts() == ["First", "Away"]
    });
    // Killed, and what it noted is gone: the ids tell.
    server.kill();
    let _ = std::fs::remove_file(home.data().join("following.json"));
    append(&path, prompt("s1", 3, "Killed").as_bytes());
    let _server = home.watch(&[]);
    soon("all is there", || texts() == ["First", "Away", "Killed"]);
    std::thread::sleep(Duration::from_millis(500));
    let all = events(&home.data(), "s1");
    let ids: BTreeSet<&str> = all
        .iter()
        .filter_map(|event| event["id"].as_str())
        .collect();
    assert_eq!(ids.len(), all.len());
}

/// As after a folder was renamed: each is longer than what is read at once, and there are more than are held.
#[test]
fn many_sessions_that_change_at_once_are_all_read() {
    let home = Home::new();
    home.write(".claude/projects/-w/s0.jsonl", prompt("s0", 1, "First"));
    let server = home.watch(&[]);
    soon("it runs", || ids(&server).contains("s0"));
    let n_sessions = 28;
    for nth in 1..=n_sessions {
        let session = format!("s{nth}");
        let text = "x".repeat(42_000);
        let long: String = (0..13).map(|n| prompt(&session, n, &text)).collect();
        let path = format!("elsewhere/{session}.jsonl");
        home.write(&path, long + &prompt(&session, 9, "Last"));
    }
    let folder = home.path(".claude/projects/-other");
    std::fs::rename(home.path("elsewhere"), &folder).unwrap();
    soon("all are read to their end", || {
        // Looking costs much of the time that they have.
        std::thread::sleep(Duration::from_millis(500));
        let logs = std::fs::read_dir(home.data()).unwrap().flatten();
        let logs = logs.filter(|it| it.file_name().to_string_lossy().ends_with(".events.jsonl"));
        let texts = logs.map(|log| std::fs::read_to_string(log.path()).unwrap());
        texts.filter(|text| text.contains(r#""Last""#)).count() == n_sessions
    });
}

#[test]
fn a_session_with_agents_is_told_as_it_is_converted() {
    for story in ["subagent", "subagent-plain"] {
        let Some(folder) = support::shared("recordings/claude-code") else {
            return;
        };
        let home = Home::new();
        let mut main = PathBuf::new();
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix(&format!("{story}.transcript.")) else {
                continue;
            };
            let below = format!(".claude/projects/-w/{}", rest.replace("__", "/"));
            let path = home.write(&below, std::fs::read(entry.path()).unwrap());
            rests(&path, Duration::from_hours(25));
            if !rest.contains("__") {
                main = path;
            }
        }
        let server = home.watch(&[]);
        let expected = converted(&main);
        let session = expected[0]["sessionId"].as_str().unwrap();
        soon("the session is read", || {
            events(&home.data(), session).len() >= expected.len()
        });
        drop(server);
        assert_eq!(events(&home.data(), session), expected, "{story}");
    }
}

#[test]
fn a_sub_agent_is_followed_while_it_works() {
    let Some(folder) = support::shared("recordings/claude-code") else {
        return;
    };
    let id = "a304d5e0-d87f-4c9d-98aa-27089c34c4bf";
    let agent = "aa2df4c86842dcb55";
    let read = |rest: &str| {
        std::fs::read_to_string(folder.join(format!("subagent.transcript.{id}{rest}"))).unwrap()
    };
    let main = read(".jsonl");
    let parts = format!("__subagents__agent-{agent}");
    let home = Home::new();
    // The call that starts it is written, its result is not.
    let calls: Vec<&str> = main.lines().collect();
    let call = calls
        .iter()
        .position(|line| {
            let names = |tool: &str| line.contains(&format!(r#""name":"{tool}""#));
            // Other lines name all tools that there are.
            line.contains(r#""type":"tool_use""#) && (names("Agent") || names("Task"))
        })
        .unwrap();
    let own = format!(".claude/projects/-w/{id}.jsonl");
    let own = home.write(&own, calls[..=call].join("\n") + "\n");
    let mut server = home.watch(&[]);
    let below = format!(".claude/projects/-w/{id}/subagents/agent-{agent}");
    home.write(
        &format!("{below}.meta.json"),
        read(&format!("{parts}.meta.json")),
    );
    let agents = read(&format!("{parts}.jsonl"));
    let path = home.write(&format!("{below}.jsonl"), "");
    let of_agent = || {
        let all = events(&home.data(), id);
        let ours = all.iter().filter(|event| event["agentId"] == agent);
        ours.filter(|event| event["parentToolCallId"].is_string())
            .count()
    };
    let mut before = 0;
    let half = agents.lines().count() / 2;
    let lines: Vec<&str> = agents.lines().collect();
    for lines in [&lines[..half], &lines[half..]] {
        append(&path, (lines.join("\n") + "\n").as_bytes());
        soon("what it does is told", || of_agent() > before);
        before = of_agent();
        // Who starts again has read the call before, and goes on.
        server.stop();
        server = home.watch(&[]);
    }
    append(&own, (calls[call + 1..].join("\n") + "\n").as_bytes());
    for path in [&own, &path] {
        rests(path, Duration::from_hours(25));
    }
    let expected = converted(&own);
    soon("the session ends", || {
        events(&home.data(), id).len() >= expected.len()
    });
    assert_eq!(events(&home.data(), id), expected);
}

/// Its call's result says only that it began: it works beside its caller, and is told as it does, until it is said that it
/// is over. Who converts the files puts it there as a whole.
#[test]
fn a_sub_agent_in_the_background_is_told_before_it_is_said_to_be_over() {
    let Some(folder) = support::shared("recordings/claude-code") else {
        return;
    };
    let id = "296958b1-70af-436c-8f8c-9ba2e6865e8d";
    let agent = "agent-a1883c78ce0efeb52";
    let read = |rest: &str| {
        let name = format!("subagent-plain.transcript.{id}{rest}");
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let main = read(".jsonl");
    let lines: Vec<&str> = main.lines().collect();
    let over = lines
        .iter()
        .position(|line| line.contains("<task-notification>"))
        .unwrap();
    let home = Home::new();
    let own = format!(".claude/projects/-w/{id}.jsonl");
    let own = home.write(&own, lines[..over].join("\n") + "\n");
    let below = format!(".claude/projects/-w/{id}/subagents/{agent}");
    home.write(
        &format!("{below}.meta.json"),
        read(&format!("__subagents__{agent}.meta.json")),
    );
    let _server = home.watch(&[]);
    let count = |what: &dyn Fn(&Value) -> bool| {
        let all = events(&home.data(), id);
        all.iter().filter(|event| what(event)).count()
    };
    let is_result = |event: &Value| event["type"] == "tool_result";
    soon("its call has a result", || count(&is_result) == 1);
    let path = home.write(
        &format!("{below}.jsonl"),
        read(&format!("__subagents__{agent}.jsonl")),
    );
    soon("what it does is told", || {
        count(&|event| event["parentToolCallId"].is_string()) > 1
    });
    append(&own, (lines[over..].join("\n") + "\n").as_bytes());
    for path in [&own, &path] {
        rests(path, Duration::from_hours(25));
    }
    let expected = converted(&own);
    soon("the session ends", || {
        events(&home.data(), id).len() >= expected.len()
    });
    let told = events(&home.data(), id);
    let of_agent = |event: &&Value| event["parentToolCallId"].is_string();
    for is_agents in [true, false] {
        let [told, expected] = [&told, &expected].map(|events| {
            let events = events.iter().filter(|it| of_agent(it) == is_agents);
            events.collect::<Vec<_>>()
        });
        assert_eq!(told, expected);
    }
    for events in [&told, &expected] {
        let over = events
            .iter()
            .position(|it| it["payload"]["source"] == "task");
        let last = events.iter().rposition(|it| of_agent(&it));
        assert!(last < over, "{last:?} {over:?}");
    }
}

#[test]
fn a_sub_agent_whose_last_line_is_being_written_when_its_result_comes_is_read_whole() {
    let Some(folder) = support::shared("recordings/claude-code") else {
        return;
    };
    let id = "a304d5e0-d87f-4c9d-98aa-27089c34c4bf";
    let agent = "subagents/agent-aa2df4c86842dcb55";
    let home = Home::new();
    let read = |rest: &str| {
        let name = format!("subagent.transcript.{id}{}", rest.replace('/', "__"));
        std::fs::read(folder.join(name)).unwrap()
    };
    let write =
        |rest: &str, bytes: &[u8]| home.write(&format!(".claude/projects/-w/{id}{rest}"), bytes);
    let meta = format!("/{agent}.meta.json");
    write(&meta, &read(&meta));
    let said = format!("/{agent}.jsonl");
    let lines = read(&said);
    let (begun, rest) = lines.split_at(lines.len() - 40);
    let path = write(&said, begun);
    let own = write(".jsonl", &read(".jsonl"));
    let _server = home.watch(&[]);
    let all = || events(&home.data(), id);
    soon("its call has a result", || {
        all()
            .iter()
            .any(|event| event["type"] == "tool_result" && event["parentToolCallId"].is_null())
    });
    append(&path, rest);
    let of_agent = |event: &&Value| event["parentToolCallId"].is_string();
    let texts = |events: &[Value]| -> Vec<Value> {
        let of_agent = events.iter().filter(of_agent);
        let texts = of_agent.filter(|event| event["type"] != "usage");
        texts.map(|event| event["payload"].clone()).collect()
    };
    let expected = texts(&converted(&own));
    soon("all of it is told", || {
        texts(&all()).len() >= expected.len()
    });
    assert_eq!(texts(&all()), expected);
}

/// As one that its caller writes to again.
#[test]
fn a_sub_agent_that_goes_on_after_its_result_is_told_on() {
    let Some(folder) = support::shared("recordings/claude-code") else {
        return;
    };
    let id = "a304d5e0-d87f-4c9d-98aa-27089c34c4bf";
    let agent = "subagents/agent-aa2df4c86842dcb55";
    let home = Home::new();
    let copy = |rest: &str| {
        let name = format!("subagent.transcript.{id}{}", rest.replace('/', "__"));
        let below = format!(".claude/projects/-w/{id}{rest}");
        home.write(&below, std::fs::read(folder.join(name)).unwrap())
    };
    copy(&format!("/{agent}.meta.json"));
    let path = copy(&format!("/{agent}.jsonl"));
    copy(".jsonl");
    let _server = home.watch(&[]);
    let all = || events(&home.data(), id);
    let has = |text: &str| all().iter().any(|event| event["payload"]["text"] == text);
    soon("it is read", || {
        all()
            .iter()
            .any(|event| event["type"] == "session_status" && event["payload"]["status"] == "idle")
    });
    for text in ["Once more", "And again"] {
        let line = json!({"type": "user", "uuid": text.replace(' ', "-"), "sessionId": id, "isSidechain": true,
            "timestamp": "2026-11-21T21:03:00.000Z", "message": {"role": "user", "content": text}});
        append(&path, format!("{line}\n").as_bytes());
        soon("it is told on", || has(text));
    }
    let ids: BTreeSet<String> = all().iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids.len(), all().len());
}

/// As Gemini CLI kept its chats at first: one document, written anew with each message.
#[test]
fn a_document_that_is_written_anew_tells_what_is_new_in_it_each_time() {
    let chat = |messages: &[Value]| {
        let chat = json!({
            "sessionId": "old-chat", "projectHash": "8a1c", "startTime": "2026-11-21T20:52:28.000Z",
            "lastUpdated": "2026-11-21T20:52:30.000Z", "messages": messages,
        });
        serde_json::to_string_pretty(&chat).unwrap()
    };
    let message = |n: usize, kind: &str, text: &str| {
        json!({"id": format!("m{n}"), "timestamp": format!("2026-11-21T20:52:{:02}.000Z", 28 + n),
            "type": kind, "content": text})
    };
    let mut messages = vec![message(1, "user", "Hello"), message(2, "gemini", "Hi")];
    let home = Home::new();
    let at = ".gemini/tmp/p/chats/session-1.json";
    let path = home.write(at, chat(&messages));
    home.write(
        ".gemini/tmp/p/chats/session-2.json",
        "{\"sessionId\": \"half",
    );
    // What went on in today's form is read there alone.
    home.write(
        ".gemini/tmp/p/chats/session-3.json",
        chat(&messages).replace("old-chat", "twice"),
    );
    home.write(
        ".gemini/tmp/p/chats/session-3.jsonl",
        story("gemini-chat", "input.chat.jsonl"),
    );
    rests(
        &home.path(".gemini/tmp/p/chats/session-2.json"),
        Duration::from_secs(10),
    );
    let mut server = home.watch(&[]);
    let texts = || texts(&home.data(), "old-chat");
    soon("it is read", || texts() == ["Hello", "Hi"]);
    messages.push(message(3, "user", "More"));
    // Half of it is there for a moment.
    let whole = chat(&messages);
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    std::fs::write(&path, &whole).unwrap();
    soon("what is new is told", || texts() == ["Hello", "Hi", "More"]);
    server.stop();
    messages.push(message(4, "gemini", "Away"));
    std::fs::write(&path, chat(&messages)).unwrap();
    let mut server = home.watch(&[]);
    soon("what came meanwhile is told", || {
        texts() == ["Hello", "Hi", "More", "Away"]
    });
    server.stop();
    let server = home.watch(&[]);
    std::fs::write(
        home.path(".gemini/tmp/p/chats/session-2.json"),
        chat(&[]).replace("old-chat", "half"),
    )
    .unwrap();
    soon("the half one is whole", || ids(&server).contains("half"));
    // It ends as it is converted.
    rests(&path, Duration::from_hours(25));
    soon("it ends", || {
        events(&home.data(), "old-chat")
            .iter()
            .any(|it| it["type"] == "session_end")
    });
    assert_eq!(
        sorted(&events(&home.data(), "old-chat")),
        sorted(&converted(&path))
    );
    assert!(
        home.said().contains("no whole JSON document"),
        "{}",
        home.said()
    );
    assert!(!home.said().contains("session-1.json"), "{}", home.said());
    assert!(!ids(&server).contains("twice"));
}
