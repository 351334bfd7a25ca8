//! What mini-swe-agent's dialect holds.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines};

fn run(version: &str, status: &str, messages: &[Value]) -> Value {
    json!({"info": {"model_stats": {"instance_cost": 0.25, "api_calls": 2}, "config": {
        "agent": {"instance_template": "Please solve this issue: {{task}}\n\nYou can execute commands.\n{{system}}"},
        "model": {"model_name": "m"}, "environment": {"cwd": "/w"}},
        "mini_version": version, "exit_status": status, "submission": ""},
        "messages": messages, "trajectory_format": "mini-swe-agent-1.1"})
}

fn asked() -> [Value; 2] {
    [
        json!({"role": "system", "content": "You are helpful."}),
        json!({"role": "user", "content": "Please solve this issue: List\n\nYou can execute commands.\nLinux"}),
    ]
}

fn answer(id: &str, text: &str, commands: &[&str]) -> Value {
    let actions = commands.iter().enumerate();
    let actions: Vec<Value> = actions
        .map(|(n, command)| json!({"command": command, "tool_call_id": format!("{id}-{n}")}))
        .collect();
    let response = json!({"id": id, "model": "m", "usage": {"prompt_tokens": 10, "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4}}});
    json!({"role": "assistant", "content": text, "reasoning_content": "Hm.", "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}],
        "extra": {"actions": actions, "response": response, "cost": 0.125, "timestamp": 1_796_169_589.5}})
}

fn gave(call: &str, output: &str, code: i64, why: &str) -> Value {
    json!({"role": "tool", "tool_call_id": call, "content": "{}",
        "extra": {"raw_output": output, "returncode": code, "exception_info": why, "timestamp": 1_796_169_590.25}})
}

fn read(document: &Value) -> Vec<ChatEvent> {
    let text = serde_json::to_string_pretty(document).unwrap();
    assert_eq!(
        detect(text.as_bytes(), true),
        Detection::Found(Dialect::MiniSweAgent)
    );
    let read = |piece: usize| {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        for bytes in text.as_bytes().chunks(piece) {
            reader.push(bytes, 0, &mut events).unwrap();
        }
        reader.finish(0, &mut events).unwrap();
        assert!(reader.report().raw.is_empty(), "{:?}", reader.report().raw);
        events
    };
    let whole = read(usize::MAX);
    assert_eq!(whole, read(7));
    assert_sound("mini-swe-agent", &whole);
    whole
}

/// What is told, but for what was used.
fn told(events: &[ChatEvent]) -> Vec<String> {
    let told = crate::support::told(events).into_iter();
    told.filter(|line| !line.starts_with("usage ")).collect()
}

const NOT_RUN: &str = "action was not executed";

#[test]
fn a_run_is_told_with_its_times_its_codes_and_what_each_answer_used() {
    let messages = [
        answer("r1", "I list.", &["ls", "exit 3"]),
        gave("r1-0", "a\n", 0, ""),
        gave("r1-1", "", 3, ""),
        answer("r2", "", &["sleep 9"]),
        gave("r2-0", "s\n", -1, "timed out after 2 seconds"),
        answer("r3", "", &["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]),
        gave("r3-0", "", -1, NOT_RUN),
        json!({"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}}),
    ];
    let events = read(&run(
        "2.4.6",
        "Submitted",
        &[&asked()[..], &messages].concat(),
    ));
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user List",
            "thinking Hm.",
            "done I list.",
            "call r1-0 bash",
            "call r1-1 bash",
            "result r1-0 a\n",
            "failed r1-1 exit_code",
            "thinking Hm.",
            "call r2-0 bash",
            "failed r2-0 error",
            "thinking Hm.",
            "call r3-0 bash",
            "result r3-0 ",
            "end completed",
        ]
    );
    assert_eq!(events[0].timestamp, Some(1_796_169_589_500));
    let used = events.iter().filter_map(|event| match &event.payload {
        Payload::Usage(usage) => Some((usage.input_tokens, usage.cost_usd)),
        _ => None,
    });
    assert_eq!(used.collect::<Vec<_>>(), [(6, Some(0.125)); 3]);
}

#[test]
fn what_the_user_says_in_between_is_told_and_another_task_is_another_turn() {
    let says = |kind: &str, text: &str| json!({"role": "user", "content": text, "extra": {"interrupt_type": kind}});
    let messages = [
        answer("r1", "", &["rm a"]),
        gave("r1-0", "", -1, NOT_RUN),
        says(
            "UserRejection",
            "Commands not executed. The user rejected your commands with the following message: not that",
        ),
        json!({"role": "user", "content": "User command: \n```bash\nls\n```", "extra": {"actions": [{"command": "ls"}]}}),
        json!({"role": "user", "content": "{}", "extra": {"raw_output": "a\n", "returncode": 0, "exception_info": ""}}),
        json!({"role": "user", "content": "Tool call error:\n\n<error>\nNo tool calls found.\n</error>\n\nHere is guidance",
            "extra": {"interrupt_type": "FormatError", "response": {"id": "r2", "choices": [{"message": {"role": "assistant", "content": "No call"}}]}}}),
        answer("r3", "", &["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]),
        gave("r3-0", "", -1, NOT_RUN),
        says("UserNewTask", "The user added a new task: now more"),
        json!({"role": "exit", "content": "Broken", "extra": {"exit_status": "InternalServerError", "exception_str": "Broken"}}),
    ];
    let events = read(&run(
        "2.4.6",
        "InternalServerError",
        &[&asked()[..], &messages].concat(),
    ));
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user List",
            "thinking Hm.",
            "call r1-0 bash",
            "failed r1-0 rejected",
            "user not that",
            "call m5.0 bash",
            "result m5.0 a\n",
            "done No call",
            "notice No tool calls found.",
            "thinking Hm.",
            "call r3-0 bash",
            "result r3-0 ",
            "end completed",
            "turn user",
            "user now more",
            "error InternalServerError Broken",
            "end failed",
        ]
    );
}

#[test]
fn runs_of_the_first_versions_have_their_commands_and_codes_in_their_texts() {
    let says = |role: &str, text: &str| json!({"role": role, "content": text, "timestamp": 1_796_170_048.25});
    let messages = [
        says("assistant", "I look.\n\n```bash\necho hi; exit 2\n```"),
        says(
            "user",
            "<returncode>2</returncode>\n<output>\nhi\n</output>",
        ),
        says("assistant", "bad"),
        says("user", "Please always provide EXACTLY ONE action"),
    ];
    let events = read(&run("1.17.5", "", &[&asked()[..], &messages].concat()));
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user List",
            "done I look.",
            "call m2.0 bash",
            "failed m2.0 exit_code",
            "done bad",
            "notice Please always provide EXACTLY ONE action",
            "end interrupted",
        ]
    );
}

#[test]
fn answers_of_the_responses_api_are_told() {
    let response = json!({"object": "response", "id": "resp", "model": "m", "usage": {"input_tokens": 10, "output_tokens": 2},
        "output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Deep"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{\"command\": \"ls\"}"}],
        "extra": {"actions": [{"command": "ls", "tool_call_id": "c"}]}});
    let result = json!({"type": "function_call_output", "call_id": "c", "output": "{}", "extra": {"raw_output": "a", "returncode": 0}});
    let document = run("2.4.6", "", &[&asked()[..], &[response, result]].concat());
    assert_eq!(
        told(&read(&document)),
        [
            "turn user",
            "user List",
            "thinking Deep",
            "done I look.",
            "call c bash",
            "result c a",
            "end interrupted"
        ]
    );
    // What is no run is not lost.
    let none = read_lines(Dialect::MiniSweAgent, &[json!({"messages": []})]);
    assert_eq!(none.report.raw.len(), 1);
}
