//! A server that goes away, comes back, is another, or is not told the right token.

use super::*;

#[test]
fn a_page_says_that_the_server_is_away_and_comes_back_by_itself() {
    with_server("away", 150, async |visit, program| {
        let mut server = Server::start(&program).await;
        let (log, n_events) = small_log("away", 3);
        pipe_all(&server, &log).await;
        let tab = visit.tab("page").await;
        tab.goto(&server.page_of("away")).await;
        settle(&tab, "before", n_events).await;
        tab.wait_for(
            "the chip to say Live",
            SHORT,
            "__test.one('.connection')?.textContent.includes('Live')",
        )
        .await;

        server.kill().await;
        // From the second try on the note has the seconds, and a slow machine may see no other.
        tab.wait_for(
            "the chip to say that it reconnects",
            SHORT,
            "/Reconnecting|Offline, data as of/.test(__test.one('.connection')?.textContent ?? '')",
        )
        .await;
        let rows: usize = tab.eval("__test.rows().length").await;
        assert!(rows > 3, "what was shown stays");
        server.restart().await;
        tab.wait_for(
            "the chip to say Live again",
            CATCH_UP_LIMIT,
            "__test.one('.connection')?.textContent.includes('Live')",
        )
        .await;
        let (more, n_all) = small_log("away", 5);
        pipe_all(&server, &more).await;
        settle(&tab, "after", n_all).await;
    });
}

#[test]
fn a_list_that_was_live_is_asked_for_again_whatever_answers_in_its_place() {
    with_server("wrong_answer", 150, async |visit, program| {
        let mut server = Server::start(&program).await;
        pipe_all(&server, &small_log("first", 1).0).await;
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let listed = |n: usize| {
            format!("document.querySelectorAll('.sessions__list .session').length === {n}")
        };
        tab.wait_for("the list", SHORT, &listed(1)).await;

        // What stands before a server that is away answers with a page of its own, or knows no such address.
        tab.run(
            "const fetched = window.fetch; window.__wrong = 0; window.fetch = (asked, ...more) => {
                if (!String(asked.url ?? asked).includes('/sessions?limit=1') || __wrong === 2) return fetched.call(window, asked, ...more);
                __wrong += 1;
                return Promise.resolve(__wrong === 1 ? new Response('<!doctype html>') : new Response('', { status: 404 }));
            };",
        )
        .await;
        server.kill().await;
        tab.wait_for("both answers", CATCH_UP_LIMIT, "__wrong === 2")
            .await;
        let kept: bool = tab.eval(&listed(1)).await;
        assert!(kept, "the list stays as it was");
        server.restart().await;
        pipe_all(&server, &small_log("second", 1).0).await;
        tab.wait_for("the list anew", CATCH_UP_LIMIT, &listed(2))
            .await;
    });
}

#[test]
fn without_the_right_token_the_page_asks_for_it() {
    with_server("token", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let (log, n_events) = small_log("secret", 2);
        pipe_all(&server, &log).await;
        let wrong = "A".repeat(43);
        for (name, address) in [
            ("wrong", page_of(&server.url, &wrong, "secret")),
            ("none", format!("{}/#session=secret", server.url)),
        ] {
            let tab = visit.tab(name).await;
            tab.goto(&address).await;
            tab.wait_for(
                "the page to ask for the token",
                SHORT,
                "!!__test.visible('input[type=password]')",
            )
            .await;
            let text: String = tab.eval("__test.text()").await;
            let host = server.url.split_once("//").map_or("", |(_, host)| host);
            assert!(
                text.contains("Refused") && text.contains(host) && text.contains("token"),
                "it says why, and who: {text}"
            );
            assert!(
                !text.contains("Prompt 1"),
                "and shows nothing of the session"
            );
            let typed = format!(
                "__test.visible('input[type=password]')?.value === '{}'",
                server.token
            );
            // A click may miss what moves just then.
            for _ in 0..5 {
                tab.click("__test.visible('input[type=password]')").await;
                tab.type_text(&server.token).await;
                if tab.eval(&typed).await {
                    break;
                }
            }
            // The list and the feed are refused each for itself, one of them later.
            tab.run("__test.feed().dispatchEvent(new CustomEvent('af-error', { detail: { refused: true }, bubbles: true, cancelable: true })); await __test.frames(2)")
                .await;
            let is_kept: bool = tab.eval(&typed).await;
            assert!(is_kept, "what was typed stays when it is refused again");
            tab.press("Enter").await;
            settle(&tab, name, n_events).await;
            let asks: bool = tab.eval("!!__test.visible('input[type=password]')").await;
            assert!(!asks, "with the right token it asks no more");
            let kept: String = tab
                .eval("JSON.stringify([location.href, { ...localStorage }, document.cookie])")
                .await;
            assert!(
                !kept.contains(&server.token),
                "the token is kept for this tab alone, and not in its address: {kept}"
            );
        }
    });
}
