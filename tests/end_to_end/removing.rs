//! Sessions are removed in the page by who may: what goes is said first, keys go on where they were or in what is left, and who
//! looks on is told.

use crate::SHORT;
use crate::browser::Tab;
use crate::made_logs::Writer;
use crate::overview::{begun, events};
use crate::server::{Server, n_logged};
use crate::sessions::{CATCH_UP_LIMIT, pipe_all, with_server};

const DIALOG: &str = "__test.visible('dialog.removal')";
const ROWS: &str = "document.querySelector('.sessions__all')";
const LISTED: &str =
    "[...document.querySelectorAll('.session')].map((row) => row.dataset.sessionId).sort().join()";

fn log(session: &str) -> String {
    let mut writer = Writer::new(session);
    writer.turn(1);
    writer.event(
        "session_end",
        &serde_json::json!({}),
        &serde_json::json!({"reason": "done"}),
    );
    writer.take()
}

async fn fill(server: &Server, sessions: &[&str]) {
    for session in sessions {
        pipe_all(server, &log(session)).await;
    }
}

/// The button of the dialog that says this.
fn button(words: &str) -> String {
    format!(
        "[...{DIALOG}.querySelectorAll('button')].find((button) => button.textContent === '{words}')"
    )
}

async fn wait_for_list(tab: &Tab, sessions: &str) {
    let listed = format!("{LISTED} === '{sessions}'");
    tab.wait_for(sessions, CATCH_UP_LIMIT, &listed).await;
}

#[test]
fn a_session_is_removed_from_the_list_once_its_reader_confirms_it() {
    with_server("removing", 120, async |visit, program| {
        let server = Server::start(&program).await;
        fill(&server, &["one", "two", "three"]).await;
        let n_events = log("two").lines().count();
        let tab = visit.tab("list").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        wait_for_list(&tab, "one,three,two").await;
        let at_two = format!(
            "{ROWS}.focus(); for (let n = 0; n < 9 && !document.querySelector('[data-session-id=two][data-at]'); n += 1) {{ {ROWS}.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'j', bubbles: true, cancelable: true }})); await __test.frames(2); }}"
        );
        tab.run(&at_two).await;
        tab.press("Delete").await;
        tab.wait_for("the question", SHORT, &format!("!!{DIALOG}"))
            .await;
        let said: String = tab.eval(&format!("__test.text({DIALOG})")).await;
        let events = format!("{n_events} events");
        for words in [
            "Remove this session?",
            "copies",
            "cannot be undone",
            &events,
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let on_cancel = "document.activeElement?.textContent === 'Cancel'";
        tab.wait_for("the focus where it does no harm", SHORT, on_cancel)
            .await;
        tab.press("Escape").await;
        let back = format!("!{DIALOG} && document.activeElement === {ROWS}");
        tab.wait_for("the rows with the focus", SHORT, &back).await;
        assert!(n_logged(server.data(), "two") > 0, "nothing was removed");

        tab.press("Delete").await;
        tab.wait_for("the question again", SHORT, &format!("!!{DIALOG}"))
            .await;
        tab.click(&button("Remove")).await;
        wait_for_list(&tab, "one,three").await;
        tab.wait_for("the rows with the focus", SHORT, &back).await;
        let told = "[...document.querySelectorAll('[role=status]')].some((status) => status.textContent.startsWith('Removed: '))";
        tab.wait_for("word of it", SHORT, told).await;
        let (head, _) = server.get("/api/v1/sessions/two/summary").await;
        assert!(head.starts_with("http/1.1 404"), "{head}");

        // Who may only read is offered nothing.
        let reader = server.make_token("read").await;
        let tab = visit.tab("reader").await;
        tab.goto(&format!("{}/#token={reader}", server.url)).await;
        wait_for_list(&tab, "one,three").await;
        tab.run(&format!("{ROWS}.focus(); await __test.frames(2);"))
            .await;
        tab.press("Delete").await;
        tab.press(" ").await;
        let chosen = "__test.visible('.sessions__chosen')";
        tab.wait_for("one that is chosen", SHORT, chosen).await;
        let offered: bool = tab
            .eval(&format!("!!{DIALOG} || !!__test.one('.sessions__remove')"))
            .await;
        assert!(!offered, "a token that only reads");
    });
}

#[test]
fn the_open_session_is_removed_from_its_menu_and_who_looks_on_is_told() {
    with_server("removing-open", 120, async |visit, program| {
        let server = Server::start(&program).await;
        fill(&server, &["goes", "stays"]).await;
        let other = visit.tab("other").await;
        other.goto(&server.page_of("goes")).await;
        let tab = visit.tab("page").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&server.page_of("goes")).await;
        for tab in [&tab, &other] {
            let shown = "['live', 'ended'].includes(__test.feed()?.getAttribute('state'))";
            tab.wait_for("the session", CATCH_UP_LIMIT, shown).await;
        }
        let opener = "__test.visible('#export-opener')";
        tab.wait_for("the menu", CATCH_UP_LIMIT, opener).await;
        let item = "__test.all('.menu__item').find((item) => item.checkVisibility() && item.textContent.startsWith('Remove'))";
        let ask = async || {
            tab.click(opener).await;
            tab.wait_for("what removes it", SHORT, item).await;
            tab.click(item).await;
            tab.wait_for("the question", SHORT, &format!("!!{DIALOG}"))
                .await;
        };
        ask().await;
        tab.press("Escape").await;
        let back =
            format!("!{DIALOG} && __test.feed().shadowRoot.activeElement?.id === 'export-opener'");
        tab.wait_for("the button with the focus", SHORT, &back)
            .await;

        // What goes wrong is said where it was asked for.
        tab.run("window.asks = window.fetch; window.fetch = (address, init) => init?.method === 'DELETE' ? Promise.reject(new TypeError('cut off')) : window.asks(address, init)").await;
        ask().await;
        tab.click(&button("Remove")).await;
        let failed = format!(
            "{DIALOG}?.querySelector('[role=alert]')?.textContent === 'Not removed: cut off'"
        );
        tab.wait_for("why it is still there", SHORT, &failed).await;
        tab.run("window.fetch = window.asks").await;
        tab.click(&button("Try again")).await;
        wait_for_list(&tab, "stays").await;
        let left = format!(
            "!{DIALOG} && !location.hash.includes('goes') && document.activeElement === {ROWS}"
        );
        tab.wait_for("the list with the focus", SHORT, &left).await;
        let told = "__test.text(__test.feed()).includes('is no more on') && __test.feed().getAttribute('state') === 'error'";
        other.wait_for("word of it", CATCH_UP_LIMIT, told).await;
        let kept: bool = other.eval("!!__test.one('.prompt__text')").await;
        assert!(kept, "what was read stays");
        for tab in [&tab, &other] {
            tab.expect_problems("404");
        }
    });
}

#[test]
fn a_session_at_work_goes_only_with_another_yes() {
    with_server("removing-working", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let events = events("works", 0, &begun("It works"));
        server.send("works", &events).await;
        let tab = visit.tab("list").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        wait_for_list(&tab, "works").await;
        tab.run(&format!("{ROWS}.focus(); await __test.frames(2);"))
            .await;
        tab.press("Delete").await;
        tab.wait_for("the question", SHORT, &format!("!!{DIALOG}"))
            .await;
        tab.click(&button("Remove")).await;
        let again = button("Remove all the same");
        let asked =
            format!("!!{DIALOG} && !!{again} && document.activeElement?.textContent === 'Cancel'");
        tab.wait_for("the second question, where keys do no harm", SHORT, &asked)
            .await;
        // The other half of a double click answers what was asked before.
        tab.run(&format!(
            "{again}.dispatchEvent(new MouseEvent('click', {{ detail: 2, bubbles: true, cancelable: true }})); await __test.frames(20);"
        ))
        .await;
        let still: bool = tab.eval(&asked).await;
        assert!(still, "nothing was answered");
        assert!(n_logged(server.data(), "works") > 0, "nothing was removed");
        tab.click(&again).await;
        wait_for_list(&tab, "").await;
        tab.expect_problems("409");
    });
}
