//! What others find in bodies that are not here.

use super::*;

/// Four calls with long results: the word in the middle, at the end, in another's, and nowhere.
fn long_results() -> Vec<ChatEvent> {
    let long = |word: &str| {
        format!(
            "{}{word} {}",
            "a line of it\n".repeat(900),
            "more\n".repeat(900)
        )
    };
    let results = [
        long("quokka"),
        format!("{}the last QUOKKA", long("")),
        long("wombat quokka"),
        long("nothing"),
    ];
    let events = results.into_iter().enumerate().flat_map(|(nth, result)| {
        let call = json!({"toolCallId": format!("c{nth}"), "toolName": "Run", "args": {"n": nth}});
        let result = json!({"toolCallId": format!("c{nth}"), "result": result});
        [
            event(2 * nth, "tool_call", call),
            event(2 * nth + 1, "tool_result", result),
        ]
    });
    events.collect()
}

fn by_reference(mut event: ChatEvent) -> ChatEvent {
    let taken = bodies::take_out::<()>(&mut event, 4096, &mut |text| {
        Ok(BodyRef::to(text, format!("{:064x}", text.len())))
    });
    taken.unwrap();
    event
}

#[test]
fn what_somebody_else_found_counts_as_if_it_were_here() {
    let (mut whole, mut ends) = (ChatRenderer::new(), ChatRenderer::new());
    for event in long_results() {
        whole.render_event(&event);
        ends.render_event(&by_reference(event));
    }
    for question in [
        "quokka",
        "wombat quokka",
        "quokka -wombat",
        "-quokka",
        "QUOKKA",
        "/qu[o]kka/",
        "/wom.at/ -QUOKKA",
    ] {
        let expected = from_scratch(whole.feed(), question, Kinds::default());
        let mut find = from_scratch(ends.feed(), question, Kinds::default());
        assert!(find.totals().partly > 0, "{question}");
        let texts = find.texts_elsewhere();
        find.begin_elsewhere();
        assert!(!texts.is_empty(), "{question}");
        for (nth, text, how) in &texts {
            let asked = match how {
                How::Pattern => format!("/{text}/"),
                How::AnyCase | How::Exact => text.clone(),
            };
            let found = from_scratch(whole.feed(), &asked, Kinds::default());
            find.found_elsewhere(*nth, found.hits());
            find.looked_elsewhere(*nth);
        }
        assert!(find.search(ends.feed(), usize::MAX, &mut Vec::new()));
        assert_eq!(ids(&find), ids(&expected), "{question}");
        assert_eq!(find.totals(), expected.totals(), "{question}");
        // Of what could not be read there only the ends are known.
        let unread = ends.block_of_id(&long_results().last().unwrap().id);
        let mut not_all = find.clone();
        not_all.unread_elsewhere(unread);
        for (nth, _, _) in &texts {
            not_all.looked_elsewhere(*nth);
        }
        not_all.search(ends.feed(), usize::MAX, &mut Vec::new());
        assert_eq!(not_all.totals().partly, 1, "{question}");
        // What comes later was not looked through.
        let mut later = ends.clone();
        let call = json!({"toolCallId": "c9", "toolName": "Run", "args": {}});
        let result = json!({"toolCallId": "c9", "result": "a line\n".repeat(4000)});
        for event in [
            event(90, "tool_call", call),
            event(91, "tool_result", result),
        ] {
            let patches = later.render_event(&by_reference(event)).to_vec();
            find.note(later.feed(), &patches);
        }
        find.search(later.feed(), usize::MAX, &mut Vec::new());
        assert_eq!(find.totals().partly, 1, "{question}");
    }
}

#[test]
fn who_shows_all_bodies_is_asked_for_everything_and_nothing_is_left_out() {
    let (mut whole, mut ends) = (ChatRenderer::new(), ChatRenderer::new());
    let mut bodies_of = Vec::new();
    for mut event in long_results() {
        whole.render_event(&event);
        let id = event.id.clone();
        let taken = bodies::take_out::<()>(&mut event, 4096, &mut |text| {
            bodies_of.push((id.clone(), text.to_owned()));
            Ok(BodyRef::to(text, format!("kept-{}", bodies_of.len())))
        });
        taken.unwrap();
        ends.render_event(&event);
    }
    assert!(!bodies_of.is_empty());
    for question in [
        "quokka",
        "-quokka",
        "QUOKKA",
        "/qu[o]kka/",
        "/wom.at/ quokka",
    ] {
        let expected = from_scratch(whole.feed(), question, Kinds::default());
        let mut find = from_scratch(ends.feed(), question, Kinds::default());
        assert!(find.wants_bodies(), "{question}");
        find.begin_elsewhere();
        for (id, text) in &bodies_of {
            find.look_in_body(ends.block_of_id(id).unwrap(), text);
        }
        find.looked_in_bodies();
        assert!(find.search(ends.feed(), usize::MAX, &mut Vec::new()));
        assert_eq!(ids(&find), ids(&expected), "{question}");
        assert_eq!(find.totals(), expected.totals(), "{question}");
        assert!(!find.wants_bodies(), "{question}");
    }
    let idle = from_scratch(ends.feed(), "", Kinds::default());
    assert!(!idle.wants_bodies());
}
