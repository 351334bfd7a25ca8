//! What each part of a question means.

use super::*;

#[test]
fn what_is_undone_is_found_as_such_and_no_more_once_it_stands_again() {
    let told = |nth: usize, kind: &str, turn: &str, payload: Value| {
        let mut event = event(nth, kind, payload);
        event.turn_id = (!turn.is_empty()).then(|| turn.to_owned());
        event
    };
    let set_back = |nth: usize, members: &str| {
        let mut payload = json!({"level": "info", "source": "branch", "text": "back"});
        payload[members] = json!(["t2"]);
        told(nth, "notice", "t3", payload)
    };
    let says = |nth: usize, turn: &str| {
        told(
            nth,
            "user_message",
            turn,
            json!({"text": format!("Ask {turn}")}),
        )
    };
    let mut renderer = ChatRenderer::new();
    let mut live = Find::new(Query::parse("is:undone").unwrap());
    let mut rest = Find::new(Query::parse("-is:undone ask").unwrap());
    let mut late = None;
    let steps = [
        (says(0, "t1"), &[][..]),
        (says(1, "t2"), &[]),
        (says(2, "t3"), &[]),
        (set_back(3, "leftTurnIds"), &["e1"]),
        (
            told(4, "assistant_done", "t2", json!({"text": "Late."})),
            &["e1", "e4"],
        ),
        (set_back(5, "againTurnIds"), &[]),
    ];
    for (event, wanted) in steps {
        let patches = renderer.render_event(&event);
        let feed = renderer.feed();
        let id = |block| feed.block(block).event_id.to_string();
        for find in [Some(&mut live), Some(&mut rest), late.as_mut()]
            .into_iter()
            .flatten()
        {
            find.note(feed, &patches);
            find.search(feed, usize::MAX, &mut Vec::new());
        }
        let found: Vec<String> = live.hits().map(id).collect();
        assert_eq!(found, wanted, "{}", event.id);
        let others: Vec<String> = rest.hits().map(id).collect();
        assert_eq!(
            others.contains(&"e1".to_owned()),
            renderer.event_count() > 1 && wanted.is_empty()
        );
        // One who began to look when it was undone hears that it is not, too.
        match &late {
            Some(late) => assert_eq!(ids(late), ids(&live), "{}", event.id),
            None if !wanted.is_empty() => {
                late = Some(from_scratch(feed, "is:undone", Kinds::default()));
            }
            None => {}
        }
    }
}

/// The ids of the events whose rows are found.
fn found(renderer: &ChatRenderer, question: &str) -> Vec<String> {
    let feed = renderer.feed();
    let find = from_scratch(feed, question, Kinds::default());
    find.hits()
        .map(|id| feed.block(id).event_id.to_string())
        .collect()
}

#[test]
fn what_is_not_shown_of_a_failure_is_not_found() {
    let said = "<tool_use_error>It has not been read yet.</tool_use_error>";
    let mut renderer = ChatRenderer::new();
    renderer.render_event(&event(
        0,
        "tool_call",
        json!({"toolCallId": "c", "toolName": "Write", "args": {"file_path": "/a"}}),
    ));
    renderer.render_event(&event(
        1,
        "tool_result",
        json!({"toolCallId": "c", "result": said, "error": {"code": "tool_use_error", "message": said}}),
    ));
    assert_eq!(found(&renderer, "\"been read yet\""), ["e0"]);
    assert!(found(&renderer, "tool_use_error").is_empty());
    let told = "<local-command-caveat>Caveat: of commands</local-command-caveat>";
    renderer.render_event(&event(2, "notice", json!({"level": "info", "text": told})));
    assert_eq!(found(&renderer, "caveat"), ["e2"]);
    assert!(found(&renderer, "local-command").is_empty());
}

#[test]
fn each_part_of_a_question_means_what_it_says() {
    let story = story();
    for (question, expected) in [
        ("lamp", &["e0", "e2", "e7", "e10"][..]),
        ("Lamp", &[]),
        ("GRÖSSE", &[]),
        ("größe", &["e0"]),
        ("\"fuse blown\"", &["e2"]),
        ("fuse lamp", &["e2", "e7"]),
        ("fuse -lamp", &["e1"]),
        // Escape sequences do not part words.
        ("warning", &["e2"]),
        ("4711", &["e2"]),
        // Names of members are nobody's words, and texts that were escaped are read as they are.
        ("old_string", &[]),
        ("/^fuse b/", &["e2"]),
        ("/FUSE/", &[]),
        ("is:command", &["e2"]),
        ("is:errors", &["e2"]),
        ("is:running", &["e8", "e20"]),
        // What a changed file stands for is found by it, once.
        ("is:edit", &["e7"]),
        ("old_string: fuse", &[]),
        ("tool:edit", &["e7"]),
        ("wire", &["e7"]),
        ("file:src/**", &["e7"]),
        ("file:lamp", &["e7"]),
        ("file:*.md", &["e20"]),
        ("agent:explore", &["e8", "e20"]),
        ("is:permission rm", &["e9"]),
        ("is:thinking", &["e1"]),
        ("is:prompt", &["e0"]),
        ("is:message", &["e0", "e10"]),
        ("src/lamp.rs", &["e7"]),
        ("-is:tool -is:message", &["e1", "e7", "e9"]),
    ] {
        assert_eq!(found(&story, question), expected, "{question}");
    }
}

#[test]
fn a_line_ends_before_its_carriage_return() {
    for text in [
        "one FAILED\r\ntwo\r\n",
        "\u{1b}[31mone FAILED\u{1b}[0m\r\n\u{1b}[1mtwo\u{1b}[0m\r\n",
    ] {
        for (question, n_found) in [("/FAILED$/", 1), ("two", 1), ("-two", 0), ("/u.d/", 0)] {
            let mut renderer = ChatRenderer::new();
            let call = json!({"toolCallId": "c1", "toolName": "Bash", "args": {}});
            renderer.render_event(&event(0, "tool_call", call));
            let mut find = Find::new(Query::parse(question).unwrap());
            // Whether it comes at once or in pieces.
            for (nth, piece) in text.char_indices() {
                let chunk = json!({"toolCallId": "c1", "chunk": piece.to_string()});
                let patches = renderer.render_event(&event(nth + 1, "tool_output_chunk", chunk));
                find.note(renderer.feed(), &patches);
                find.search(renderer.feed(), usize::MAX, &mut Vec::new());
                let anew = from_scratch(renderer.feed(), question, Kinds::default());
                assert_eq!(ids(&find), ids(&anew), "{question} in {:?}", &text[..nth]);
            }
            assert_eq!(find.len(), n_found, "{question} in {text:?}");
        }
    }
}

#[test]
fn a_pattern_that_matches_nothing_marks_nothing() {
    for (question, text, mark) in [
        ("/x*/", "axxb", Some(1..3)),
        ("/$/", "ab", None),
        ("/^/", "", None),
        ("/b|/", "abé", Some(1..2)),
        ("/(é)?/", "é", Some(0..2)),
    ] {
        let query = Query::parse(question).unwrap();
        let marks: Vec<_> = mark.into_iter().collect();
        assert_eq!(query.marks(text, 9), marks, "{question} in {text:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    for (question, at, what) in [
        ("x /(/", 2, "could not read the pattern"),
        ("é is:odd", 5, "`is:odd` is none of prompt"),
        ("tool:", 5, "a name is missing"),
        (&"x ".repeat(33), 64, "more than 32 texts"),
        (&"x".repeat(1001), 1000, "over the limit"),
    ] {
        let error = Query::parse(question).unwrap_err();
        assert_eq!(error.at, at, "{question}: {error}");
        assert!(error.what.starts_with(what), "{question}: {error}");
    }
    for plain in [
        "/home/me/x.rs",
        "/usr/bin/",
        "http://a/b",
        "--release",
        "-",
        "a/b/",
        "is",
        "\"open",
    ] {
        let query = Query::parse(plain).unwrap();
        let text = plain.trim_start_matches('"');
        assert_eq!(query.marks(text, 9), vec![0..text.len(); 1], "{plain}");
    }
}

#[test]
fn what_only_a_terminal_is_told_is_no_hit_when_it_has_ended() {
    let mut renderer = ChatRenderer::new();
    let call = json!({"toolCallId": "c1", "toolName": "Bash", "args": {}});
    renderer.render_event(&event(0, "tool_call", call));
    let mut finds = ["error", "-error"].map(|question| Find::new(Query::parse(question).unwrap()));
    for (nth, chunk) in ["\u{1b}]0;err", "or", "\u{7}done\n", "error\n"]
        .into_iter()
        .enumerate()
    {
        let chunk = json!({"toolCallId": "c1", "chunk": chunk});
        let patches = renderer.render_event(&event(nth + 1, "tool_output_chunk", chunk));
        for (find, question) in finds.iter_mut().zip(["error", "-error"]) {
            find.note(renderer.feed(), &patches);
            assert!(find.search(renderer.feed(), usize::MAX, &mut Vec::new()));
            let anew = from_scratch(renderer.feed(), question, Kinds::default());
            assert_eq!(ids(find), ids(&anew), "{question} after chunk {nth}");
        }
    }
}
