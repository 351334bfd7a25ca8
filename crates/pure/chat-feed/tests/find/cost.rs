//! A slice reads about as much as it is told.

use super::*;

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

#[test]
fn a_growing_line_is_not_read_from_its_beginning_again() {
    let mut renderer = ChatRenderer::new();
    for id in ["c1", "c2"] {
        let call = json!({"toolCallId": id, "toolName": "Bash", "args": {}});
        renderer.render_event(&event(0, "tool_call", call));
    }
    let mut find = Find::new(Query::parse("needle").unwrap());
    let mut n_slices = 0;
    for nth in 1..2_000 {
        assert!(find.is_empty());
        let text = if nth == 1_998 {
            "a nee"
        } else {
            "dle and hay "
        };
        // Another grows beside it: a slice that read the whole line would not come to that.
        for (id, nth) in [("c1", nth), ("c2", 2_000 + nth)] {
            let text = if id == "c1" { text } else { "\n" };
            let chunk = json!({"toolCallId": id, "chunk": text});
            let patches = renderer.render_event(&event(nth, "tool_output_chunk", chunk));
            find.note(renderer.feed(), &patches);
        }
        while !find.search(renderer.feed(), 4_096, &mut Vec::new()) {
            n_slices += 1;
        }
    }
    assert_eq!(find.len(), 1);
    assert!(n_slices < 10, "{n_slices}");
}

#[test]
fn what_lies_within_an_agent_is_looked_at_again_where_that_is_called_something_else() {
    let mut renderer = ChatRenderer::new();
    let mut find = Find::new(Query::parse("agent:explore").unwrap());
    let called = |name: &str| json!({"toolCallId": "a", "toolName": "Task", "args": {"subagent_type": name}});
    renderer.render_event(&event(0, "tool_call", called("explore")));
    for nth in 1..=1_000 {
        let call = json!({"toolCallId": format!("c{nth}"), "toolName": "Read", "args": {}});
        let mut call = event(nth, "tool_call", call);
        call.parent_tool_call_id = Some("a".to_owned());
        renderer.render_event(&call);
    }
    let mut n_slices = 0;
    let mut look = |find: &mut Find, told: ChatEvent| {
        let patches = renderer.render_event(&told);
        find.note(renderer.feed(), &patches);
        while !find.search(renderer.feed(), 4_096, &mut Vec::new()) {
            n_slices += 1;
        }
        n_slices
    };
    let progress = |nth: usize| {
        let told = json!({"toolCallId": "a", "message": nth.to_string()});
        event(2_000 + nth, "progress", told)
    };
    look(&mut find, progress(0));
    let at_second = look(&mut find, progress(1));
    assert_eq!(find.len(), 1_001);
    for nth in 2..100 {
        assert_eq!(look(&mut find, progress(nth)), at_second);
    }
    look(&mut find, event(3_000, "tool_call", called("review")));
    assert!(find.is_empty());
    look(&mut find, event(3_001, "tool_call", called("explore")));
    assert_eq!(find.len(), 1_001);
}
