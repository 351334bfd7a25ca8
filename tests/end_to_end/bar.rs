//! What the bar above a session says of it: how it ended, for how long it went on, what it used.

use serde_json::{Value, json};

use crate::SHORT;
use crate::made_session::open;
use crate::server::Server;
use crate::sessions::with_server;

/// Events of long ago, a minute after each other; those with a turn are of that.
fn events(told: &[(&str, Option<&str>, Value)]) -> Value {
    let event = |(n, (kind, turn, payload)): (usize, &(&str, Option<&str>, Value))| {
        let at_ms = 1_700_000_000_000_u64 + 60_000 * n as u64;
        let id = format!("e{n}");
        json!({"id": id, "timestamp": at_ms, "type": kind, "turnId": turn, "payload": payload})
    };
    told.iter().enumerate().map(event).collect()
}

fn prompt(turn: &'static str) -> [(&'static str, Option<&'static str>, Value); 2] {
    [
        ("turn_start", Some(turn), json!({"trigger": "user"})),
        ("user_message", Some(turn), json!({"text": "Do it"})),
    ]
}

#[test]
fn a_session_that_failed_or_was_stopped_is_not_just_over() {
    with_server("over", 120, async |visit, program| {
        let server = Server::start(&program).await;
        for (session, kind, payload, state, words) in [
            ("a", "error", json!({"message": "no"}), "failed", "Failed"),
            ("b", "interrupt", json!({}), "interrupted", "Interrupted"),
            ("c", "turn_end", json!({}), "ended", "Ended"),
        ] {
            let mut told = prompt("t1").to_vec();
            told.push((kind, Some("t1"), payload));
            told.push(("session_end", None, json!({"reason": "end of stream"})));
            server.send(session, &events(&told)).await;
            let tab = visit.tab(state).await;
            open(&tab, &server.page_of(session), told.len()).await;
            let chip = "__test.one('.connection')";
            let says = format!(
                "{chip}?.dataset.state === '{state}' && {chip}.textContent.trim() === '{words}'"
            );
            tab.wait_for(words, SHORT, &says).await;
        }
    });
}

#[test]
fn what_stands_behind_the_last_turn_lets_no_clock_run_and_tokens_are_called_tokens() {
    with_server("rests", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let usage = json!({"scope": "turn", "inputTokens": 2_400, "outputTokens": 600, "cacheReadTokens": 90_000, "model": "<synthetic>"});
        let mut told = prompt("t1").to_vec();
        told.push(("turn_end", Some("t1"), json!({"usage": usage})));
        told.push(("compaction", None, json!({"trigger": "manual"})));
        let n_events = told.len();
        server.send("rests", &events(&told)).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("rests"), n_events).await;
        tab.run("await __test.rest()").await;
        let clock = "!!__test.one('.bar__facts [data-clock]')";
        assert!(!tab.eval::<bool>(clock).await, "it is over");
        let facts = "__test.one('.bar__facts').textContent";
        assert!(
            tab.eval::<bool>(&format!("{facts}.includes('3m')")).await,
            "from its first event to its last"
        );
        let spent: [String; 2] = tab
            .eval("(({ textContent, title }) => [textContent, title])(__test.one('.bar__spent'))")
            .await;
        assert_eq!(
            spent,
            [
                "3k tokens",
                "Tokens: 2,400 read, 600 written, 90,000 read from cache"
            ]
        );
        let foot: String = tab.eval("__test.text(__test.one('.turn-end'))").await;
        assert!(!foot.contains("synthetic"), "no model answered: {foot}");

        // What works is told as it goes.
        let more = events(&prompt("t2"));
        let more: Vec<Value> = more.as_array().into_iter().flatten().cloned().collect();
        let more = more.into_iter().map(|mut event| {
            event["id"] = format!("more-{}", event["id"].as_str().unwrap_or_default()).into();
            event
        });
        server.send("rests", &more.collect()).await;
        tab.wait_for("its clock", SHORT, clock).await;
    });
}

#[test]
fn thinking_that_goes_on_tells_how_long() {
    with_server("thinks", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let mut told = prompt("t1").to_vec();
        let piece = |text: &str| json!({"text": text, "part": 0});
        told.push(("thinking_chunk", Some("t1"), piece("The writer never ")));
        server.send("thinks", &events(&told)).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("thinks"), told.len()).await;
        let clock = "!!__test.one('.thinking .line__outcome [data-clock]')?.textContent";
        tab.wait_for("its clock", SHORT, clock).await;
        // What cannot be seen in it is marked while it is written, too.
        tab.run("__test.one('.thinking button.line').click()").await;
        for (more, says) in [
            ("reads", "The writer never reads"),
            ("\u{202e}or ", "The writer never readsU+202Eor"),
            ("sleeps", "The writer never readsU+202Eor sleeps"),
        ] {
            told.push(("thinking_chunk", Some("t1"), piece(more)));
            server.send("thinks", &events(&told)).await;
            let is_said = format!("__test.one('.thinking__text')?.textContent.trim() === '{says}'");
            tab.wait_for(says, SHORT, &is_said).await;
        }
        let marks = "__test.all('.thinking__text .hidden-mark').length";
        assert_eq!(tab.eval::<usize>(marks).await, 1);
        // Once it is sure to stay, what comes behind it goes into one text node.
        let mut says = "The writer never readsU+202Eor sleeps".to_owned();
        let grows = "!!__test.one('.thinking__text > .grows')";
        for (more, is_sure) in [
            (", or", false),
            (" waits for others", true),
            (" to read", true),
            ("\u{202e}again", false),
            (", says the reader", true),
            (" of it", true),
        ] {
            told.push(("thinking_chunk", Some("t1"), piece(more)));
            server.send("thinks", &events(&told)).await;
            says.push_str(&more.replace('\u{202e}', "U+202E"));
            let is_said = format!("__test.one('.thinking__text')?.textContent.trim() === '{says}'");
            tab.wait_for(&says, SHORT, &is_said).await;
            assert_eq!(tab.eval::<bool>(grows).await, is_sure, "behind {says}");
        }
        assert_eq!(tab.eval::<usize>(marks).await, 2);
        told.push((
            "thinking_done",
            Some("t1"),
            piece("The writer never waits."),
        ));
        server.send("thinks", &events(&told)).await;
        let over = "__test.one('.thinking')?.textContent.includes('Thought') && !__test.one('.thinking [data-clock]')";
        tab.wait_for("what it came to", SHORT, over).await;
    });
}
