//! Frames read as they were written, and what a newer side adds is passed over.

use chat_event::frame::{ClientFrame, Ev, EvText, Hello, Open, Problem, Resume, ServerFrame};
use chat_event::payload::Interrupt;
use chat_event::{ChatEvent, Json, Payload};

#[test]
fn client_frames_have_the_texts_of_the_protocol() {
    let open = Open {
        sub: 1,
        session: "s1".to_owned(),
        epoch: Some("E".to_owned()),
        after: Some(7),
        caps: vec!["x".to_owned()],
    };
    let cases = [
        (
            ClientFrame::Open(open),
            r#"{"op":"open","sub":1,"session":"s1","epoch":"E","after":7,"caps":["x"]}"#,
        ),
        (ClientFrame::Close { sub: 2 }, r#"{"op":"close","sub":2}"#),
        (
            ClientFrame::Ack { sub: 2, seq: 9 },
            r#"{"op":"ack","sub":2,"seq":9}"#,
        ),
        (ClientFrame::Ping { n: 3 }, r#"{"op":"ping","n":3}"#),
    ];
    for (frame, text) in cases {
        assert_eq!(frame.to_text(), text);
        let newer = text.replacen('{', r#"{"new":[{}],"#, 1);
        assert_eq!(ClientFrame::read(&newer), Ok(Some(frame)));
    }
}

#[test]
fn server_frames_have_the_texts_of_the_protocol() {
    let texts = [
        r#"{"op":"sessions","sub":1,"changed":[{"id":"s1","n":1.0}],"gone":["s2"]}"#,
        r#"{"op":"hello","sub":1,"proto":1,"epoch":"E","head":9,"oldest":1,"resume":"behind","hbMs":15000,"limits":{"a":1}}"#,
        r#"{"op":"ev","sub":1,"from":7,"to":7,"e":[{"seq":7,"id":"e7","type":"turn_end","payload":{}}]}"#,
        r#"{"op":"hb","sub":1,"head":9}"#,
        r#"{"op":"lag","sub":1,"head":9}"#,
        r#"{"op":"gap","sub":1,"from":3,"to":4,"why":"disk"}"#,
        r#"{"op":"reset","sub":1,"epoch":"F","why":"restored"}"#,
        r#"{"op":"err","sub":1,"code":"bad_frame","msg":"m","fatal":false,"retryAfterMs":50}"#,
        r#"{"op":"bye","why":"restart","reconnectAfterMs":500}"#,
        r#"{"op":"pong","n":3,"head":9}"#,
    ];
    for text in texts {
        let frame = ServerFrame::read(text).unwrap().unwrap();
        assert_eq!(frame.to_text(), text);
        let newer = text.replacen('{', r#"{"new":[{}],"#, 1);
        assert_eq!(ServerFrame::read(&newer), Ok(Some(frame)));
    }
    assert_eq!(ServerFrame::read(r#"{"op":"zap","sub":{}}"#), Ok(None));
}

#[test]
fn what_may_be_left_out_can_be() {
    let hello = Hello {
        sub: 1,
        proto: 1,
        resume: Resume::None,
        limits: Json::default(),
        ..Hello::default()
    };
    let text = r#"{"op":"hello","sub":1,"proto":1,"resume":"a newer word"}"#;
    assert_eq!(ServerFrame::read(text), Ok(Some(ServerFrame::Hello(hello))));
    let problem = Problem {
        code: "x".to_owned(),
        ..Problem::default()
    };
    let text = r#"{"op":"err","code":"x"}"#;
    assert_eq!(ServerFrame::read(text), Ok(Some(ServerFrame::Err(problem))));
}

#[test]
fn lines_of_the_log_travel_word_for_word_and_are_checked() {
    let mut event = ChatEvent::new("e7", 1, "s1", Interrupt::default());
    event.seq = Some(7);
    let line = event.to_line_with_checksum();
    let odd = r#"{"seq":8,"id":"e8","type":"user_message","payload":{"text":"\ud83d"}}"#;
    let text = EvText::new(7, 8, [line.as_str(), odd]).for_sub(5);
    assert!(text.contains(&line) && text.contains(odd));
    let Ok(Some(ServerFrame::Ev(Ev {
        sub,
        from,
        to,
        events,
    }))) = ServerFrame::read(&text)
    else {
        panic!("{text}");
    };
    assert_eq!((sub, from, to), (5, 7, 8));
    assert_eq!(events[0], event);
    let Payload::UserMessage(message) = &events[1].payload else {
        panic!("{events:?}");
    };
    assert_eq!(message.text.preview(), "\u{fffd}");
    let flipped = text.replace("\"e7\"", "\"e6\"");
    let why = ServerFrame::read(&flipped).unwrap_err().to_string();
    assert!(
        why.starts_with("could not read the frame: e: the checksum is wrong"),
        "{why}"
    );
}

#[test]
fn frames_that_ask_for_too_much_are_refused() {
    let refused = [
        "",
        "[]",
        "null",
        "\"open\"",
        "{}",
        r#"{"op":1}"#,
        r#"{"op":"open"}"#,
        r#"{"op":"open","sub":1}"#,
        r#"{"op":"open","sub":-1,"session":"s1"}"#,
        r#"{"op":"open","sub":1,"session":"s1","after":1.5}"#,
        r#"{"op":"ack","sub":1,"seq":"1"}"#,
        r#"["open",1,"s1"]"#,
        r#"{"op":"ping","n":1}{"op":"ping","n":1}"#,
    ];
    for text in refused {
        assert!(ClientFrame::read(text).is_err(), "{text}");
    }
    let deep = format!(
        r#"{{"op":"ping","n":1,"x":{}{}}}"#,
        "[".repeat(64),
        "]".repeat(64)
    );
    assert!(ClientFrame::read(&deep).is_err());
    let long = format!(r#"{{"op":"ping","n":1,"x":"{}"}}"#, "x".repeat(64 * 1024));
    assert!(ClientFrame::read(&long).is_err());
}
