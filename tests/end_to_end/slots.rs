//! What a page puts into the element: its own bars, what stands there until there is a session, and styles of parts.

use serde_json::{Value, json};

use crate::made_logs::{every_kind, log_of};
use crate::stage::{LOAD_LIMIT, on_stage};
use crate::{FEED, SHORT};

/// A feed with something in each of its slots.
const FULL: &str = "<agent-feed fold=\"none\">
    <p id=\"stand-in\">Read it as text</p>
    <h2 slot=\"header\">Nightly run</h2>
    <button slot=\"toolbar-start\">Back</button>
    <button slot=\"toolbar-end\">Rerun</button>
    <p slot=\"empty\">Nothing yet</p>
    <form slot=\"composer\"><input aria-label=\"Message\"></form>
    <p slot=\"footer\">Kept for a week</p>
</agent-feed>";

/// Which of the element's children are seen, and from where to where they stand, by their slots.
const SEEN: &str = "Object.fromEntries([...__test.feed().children].filter((it) => it.checkVisibility() && it.getClientRects().length)
    .map((it) => [it.slot || 'none', it.getBoundingClientRect()]).map(([slot, { top, bottom, left, right }]) => [slot, [top, bottom, left, right]]))";

fn names(seen: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = seen
        .as_object()
        .expect("slots by name")
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn what_a_page_puts_into_the_element_stands_in_its_place() {
    let files = vec![("/log", log_of("slots", 60))];
    on_stage("slots", FULL, files, async |stage| {
        stage.tab.run("await __test.frames(2)").await;
        let around = [
            "composer",
            "footer",
            "header",
            "toolbar-end",
            "toolbar-start",
        ];
        let before: Value = stage.tab.eval(SEEN).await;
        let expected = [
            "composer",
            "footer",
            "header",
            "none",
            "toolbar-end",
            "toolbar-start",
        ];
        assert_eq!(names(&before), expected);
        stage.show("/log").await;
        let seen: Value = stage.tab.eval(SEEN).await;
        assert_eq!(names(&seen), around);
        let edges = |slot: &str| -> [f64; 4] {
            serde_json::from_value(seen[slot].clone()).expect("four edges")
        };
        let of = async |selector: &str| -> [f64; 4] {
            let edges = "(({ top, bottom, left, right }) => [top, bottom, left, right])";
            let bounds = format!("{edges}(__test.one('{selector}').getBoundingClientRect())");
            stage.tab.eval(&bounds).await
        };
        let (bar, rows) = (of(".bar").await, of(".scroller").await);
        let (title, player) = (of(".bar__title").await, of(".transport").await);
        let controls = of(".controls").await;
        let (top, bottom, left, right) = (0, 1, 2, 3);
        assert!(edges("header")[bottom] <= bar[top]);
        assert!(edges("toolbar-start")[right] <= title[left]);
        assert!(edges("toolbar-end")[left] >= controls[right]);
        assert!(edges("composer")[top] >= rows[bottom] - 0.5);
        assert!(edges("composer")[bottom] <= player[top] + 0.5);
        assert!(edges("footer")[top] >= player[bottom] - 0.5);
        let feed: f64 = stage
            .tab
            .eval("__test.feed().getBoundingClientRect().bottom")
            .await;
        assert!(
            edges("footer")[bottom] <= feed + 0.5,
            "the footer is in the feed"
        );
        // What a page's bar has goes with the bar.
        stage
            .tab
            .run("__test.feed().setAttribute('bar', 'none'); await __test.rest()")
            .await;
        let bare: Value = stage.tab.eval(SEEN).await;
        assert_eq!(names(&bare), ["composer", "footer", "header"]);
        // Keys that are written into it are its own.
        let typed: Value = stage
            .tab
            .eval("(() => { const field = __test.feed().querySelector('input'); field.focus(); const key = new KeyboardEvent('keydown', { key: '?', bubbles: true, composed: true, cancelable: true }); return [field.dispatchEvent(key), !!__test.one('dialog[open]')]; })()")
            .await;
        assert_eq!(typed, json!([true, false]));
    });
}

#[test]
fn what_a_page_wrote_into_the_element_is_shown_until_there_is_a_session() {
    let files = vec![("/log", log_of("stand_in", 60))];
    on_stage("stand_in", FULL, files, async |stage| {
        // A log that cannot be read leaves it, below what is said of that.
        let stand_in = "document.getElementById('stand-in').getClientRects().length > 0";
        stage.tab.expect_problems("404");
        stage.tab.run("__test.feed().src = '/none'").await;
        let failed = "__test.feed().state === 'error'";
        stage.tab.wait_for("the failure", LOAD_LIMIT, failed).await;
        stage.tab.run("await __test.frames(2)").await;
        assert!(stage.tab.eval::<bool>(stand_in).await);
        stage.show("/log").await;
        assert!(!stage.tab.eval::<bool>(stand_in).await);
        // It stood for the first session, and for no other: of none that has no rows another is shown.
        stage
            .tab
            .run("__test.feed().clear(); await __test.rest()")
            .await;
        let seen: Value = stage.tab.eval(SEEN).await;
        assert!(!names(&seen).contains(&"none"), "{seen}");
        assert!(names(&seen).contains(&"empty"), "{seen}");
    });
}

#[test]
fn a_session_without_events_says_so_by_itself() {
    on_stage("slot_empty", FEED, Vec::new(), async |stage| {
        let shown = "(__test.one('.empty').checkVisibility() && __test.one('.empty').textContent)";
        assert_eq!(stage.tab.eval::<Value>(shown).await, json!(false));
        stage
            .tab
            .run("__test.feed().events = []; await __test.rest()")
            .await;
        stage
            .tab
            .wait_for("its words", SHORT, &format!("{shown} === 'No events yet'"))
            .await;
        stage.append(&log_of("slot_empty", 20)).await;
        let gone = format!("{shown} === false");
        stage
            .tab
            .wait_for("rows in their place", SHORT, &gone)
            .await;
        // What is looked for may be nowhere: then there are events.
        let found: usize = stage
            .tab
            .eval("__test.feed().filter('nowhere to be found')")
            .await;
        assert_eq!(found, 0);
        stage.rest().await;
        assert_eq!(stage.tab.eval::<Value>(shown).await, json!(false));
    });
}

#[test]
fn parts_have_the_styles_that_a_page_gives_them() {
    let mut log = every_kind("css_parts");
    let error = json!({"code": "lost", "message": "out of reach"});
    log.event("error", &json!({}), &error);
    let files = vec![("/log", log.take())];
    let feed = "<agent-feed fold=\"none\" verbosity=\"verbose\"></agent-feed>";
    on_stage("css_parts", feed, files, async |stage| {
        stage.show("/log").await;
        let parts = [
            "root",
            "toolbar",
            "feed",
            "item",
            "item-header",
            "item-body",
            "message",
            "thinking",
            "tool",
            "diff",
            "terminal",
            "error",
            "chip",
            "jump",
            "player",
            "scrubber",
        ];
        let rules: Vec<String> = parts
            .iter()
            .map(|part| format!("agent-feed::part({part}) {{ --seen-{part}: yes }}"))
            .collect();
        let style = json!(rules.join("\n"));
        stage
            .tab
            .run(&format!("const sheet = new CSSStyleSheet(); sheet.replaceSync({style}); document.adoptedStyleSheets.push(sheet); window.__seen = new Set()"))
            .await;
        let looks = format!(
            "for (const part of {}) for (const it of __test.all(`[part~=\"${{part}}\"]`)) if (getComputedStyle(it).getPropertyValue(`--seen-${{part}}`) === 'yes') __seen.add(part)",
            json!(parts)
        );
        // Row by row: what is far from the screen is not in the page.
        for _ in 0..40 {
            stage.tab.run(&looks).await;
            stage
                .tab
                .run("const s = __test.feed().scroller; s.dispatchEvent(new WheelEvent('wheel')); s.scrollTop -= 400; await __test.rest()")
                .await;
        }
        let lacks: Vec<String> = stage
            .tab
            .eval(&format!(
                "{}.filter((part) => !__seen.has(part))",
                json!(parts)
            ))
            .await;
        assert_eq!(lacks, Vec::<String>::new());
    });
}
