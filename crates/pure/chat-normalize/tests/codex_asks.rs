//! What Codex asks its client over app-server, and what it takes for a yes.

use crate::support::{assert_sound, read_lines};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

/// What is told of requests in one turn, with the client's answers.
fn asks(lines: &[Value]) -> Vec<ChatEvent> {
    let begin = json!({"method": "turn/started", "params": {"threadId": "main", "turn": {"id": "turn-long-1"}}});
    let lines: Vec<Value> = [begin].iter().chain(lines).cloned().collect();
    let mut events = read_lines(Dialect::CodexAppServer, &lines).events;
    assert_sound("codex-app-server", &events);
    events.retain(|event| {
        matches!(
            event.event_type(),
            "permission_request" | "permission_resolved" | "question_request" | "question_resolved"
        )
    });
    events
}

fn request(method: &str, more: Value) -> Value {
    let mut params = json!({"threadId": "main", "turnId": "turn-long-1"});
    let members = params.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    json!({"method": method, "id": 7, "params": params})
}

fn answer(result: Value) -> Value {
    json!({"dir": "client->server", "msg": {"id": 7, "result": result}})
}

#[test]
fn permissions_of_which_none_is_granted_are_refused() {
    let ask = request(
        "item/permissions/requestApproval",
        json!({"itemId": "c1", "permissions": {"network": {"enabled": true}}}),
    );
    for (granted, decision) in [
        (json!({}), "deny"),
        (Value::Null, "deny"),
        (
            json!({"network": null, "fileSystem": {"read": [], "write": []}}),
            "deny",
        ),
        (json!({"network": {"enabled": false}}), "deny"),
        (
            json!({"fileSystem": {"entries": [{"path": "/etc", "access": "none"}]}}),
            "deny",
        ),
        (
            json!({"fileSystem": {"entries": [{"path": "/etc", "access": "read"}]}}),
            "allow",
        ),
        (json!({"network": {"enabled": true}}), "allow"),
        (json!({"fileSystem": {"write": ["/etc"]}}), "allow"),
    ] {
        let told = asks(&[
            ask.clone(),
            answer(json!({"permissions": granted, "scope": "turn"})),
        ]);
        let Payload::PermissionResolved(resolved) = &told[1].payload else {
            panic!("{told:?}");
        };
        assert_eq!(resolved.decision, decision, "{granted}");
    }
}

/// Who is to answer sees what it is that is to be allowed.
#[test]
fn a_request_says_all_that_it_asks_for() {
    let begun = |kind: &str, more: Value| {
        let mut item = json!({"type": kind, "id": "c1", "status": "inProgress"});
        let members = item.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        json!({"method": "item/started", "params": {"threadId": "main", "turnId": "turn-long-1", "item": item}})
    };
    let told = |lines: &[Value]| {
        let events = asks(lines);
        let Payload::PermissionRequest(asked) = &events[0].payload else {
            panic!("{events:?}");
        };
        let args = asked
            .args
            .as_ref()
            .map_or(Value::Null, |args| args.to_value());
        let title = asked.title.clone().unwrap_or_default();
        (asked.tool_name.clone(), title, args)
    };
    let network = json!({"host": "example.org", "protocol": "https"});
    let of_command = "item/commandExecution/requestApproval";
    let asked = request(
        of_command,
        json!({"itemId": "c1", "command": null, "networkApprovalContext": network}),
    );
    assert_eq!(
        told(std::slice::from_ref(&asked)),
        (
            "network".to_owned(),
            "https://example.org".to_owned(),
            json!({"networkApprovalContext": network})
        )
    );
    let command = begun("commandExecution", json!({"command": "curl example.org"}));
    assert_eq!(
        told(&[command, asked]),
        (
            "shell".to_owned(),
            "curl example.org".to_owned(),
            json!({"command": "curl example.org", "networkApprovalContext": network})
        )
    );
    let permissions = json!({"fileSystem": {"write": ["/etc"]}, "network": {"enabled": true}});
    let asked = request(
        "item/permissions/requestApproval",
        json!({"itemId": "c1", "cwd": "/w", "permissions": permissions}),
    );
    assert_eq!(
        told(&[asked]),
        (
            "permissions".to_owned(),
            "write /etc, network".to_owned(),
            json!({"cwd": "/w", "permissions": permissions})
        )
    );
    let changes = json!({"/w/a": {"type": "add", "content": "x"}});
    let asked = json!({"method": "applyPatchApproval", "id": 7, "params":
        {"conversationId": "main", "callId": "c1", "fileChanges": changes, "grantRoot": null}});
    assert_eq!(
        told(&[asked]),
        (
            "apply_patch".to_owned(),
            "/w/a".to_owned(),
            json!({"paths": ["/w/a"], "diff": "diff --git a/w/a b/w/a\nnew file mode 100644\n--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"})
        )
    );
    let root = request(
        "item/fileChange/requestApproval",
        json!({"itemId": "c1", "grantRoot": "/etc"}),
    );
    assert_eq!(
        told(std::slice::from_ref(&root)),
        (
            "apply_patch".to_owned(),
            "/etc".to_owned(),
            json!({"grantRoot": "/etc"})
        )
    );
    let change = begun(
        "fileChange",
        json!({"changes": [{"path": "/w/b", "kind": {"type": "add"}, "diff": "x"}]}),
    );
    let diff = "diff --git a/w/b b/w/b\nnew file mode 100644\n--- /dev/null\n+++ b/w/b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n";
    let args = json!({"paths": ["/w/b"], "diff": diff, "grantRoot": "/etc"});
    assert_eq!(told(&[change, root.clone()]).2, args);
    // Of each file what would be written, as far as there is room; the rest is counted.
    let changed =
        |path: &str, diff: &str| json!({"path": path, "kind": {"type": "update"}, "diff": diff});
    let long = format!("@@ -1 +1 @@\n-a\n+{}\n", "b".repeat(128 * 1024));
    let changes = [
        changed("/w/c", "@@ -1 +1 @@\n-beta\n+delta\n"),
        changed("/w/d", &long),
        changed("/w/e", "@@ -1 +1 @@\n-one\n+two\n"),
    ];
    let args = told(&[begun("fileChange", json!({"changes": changes})), root]).2;
    assert_eq!(args["filesLeftOut"], json!(1));
    let diff = args["diff"].as_str().unwrap();
    assert!(
        ["+++ b/w/c", "-beta\n+delta\n", "+++ b/w/e", "-one\n+two\n"]
            .iter()
            .all(|line| diff.contains(line)),
        "{diff}"
    );
    // What else is said is kept beside it, but for what the event has a place for.
    let bare = request(
        of_command,
        json!({"itemId": "c1", "command": ["bash", "-lc", "ls"], "proposedExecpolicyAmendment": ["ls"], "title": "x"}),
    );
    let events = asks(&[bare]);
    let Payload::PermissionRequest(asked) = &events[0].payload else {
        panic!("{events:?}");
    };
    assert_eq!(
        asked.args.as_ref().unwrap().to_value(),
        json!({"command": "ls"})
    );
    let extra: Vec<&str> = asked.extra.iter().map(|(name, _)| name).collect();
    assert_eq!(extra, ["proposedExecpolicyAmendment"]);
}

#[test]
fn what_a_server_asks_is_a_form_or_an_address() {
    let ask = |more: Value| {
        let mut asked = json!({"serverName": "tracker", "message": "File it where?"});
        let members = asked.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        request("mcpServer/elicitation/request", asked)
    };
    let told = |lines: &[Value]| {
        let events = asks(lines);
        let lines = events.iter().map(|event| match &event.payload {
            Payload::QuestionRequest(asked) => {
                let question = &asked.questions[0];
                let options = question.options.iter();
                let options: Vec<&str> = options.map(|option| option.label.as_str()).collect();
                let header = question.header.as_deref().unwrap_or("-");
                let url = question
                    .extra
                    .get("url")
                    .map(|url| url.as_text().to_string());
                let url = url.as_deref().unwrap_or("-");
                format!("{} {header} {options:?} {url}", question.id)
            }
            Payload::QuestionResolved(resolved) => {
                let answers = resolved.answers.as_ref();
                let answers = answers.map(|answers| answers.as_text().to_string());
                let answers = answers.as_deref().unwrap_or("-");
                format!("{} {answers}", resolved.outcome)
            }
            _ => panic!("{event:?}"),
        });
        lines.collect::<Vec<_>>()
    };
    let form = ask(
        json!({"mode": "form", "requestedSchema": {"type": "object", "properties": {
        "project": {"type": "string", "title": "Project", "enum": ["web", "app"]}}}}),
    );
    for (result, outcome) in [
        (
            json!({"action": "accept", "content": {"project": "web"}}),
            r#"answered {"project":"web"}"#,
        ),
        (json!({"action": "decline", "content": null}), "rejected -"),
        (json!({"action": "cancel", "content": null}), "expired -"),
    ] {
        let told = told(&[form.clone(), answer(result)]);
        assert_eq!(told, [r#"project Project ["web", "app"] -"#, outcome]);
    }
    let address = ask(json!({"mode": "url", "url": "https://example.org/login"}));
    let told = told(&[address]);
    assert_eq!(
        told[0],
        r#"elicitation tracker [] "https://example.org/login""#
    );
}
