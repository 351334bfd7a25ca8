//! What a reader does with the text of a session that goes on: it does not run away under the hand.

use serde_json::json;

use crate::SHORT;
use crate::made_session::{beginning, event, open};
use crate::server::Server;
use crate::sessions::with_server;

const FOLLOWS: &str = "__test.one('.controls__follow')?.textContent";

#[test]
fn what_is_selected_or_held_stays_where_it_is_while_more_comes() {
    with_server("selected", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("selected", &beginning()).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("selected"), 3).await;
        let part = |n: u32| {
            let text = format!("Part {n} of what is told. ").repeat(40) + "\n\n";
            event(&format!("s{n}"), "assistant_chunk", &json!({"text": text}))
        };
        let send = async |parts: std::ops::Range<u32>| {
            let n_events = 3 + parts.end;
            let events: Vec<_> = parts.map(part).collect();
            server.send("selected", &events.into()).await;
            let here =
                format!("__test.feed().eventCount >= {n_events} && __test.feed().eventCount");
            tab.wait_for("what was sent", SHORT, &here).await;
            tab.run("await __test.frames(3)").await;
        };
        send(0..12).await;
        tab.run("__test.one('.assistant-text').focus()").await;
        let following = format!("{FOLLOWS} === 'Following'");
        tab.wait_for("what is around the rows", SHORT, &following)
            .await;
        let at_end = "__test.feed().scroller.scrollHeight - __test.feed().scroller.scrollTop - __test.feed().scroller.clientHeight < 2";
        assert!(tab.eval::<bool>(at_end).await);

        // A button of the pointer is down on it.
        let row = "__test.all('.assistant-text').at(-1)";
        let place = "window.__row.getBoundingClientRect().top";
        tab.run(&format!("window.__row = {row}; __row.dispatchEvent(new PointerEvent('pointerdown', {{ bubbles: true, composed: true, button: 0 }}))")).await;
        let before: f64 = tab.eval(place).await;
        send(12..16).await;
        let after: f64 = tab.eval(place).await;
        assert!((after - before).abs() <= 1.0, "held: {before} {after}");
        assert!(tab.eval::<bool>(&following).await, "it follows again");
        tab.run("window.dispatchEvent(new PointerEvent('pointerup')); await __test.frames(3)")
            .await;
        tab.wait_for("the end", SHORT, at_end).await;

        // Text is selected.
        tab.run(&format!("window.__row = {row}; const text = document.createTreeWalker(__row, NodeFilter.SHOW_TEXT).nextNode(); getSelection().setBaseAndExtent(text, 1, text, 9)")).await;
        tab.wait_for(
            "it to follow no more",
            SHORT,
            &format!("{FOLLOWS} === 'Follow'"),
        )
        .await;
        let before: f64 = tab.eval(place).await;
        send(16..20).await;
        let after: f64 = tab.eval(place).await;
        assert!((after - before).abs() <= 1.0, "selected: {before} {after}");
        // What is no stretch of text stops nothing.
        tab.run("getSelection().collapseToStart(); __test.one('.controls__follow').click(); await __test.frames(3)").await;
        tab.wait_for("it to follow", SHORT, &following).await;
        tab.run("getSelection().collapseToEnd(); await __test.frames(3)")
            .await;
        assert!(tab.eval::<bool>(&following).await);
    });
}
