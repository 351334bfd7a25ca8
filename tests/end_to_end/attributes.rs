//! What attributes say of how a session is shown, played and told, and of which keys are the feed's.

use std::time::Duration;

use serde_json::{Value, json};

use crate::made_logs::log_of;
use crate::stage::{LOAD_LIMIT, on_stage};
use crate::{FEED, SHORT};

/// A log with one call after a minute in which nothing happens.
pub(crate) fn waiting_log() -> String {
    let line = |nth: usize, at_ms: i64, kind: &str, payload: Value| {
        let event = json!({"id": format!("e{nth}"), "seq": nth, "timestamp": 1_760_000_000_000_i64 + at_ms,
            "sessionId": "waits", "turnId": "t", "type": kind, "payload": payload});
        format!("{event}\n")
    };
    [
        line(1, 0, "turn_start", json!({"trigger": "user"})),
        line(2, 0, "user_message", json!({"text": "Wait"})),
        line(
            3,
            500,
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}}),
        ),
        line(
            4,
            60_500,
            "tool_result",
            json!({"toolCallId": "c", "result": "done"}),
        ),
        line(5, 61_000, "turn_end", json!({"outcome": "completed"})),
    ]
    .concat()
}

#[test]
fn thinking_is_shown_as_the_attribute_says() {
    let thinks = |nth: u32| {
        let event = json!({"id": format!("e{nth}"), "sessionId": "thinks", "turnId": "t", "type": "thinking_done", "payload": {"text": "First the tests."}});
        format!("{event}\n")
    };
    let files = vec![("/log", (0..3).map(thinks).collect())];
    let feed = "<agent-feed fold=\"none\"></agent-feed>";
    on_stage("attribute_thinking", feed, files, async |stage| {
        stage.show("/log").await;
        stage
            .tab
            .run("__test.feed().scroller.scrollTop = 0; await __test.rest()")
            .await;
        let rows = "__test.all('.row.thinking').map((row) => !!row.querySelector('.body'))";
        let shown = async |thinking: Option<&str>| -> Vec<bool> {
            let thinking = json!(thinking);
            stage
                .tab
                .run(&format!(
                    "__test.feed().thinking = {thinking}; await __test.rest()"
                ))
                .await;
            stage.tab.eval(rows).await
        };
        let usual = shown(None).await;
        assert!(!usual.is_empty() && !usual.contains(&true), "{usual:?}");
        assert!(shown(Some("expanded")).await.iter().all(|open| *open));
        assert!(shown(Some("hidden")).await.is_empty());
        assert_eq!(shown(Some("whatever")).await, usual);
    });
}

#[test]
fn a_filter_is_kept_to_in_each_session_until_the_reader_asks_for_something_else() {
    let files = vec![("/one", log_of("one", 200)), ("/two", log_of("two", 300))];
    let feed = "<agent-feed fold=\"none\" filter=\"tool:bash\" src=\"/one\"></agent-feed>";
    on_stage("attribute_filter", feed, files, async |stage| {
        let only = "(() => { const rows = __test.all('[data-row]'); return rows.length > 0 && rows.every((row) => row.dataset.toolCallId && /bash/i.test(row.ariaLabel)); })()";
        stage.tab.wait_for("commands alone", LOAD_LIMIT, only).await;
        let n_found: usize = stage.tab.eval("__test.feed().rowCount").await;
        stage.show("/two").await;
        stage
            .tab
            .wait_for("those of the other", LOAD_LIMIT, only)
            .await;
        let n_other: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert!(n_other > n_found, "{n_found}, then {n_other}");
        // The method stands beside the attribute.
        stage
            .tab
            .run("await __test.feed().filter(''); await __test.rest()")
            .await;
        let n_all: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert!(n_all > n_other, "{n_other} of {n_all}");
        stage
            .tab
            .run("__test.feed().setAttribute('filter', 'tool:read'); __test.feed().setAttribute('filter', 'tool:bash'); await __test.rest()")
            .await;
        stage
            .tab
            .wait_for("commands alone once more", SHORT, only)
            .await;
        stage
            .tab
            .run("__test.feed().removeAttribute('filter'); await __test.rest()")
            .await;
        let all = format!("__test.feed().rowCount === {n_all}");
        stage.tab.wait_for("all of it", SHORT, &all).await;
    });
}

#[test]
fn idle_stretches_are_played_as_long_as_the_attribute_says() {
    let files = vec![("/log", waiting_log())];
    on_stage("attribute_idle", FEED, files, async |stage| {
        stage.show("/log").await;
        let seconds = async |limit: Option<&str>| -> f64 {
            let limit = json!(limit);
            stage
                .tab
                .eval(&format!(
                    "(__test.feed().idleLimit = {limit}, __test.feed().duration)"
                ))
                .await
        };
        assert_eq!(seconds(None).await, 3.0);
        assert_eq!(seconds(Some("0.5")).await, 1.5);
        assert_eq!(seconds(Some("10")).await, 11.0);
        assert_eq!(seconds(Some("600")).await, 61.0);
        for unknown in ["", "0", "-1", "soon"] {
            assert_eq!(seconds(Some(unknown)).await, 3.0, "{unknown:?}");
        }
        // It holds for what is shown next.
        assert_eq!(seconds(Some("1")).await, 2.0);
        stage.tab.run("__test.feed().clear()").await;
        stage.show("/log").await;
        let next: f64 = stage.tab.eval("__test.feed().duration").await;
        assert_eq!(next, 2.0);
    });
}

#[test]
fn keys_of_the_page_act_where_it_leaves_them_to_the_feed() {
    let files = vec![("/log", log_of("keys", 200))];
    let body = "<agent-feed></agent-feed><input id=\"field\"><button id=\"button\">Go</button><div role=\"listbox\"><b id=\"choice\">One</b></div><a-closed-field id=\"closed\"></a-closed-field>";
    on_stage("attribute_keys", body, files, async |stage| {
        stage.show("/log").await;
        // Whether the feed took it, pressed there.
        let press = async |place: &str, key: &str| -> bool {
            let key = json!(key);
            stage
                .tab
                .eval(&format!("(async () => {{ const key = new KeyboardEvent('keydown', {{ key: {key}, bubbles: true, composed: true, cancelable: true }}); const left = {place}.dispatchEvent(key); await __test.frames(3); return !left; }})()"))
                .await
        };
        let (body, field, button) = (
            "document.body",
            "document.getElementById('field')",
            "document.getElementById('button')",
        );
        assert!(!press(body, "j").await, "by itself they are the page's");
        stage.tab.run("__test.feed().shortcuts = 'document'").await;
        assert!(press(body, "j").await);
        let is_on_row = "!!__test.feed().shadowRoot.activeElement?.matches('.row')";
        assert!(stage.tab.eval::<bool>(is_on_row).await);
        assert!(press(button, "k").await);
        assert!(!press(button, " ").await, "a button is pressed by it");
        assert!(!press(button, "ArrowLeft").await);
        assert!(press(body, "ArrowLeft").await, "the replay goes back");
        for key in ["j", "?", " ", "ArrowLeft"] {
            assert!(!press(field, key).await, "{key} is written");
        }
        for place in ["choice", "closed"] {
            let place = format!("document.getElementById('{place}')");
            assert!(!press(&place, "j").await, "{place} may go by it");
        }
        assert!(!press(body, "q").await, "it is no key");
        // A listener of the page's goes before it.
        stage
            .tab
            .run("document.body.addEventListener('keydown', (event) => event.preventDefault(), { once: true })")
            .await;
        let before: f64 = stage.tab.eval("__test.feed().currentTime").await;
        press(body, "ArrowLeft").await;
        assert_eq!(
            stage.tab.eval::<f64>("__test.feed().currentTime").await,
            before
        );
        assert!(press(body, "?").await);
        stage
            .tab
            .wait_for("the sheet of keys", SHORT, "!!__test.one('dialog[open]')")
            .await;
        assert!(!press(body, "j").await, "the sheet is open");
        stage.tab.run("__test.one('dialog[open]').close()").await;
        stage.tab.run("__test.feed().shortcuts = 'off'").await;
        assert!(!press(body, "j").await);
        // With the feed gone nobody hears them.
        stage
            .tab
            .run("__test.feed().shortcuts = 'document'; const feed = __test.feed(); feed.remove(); await __test.frames(2)")
            .await;
        assert!(!press(body, "j").await);
    });
}

#[test]
fn those_who_listen_are_told_as_much_as_the_attribute_says() {
    let line = |id: &str, kind: &str, payload: Value| {
        let at_ms = 1_760_000_000_000_u64 + u64::from_str_radix(id, 36).unwrap_or_default() * 1_000;
        let event = json!({"id": id, "timestamp": at_ms, "sessionId": "said", "turnId": id[..1], "type": kind, "payload": payload});
        format!("{event}\n")
    };
    // A turn that answers in two paragraphs, and an error.
    let turn = |t: &str| {
        [
            line(&format!("{t}1"), "user_message", json!({"text": "Please"})),
            line(
                &format!("{t}2"),
                "assistant_done",
                json!({"text": "All is **well**.\n\nNothing else."}),
            ),
            line(
                &format!("{t}3"),
                "turn_end",
                json!({"outcome": "completed"}),
            ),
            line(
                &format!("{t}4"),
                "error",
                json!({"code": "lost", "message": "out of reach"}),
            ),
        ]
    };
    on_stage("attribute_announce", FEED, Vec::new(), async |stage| {
        stage
            .append(&line("00", "session_start", json!({"agentId": "made"})))
            .await;
        stage.rest().await;
        let heard = async |announced: &str, t: &str, until: &str| -> Vec<String> {
            stage
                .tab
                .run(&format!("__test.feed().announce = {}; window.__heard = []; for (const region of __test.all('[role=log], [role=alert]')) new MutationObserver(() => region.textContent && __heard.push(region.textContent)).observe(region, {{ childList: true, characterData: true, subtree: true }})", json!(announced)))
                .await;
            for event in turn(t) {
                stage.append(&event).await;
                stage.rest().await;
            }
            if until.is_empty() {
                tokio::time::sleep(Duration::from_secs(7)).await;
            } else {
                let said = format!("__heard.some((said) => said.includes({}))", json!(until));
                stage.tab.wait_for("the end", SHORT, &said).await;
            }
            stage.tab.eval("__heard").await
        };
        let summary = heard("summary", "a", "Turn finished").await;
        assert!(
            summary
                .iter()
                .any(|it| it.contains("Turn finished. All is well.")),
            "{summary:?}"
        );
        assert!(
            summary.iter().any(|it| it == "Error: out of reach"),
            "{summary:?}"
        );
        assert!(
            !summary.iter().any(|it| it.contains("Nothing else")),
            "{summary:?}"
        );
        let full = heard("full", "b", "Turn finished").await;
        assert!(
            full.iter()
                .any(|it| it.contains("All is well.") && it.contains("Nothing else.")),
            "{full:?}"
        );
        let off = heard("off", "c", "").await;
        assert_eq!(off, Vec::<String>::new());
    });
}
