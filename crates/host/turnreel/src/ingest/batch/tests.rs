use super::*;

fn id_of(event: &str) -> Option<String> {
    derived_id(&ChatEvent::from_json(event).unwrap())
}

#[test]
fn an_event_that_says_what_it_is_has_one_id_however_often_it_comes() {
    let chunk = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":1,"type":"{kind}","responseId":"m1","payload":{payload}}}"#)
    };
    let ids: Vec<_> = [
        chunk("assistant_chunk", r#"{"text":"a","index":3}"#),
        chunk("assistant_chunk", r#"{"text":"a","index":3,"part":1}"#),
        chunk("thinking_chunk", r#"{"text":"a","index":3}"#),
        chunk(
            "tool_call",
            r#"{"toolCallId":"c1","toolName":"x","args":{}}"#,
        ),
        chunk("tool_result", r#"{"toolCallId":"c1","result":""}"#),
    ]
    .iter()
    .map(|text| id_of(text).unwrap())
    .collect();
    assert_eq!(
        ids,
        [
            "m1:3",
            "m1:1.3",
            "m1:thinking0.3",
            "c1:tool_call",
            "c1:tool_result"
        ]
    );
    assert_eq!(id_of(&chunk("assistant_chunk", r#"{"text":"a"}"#)), None);
    assert_eq!(
        id_of(r#"{"timestamp":1,"type":"user_message","payload":{"text":"a"}}"#),
        None
    );
}

#[test]
fn keys_are_counted_outside_of_strings() {
    let many: String = (0..MAX_KEYS).map(|n| format!("\"{n}\":0,")).collect();
    assert!(!has_too_many_keys(
        &format!("{{{many}\"s\":\"x\"")[..many.len()]
    ));
    assert!(has_too_many_keys(&format!("{{{many}\"last\":0}}")));
    let text = format!("{{\"a\":\"{}\"}}", ":\\\"".repeat(MAX_KEYS));
    assert!(!has_too_many_keys(&text));
}
