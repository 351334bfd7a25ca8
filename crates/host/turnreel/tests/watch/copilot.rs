//! Following Copilot CLI: a title beside the session's file, a file that is written anew where the user goes back, copies of
//! sessions, and who runs one.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::home::{Home, append, converted, events, ids, rests, sorted, story};
use crate::support::{command, soon};
use serde_json::{Value, json};

const ID: &str = "c155ac26-d79d-4393-be78-a70066617089";
const FORK: &str = "44ab0ae8-f898-4222-8379-d450d94650e0";
const FOLDER: &str = ".copilot/session-state";

fn own(id: &str) -> String {
    format!("{FOLDER}/{id}/events.jsonl")
}

fn note(id: &str) -> String {
    format!("{FOLDER}/{id}/workspace.yaml")
}

fn line(n: u32, kind: &str, data: Value) -> String {
    let line = json!({"type": kind, "data": data, "id": format!("10000000-0000-4000-8000-{n:012}"),
        "timestamp": format!("2026-12-01T20:40:{n:02}.000Z"), "parentId": null});
    format!("{line}\n")
}

/// A prompt and its answer.
fn turn(n: u32, said: &str) -> String {
    let answer = json!({"messageId": format!("m{n}"), "content": format!("To {said}."), "toolRequests": [], "turnId": "0"});
    [
        line(
            n,
            "user.message",
            json!({"content": said, "delivery": "idle"}),
        ),
        line(n + 1, "assistant.turn_start", json!({"turnId": "0"})),
        line(n + 2, "assistant.message", answer),
        line(n + 3, "assistant.turn_end", json!({"turnId": "0"})),
    ]
    .concat()
}

fn begins(id: &str) -> String {
    let data = json!({"sessionId": id, "copilotVersion": "1.0.102", "selectedModel": "made", "context": {"cwd": "/home/dev/demo"}});
    line(0, "session.start", data)
}

/// The turns that were left, as all notices of it tell them.
fn left(all: &[Value]) -> Vec<&str> {
    let lists = all
        .iter()
        .filter_map(|it| it["payload"]["leftTurnIds"].as_array());
    lists.flatten().filter_map(Value::as_str).collect()
}

fn id_of(n: u32) -> String {
    format!("10000000-0000-4000-8000-{n:012}")
}

fn n_of(all: &[Value], kind: &str) -> usize {
    all.iter().filter(|event| event["type"] == kind).count()
}

#[test]
fn a_session_is_told_as_it_is_read_at_rest_with_the_title_beside_it() {
    let home = Home::new();
    let whole = story("copilot-session", "input.session.jsonl");
    let (begun, rest) = whole.split_at(whole.len() / 2);
    let named = home.write(&note(ID), "id: 1\nname: Read README.md and add a line\n");
    // None of these is a session.
    home.write(&format!("{FOLDER}/{ID}/files/events.jsonl"), &whole);
    home.write(
        &format!("{FOLDER}/.session-operation-locks/events.jsonl"),
        &whole,
    );
    let path = home.write(&own(ID), begun);
    let server = home.watch(&[]);
    let all = || events(&home.data(), ID);
    let row = || {
        let (_, page) = server.get("/api/v1/sessions?limit=10");
        page["sessions"][0].clone()
    };
    soon("it is read", || n_of(&all(), "tool_call") > 1);
    assert_eq!(
        row()["title"],
        "Read README.md and add a line",
        "{:#}",
        row()
    );
    assert_eq!(row()["agent"], "Copilot CLI 1.0.102", "{:#}", row());
    append(&path, rest.as_bytes());
    let texts = || {
        all()
            .iter()
            .filter(|it| it["type"] == "user_message")
            .count()
    };
    soon("it goes on", || texts() == 2);
    for path in [&path, &named] {
        rests(path, Duration::from_hours(25));
    }
    soon("it ends", || n_of(&all(), "session_end") == 1);
    assert_eq!(sorted(&all()), sorted(&converted(&path)));
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    assert!(!home.said().contains("WARN"), "{}", home.said());
}

#[test]
fn a_new_title_is_told_without_a_new_line_and_by_a_later_start() {
    let home = Home::new();
    home.write(&note(ID), "name: First\n");
    let path = home.write(&own(ID), begins(ID) + &turn(1, "First"));
    let mut server = home.watch(&[]);
    let title = |server: &crate::support::Server| {
        let (_, page) = server.get("/api/v1/sessions?limit=10");
        page["sessions"][0]["title"].as_str().map(str::to_owned)
    };
    soon("it is read", || title(&server).as_deref() == Some("First"));
    home.write(&note(ID), "name: 'Second: it'\nuser_named: true\n");
    soon("it is called so", || {
        title(&server).as_deref() == Some("Second: it")
    });
    std::thread::sleep(Duration::from_secs(3));
    server.stop();
    home.write(&note(ID), "name: |-\n  Third\n  of all\n");
    let mut server = home.watch(&[]);
    append(&path, turn(5, "Next").as_bytes());
    soon("it is called anew", || {
        title(&server).is_some_and(|title| title.starts_with("Third"))
    });
    let all = events(&home.data(), ID);
    let titles = all.iter().filter_map(|it| it["payload"]["title"].as_str());
    let titles: Vec<&str> = titles.filter(|it| !it.is_empty()).collect();
    assert_eq!(titles, ["First", "Second: it", "Third\nof all"]);
    server.stop();
}

#[test]
fn going_back_names_the_turns_that_the_file_has_no_more_also_where_nobody_looked_on() {
    for is_away in [false, true] {
        let home = Home::new();
        let head = begins(ID) + &turn(1, "First");
        let path = home.write(
            &own(ID),
            head.clone() + &turn(5, "Second") + &turn(9, "Third"),
        );
        let mut server = home.watch(&[]);
        let all = || events(&home.data(), ID);
        soon("it is read", || n_of(&all(), "turn_end") == 3);
        std::thread::sleep(Duration::from_secs(3));
        if is_away {
            server.stop();
        }
        // Another file, whose lines that stay may be written otherwise.
        let back = json!({"infoType": "rewind", "message": "Rewound the conversation."});
        let back = line(20, "session.info", back);
        let anew = head
            .replace("\"parentId\":null,", "")
            .replace("\"type\"", "\"parentId\":null,\"type\"");
        let mut now = anew + &back;
        let put = |text: &str| {
            let new = home.write(&format!("{FOLDER}/{ID}/events.tmp"), text);
            std::fs::rename(new, &path).unwrap();
        };
        put(&now);
        if is_away {
            server = home.watch(&[]);
        }
        soon("it is told", || !left(&all()).is_empty());
        assert_eq!(left(&all()), [id_of(5), id_of(9)]);
        now += &turn(21, "Fourth");
        append(&path, turn(21, "Fourth").as_bytes());
        soon("it goes on", || n_of(&all(), "turn_end") == 4);
        // Once more, behind that one.
        let back = json!({"infoType": "rewind", "message": "Rewound the conversation."});
        put(&(now
            .split_at(now.find(&id_of(21)).unwrap())
            .0
            .rsplit_once('\n')
            .unwrap()
            .0
            .to_owned()
            + "\n"
            + &line(30, "session.info", back)));
        soon("it is told again", || left(&all()).len() == 3);
        assert_eq!(left(&all()), [id_of(5), id_of(9), id_of(21)]);
        let n_users = n_of(&all(), "user_message");
        assert_eq!(n_users, 4);
        assert!(!home.said().contains("WARN"), "{}", home.said());
        server.stop();
    }
}

#[test]
fn a_copy_of_a_session_is_one_of_its_own_though_its_events_have_the_same_ids() {
    let home = Home::new();
    let head = turn(1, "First");
    home.write(&note(ID), "name: First\n");
    home.write(&note(FORK), "name: First (fork)\n");
    home.write(&own(ID), begins(ID) + &head + &turn(5, "Goes on"));
    home.write(&own(FORK), begins(FORK) + &head + &turn(9, "In the fork"));
    let server = home.watch(&[]);
    let both = BTreeSet::from([ID.to_owned(), FORK.to_owned()]);
    soon("both are there", || ids(&server) == both);
    let said = |id: &str| {
        let all = events(&home.data(), id);
        let said = all.iter().filter(|it| it["type"] == "user_message");
        let said = said.filter_map(|it| it["payload"]["text"].as_str());
        said.map(str::to_owned).collect::<Vec<_>>()
    };
    soon("all is told", || {
        said(ID).len() == 2 && said(FORK).len() == 2
    });
    assert_eq!(said(ID), ["First", "Goes on"]);
    assert_eq!(said(FORK), ["First", "In the fork"]);
}

/// What a run prints has the ids that its file has, and names its session at its end alone.
#[test]
fn a_run_that_a_pipe_tells_of_as_its_session_stands_once() {
    let stream = story("copilot-stream", "input.stream.jsonl");
    let whole = story("copilot-session", "input.session.jsonl");
    let first = whole
        .split_at(whole.find("{\"type\":\"session.resume\"").unwrap())
        .0;
    for pipe_is_first in [true, false] {
        let home = Home::new();
        let _server = home.watch(&[]);
        let pipe = || {
            let child = command::start_at(&home.data(), "pipe", &["--session", ID]);
            let output = command::finish(child, stream.as_bytes());
            assert!(output.status.success(), "{output:?}");
        };
        let all = || events(&home.data(), ID);
        if pipe_is_first {
            pipe();
        }
        let path = home.write(&own(ID), first);
        soon("it is read", || n_of(&all(), "usage") > 5);
        if !pipe_is_first {
            pipe();
        }
        rests(&path, Duration::from_hours(25));
        soon("it ends", || n_of(&all(), "session_end") > 0);
        std::thread::sleep(Duration::from_millis(1500));
        let told = converted(&path);
        for kind in [
            "turn_start",
            "turn_end",
            "user_message",
            "thinking_done",
            "assistant_done",
            "tool_call",
            "tool_result",
            "file_edit",
            "usage",
        ] {
            let n_told = n_of(&told, kind);
            assert_eq!(
                n_of(&all(), kind),
                n_told,
                "{kind}, pipe first: {pipe_is_first}"
            );
        }
    }
}

/// It has a file open beside the session's, and after a kill that stays; only Linux says who has it.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_process_is_killed_ends_and_a_file_that_stays_means_nothing() {
    let home = Home::new();
    let call =
        json!({"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "sleep 100"}});
    let text = begins(ID)
        + &line(
            1,
            "user.message",
            json!({"content": "Wait", "delivery": "idle"}),
        )
        + &line(2, "tool.execution_start", call);
    let path = home.write(&own(ID), &text);
    let hold = |pid: u32| home.path(&format!("{FOLDER}/{ID}/inuse.{pid}.hold"));
    // Of one that was killed before.
    std::fs::write(hold(1), "").unwrap();
    let mut agent = std::process::Command::new("sh")
        .args(["-c", "exec 3>\"$0/inuse.$$.hold\"; exec sleep 100"])
        .arg(path.parent().unwrap())
        .spawn()
        .unwrap();
    let pid = agent.id();
    let _server = home.watch(&[]);
    let count = |kind: &str| n_of(&events(&home.data(), ID), kind);
    soon("it is read", || count("tool_call") > 0);
    soon("it is noted who runs it", || home.has_noted(pid));
    assert!(!home.has_noted(1));
    rests(&path, Duration::from_secs(30));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(count("session_end"), 0);
    agent.kill().unwrap();
    agent.wait().unwrap();
    soon("it ends", || count("session_end") == 1);
}
