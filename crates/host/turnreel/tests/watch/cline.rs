//! Following Cline, Roo Code and Kilo Code: documents that are lists of messages, written anew with each change.

#[path = "../../../chat-capture/tests/support/cline.rs"]
mod messages;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::support::home::{Home, converted, events, ids, rests, sorted, story, texts};
use crate::support::{Server, soon};
use messages::{BEGAN_MS, ask, say, with};
use serde_json::{Value, json};

const ID: &str = "cline-1796032800000";
const CLINE: &str = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks";
const ROO: &str = ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks";
const KILO: &str = ".config/VSCodium/User/globalStorage/kilocode.kilo-code/tasks";

/// Writes a task as the programs do: beside it first, so that it is there whole or not at all.
fn write(path: &Path, messages: &[Value]) {
    let beside = path.with_file_name(".ui_messages.json.new_1.tmp");
    std::fs::write(&beside, Value::from(messages).to_string()).unwrap();
    std::fs::rename(beside, path).unwrap();
}

fn row(server: &Server, id: &str) -> Value {
    let (_, page) = server.get("/api/v1/sessions?limit=20");
    let rows = page["sessions"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id);
    row.cloned().unwrap_or_default()
}

fn has_kind(events: &[Value], kind: &str) -> bool {
    events.iter().any(|event| event["type"] == kind)
}

/// What was warned of, but for half a document: that is named where the test was held up while one lay there.
fn warned(home: &Home) -> Vec<String> {
    let said = home.said();
    let is_warning = |line: &&str| line.contains("WARN") && !line.contains("no whole JSON");
    said.lines().filter(is_warning).map(str::to_owned).collect()
}

/// All but the pieces of texts, which a file that lies there does not show.
fn without_pieces(events: &[Value]) -> Vec<Value> {
    let is_piece = |event: &&Value| !event["type"].as_str().unwrap().ends_with("_chunk");
    let events: Vec<Value> = events.iter().filter(is_piece).cloned().collect();
    sorted(&events)
}

#[test]
fn a_task_is_told_as_it_is_written_and_a_new_start_goes_on() {
    let home = Home::new();
    let all: Vec<Value> =
        serde_json::from_str(&story("cline-task", "input.ui_messages.json")).unwrap();
    let path = home.write(&format!("{CLINE}/1796032800000/ui_messages.json"), "");
    // What lies beside it is not looked at: a repository, the model's own history.
    home.write(
        &format!("{CLINE}/1796032800000/checkpoints/a/b/ui_messages.json"),
        "[]",
    );
    home.write(
        &format!("{CLINE}/1796032800000/api_conversation_history.json"),
        "[]",
    );
    let mut server = home.watch(&[]);
    std::thread::sleep(Duration::from_millis(600));
    write(&path, &all[..3]);
    soon("it is there", || {
        row(&server, ID)["title"] == "Water the plants on Monday, too, and run the check"
    });
    let told = row(&server, ID);
    assert_eq!(told["agent"], "Cline", "{told:#}");
    assert_eq!(told["cwd"], "/home/dev/demo", "{told:#}");
    assert_eq!(told["status"], "busy", "{told:#}");
    // A text grows.
    let says = "I look at the notes.";
    let said = all.iter().position(|it| it["text"] == says).unwrap();
    for cut in ["I look", "I look at the"] {
        let half = with(all[said].clone(), "text", cut);
        let half = with(half, "partial", true);
        write(&path, &[&all[..said], &[half]].concat());
        soon("it is told as it grows", || {
            let pieces = events(&home.data(), ID);
            let pieces = pieces.iter().filter(|it| it["type"] == "assistant_chunk");
            let pieces = pieces.filter_map(|it| it["payload"]["text"].as_str());
            pieces.collect::<String>() == cut
        });
    }
    write(&path, &all[..=said]);
    soon("it is whole", || {
        texts(&home.data(), ID).contains(&says.to_owned())
    });
    // It is written over: half of it is there for a moment.
    let more = Value::from(&all[..said + 4]).to_string();
    for cut in [0, more.len() / 3, more.len()] {
        std::fs::write(&path, &more[..cut]).unwrap();
        std::thread::sleep(Duration::from_millis(350));
    }
    soon("it goes on", || {
        has_kind(&events(&home.data(), ID), "tool_call")
    });
    server.stop();
    write(&path, &all[..all.len() - 3]);
    let mut server = home.watch(&[]);
    soon("what came meanwhile is told", || {
        has_kind(&events(&home.data(), ID), "file_edit")
    });
    write(&path, &all);
    rests(&path, Duration::from_hours(25));
    soon("it ends", || {
        has_kind(&events(&home.data(), ID), "session_end")
    });
    let told = events(&home.data(), ID);
    let expected = without_pieces(&converted(&path));
    assert_eq!(without_pieces(&told), expected);
    server.stop();
    let server = home.watch(&[]);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(events(&home.data(), ID), told);
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    assert_eq!(warned(&home), [""; 0]);
}

#[test]
fn each_program_is_called_by_its_name_and_says_when_it_needs_somebody() {
    let home = Home::new();
    let tool = r#"{"tool":"appliedDiff","path":"a","diff":"x"}"#;
    let which = r#"{"question":"Which?","suggest":[{"answer":"A"},{"answer":"B"}]}"#;
    let at = |nth: i64| nth * 1_000_000;
    let cline = [say("task", 0, "By Cline"), ask("command", 1, "make")];
    let mut roo = vec![
        say("text", at(1), "By Roo"),
        say("api_req_started", at(1) + 1, r#"{"apiProtocol":"openai"}"#),
        ask("tool", at(1) + 2, tool),
    ];
    let kilo = [
        say("text", at(2), "By Kilo"),
        ask("followup", at(2) + 1, which),
    ];
    home.write(
        &format!("{CLINE}/1/ui_messages.json"),
        Value::from(&cline[..]).to_string(),
    );
    let of_roo = home.write(
        &format!("{ROO}/2/ui_messages.json"),
        Value::from(&roo[..]).to_string(),
    );
    home.write(
        &format!("{ROO}/2/history_item.json"),
        r#"{"id":"2","workspace":"/home/dev/roo"}"#,
    );
    home.write(
        &format!("{KILO}/3/ui_messages.json"),
        Value::from(&kilo[..]).to_string(),
    );
    let without = say("text", at(3), "Without an editor");
    home.write(
        ".kilocode/cli/global/tasks/4/ui_messages.json",
        Value::from(vec![without]).to_string(),
    );
    let server = home.watch(&[]);
    soon("all are there", || ids(&server).len() == 4);
    let of = |nth: i64| format!("cline-{}", BEGAN_MS + at(nth));
    for (nth, agent, title) in [
        (0, "Cline", "By Cline"),
        (1, "Roo Code", "By Roo"),
        (2, "Kilo Code", "By Kilo"),
    ] {
        soon("it is told whose it is", || {
            let row = row(&server, &of(nth));
            (row["agent"] == agent) && (row["title"] == title)
        });
    }
    assert_eq!(row(&server, &of(1))["cwd"], "/home/dev/roo");
    let asks = |nth: i64, kind: &str| has_kind(&events(&home.data(), &of(nth)), kind);
    soon("Cline asks", || asks(0, "permission_request"));
    soon("Kilo asks", || asks(2, "question_request"));
    // It answers itself what is allowed, at once: what stays so for a while asks a person.
    soon("Roo asks", || asks(1, "permission_request"));
    for nth in 0..3 {
        soon("somebody is needed", || row(&server, &of(nth))["asks"] == 1);
    }
    roo[2] = with(roo[2].clone(), "isAnswered", true);
    write(&of_roo, &roo);
    soon("it was allowed", || asks(1, "permission_resolved"));
    roo.push(say("completion_result", at(1) + 3, "Done."));
    roo.push(ask("completion_result", at(1) + 4, ""));
    write(&of_roo, &roo);
    soon("it is done", || asks(1, "turn_end"));
    assert_eq!(warned(&home), [""; 0]);
}

#[test]
fn what_is_gone_back_behind_is_left_and_what_cannot_be_read_is_named() {
    let home = Home::new();
    let mut messages = vec![
        say("task", 0, "Go"),
        say("completion_result", 1, "Done."),
        ask("completion_result", 2, ""),
        say("user_feedback", 3, "More"),
        say("text", 4, "I look."),
    ];
    let path = home.write(&format!("{CLINE}/1/ui_messages.json"), "");
    write(&path, &messages);
    for (name, bytes) in [("2", "{}"), ("3", "[{\"ts\":"), ("4", ""), ("5", "\0\0")] {
        let path = home.write(&format!("{CLINE}/{name}/ui_messages.json"), bytes);
        rests(&path, Duration::from_secs(10));
    }
    for place in [ROO, KILO] {
        let skipped = Value::from(vec![say("text", 90, "Not read")]);
        home.write(&format!("{place}/6/ui_messages.json"), skipped.to_string());
    }
    let server = home.watch(&["--skip", "roo", "--skip", "kilo"]);
    soon("it is told", || texts(&home.data(), ID).len() == 4);
    messages.truncate(3);
    messages.push(say("user_feedback", 5, "Less"));
    write(&path, &messages);
    soon("it goes on", || {
        texts(&home.data(), ID).contains(&"Less".to_owned())
    });
    let all = events(&home.data(), ID);
    let left = all
        .iter()
        .find_map(|event| event["payload"].get("leftTurnIds"));
    assert_eq!(left.unwrap(), &json!([format!("t{}", BEGAN_MS + 3)]));
    for name in ["2", "3", "5"] {
        let place = format!("tasks/{name}/ui_messages.json");
        soon("it is named", || home.said().contains(&place));
    }
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
}

#[test]
fn a_session_of_todays_cline_is_told_message_by_message() {
    let home = Home::new();
    let text = story("cline-session", "input.messages.json");
    let whole: Value = serde_json::from_str(&text).unwrap();
    let id = whole["sessionId"].as_str().unwrap();
    let path = home.path(&format!(".cline/data/sessions/{id}/{id}.messages.json"));
    home.write(
        &format!(".cline/data/sessions/{id}/{id}.json"),
        r#"{"version":1,"cwd":"/home/dev/demo"}"#,
    );
    let n_messages = whole["messages"].as_array().unwrap().len();
    let server = home.watch(&[]);
    for n in [1, 2, n_messages - 1, n_messages] {
        let mut state = whole.clone();
        state["messages"].as_array_mut().unwrap().truncate(n);
        // It is written in place.
        let text = serde_json::to_string_pretty(&state).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        std::fs::write(&path, text).unwrap();
        soon("it is told", || {
            let (told, expected) = (events(&home.data(), id), converted(&path));
            let is_told = |event: &Value| told.iter().any(|it| it["id"] == event["id"]);
            let ends = |event: &&Value| {
                !matches!(
                    event["type"].as_str(),
                    Some("session_end" | "turn_end" | "session_status")
                )
            };
            expected.iter().filter(ends).all(is_told)
        });
    }
    let told = row(&server, id);
    assert_eq!(
        (&told["agent"], &told["cwd"]),
        (&json!("Cline"), &json!("/home/dev/demo")),
        "{told:#}"
    );
    rests(&path, Duration::from_hours(25));
    soon("it ends", || {
        has_kind(&events(&home.data(), id), "session_end")
    });
    assert_eq!(sorted(&events(&home.data(), id)), sorted(&converted(&path)));
    assert_eq!(warned(&home), [""; 0]);
}
