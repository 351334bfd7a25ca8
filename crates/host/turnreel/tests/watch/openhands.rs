//! Following OpenHands: a folder for each session, with a file for each event, some of which is met half written, and a state
//! that is written anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::home::{Home, converted, events, ids, rests, sorted};
use crate::support::soon;

const ID: &str = "4227c63a6bbc43b8aeb6a6d3c7d334bc";
const BELOW: &str = "subagents/354966f10edc4e40ba997a60c9778159";

/// A conversation that happens now, whose times are those of a zone an hour and a half ahead.
struct Talk {
    home: Home,
    n_events: [u32; 2],
}

impl Talk {
    fn path(&self, below: &str) -> std::path::PathBuf {
        self.home
            .path(&format!(".openhands/conversations/{ID}/{below}"))
    }

    /// An event, so many milliseconds after now; of the sub-agent where `of` is 1.
    fn event(&mut self, of: usize, kind: &str, more: Value) -> (String, String) {
        let n = self.n_events[of];
        self.n_events[of] += 1;
        let mut event =
            json!({"id": format!("{of}-{n}"), "timestamp": local_time(), "source": "agent"});
        for (name, value) in more.as_object().unwrap() {
            event[name] = value.clone();
        }
        event["kind"] = kind.into();
        let folder = if of == 0 { "" } else { BELOW };
        let path = format!(".openhands/conversations/{ID}/{folder}/events/event-{n:05}-x.json");
        (path, event.to_string())
    }

    fn put(&mut self, of: usize, kind: &str, more: Value) {
        let (path, text) = self.event(of, kind, more);
        self.home.write(&path, text);
        // Each has a time of its own.
        std::thread::sleep(Duration::from_millis(15));
    }

    fn says(&mut self, of: usize, source: &str, text: &str) {
        let message = json!({"content": [{"type": "text", "text": text}]});
        let response = format!("r{of}-{}", self.n_events[of]);
        self.put(
            of,
            "MessageEvent",
            json!({"source": source, "llm_message": message, "llm_response_id": response}),
        );
    }

    fn state(&self, status: &str, responses: &[&str]) {
        let tokens = |id: &&str| json!({"response_id": id, "model": "m", "prompt_tokens": 10, "completion_tokens": 2});
        let tokens: Vec<Value> = responses.iter().map(tokens).collect();
        let state = json!({"id": ID, "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/home/dev/demo"},
            "execution_status": status, "stats": {"usage_to_metrics": {"agent": {"token_usages": tokens, "accumulated_cost": 0.5}}}});
        std::fs::write(self.path("base_state.json"), state.to_string()).unwrap();
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// Now, as the program writes it: without its zone.
fn local_time() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ahead = since + Duration::from_mins(90);
    let (days, seconds) = (ahead.as_secs() / 86_400, ahead.as_secs() % 86_400);
    // Days since the first of March of the year 0.
    let days = days + 719_468;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, (march + 2) % 12 + 1);
    let year = days / 146_097 * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let micros = ahead.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}")
}

fn count(home: &Home, kind: &str) -> usize {
    let all = events(&home.data(), ID);
    all.iter().filter(|event| event["type"] == kind).count()
}

#[test]
fn a_session_of_openhands_is_followed_with_its_agents_and_its_states() {
    let mut talk = Talk {
        home: Home::new(),
        n_events: [0; 2],
    };
    let began_ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis();
    talk.put(0, "SystemPromptEvent", json!({}));
    talk.says(0, "user", "Delegate");
    talk.state("idle", &[]);
    talk.state("running", &[]);
    let mut server = talk.home.watch(&[]);
    soon("it has begun", || count(&talk.home, "user_message") == 1);
    let action = json!({"kind": "TaskAction", "prompt": "Look"});
    let call = json!({"thought": [], "action": action, "tool_name": "task", "tool_call_id": "c1", "llm_response_id": "r1"});
    // It is written in place.
    let (path, text) = talk.event(0, "ActionEvent", call);
    talk.home.write(&path, &text[..40]);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(count(&talk.home, "raw") + count(&talk.home, "notice"), 0);
    talk.home.write(&path, &text);
    talk.state("waiting_for_confirmation", &["r1"]);
    soon("it asks", || count(&talk.home, "permission_request") == 1);
    talk.state("running", &["r1"]);
    soon("it may", || count(&talk.home, "permission_resolved") == 1);
    talk.put(1, "SystemPromptEvent", json!({}));
    talk.says(1, "user", "Look");
    talk.says(1, "agent", "I see.");
    soon("the agent is read while it works", || {
        count(&talk.home, "assistant_done") == 1
    });
    let result = json!({"source": "environment", "action_id": "0-2", "tool_call_id": "c1", "tool_name": "task",
        "observation": {"content": [{"type": "text", "text": "I see."}]}});
    talk.put(0, "ObservationEvent", result);
    talk.says(0, "agent", "Seen.");
    assert_eq!(count(&talk.home, "turn_end"), 0);
    talk.state("finished", &["r1", "r1-2", "r0-4"]);
    soon("the turn is over", || count(&talk.home, "turn_end") == 1);
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    let all = events(&talk.home.data(), ID);
    let times = all.iter().filter_map(|event| event["timestamp"].as_u64());
    let now_ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis();
    for time in times {
        assert!((began_ms..=now_ms).contains(&u128::from(time)), "{time}");
    }
    let seen = all
        .iter()
        .find(|event| event["payload"]["text"] == "I see.")
        .unwrap();
    assert_eq!(seen["parentToolCallId"], "c1");
    assert_eq!(seen["agentId"], "354966f10edc4e40ba997a60c9778159");
    // But for what the states in between said, it is what lies there.
    let kept = |all: &[Value]| {
        let own = |kind: &Value| !kind.as_str().unwrap().starts_with("permission_");
        let words = all.iter().filter(|event| own(&event["type"]));
        let without_times = words.map(|event| {
            let mut event = event.clone();
            let members = event.as_object_mut().unwrap();
            members.retain(|name, _| !matches!(&**name, "timestamp" | "seq" | "extra"));
            event
        });
        let mut kept: Vec<Value> = without_times.collect();
        kept.retain(|event| event["type"] != "session_start" && event["type"] != "session_end");
        sorted(&kept)
    };
    let folder = talk.path("");
    assert_eq!(kept(&all), kept(&converted(Path::new(&folder))));
    let n_before = all.len();
    // A later start knows all of it, and reads on.
    server.stop();
    rests(&talk.path("base_state.json"), Duration::from_millis(10));
    let _server = talk.home.watch(&[]);
    talk.says(0, "user", "And now?");
    talk.says(0, "agent", "Nothing.");
    soon("it goes on", || count(&talk.home, "assistant_done") == 3);
    let again = events(&talk.home.data(), ID);
    assert_eq!(again[..n_before], all);
    let names: BTreeSet<&str> = again.iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(names.len(), again.len());
}

#[test]
fn a_copy_whose_state_is_older_than_its_events_is_told_in_their_order() {
    let mut talk = Talk {
        home: Home::new(),
        n_events: [0; 2],
    };
    talk.put(0, "SystemPromptEvent", json!({}));
    talk.says(0, "user", "Delegate");
    let action = json!({"kind": "TaskAction", "prompt": "Look"});
    let call = json!({"thought": [], "action": action, "tool_name": "task", "tool_call_id": "c1", "llm_response_id": "r1"});
    talk.put(0, "ActionEvent", call);
    talk.put(1, "SystemPromptEvent", json!({}));
    talk.says(1, "user", "Look");
    talk.says(1, "agent", "I see.");
    let result = json!({"source": "environment", "action_id": "0-2", "tool_call_id": "c1", "tool_name": "task",
        "observation": {"content": [{"type": "text", "text": "I see."}]}});
    talk.put(0, "ObservationEvent", result);
    talk.says(0, "agent", "Seen.");
    talk.state("finished", &["r1"]);
    rests(&talk.path("base_state.json"), Duration::from_mins(1));
    let _server = talk.home.watch(&[]);
    soon("the turn is over", || count(&talk.home, "turn_end") == 1);
    let in_order = |all: &[Value]| {
        let told = all.iter().filter(|event| {
            matches!(
                event["type"].as_str(),
                Some("user_message" | "assistant_done" | "tool_call" | "tool_result" | "turn_end")
            )
        });
        let told = told.map(|event| json!([event["type"], event["id"], event["parentToolCallId"]]));
        told.collect::<Vec<Value>>()
    };
    let told = in_order(&events(&talk.home.data(), ID));
    assert_eq!(told, in_order(&converted(&talk.path(""))));
    assert_eq!(told.len(), 7, "{told:#?}");
}
