//! Ends that no line tells: turns that were cut off, and when the session rests.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{calls, gets, said, text, told, transcript};

fn cost_state() -> Value {
    json!({"type": "cost-state", "sessionId": "s1"})
}

/// No line of the program says so: it was killed, and the session taken up again.
#[test]
fn the_turn_that_was_cut_off_is_the_one_whose_call_got_no_result() {
    let prompt = |uuid: &str, seconds: u32| said("user", uuid, seconds, json!("Go"));
    let call = calls("c", 1, "Bash", &json!({"command": "sleep 60"}));
    let ends = |lines: &[Value]| {
        let events = transcript(lines);
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => Some((
                event.turn_id.clone().unwrap(),
                end.outcome.clone().unwrap(),
                end.extra.get("guessed").is_some(),
            )),
            _ => None,
        });
        ends.map(|(turn, outcome, guessed)| format!("{turn} {outcome}, guessed: {guessed}"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let killed = [prompt("u1", 0), call];
    let and = |lines: &[Value]| [&killed[..], lines].concat();
    assert_eq!(
        ends(&and(&[prompt("u2", 900), text("a2", 901, "Done.")])),
        "u1 interrupted, guessed: true; u2 completed, guessed: true"
    );
    assert_eq!(
        ends(&and(&[prompt("u2", 900)])),
        "u1 interrupted, guessed: true; u2 interrupted, guessed: true"
    );
    assert_eq!(
        ends(&and(&[
            prompt("u2", 900),
            text("a2", 901, "Done."),
            cost_state()
        ])),
        "u1 interrupted, guessed: true; u2 completed, guessed: true"
    );
    let duration = json!({"type": "system", "subtype": "turn_duration", "durationMs": 1000, "uuid": "d2",
        "sessionId": "s1", "timestamp": "2026-01-01T00:15:02.000Z"});
    assert_eq!(
        ends(&and(&[
            prompt("u2", 900),
            text("a2", 901, "Done."),
            duration
        ])),
        "u1 interrupted, guessed: true; u2 completed, guessed: false"
    );
}

#[test]
fn the_end_of_the_program_ends_the_turn_that_is_open() {
    let prompt = said("user", "u1", 0, json!("Go"));
    let call = calls("c", 1, "Bash", &json!({"command": "sleep 60"}));
    let done = gets("c", 2, "ok", false);
    let ends = |lines: &[Value]| {
        let lines: Vec<Value> = [prompt.clone()].iter().chain(lines).cloned().collect();
        let mut told = told(&transcript(&lines));
        told.retain(|line| line.starts_with("end ") || line == "idle" || line.starts_with("turn "));
        told.join(", ")
    };
    let cut_off = "turn user, end interrupted, idle";
    assert_eq!(ends(&[cost_state()]), cut_off);
    assert_eq!(ends(&[call.clone(), cost_state()]), cut_off);
    assert_eq!(ends(&[call.clone(), done.clone(), cost_state()]), cut_off);
    // A run that was answered has no line that says so.
    let answered = [call, done, text("a2", 3, "Done."), cost_state()];
    assert_eq!(ends(&answered), "turn user, end completed, idle");
    // What the model had said is written behind it.
    let late = [
        cost_state(),
        text("a2", 3, "One two"),
        said("user", "u2", 3, json!("[Request interrupted by user]")),
    ];
    assert_eq!(ends(&late), cut_off);
    let lines: Vec<Value> = [prompt.clone()].iter().chain(&late).cloned().collect();
    let events = transcript(&lines);
    let of_turn = events
        .iter()
        .find(|event| matches!(event.payload, Payload::AssistantDone(_)));
    assert_eq!(of_turn.unwrap().turn_id.as_deref(), Some("u1"));
    // It is told at once, not when the file ends.
    let mut reader = chat_normalize::SessionReader::with_dialect(
        chat_normalize::Context::default(),
        Dialect::ClaudeTranscript,
    );
    let mut events = Vec::new();
    for line in [prompt.clone(), cost_state()] {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
    }
    assert_eq!(told(&events)[3..], ["end interrupted", "idle"]);
}

#[test]
fn a_session_rests_when_what_it_left_running_is_over() {
    let statuses = |lines: &[Value]| {
        let mut told = told(&transcript(lines));
        told.retain(|line| line == "idle" || line == "busy" || line.starts_with("end "));
        told.join(", ")
    };
    let mut launched = gets("c", 2, "Async agent launched successfully.", false);
    launched["toolUseResult"] = json!({"status": "async_launched", "agentId": "k1"});
    let mut moved = gets("c", 2, "moved to the background", false);
    moved["toolUseResult"] = json!({"stdout": "", "backgroundTaskId": "k1"});
    let duration = |uuid: &str, seconds: u32| {
        let mut line = said("system", uuid, seconds, Value::Null);
        line["subtype"] = json!("turn_duration");
        line["durationMs"] = json!(4000);
        line
    };
    let mut ended = said(
        "user",
        "n1",
        60,
        json!(
            "<task-notification>\n<task-id>k1</task-id>\n<status>completed</status>\n</task-notification>"
        ),
    );
    ended["origin"] = json!({"kind": "task-notification"});
    for result in [launched, moved] {
        let begun = [
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Agent", &json!({"prompt": "Count"})),
            result,
            text("a2", 3, "Started."),
            duration("d1", 4),
        ];
        let mut woken = begun.to_vec();
        woken.extend([ended.clone(), text("a3", 61, "2."), duration("d2", 62)]);
        assert_eq!(statuses(&woken), "busy, end completed, end completed, idle");
        let mut left = begun.to_vec();
        left.push(cost_state());
        assert_eq!(statuses(&left), "busy, end completed, idle");
        let mut filled = text("a5", 90, "No response requested.");
        filled["message"]["model"] = json!("<synthetic>");
        let mut killed = begun.to_vec();
        killed.extend([
            said("user", "u3", 80, json!("More")),
            filled,
            said("user", "u4", 91, json!("And now")),
            text("a6", 92, "Done."),
            duration("d4", 93),
        ]);
        let of_killed = "busy, end completed, end interrupted, idle, busy, end completed, idle";
        assert_eq!(statuses(&killed), of_killed);
        let mut stopped = begun.to_vec();
        let mut result = gets("k", 71, "stopped", false);
        result["toolUseResult"] = json!({"task_id": "k1", "message": "stopped"});
        stopped.extend([
            said("user", "u2", 69, json!("Stop it")),
            calls("k", 70, "TaskStop", &json!({"task_id": "k1"})),
            result,
            text("a4", 72, "Stopped."),
            duration("d3", 73),
        ]);
        assert_eq!(
            statuses(&stopped),
            "busy, end completed, end completed, idle"
        );
    }
}

#[test]
fn a_command_of_the_program_is_over_with_what_it_printed() {
    let command = |uuid: &str| {
        let typed = "<command-name>/ide</command-name>\n<command-args>opus</command-args>";
        said("user", uuid, 5, json!(typed))
    };
    let printed = |text: &str| {
        json!(format!(
            "<local-command-stdout>{text}</local-command-stdout>"
        ))
    };
    let mut by_program = said("system", "o2", 5, Value::Null);
    by_program["subtype"] = json!("local_command");
    by_program["content"] = printed("");
    let set = [
        "turn user",
        "busy",
        "> /ide opus",
        "(Set)",
        "end completed",
        "idle",
    ];
    let lines = [command("u1"), said("user", "o1", 5, printed("Set"))];
    assert_eq!(told(&transcript(&lines)), set);
    let silent = [command("u1"), by_program];
    let of_silent: Vec<_> = set.into_iter().filter(|line| *line != "(Set)").collect();
    assert_eq!(told(&transcript(&silent)), of_silent);
    // The model answers a line for the shell, so that is not over.
    let shell = [
        said("user", "u1", 5, json!("<bash-input> ls</bash-input>")),
        said(
            "user",
            "o1",
            5,
            json!("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
        ),
        text("a1", 6, "One file."),
    ];
    let of_shell = [
        "turn user",
        "busy",
        "> ! ls",
        "(a)",
        "= One file.",
        "end completed",
        "idle",
    ];
    assert_eq!(told(&transcript(&shell)), of_shell);
}

#[test]
fn a_session_rests_when_the_output_of_what_ran_on_was_fetched_and_nothing_waits_in_vain() {
    let statuses = |version: &str, launched: &Value, fetched: Option<&Value>| {
        let mut begun = gets("c", 2, "moved to the background", false);
        begun["toolUseResult"] = launched.clone();
        let mut lines = vec![
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Bash", &json!({"command": "make"})),
            begun,
        ];
        if let Some(fetched) = fetched {
            let mut result = gets("f", 4, "done", false);
            result["toolUseResult"] = fetched.clone();
            lines.extend([calls("f", 3, "TaskOutput", &json!({})), result]);
        }
        lines.push(text("a1", 5, "Done."));
        let mut duration = said("system", "d1", 6, Value::Null);
        duration["subtype"] = json!("turn_duration");
        let mut later = said("system", "i1", 7, Value::Null);
        later["subtype"] = json!("informational");
        later["content"] = json!("later");
        lines.extend([duration, later]);
        for line in &mut lines {
            line["version"] = json!(version);
        }
        let mut told = told(&transcript(&lines));
        told.retain(|line| line == "idle" || line == "(later)");
        told.join(" ")
    };
    let command = json!({"stdout": "", "backgroundTaskId": "k1"});
    let task = |status: &str| json!({"retrieval_status": "success", "task": {"task_id": "k1", "status": status}});
    let shell = |status: &str| json!({"shellId": "k1", "status": status});
    let (rests, waits) = ("idle (later)", "(later) idle");
    let new = |fetched: Option<&Value>| statuses("2.1.330", &command, fetched);
    assert_eq!(new(None), waits);
    for fetched in [&task as &dyn Fn(&str) -> Value, &shell] {
        assert_eq!(new(Some(&fetched("running"))), waits);
        assert_eq!(new(Some(&fetched("completed"))), rests);
    }
    // Before, no end of a command is told.
    assert_eq!(statuses("1.0.98", &command, None), rests);
    let agent = json!({"status": "async_launched", "agentId": "k1"});
    assert_eq!(statuses("2.0.64", &agent, None), waits);
}

#[test]
fn a_turn_to_which_an_answer_is_due_was_cut_off_and_one_that_the_shell_answered_was_not() {
    let last = |lines: &[Value]| {
        let mut told = told(&transcript(lines));
        told.retain(|line| line.starts_with("end "));
        told.pop().unwrap()
    };
    let prompt = said("user", "u1", 0, json!("Go"));
    let call = calls("c", 1, "Bash", &json!({"command": "ls"}));
    let killed = [prompt, call, gets("c", 2, "a", false)];
    assert_eq!(last(&killed), "end interrupted");
    let answered = [&killed[..], &[text("a2", 3, "Done.")]].concat();
    assert_eq!(last(&answered), "end completed");
    let reminded = said(
        "user",
        "s1",
        4,
        json!("<system-reminder>Be kind</system-reminder>"),
    );
    assert_eq!(
        last(&[&answered[..], &[reminded]].concat()),
        "end completed"
    );
    let shell = said("user", "u1", 0, json!("<bash-input>ls</bash-input>"));
    let printed = said(
        "user",
        "o1",
        1,
        json!("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
    );
    assert_eq!(last(&[shell.clone(), cost_state()]), "end interrupted");
    for end in [vec![], vec![cost_state()]] {
        let lines = [&[shell.clone(), printed.clone()], &end[..]].concat();
        assert_eq!(last(&lines), "end completed");
    }
}
