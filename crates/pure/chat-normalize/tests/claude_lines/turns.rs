//! Where a turn of Claude Code begins and ends, and what was queued for it.

use chat_event::Payload;
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::{at, ends, ms, queue, said, transcript, words};

/// The program that is left behind it says that the turn before was over.
#[test]
fn a_command_of_the_program_is_told_beside_the_turns() {
    let printed = |uuid: &str, at: u32| {
        said(
            "user",
            uuid,
            at,
            json!("<local-command-stdout>Set model</local-command-stdout>"),
        )
    };
    let command = |uuid: &str, at: u32, name: &str| {
        let text =
            format!("<command-name>{name}</command-name>\n<command-args>opus</command-args>");
        said("user", uuid, at, json!(text))
    };
    let events = transcript(&[
        said("user", "u1", 0, json!("one")),
        said(
            "assistant",
            "a1",
            10,
            json!([{"type": "text", "text": "first"}]),
        ),
        command("c1", 300, "/model"),
        printed("o1", 301),
        command("c2", 400, "/review"),
        said(
            "assistant",
            "a2",
            410,
            json!([{"type": "text", "text": "second"}]),
        ),
        command("c3", 500, "/model"),
        printed("o3", 501),
        json!({"type": "cost-state", "sessionId": "s1"}),
    ]);
    assert_eq!(ends(&events), [ms(10), ms(410)]);
    let outcomes = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.outcome.as_deref(),
        _ => None,
    });
    assert!(outcomes.eq(["completed", "completed"]));
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert!(told.eq(["/model opus", "Set model", "/model opus", "Set model"]));
}

#[test]
fn a_turn_ends_with_its_last_work_not_with_the_next_prompt() {
    let hook = json!({"type": "system", "subtype": "stop_hook_summary", "uuid": "h1", "sessionId": "s1", "timestamp": at(12)});
    let away = json!({"type": "system", "subtype": "away_summary", "content": "You were away", "uuid": "w1",
        "sessionId": "s1", "timestamp": at(300)});
    let command = "<command-name>/ide</command-name><command-args></command-args>";
    let mut caveat = said("user", "c1", 400, json!("Caveat"));
    caveat["isMeta"] = json!(true);
    let events = transcript(&[
        said("user", "u1", 0, json!("one")),
        said(
            "assistant",
            "a1",
            10,
            json!([{"type": "text", "text": "first"}]),
        ),
        hook,
        away,
        caveat,
        said("user", "u2", 400, json!(command)),
        said(
            "user",
            "o2",
            400,
            json!("<local-command-stdout>Connected</local-command-stdout>"),
        ),
        said("user", "u3", 900, json!("three")),
        said(
            "assistant",
            "a3",
            905,
            json!([{"type": "text", "text": "third"}]),
        ),
        json!({"type": "system", "subtype": "informational", "content": "late", "uuid": "i3", "sessionId": "s1", "timestamp": at(2000)}),
    ]);
    assert_eq!(ends(&events), [ms(12), ms(400), ms(905)]);
    let idle = events.iter().filter(
        |event| matches!(&event.payload, Payload::SessionStatus(status) if status.status == "idle"),
    );
    let idle: Vec<_> = idle.filter_map(|event| event.timestamp).collect();
    assert_eq!(idle, ends(&events), "it rests from then on");
}

#[test]
fn what_a_turn_takes_from_the_queue_is_told_once_and_before_its_answer() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
    let answer = json!([{"type": "text", "text": "None yet"}]);
    let attachment = json!({"type": "attachment", "uuid": "q1", "sessionId": "s1", "version": "2.1.197", "timestamp": at(4),
        "attachment": {"type": "queued_command", "prompt": "Any tests?"}});
    let date = json!({"type": "attachment", "uuid": "d1", "sessionId": "s1", "timestamp": at(0), "attachment": {"type": "date"}});
    let story = |between: &[Value]| {
        let mut lines = vec![
            said("user", "u1", 0, json!("Build it")),
            queue("enqueue", 2, Some("Any tests?")),
        ];
        lines.extend_from_slice(between);
        lines.push(said("assistant", "a2", 9, answer.clone()));
        words(&transcript(&lines))
    };
    // What it asked for before it was taken is written behind that.
    let called = said("assistant", "a1", 3, call);
    let done = said("user", "r1", 3, result);
    let told = ["Build it", "> Any tests?", "= None yet"];
    let remove = queue("remove", 4, None);
    let before = [remove.clone(), called.clone(), done.clone()];
    assert_eq!(story(&before), told, "before 2.1.101");
    let with = |line: &Value| {
        vec![
            date.clone(),
            called.clone(),
            done.clone(),
            line.clone(),
            attachment.clone(),
        ]
    };
    assert_eq!(story(&with(&remove)), told);
    let named = queue("remove", 4, Some("Any tests?"));
    assert_eq!(story(&with(&named)), told);
    let mut late = with(&remove);
    late.swap(3, 4);
    assert_eq!(story(&late), told, "the attachment first");
    // One that writes attachments wrote none: it was taken back.
    let withdrawn = ["Build it", "(withdrawn: Any tests?)", "= None yet"];
    assert_eq!(story(&[date.clone(), remove.clone()]), withdrawn);
    assert_eq!(story(&[queue("popAll", 4, None)]), withdrawn);
    assert_eq!(story(&[queue("popAll", 4, Some("Any tests?"))]), withdrawn);
    let mut absorbed = remove.clone();
    absorbed["reason"] = json!("absorbed_mid_turn");
    assert_eq!(story(&[date, absorbed]), told);
    // It waits for the turn's end and comes again.
    let next = [
        queue("dequeue", 5, None),
        said("user", "u2", 5, json!("Any tests?")),
    ];
    assert_eq!(story(&next), ["Build it", "Any tests?", "= None yet"]);
    // The file ends before the answer.
    let cut = [
        said("user", "u1", 0, json!("Build it")),
        queue("enqueue", 2, Some("Any tests?")),
        queue("remove", 4, None),
    ];
    assert_eq!(words(&transcript(&cut)), ["Build it", "> Any tests?"]);
}

/// A file that is handed to a pipe arrives now, and ended long ago; what runs now ends now.
#[test]
fn a_recorded_run_ends_when_it_last_said_something() {
    let rollout = |seconds| {
        [
            json!({"timestamp": at(seconds), "type": "session_meta", "payload": {"id": "0199a213-81c0-7800-8aa1-bbab2a035a53", "cwd": "/w"}}),
            json!({"timestamp": at(seconds), "type": "event_msg", "payload": {"type": "user_message", "message": "Go"}}),
            json!({"timestamp": at(seconds), "type": "event_msg", "payload": {"type": "agent_message", "message": "Done"}}),
        ]
    };
    for (seconds, ended) in [(0, ms(0)), (9_990, ms(10_010))] {
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexRollout);
        let mut events = Vec::new();
        for line in rollout(seconds) {
            let line = format!("{line}\n");
            reader
                .push(line.as_bytes(), ms(10_000), &mut events)
                .unwrap();
        }
        reader.finish(ms(10_010), &mut events).unwrap();
        assert_eq!(ends(&events), [ended]);
    }
}
