//! Our own page where whoever serves it has no sessions, as a folder of files has none: what is read has all the room,
//! and there is a way to something else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::browser::Tab;
use crate::made_logs::{every_kind, log_of};
use crate::site::Site;
use crate::stage::on_own_site;
use crate::{FEED, SHORT};

/// The first page of our own, as it was built.
fn first_page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/index.html")
}

/// Our own page, and a log for it.
fn page_and_log() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    vec![
        (
            "/log.jsonl",
            "application/x-ndjson",
            log_of("alone", 40).into_bytes(),
        ),
        (
            "/titled.jsonl",
            "application/x-ndjson",
            every_kind("titled").take().into_bytes(),
        ),
        (
            "/app",
            "text/html; charset=utf-8",
            std::fs::read(first_page()).unwrap_or_default(),
        ),
    ]
}

fn n_asked_for_sessions(site: &Site) -> usize {
    let asked = site.asked();
    asked
        .iter()
        .filter(|asked| asked.contains("/sessions"))
        .count()
}

/// Holds back the page around the feed until `letGo` is called, which is there once it was asked for.
const HOLD_PAGE: &str = "const whole = window.fetch;
    window.fetch = (address, options) => /\\/app-[^/]*\\.wasm/.test(String(address.url ?? address))
        ? new Promise((done) => { window.letGo = () => done(whole(address, options)); })
        : whole(address, options);";

/// Lets it come.
async fn let_page_come(tab: &Tab) {
    let is_asked_for = "typeof window.letGo === 'function'";
    tab.wait_for("the page to be asked for", SHORT, is_asked_for)
        .await;
    tab.run("window.letGo();").await;
}

#[test]
fn a_page_without_sessions_keeps_no_room_for_them() {
    let mut files = page_and_log();
    // Kept as the program served it.
    files.push(("/kept", "text/html; charset=utf-8", {
        let page = std::fs::read_to_string(first_page()).unwrap_or_default();
        page.replacen("<html", "<html data-sessions", 1)
            .into_bytes()
    }));
    on_own_site("alone", FEED, files, async |site, tab| {
        // The browser writes of it in the console.
        tab.expect_problems("404|403");
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}/app?src=/log.jsonl", site.url)).await;
        tab.wait_for(
            "the page around it",
            SHORT,
            "!!__test.one('.sessions__list')",
        )
        .await;
        tab.run("await __test.frames(3)").await;
        assert_eq!(n_asked_for_sessions(&site), 0, "nobody says there are any");
        let first_page = std::fs::read(first_page()).unwrap_or_default();
        // Hosts that know nothing of sessions say so in three ways.
        for otherwise in [
            None,
            Some(("200 OK", "text/html; charset=utf-8", first_page)),
            Some(("403 Forbidden", "application/xml", b"<Error/>".to_vec())),
        ] {
            if let Some((status, content_type, content)) = otherwise {
                site.answer_otherwise(status, content_type, content);
            }
            let n_asked = n_asked_for_sessions(&site);
            tab.goto(&format!("{}/kept?src=/log.jsonl", site.url)).await;
            tab.wait_for("rows", SHORT, "__test.all('[data-row]').length > 0")
                .await;
            let left_px = "__test.feed().getBoundingClientRect().left";
            let first_px: f64 = tab.eval(left_px).await;
            assert!(first_px < 1.0, "room is kept before it is known of any");
            while n_asked_for_sessions(&site) == n_asked {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            tab.wait_for(
                "the page around it",
                SHORT,
                "!!__test.one('.sessions__list')",
            )
            .await;
            tab.run("await __test.sleep(250); await __test.frames(3)")
                .await;
            let left_px: f64 = tab.eval(left_px).await;
            assert!(left_px < 1.0, "room is kept for a list that there is not");
        }
        // Nor does the key that shows and hides the list bring an empty one.
        tab.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'b', bubbles: true })); await __test.frames(2)")
            .await;
        let n_lists: usize = tab.eval("__test.visible('nav.sessions') ? 1 : 0").await;
        assert_eq!(n_lists, 0, "an empty list is shown");

        tab.look(false, (390, 844)).await;
        tab.before_scripts(HOLD_PAGE).await;
        tab.goto(&format!("{}/app?src=/log.jsonl", site.url)).await;
        tab.wait_for("rows", SHORT, "__test.all('[data-row]').length > 0")
            .await;
        let top_px = "__test.feed().getBoundingClientRect().top";
        let before: (f64, bool) = tab.eval(&format!("[{top_px}, !__test.one('.back')]")).await;
        let_page_come(&tab).await;
        tab.wait_for(
            "the way to something else",
            SHORT,
            "__test.visible('.back')?.getAttribute('aria-label') === 'Open another'",
        )
        .await;
        let after_px: f64 = tab.eval(top_px).await;
        assert_eq!(before, (after_px, true), "it comes, and no row moves");

        // What the session is called was told before the page around it was there to hear it.
        tab.goto(&format!("{}/app?src=/titled.jsonl", site.url))
            .await;
        tab.wait_for("rows", SHORT, "__test.all('[data-row]').length > 0")
            .await;
        let_page_come(&tab).await;
        let titled = "document.title.startsWith('Every kind')";
        tab.wait_for("its title", SHORT, titled).await;
        tab.run("__test.visible('.back').click()").await;
        tab.wait_for(
            "what can be opened",
            SHORT,
            "!!__test.visible('.empty__title') && !__test.visible('nav.sessions')",
        )
        .await;
        // An address that there is nothing at is no dead end.
        tab.goto(&format!("{}/app?src=/none.jsonl", site.url)).await;
        let_page_come(&tab).await;
        tab.wait_for(
            "why, and what else can be opened",
            SHORT,
            "!!__test.visible('.note[role=alert]') && !!__test.visible('.drop input')?.files",
        )
        .await;
    });
}

#[test]
fn what_is_written_before_the_page_around_the_feed_is_here_is_looked_for() {
    let files = page_and_log();
    on_own_site("early_page", FEED, files, async |site, tab| {
        tab.before_scripts(HOLD_PAGE).await;
        tab.goto(&format!("{}/app?src=/log.jsonl", site.url)).await;
        tab.wait_for("rows", SHORT, "__test.all('[data-row]').length > 0")
            .await;
        // The first of them has the page fetched; each letter is a key of its own, too.
        for key in ["/", "j", "o", "u"] {
            tab.press(key).await;
        }
        let_page_come(&tab).await;
        let written = "__test.one('.find__field')?.value === 'jou'";
        tab.wait_for("the words", SHORT, written).await;
        tab.type_text("x").await;
        let written = "__test.one('.find__field').value === 'joux'";
        tab.wait_for("the next letter", SHORT, written).await;
    });
}
