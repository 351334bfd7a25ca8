//! What SWE-agent's dialect holds, over public runs and small inputs of kinds that none of them has.

use std::collections::BTreeMap;

use crate::support::{Source, assert_cuts, assert_sound, read, read_lines, sources, told, values};
use chat_event::Payload;
use chat_normalize::{Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

fn all() -> Vec<Source> {
    sources("fixtures/swe-agent", |_| true)
}

#[test]
fn every_run_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    for source in all() {
        let whole = read(&source.bytes);
        assert_eq!(whole.verdict, Ok(()), "{}", source.name);
        assert_eq!(whole.dialect, Some(Dialect::SweAgent), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
    }
}

#[test]
fn each_step_is_said_once_and_the_patch_as_edits() {
    for source in all() {
        let document = values(&source.bytes).remove(0);
        let mut said = Vec::new();
        for step in document["trajectory"].as_array().unwrap() {
            let text = |key: &str| step[key].as_str().unwrap();
            if !text("thought").is_empty() {
                said.push(format!("done {}", text("thought")));
            }
            said.push(format!("result {}", text("observation")));
        }
        let read = read(&source.bytes);
        let mut told = Vec::new();
        let (mut patched, mut output, mut users) = (0, 0, 0);
        for event in &read.events {
            match &event.payload {
                Payload::AssistantDone(done) => told.push(format!("done {}", done.text)),
                Payload::ToolResult(result) => {
                    told.push(format!("result {}", result.result.display_text()))
                }
                Payload::FileEdit(edit) => {
                    assert!(
                        edit.full_diff_available
                            && !edit.full_diff.as_ref().unwrap().preview().contains('\r')
                    );
                    assert!(!edit.tool_call_id.is_empty(), "{}", source.name);
                    patched += 1;
                }
                Payload::Usage(usage) => output += usage.output_tokens,
                Payload::UserMessage(message) => {
                    assert!(message.text.preview().contains("ISSUE"), "{}", source.name);
                    users += 1;
                }
                Payload::TurnEnd(end) => assert_eq!(end.outcome.as_deref(), Some("completed")),
                _ => {}
            }
        }
        assert_eq!(told, said, "{}", source.name);
        assert_eq!(users, 1, "{}", source.name);
        let info = &document["info"];
        let files = info["submission"]
            .as_str()
            .unwrap()
            .matches("diff --git")
            .count();
        assert_eq!(patched, files, "{}", source.name);
        assert_eq!(
            output,
            info["model_stats"]["tokens_received"].as_u64().unwrap(),
            "{}",
            source.name
        );
    }
}

#[test]
fn a_call_bears_the_id_and_the_arguments_of_the_history() {
    let Some(source) = all()
        .into_iter()
        .find(|source| source.name.contains("default_from"))
    else {
        return;
    };
    let events = read(&source.bytes).events;
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => Some(format!("{} {}", call.tool_name, call.args.as_text())),
            _ => None,
        })
        .collect();
    assert_eq!(calls[0], r#"find_file {"file_name":"missing_colon.py"}"#);
    assert_eq!(calls.len(), 5);
}

#[test]
fn a_run_without_steps_is_read_from_its_history_and_a_failed_one_says_why() {
    let item =
        |role: &str, content: &str| json!({"role": role, "content": content, "agent": "main"});
    let mut answer = item("assistant", "I look.\n```\nls\n```");
    answer["thought"] = json!("I look.");
    answer["action"] = json!("ls\n");
    let mut demo = item("user", "A demonstration");
    demo["is_demo"] = json!(true);
    let history = json!([
        item("system", "You are"),
        demo,
        item("user", "ISSUE"),
        answer,
        item("user", "a.txt"),
        item("assistant", "No more.")
    ]);
    let read = read_lines(
        Dialect::SweAgent,
        &[
            json!({"environment": "e", "trajectory": [], "history": history, "info": {"exit_status": "exit_cost"}}),
        ],
    );
    assert_sound("history", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user ISSUE",
            "done I look.",
            "call run.s3.call shell",
            "result run.s3.call a.txt",
            "done No more.",
            "error exit_cost the run ended with exit_cost",
            "end failed",
        ]
    );
}

#[test]
fn strange_shapes_are_taken() {
    let strange = [
        json!({"trajectory": [{"action": "x", "observation": 1}, 7, null], "history": "x", "info": []}),
        json!({"trajectory": [], "history": [1, {"role": 2}, {"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}], "action": "x"}, {"role": "new"}], "info": {"submission": "--- a\n+++ b\n@@ -1,99999999999 +1 @@"}}),
        json!({"history": [{"role": "user", "content": "x", "agent": "a"}]}),
        json!({"other": 1}),
    ];
    let read = read_lines(Dialect::SweAgent, &strange);
    assert_eq!(read.verdict, Ok(()));
    assert_sound("strange", &read.events);
}

/// A document of `n` steps, printed over many lines as the program does.
fn long_document(n: usize) -> String {
    let step = json!({"action": "ls", "observation": "x".repeat(1000), "thought": "I look."});
    let steps: Vec<Value> = vec![step; n];
    serde_json::to_string_pretty(&json!({"environment": "e", "trajectory": steps, "history": []}))
        .unwrap()
}

#[test]
fn a_document_is_read_up_to_the_limit_and_refused_by_name_beyond() {
    let read_4_mb = read(long_document(4_000).as_bytes());
    assert_eq!(read_4_mb.dialect, Some(Dialect::SweAgent));
    let results = read_4_mb
        .events
        .iter()
        .filter(|event| event.event_type() == "tool_result");
    assert_eq!(results.count(), 4_000);
    let beyond = long_document(17_000);
    let refused = read(beyond.as_bytes()).verdict.unwrap_err();
    assert_eq!(
        refused.found,
        "the beginning of a JSON document of more than 16 MiB"
    );
    assert!(matches!(
        detect(beyond.as_bytes(), false),
        Detection::None(_)
    ));
}

#[test]
fn a_printed_document_is_read_where_its_format_is_given_and_where_its_items_stand_a_line_each() {
    let text = long_document(100);
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::SweAgent);
    let mut events = Vec::new();
    reader.push(text.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    assert_eq!(reader.report().unreadable, 0);
    let results = events
        .iter()
        .filter(|event| event.event_type() == "tool_result");
    assert_eq!(results.count(), 100);
    let beyond = long_document(17_000);
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::SweAgent);
    assert!(reader.push(beyond.as_bytes(), 0, &mut events).is_err());
    let item = |n: u64| json!({"id": n, "source": "user", "timestamp": "t", "action": "message", "args": {"content": "Go"}});
    let listed = format!("[\n{},\n{}\n]\n", item(1), item(2));
    let read = read(listed.as_bytes());
    assert_eq!(read.dialect, Some(Dialect::OpenHands));
    assert_eq!(read.report.unreadable, 0);
    assert_eq!(
        told(&read.events)
            .iter()
            .filter(|line| *line == "user Go")
            .count(),
        2
    );
}

#[test]
fn lines_behind_a_lone_bracket_are_read_as_lines() {
    let line = json!({"id": 1, "source": "user", "timestamp": "t", "action": "message", "args": {"content": "Go"}});
    let read = read(format!("{{\n{line}\n{line}\n").as_bytes());
    assert_eq!(read.dialect, Some(Dialect::OpenHands));
    assert_eq!(read.report.unreadable, 1);
    assert_eq!(
        told(&read.events)
            .iter()
            .filter(|line| *line == "user Go")
            .count(),
        2
    );
}

#[test]
fn of_a_document_that_is_cut_off_the_whole_steps_are_read() {
    let text = long_document(5);
    let cut = text.rfind("\"thought\"").unwrap();
    let read = read(&text.as_bytes()[..cut]);
    assert_eq!(read.dialect, Some(Dialect::SweAgent));
    assert_eq!(read.report.unreadable, 1);
    assert_sound("cut", &read.events);
    let results = read
        .events
        .iter()
        .filter(|event| event.event_type() == "tool_result");
    assert_eq!(results.count(), 4);
}

#[test]
fn an_edit_of_lines_says_of_which_file() {
    let step = |action: &str, observation: &str| json!({"action": action, "observation": observation, "thought": ""});
    let edit = "edit 2:3\nx\nend_of_edit\n";
    let document = json!({"environment": "swe_main", "trajectory": [
        step(edit, "no file"),
        step("create new.py\n", "[File: /w/new.py (1 lines total)]\n1:\n"),
        step("edit 1:1\nx\nend_of_edit\n", "[File: /w/new.py (1 lines total)]\n1:x\n"),
        step("open gone.py\n", "File gone.py not found\n"),
        step("open \"src/a.py\" 12\n", "[File: /w/src/a.py (20 lines total)]\r\n(1 more lines above)"),
        step(edit, "done"),
        step("edit 'a b' 'c'", "done"),
    ], "history": [], "info": {}});
    let events = read_lines(Dialect::SweAgent, &[document]).events;
    let titles = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some((call.kind.clone()?, call.title.clone()?)),
        _ => None,
    });
    let edits = titles.filter(|(kind, _)| kind == "edit");
    assert_eq!(
        edits.map(|(_, title)| title).collect::<Vec<_>>(),
        [
            "2:3…",
            "new.py",
            "/w/new.py:1",
            "/w/src/a.py:2-3",
            "/w/src/a.py"
        ]
    );
}

/// What a run's calls are, and what came of them; the edits last.
fn calls_of(steps: &[[&str; 2]], info: Value) -> Vec<String> {
    let step = |[action, observation]: &[&str; 2]| json!({"action": action, "observation": observation, "thought": ""});
    let steps: Vec<Value> = steps.iter().map(step).collect();
    let document =
        json!({"environment": "swe_main", "trajectory": steps, "history": [], "info": info});
    let events = read_lines(Dialect::SweAgent, &[document]).events;
    assert_sound("steps", &events);
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => {
            let kind = call.kind.as_deref().unwrap_or("-");
            let mut args = serde_json::from_str::<Value>(&call.args.as_text()).unwrap();
            args.as_object_mut().unwrap().remove("command");
            Some(format!("{kind} {} {args}", call.tool_name))
        }
        Payload::ToolResult(result) => {
            let why = result.error.as_ref().map(|error| error.message.clone());
            Some(why.or_else(|| result.summary.clone()).unwrap_or_default())
        }
        Payload::FileEdit(edit) => Some(format!("edit {} {}", edit.file_path, edit.diff_preview)),
        _ => None,
    });
    told.collect()
}

#[test]
fn what_a_shell_runs_is_a_command_and_the_programs_own_commands_name_their_files() {
    let shown = "[File: /w/a.py (20 lines total)]\n1:x\n";
    let told = calls_of(
        &[
            ["ls -F\n", "a.py"],
            ["grep -n x a.py", "1:x"],
            ["find_file \"a b.py\" src", "none"],
            ["open a.py 12", shown],
            ["scroll_down", shown],
            ["submit", "ok"],
        ],
        json!({}),
    );
    let calls = told.iter().filter(|line| line.contains('{'));
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            "execute shell {}",
            "execute shell {}",
            r#"search find_file {"path":"src","pattern":"a b.py"}"#,
            r#"read open {"path":"a.py"}"#,
            r#"read scroll_down {"path":"/w/a.py"}"#,
            "other submit {}",
        ]
    );
}

/// As in fixtures/swe-agent/…marshmallow-1867.traj.
#[test]
fn an_edit_says_how_many_lines_it_changed_where_those_were_shown() {
    let refused = "Your proposed edit has introduced new syntax error(s). Please understand the fixes.\n\nERRORS:\n- E999 IndentationError: unexpected indent\n\nThis is how\n[File: /w/a.py (9 lines total)]\n7:no\n";
    let steps = [
        ["create a.py", "[File: /w/a.py (1 lines total)]\n1:\n"],
        [
            "edit 1:1\none\ntwo\nend_of_edit\n",
            "[File: /w/a.py (2 lines total)]\n1:one\n2:two\n",
        ],
        ["edit 2:2\n  three\nend_of_edit\n", refused],
        [
            "edit 2:2\nthree\nend_of_edit\n",
            "[File: /w/a.py (2 lines total)]\n1:one\n2:three\n",
        ],
        [
            "edit 7:7\nx\nend_of_edit\n",
            "[File: /w/a.py (2 lines total)]\n",
        ],
    ];
    let results = |told: Vec<String>| -> Vec<String> {
        let is_call = |line: &String| line.contains('{');
        told.into_iter().filter(|line| !is_call(line)).collect()
    };
    let patch = json!({"submission": "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"});
    let told = results(calls_of(&steps, patch));
    let came = [
        "2 lines",
        "+2 −0",
        "E999 IndentationError: unexpected indent",
        "+1 −1",
        "[File: /w/a.py (2 lines total)]",
    ];
    assert_eq!(told[..5], came);
    // The patch in the end is all there is to the edits, else each change would count twice.
    assert_eq!(told.len(), 6);
    let told = results(calls_of(&steps, json!({})));
    let edits: Vec<&String> = told
        .iter()
        .filter(|line| line.starts_with("edit "))
        .collect();
    assert_eq!(
        edits,
        [
            "edit /w/a.py @@\n+one\n+two\n",
            "edit /w/a.py @@\n-two\n+three\n"
        ]
    );
}

#[test]
fn a_replacement_counts_at_each_place_where_it_was_made() {
    let call = json!({"id": "c", "function": {"name": "edit", "arguments": "{\"search\":\"a\",\"replace\":\"b\\nc\"}"}});
    let action = "edit 'a' 'b\nc' True";
    let document = json!({"environment": "e", "info": {}, "trajectory": [
        {"action": "open a.py", "observation": "[File: /w/a.py (2 lines total)]\n1:a\n2:a", "thought": "o"},
        {"action": action, "observation": "Replaced 2 occurrences. Please review", "thought": "t"},
    ], "history": [
        {"role": "user", "content": "fix"},
        {"role": "assistant", "content": "t", "thought": "t", "action": action, "tool_calls": [call]},
    ]});
    let read = read_lines(Dialect::SweAgent, &[document]);
    assert_sound("replaced", &read.events);
    let edits = read.events.iter().filter_map(|event| match &event.payload {
        Payload::FileEdit(edit) => Some((edit.lines_added, edit.lines_removed)),
        _ => None,
    });
    assert_eq!(edits.collect::<Vec<_>>(), [(4, 2)]);
}

#[test]
fn attempts_are_runs_of_their_own_and_their_thoughts_are_told() {
    let attempt = |text: &str| {
        json!({
            "trajectory": [{"action": "ls", "observation": text, "thought": "Look", "response": "", "state": {}}],
            "history": [
                {"role": "user", "content": "ISSUE", "agent": "main", "message_type": "observation"},
                {"role": "assistant", "content": "", "action": "ls", "thought": "Look", "agent": "main",
                    "thinking_blocks": [{"type": "thinking", "thinking": "Hm", "signature": "x"}, {"type": "redacted_thinking", "data": "y"}]},
            ],
            "info": {"exit_status": "submitted"},
        })
    };
    let both = json!([attempt("one"), attempt("two")]);
    // While they are made there is nothing else; in the end a copy of the one that was chosen stands beside them.
    let running = json!({"attempts": both});
    let mut over = attempt("two");
    over["attempts"] = both;
    over["info"]["best_attempt_idx"] = json!(1);
    assert_eq!(
        detect(running.to_string().as_bytes(), true),
        Detection::Found(Dialect::SweAgent)
    );
    let run = |n: &str, text: &str| {
        let lines = [
            "turn user".to_owned(),
            "user ISSUE".to_owned(),
            "thinking Hm".to_owned(),
            "thinking ".to_owned(),
            "done Look".to_owned(),
            format!("call run{n}.s0.call shell"),
            format!("result run{n}.s0.call {text}"),
            "end completed".to_owned(),
        ];
        lines.to_vec()
    };
    let mut expected = [run("", "one"), run("2", "two")].concat();
    let said = |document: &Value| {
        let read = read_lines(Dialect::SweAgent, std::slice::from_ref(document));
        assert_sound("attempts", &read.events);
        told(&read.events)
    };
    assert_eq!(said(&running), expected);
    expected.push("notice attempt 2 of 2 was chosen".to_owned());
    assert_eq!(said(&over), expected);
}

/// Models name the first call of every attempt alike.
#[test]
fn the_patch_of_an_attempt_is_of_the_call_that_handed_it_in() {
    let attempt = json!({
        "trajectory": [{"action": "submit", "observation": "ok", "thought": "t"}],
        "history": [
            {"role": "user", "content": "fix"},
            {"role": "assistant", "content": "t", "thought": "t", "action": "submit",
                "tool_calls": [{"id": "submit:0", "function": {"name": "submit", "arguments": "{}"}}]},
        ],
        "info": {"submission": "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"},
    });
    let read = read_lines(
        Dialect::SweAgent,
        &[json!({"attempts": [attempt, attempt]})],
    );
    assert_sound("attempts", &read.events);
    let of_calls = read.events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(call.tool_call_id.as_str()),
        Payload::FileEdit(edit) => Some(edit.tool_call_id.as_str()),
        _ => None,
    });
    let of_calls: Vec<&str> = of_calls.collect();
    assert_eq!(of_calls.len(), 4);
    assert_eq!([of_calls[0], of_calls[2]], [of_calls[1], of_calls[3]]);
    assert_ne!(of_calls[0], of_calls[2]);
}
