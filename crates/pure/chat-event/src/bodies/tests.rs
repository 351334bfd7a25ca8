use super::json::replace_strings;
use super::*;
use crate::Payload;

#[test]
fn what_is_taken_out_is_put_back_and_the_rest_keeps_its_text() {
    let long = "é\"\n".repeat(50);
    let line = format!(
        r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"tool_call","payload":{{"toolCallId":"t","toolName":"Write","args":{{"z":1.0,"content":{},"a":[1e400,"short"]}}}}}}"#,
        serde_json::Value::String(long.clone())
    );
    let mut event = ChatEvent::from_json(&line).unwrap();
    let mut kept = Vec::new();
    take_out::<()>(&mut event, 100, &mut |text| {
        kept.push(text.to_owned());
        Ok(BodyRef::to(text, "00".to_owned()))
    })
    .unwrap();
    assert_eq!(kept, [long.as_str()]);
    let Payload::ToolCall(call) = &event.payload else {
        panic!("{event:?}")
    };
    assert!(
        call.args
            .as_text()
            .starts_with(r#"{"z":1.0,"content":{"$body":"#)
    );
    assert!(call.args.as_text().ends_with(r#""a":[1e400,"short"]}"#));
    put_back::<()>(&mut event, &mut |_| Ok(kept.pop())).unwrap();
    let Payload::ToolCall(call) = &event.payload else {
        panic!("{event:?}")
    };
    assert_eq!(
        call.args.get("content").unwrap().as_str().unwrap(),
        long.as_str()
    );
    assert!(call.args.as_text().ends_with(r#""a":[1e400,"short"]}"#));
}

#[test]
fn the_types_with_a_place_are_those_that_are_visited() {
    for &event_type in Payload::TYPES {
        let fields = r#"{"text":"a","message":"a","result":"a","args":"a","value":"a","fullDiff":"a","toolCallId":"a","toolName":"a","filePath":"a","changeType":"a","format":"a","messageId":"a","fromAgentId":"a"}"#;
        let line = format!(
            r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"{event_type}","payload":{fields}}}"#
        );
        let mut event = ChatEvent::from_json(&line).unwrap();
        let mut n_places = 0;
        take_out::<()>(&mut event, 0, &mut |text| {
            n_places += 1;
            Ok(BodyRef::to(text, String::new()))
        })
        .unwrap();
        assert_eq!(n_places > 0, TYPES.contains(&event_type), "{event_type}");
    }
}

#[test]
fn a_long_key_stays_a_key() {
    let key = "k".repeat(300);
    let text = format!(r#"{{"{key}":1}}"#);
    let replaced = replace_strings::<()>(&text, 100, &mut |_| panic!("kept a key")).unwrap();
    assert_eq!(replaced, None);
}

fn call(args: &str) -> ChatEvent {
    let line = format!(
        r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"tool_call","payload":{{"toolCallId":"t","toolName":"Write","args":{args}}}}}"#
    );
    ChatEvent::from_json(&line).unwrap()
}

#[test]
fn what_a_reference_says_is_no_body_and_unknown_words_of_it_stay() {
    let long = "p".repeat(9000);
    let args = format!(
        r#"{{"content":{{"$body":{{"sha256":"ab","bytes":90000,"preview":"{long}","truncated":true,"later":[1.0]}}}}}}"#
    );
    let mut event = call(&args);
    take_out::<()>(&mut event, 4096, &mut |_| panic!("a preview was taken out")).unwrap();
    assert_eq!(event, call(&args));
    let line = r#"{"id":"a","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":{"$body":{"sha256":"ab","bytes":9,"preview":"p","truncated":true,"later":[1.0]}}}}"#;
    let event = ChatEvent::from_json(line).unwrap();
    assert_eq!(event.to_line(), line);
}

#[test]
fn one_body_is_found_by_its_hash_wherever_it_stands() {
    let mut hash = |text: &str| format!("hash of {text}");
    let event =
        call(r#"{"edits":[{"old":"a","new":"b\n"}],"more":{"$body":{"sha256":"ab","bytes":9}}}"#);
    let mut find = |sha256: &str| find(event.clone(), sha256, &mut hash);
    assert_eq!(find("hash of b\n"), Some(Found::Here("b\n".to_owned())));
    let Some(Found::Elsewhere(reference)) = find("ab") else {
        panic!("it is not found")
    };
    assert_eq!(reference.bytes, 9);
    assert_eq!(find("hash of edits"), None);
    assert_eq!(find("hash of t"), None);
}

#[test]
fn a_files_old_text_leaves_no_beginning_behind_and_comes_back() {
    let line = r#"{"id":"a","timestamp":1,"sessionId":"s","type":"file_edit","payload":{"filePath":"a.rs","changeType":"modified","linesAdded":1,"linesRemoved":0,"diffPreview":"","fullDiff":"dddd","fullDiffAvailable":true,"fullDiffSize":4,"oldText":"one\ntwo\n","toolCallId":"t"}}"#;
    let mut event = ChatEvent::from_json(line).unwrap();
    let whole = event.clone();
    let mut kept = Vec::new();
    take_out::<()>(&mut event, 3, &mut |text| {
        kept.push(text.to_owned());
        Ok(BodyRef::to(text, format!("hash of {text}")))
    })
    .unwrap();
    assert_eq!(kept, ["dddd", "one\ntwo\n"]);
    let Payload::FileEdit(edit) = &event.payload else {
        panic!("{event:?}")
    };
    let old = edit.old_text.as_ref().unwrap();
    assert_eq!((&*old.preview(), old.byte_len()), ("", 8));
    assert!(!old.excerpt().is_whole());
    put_back::<()>(&mut event, &mut |reference| {
        Ok(kept
            .iter()
            .find(|text| reference.sha256.ends_with(*text))
            .cloned())
    })
    .unwrap();
    assert_eq!(event, whole);
}

#[test]
fn two_references_to_one_body_are_alike_once_they_are_bare() {
    let with = |more: &str| {
        let mut event = call(&format!(
            r#"{{"content":{{"$body":{{"sha256":"ab","bytes":9,"preview":"p"{more}}}}}}}"#
        ));
        bare(&mut event);
        event
    };
    let line = with("").to_line();
    assert_eq!(
        line,
        with(r#","truncated":true,"tail":"t","lines":3"#).to_line()
    );
    assert!(!line.contains("tail") && line.contains(r#""sha256":"ab""#));
}
