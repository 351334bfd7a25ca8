//! What finding promises: that slices, and events that come meanwhile, do not change what is found; and what each part
//! of a question means.

use crate::support::log;
use chat_event::{BodyRef, ChatEvent, Json, Payload, bodies};
use chat_feed::find::{Find, How, Kinds, Query, Totals};
use chat_feed::{BlockId, ChatRenderer, Feed};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Questions that the generated sessions have answers to.
const QUESTIONS: &[&str] = &[
    "",
    "a",
    "ab",
    "x y",
    "é -ab",
    "-x",
    "/[ab]+/",
    "-/^x/ a",
    "is:error",
    "is:running",
    "-is:answer",
    "tool:bash",
    "tool:task ls",
    "file:a",
    "agent:b",
    "is:edit -is:tool",
    "done",
];

fn ids(find: &Find) -> Vec<BlockId> {
    find.hits().collect()
}

/// A search that was never interrupted.
fn from_scratch(feed: &Feed, question: &str, chips: Kinds) -> Find {
    let mut find = Find::new(Query::parse(question).unwrap());
    find.choose(feed, chips);
    assert!(find.search(feed, usize::MAX, &mut Vec::new()));
    find
}

fn chips(nth: usize) -> Kinds {
    match Kinds::CHIPS.get(nth) {
        Some(chip) => chip.kinds,
        None => Kinds::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_does_not_depend_on_slices_or_on_when_events_came(
        events in log(60).prop_shuffle(),
        question in prop::sample::select(QUESTIONS),
        chip in 0usize..14,
        steps in proptest::collection::vec((1usize..6, 0usize..600), 1..60),
    ) {
        let mut renderer = ChatRenderer::new();
        let mut find = Find::new(Query::parse(question).unwrap());
        find.choose(renderer.feed(), chips(chip));
        let mut heard = std::collections::BTreeSet::new();
        let mut rest = &events[..];
        for (n_events, budget) in steps.into_iter().cycle() {
            let (batch, later) = rest.split_at(n_events.min(rest.len()));
            rest = later;
            let mut patches = Vec::new();
            for event in batch {
                renderer.apply(event, &mut patches);
            }
            find.note(renderer.feed(), &patches);
            let mut changed = Vec::new();
            let done = find.search(renderer.feed(), budget, &mut changed);
            for block in changed {
                if find.is_hit(block) {
                    heard.insert(block);
                } else {
                    heard.remove(&block);
                }
            }
            prop_assert_eq!(done, find.is_done(renderer.feed()));
            if rest.is_empty() && (done || budget == 0) {
                break;
            }
        }
        find.search(renderer.feed(), usize::MAX, &mut Vec::new());
        let anew = from_scratch(renderer.feed(), question, chips(chip));
        prop_assert_eq!(ids(&find), ids(&anew));
        prop_assert_eq!(find.totals(), anew.totals());
        let in_order: Vec<BlockId> = renderer
            .feed()
            .rows()
            .map(|block| block.id)
            .filter(|&id| find.is_hit(id))
            .collect();
        prop_assert_eq!(ids(&find), in_order);
    }

    #[test]
    fn each_change_of_what_is_found_is_told_once(
        events in log(50),
        question in prop::sample::select(QUESTIONS),
    ) {
        let mut renderer = ChatRenderer::new();
        let mut find = Find::new(Query::parse(question).unwrap());
        let mut heard = std::collections::BTreeSet::new();
        for event in &events {
            let patches = renderer.render_event(event);
            find.note(renderer.feed(), &patches);
            let mut changed = Vec::new();
            find.search(renderer.feed(), usize::MAX, &mut changed);
            for block in changed {
                if find.is_hit(block) {
                    prop_assert!(heard.insert(block));
                } else {
                    heard.remove(&block);
                }
            }
            // A row that is gone is no hit, and nobody has to be told.
            heard.retain(|&block| renderer.feed().contains(block));
            let found: std::collections::BTreeSet<BlockId> = find.hits().collect();
            prop_assert_eq!(&heard, &found);
        }
    }

    #[test]
    fn any_question_is_read_or_refused_at_a_place_within_it(
        text in "([-\"/:* a-z\\\\()\\[é]|is:|tool:|file:|agent:|error|/[a-z]?[*?$^|]*/){0,20}",
    ) {
        match Query::parse(&text) {
            Ok(query) => {
                for range in query.marks(&text, 100) {
                    prop_assert!(text.get(range).is_some());
                }
            }
            Err(error) => prop_assert!(error.at <= text.chars().count()),
        }
    }

    #[test]
    fn going_on_meets_every_hit_and_begins_again(events in log(40)) {
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let feed = renderer.feed();
        let find = from_scratch(feed, "a", Kinds::default());
        let hits = ids(&find);
        for forward in [true, false] {
            let mut met = Vec::new();
            let mut at = None;
            for _ in &hits {
                at = find.next(feed, at, forward);
                met.extend(at);
            }
            if !forward {
                met.reverse();
            }
            prop_assert_eq!(&met, &hits);
            if let (Some(first), Some(last)) = (hits.first(), hits.last()) {
                let (end, begin) = if forward { (last, first) } else { (first, last) };
                prop_assert_eq!(find.next(feed, Some(*end), forward), Some(*begin));
            }
        }
        // From anywhere: the nearest in that direction.
        for block in feed.rows() {
            let order: Vec<BlockId> = feed.rows().map(|row| row.id).collect();
            let at = order.iter().position(|&id| id == block.id).unwrap();
            let after = order[at + 1..].iter().copied().find(|&id| find.is_hit(id));
            prop_assert_eq!(find.next(feed, Some(block.id), true), after.or(hits.first().copied()));
            let before = order[..at].iter().rev().copied().find(|&id| find.is_hit(id));
            prop_assert_eq!(find.next(feed, Some(block.id), false), before.or(hits.last().copied()));
        }
    }
}

fn event(nth: usize, event_type: &str, payload: Value) -> ChatEvent {
    let payload = Payload::from_json(event_type, Json::from(payload));
    let mut event = ChatEvent::new(format!("e{nth}"), 0, "s", payload);
    event.turn_id = Some("t1".to_owned());
    event
}

/// A session with one of each that is asked for below.
fn story() -> ChatRenderer {
    let events = [
        (
            "user_message",
            json!({"text": "Mend the Größe of the lamp"}),
        ),
        ("thinking_done", json!({"text": "It may be the fuse."})),
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {"command": "cargo test -q"}}),
        ),
        (
            "tool_output_chunk",
            json!({"toolCallId": "c1", "chunk": "running\n\u{1b}[31mwarn\u{1b}[0ming: lamp"}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c1", "result": {"out": "line\nfuse blown", "n": 4711}, "error": {"message": "exit 1"}}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c2", "toolName": "Edit", "args": {"file_path": "/w/src/lamp.rs", "old_string": "fuse"}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c2", "result": "edited"}),
        ),
        (
            "file_edit",
            json!({"toolCallId": "c2", "filePath": "/w/src/lamp.rs", "changeType": "modified", "linesAdded": 1, "diffPreview": "+wire"}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c3", "toolName": "Task", "args": {"subagent_type": "Explore", "description": "look"}}),
        ),
        (
            "permission_request",
            json!({"requestId": "p1", "toolName": "Bash", "title": "rm -rf build?"}),
        ),
        ("assistant_done", json!({"text": "Done: the lamp."})),
    ];
    let mut renderer = ChatRenderer::new();
    for (nth, (event_type, payload)) in events.into_iter().enumerate() {
        renderer.render_event(&event(nth, event_type, payload));
    }
    let mut inside = event(
        20,
        "tool_call",
        json!({"toolCallId": "c4", "toolName": "Read", "args": {"path": "docs/x.md"}}),
    );
    inside.parent_tool_call_id = Some("c3".to_owned());
    renderer.render_event(&inside);
    renderer
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
fn a_call_and_its_changed_file_are_one_hit_when_what_lay_between_them_goes() {
    let call = json!({"toolCallId": "c", "toolName": "Edit", "args": {"file_path": "lamp.rs"}});
    let edit = json!({"toolCallId": "c", "filePath": "lamp.rs", "changeType": "modified", "diffPreview": "+wire"});
    let mut note = event(2, "notice", json!({"level": "info", "text": "checked"}));
    note.parent_tool_call_id = Some("c".to_owned());
    let events = [
        event(0, "tool_call", call),
        event(
            1,
            "tool_result",
            json!({"toolCallId": "c", "result": "edited"}),
        ),
        note,
        event(3, "file_edit", edit),
        event(4, "retract", json!({"eventIds": ["e2"]})),
    ];
    let mut renderer = ChatRenderer::new();
    let mut find = Find::new(Query::parse("lamp").unwrap());
    for (event, n_hits) in events.iter().zip([1, 1, 1, 2, 1]) {
        let patches = renderer.render_event(event);
        find.note(renderer.feed(), &patches);
        find.search(renderer.feed(), usize::MAX, &mut Vec::new());
        assert_eq!(find.len(), n_hits, "{}", event.id);
        let anew = from_scratch(renderer.feed(), "lamp", Kinds::default());
        assert_eq!(ids(&find), ids(&anew), "{}", event.id);
    }
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
fn chips_are_counted_whatever_is_chosen() {
    let story = story();
    let mut find = from_scratch(story.feed(), "", chips(0));
    let expected = [2, 1, 1, 1, 1, 0, 1, 1, 1];
    assert_eq!(find.totals().by_chip, expected);
    assert_eq!(find.len(), 2);
    find.choose(story.feed(), chips(3).with(chips(6)));
    assert_eq!((find.len(), find.totals().by_chip), (1, expected));
    find.choose(story.feed(), Kinds::default());
    assert!(find.is_empty() && find.is_idle());
    assert_eq!(
        from_scratch(story.feed(), "lamp", Kinds::default())
            .totals()
            .by_chip[0],
        2
    );
    assert_eq!(Totals::default().by_chip.len(), Kinds::CHIPS.len());
}

#[test]
fn a_slice_takes_little_more_than_it_is_told() {
    let mut renderer = ChatRenderer::new();
    for nth in 0..2_000 {
        let text = format!("number {nth} of many");
        let mut told = event(nth, "user_message", json!({"text": text}));
        told.turn_id = Some(format!("t{nth}"));
        renderer.render_event(&told);
    }
    let mut find = Find::new(Query::parse("1999").unwrap());
    let mut n_slices = 0;
    while !find.search(renderer.feed(), 10_000, &mut Vec::new()) {
        n_slices += 1;
        let looked_at = find.totals().looked_at;
        assert!(looked_at <= n_slices * 160, "{looked_at} after {n_slices}");
    }
    assert_eq!(find.len(), 1);
    assert!(n_slices >= 10);
}

#[test]
fn a_growing_text_is_not_read_from_its_beginning_again() {
    // Were it read whole at each chunk, this would be sixteen billion bytes.
    let mut renderer = ChatRenderer::new();
    let call = json!({"toolCallId": "c1", "toolName": "Bash", "args": {}});
    renderer.render_event(&event(0, "tool_call", call));
    let mut find = Find::new(Query::parse("needle").unwrap());
    let line = "hay and hay\n".repeat(100);
    let mut n_slices = 0;
    for nth in 1..5_000 {
        let text = if nth == 4_999 { "a nee" } else { &line };
        let chunk = json!({"toolCallId": "c1", "chunk": text});
        let patches = renderer.render_event(&event(nth, "tool_output_chunk", chunk));
        find.note(renderer.feed(), &patches);
        while !find.search(renderer.feed(), 4_096, &mut Vec::new()) {
            n_slices += 1;
        }
    }
    assert!(find.is_empty());
    let chunk = json!({"toolCallId": "c1", "chunk": "dle"});
    let patches = renderer.render_event(&event(5_000, "tool_output_chunk", chunk));
    find.note(renderer.feed(), &patches);
    assert!(find.search(renderer.feed(), 4_096, &mut Vec::new()));
    assert_eq!(find.len(), 1);
    assert!(n_slices < 100, "{n_slices}");
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

#[test]
fn a_slice_counts_the_arguments_that_paths_and_agents_are_read_from() {
    let mut renderer = ChatRenderer::new();
    let long = "all of a new file\n".repeat(600);
    for nth in 0..200 {
        let args = json!({"content": long, "file_path": format!("src/{nth}.rs")});
        let id = format!("c{nth}");
        let call = json!({"toolCallId": id, "toolName": "Write", "args": args});
        renderer.render_event(&event(nth, "tool_call", call));
        let args = json!({"prompt": long, "subagent_type": format!("agent {nth}")});
        let call = json!({"toolCallId": format!("a{nth}"), "toolName": "Task", "args": args});
        renderer.render_event(&event(1_000 + nth, "tool_call", call));
    }
    for question in ["file:src/199.rs", "agent:199"] {
        let mut find = Find::new(Query::parse(question).unwrap());
        let mut n_slices = 0;
        while !find.search(renderer.feed(), 50_000, &mut Vec::new()) {
            n_slices += 1;
        }
        assert_eq!(find.len(), 1, "{question}");
        assert!(n_slices >= 30, "{question}: {n_slices}");
    }
}
